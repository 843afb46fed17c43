import Foundation
import Testing

@testable import ConnectionEvents

@Suite struct TimestampTests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
        (1_796_040_000_123, "2026-11-30T12:00:00.123Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
    ])
    func `an instant is written in UTC with three digits after the point, and read again`(
        milliseconds: Int64, text: String
    ) {
        #expect(Timestamp(milliseconds: milliseconds).description == text)
        #expect(Timestamp(text)?.milliseconds == milliseconds)
    }

    @Test func `Foundation writes the same of instants in a thousand years`() {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        var instant: Int64 = 0
        while instant < 32_503_680_000_000 {
            let date = Date(timeIntervalSince1970: Double(instant / 1000))
            let whole = Timestamp(milliseconds: instant / 1000 * 1000)
            #expect(whole.description == date.formatted(style))
            instant += 47_304_000_007 * 3
        }
    }

    @Test(arguments: [
        ("2026-11-30T13:00:00.123+01:00", "2026-11-30T12:00:00.123Z"),
        ("2026-11-30t10:30:00-01:30", "2026-11-30T12:00:00.000Z"),
        ("2026-11-30 12:00:00z", "2026-11-30T12:00:00.000Z"),
        ("2026-11-30T12:00:00.1Z", "2026-11-30T12:00:00.100Z"),
        ("2026-11-30T12:00:00.123999999999999999999999Z", "2026-11-30T12:00:00.123Z"),
        ("2026-11-30", "2026-11-30T00:00:00.000Z"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"),
        ("2024-02-29", "2024-02-29T00:00:00.000Z"),
    ])
    func `every form of RFC 3339 is read, cut to milliseconds`(text: String, same: String) {
        #expect(Timestamp(text)?.description == same)
    }

    @Test(arguments: [
        "", "2026", "2026-11", "2026-13-01", "2026-00-01", "2026-11-00", "2026-11-31", "2026-02-29",
        "1900-02-29", "2026-11-30T", "2026-11-30T12", "2026-11-30T12:00", "2026-11-30T12:00:00",
        "2026-11-30T24:00:00Z", "2026-11-30T12:60:00Z", "2026-11-30T12:00:61Z",
        "2026-11-30T12:00:00.Z", "2026-11-30T12:00:00Z ", " 2026-11-30", "2026-11-30T12:00:00+1:00",
        "2026-11-30T12:00:00+24:00", "2026-11-30T12:00:00+01:60", "+026-11-30", "２０２６-11-30",
        "2026-11-30T12:00:00Zjunk", "20261130T120000Z", "\u{0}", "2026\u{2010}11-30",
    ])
    func `what is no instant is nil`(text: String) {
        #expect(Timestamp(text) == nil)
    }

    @Test func `instants are compared and counted in milliseconds`() {
        let early = Timestamp(milliseconds: 1000)
        let late = early.adding(.milliseconds(1500))
        #expect(early < late)
        #expect(late.since(early) == .milliseconds(1500))
        #expect(early.since(late) == .milliseconds(-1500))
    }
}

@Suite struct DurationTests {
    @Test(arguments: [
        (0, "PT0S"), (-5, "PT0S"), (1, "PT0.001S"), (120, "PT0.12S"), (1000, "PT1S"),
        (60_000, "PT1M"), (61_500, "PT1M1.5S"), (3_600_000, "PT1H"), (3_600_001, "PT1H0.001S"),
        (86_400_000, "P1D"), (86_460_000, "P1DT1M"), (187_384_050, "P2DT4H3M4.05S"),
        (31_536_000_000_000, "P365000D"),
    ])
    func `a duration is written by ISO 8601, and read again`(milliseconds: Int64, text: String) {
        #expect(Duration.milliseconds(milliseconds).iso8601 == text)
        #expect(Duration(iso8601: text) == .milliseconds(max(0, milliseconds)))
    }

    @Test(arguments: [
        ("PT0.0005S", 0), ("PT1.23456789S", 1234), ("P0D", 0), ("PT90M", 5_400_000),
        ("P9999999999D", 863_999_999_913_600_000),
    ])
    func `other writers' durations are read, cut to milliseconds`(text: String, is value: Int64) {
        #expect(Duration(iso8601: text) == .milliseconds(value))
    }

    @Test(arguments: [
        "", "P", "PT", "1S", "PT1", "P1DT", "P1S", "PT1D", "P1M", "P1Y", "P1W", "PT1S1M", "PT1.5M",
        "P1.5D", "PT.5S", "PT1.S", "PT-1S", "P-1D", "PT+1S", "PTnanS", "PTinfS", "PT0x1S", "PT1e3S",
        "P99999999999D", "PT1S ", "pt1s", "PT1,5S", "PT１S", "PTS", "PTT1S", "PT1S1S",
        "PT0.12345678901S",
    ])
    func `what is no duration is nil, never a trap`(text: String) {
        #expect(Duration(iso8601: text) == nil)
    }
}
