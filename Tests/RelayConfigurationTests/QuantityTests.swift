import RelayConfiguration
import Testing

@Suite struct QuantityTests {
    @Test(
        "A duration is a whole number with a unit, written back in its largest",
        arguments: [
            ("500ms", 500, "500ms"), ("2s", 2000, "2s"), ("90s", 90_000, "90s"),
            ("5m", 300_000, "5m"),
            ("1h", 3_600_000, "1h"), ("2d", 172_800_000, "2d"), ("60s", 60_000, "1m"),
            ("0s", 0, "0s"),
        ])
    func durations(text: String, milliseconds: Int, written: String) {
        #expect(DurationText.parse(text) == .milliseconds(milliseconds))
        #expect(DurationText.format(.milliseconds(milliseconds)) == written)
    }

    @Test(
        "Anything else is no duration",
        arguments: [
            "", "5", "s", "1.5s", "-1s", "+1s", "1 s", "1S", "1w", "٣s", "9999999999s", "1s2",
        ])
    func noDurations(text: String) {
        #expect(DurationText.parse(text) == nil)
    }

    @Test(
        "A rate is a number by second, minute or hour",
        arguments: [
            ("200/s", 200.0, "200/s"), ("60/m", 1.0, "1/s"), ("90/m", 1.5, "90/m"),
            ("1/h", 1.0 / 3600, "1/h"),
            ("0.5/s", 0.5, "30/m"), ("0/s", 0.0, "0.0/s"),
        ])
    func rates(text: String, perSecond: Double, written: String) {
        #expect(Rate(text)?.perSecond == perSecond)
        #expect(Rate(perSecond: perSecond).description == written)
    }

    @Test(
        "Anything else is no rate",
        arguments: [
            "", "5", "/s", "5/", "5/d", "-5/s", "5./s", ".5/s", "1e3/s", "5 /s", "1.2.3/s", "1.x/s",
        ])
    func noRates(text: String) {
        #expect(Rate(text) == nil)
    }

    @Test(
        "A size is a whole number with a binary unit",
        arguments: [
            ("512B", 512, "512B"), ("64KiB", 65536, "64KiB"), ("4MiB", 4 << 20, "4MiB"),
            ("8GiB", 8 << 30, "8GiB"), ("1024KiB", 1 << 20, "1MiB"), ("0B", 0, "0B"),
        ])
    func sizes(text: String, bytes: Int, written: String) {
        #expect(SizeText.parse(text) == bytes)
        #expect(SizeText.format(bytes) == written)
    }

    @Test(
        "Anything else is no size",
        arguments: ["", "5", "5KB", "5kib", "-5B", "1.5MiB", "9999999TiB"])
    func noSizes(text: String) {
        #expect(SizeText.parse(text) == nil)
    }

    @Test(
        "The API's address loses its /v1 and slashes at the end",
        arguments: [
            ("https://api.example.com", "https://api.example.com"),
            ("HTTPS://API.example.com/", "https://api.example.com"),
            ("https://api.example.com/v1", "https://api.example.com"),
            ("https://api.example.com:8443/trax/v1/", "https://api.example.com:8443/trax"),
            ("http://127.0.0.1:7081/v1", "http://127.0.0.1:7081"),
            ("http://[::1]:7081", "http://[::1]:7081"),
            ("https://api.example.com/v10", "https://api.example.com/v10"),
        ])
    func baseURLs(text: String, expected: String) {
        #expect(BaseURL(text)?.text == expected)
    }

    @Test(
        "Hosts of loopback and private networks are told from public ones",
        arguments: [
            ("localhost", true), ("a.localhost", true), ("127.8.9.1", true), ("[::1]", true),
            ("10.0.0.1", true), ("172.16.0.1", true), ("172.31.255.1", true), ("192.168.1.1", true),
            ("169.254.1.1", true), ("[fd00::1]", true), ("[fe80::1]", true), ("sandbox", true),
            ("api.internal", true), ("172.32.0.1", false), ("8.8.8.8", false), ("010.0.0.1", false),
            ("134744072", false), ("0x7f000001", false), ("[fc::1]", false),
            ("[2001:db8::1]", false),
            ("example.com", false), ("127.0.0.1.example.com", false), ("10.evil.com", false),
            ("[::ffff:8.8.8.8]", false), ("0.0.0.0", false),
        ])
    func privateHosts(text: String, isPrivate: Bool) {
        #expect(HostAndPort(text)?.isPrivate == isPrivate)
        #expect((BaseURL("http://\(text)/v1") != nil) == isPrivate)
    }
}
