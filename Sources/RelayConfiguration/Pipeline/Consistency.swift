internal import YAML

/// What no row of the option table can say alone: how values must go together.
///
/// Values that were refused are absent, and a rule about them is silent then.
enum Consistency {
    static func check(_ settings: Settings, _ reader: inout OptionReader) {
        checkInterval(settings, &reader)
        checkStatuses(settings, &reader)
        checkFiles(settings, &reader)
        checkSinks(settings, &reader)
        checkHTTP(settings, &reader)
    }

    private static func checkInterval(_ settings: Settings, _ reader: inout OptionReader) {
        guard let interval = settings.section("source")?.section("interval"),
            let fastest = interval.duration("fastest"), let slowest = interval.duration("slowest"),
            fastest > slowest
        else { return }
        let place = interval.places["slowest"] ?? interval.place(of: "fastest")
        reader.refuse(
            place,
            "`source.interval.slowest` (\(DurationText.format(slowest))) is shorter than `fastest` "
                + "(\(DurationText.format(fastest))): raise one or lower the other")
    }

    private static func checkStatuses(_ settings: Settings, _ reader: inout OptionReader) {
        guard let detection = settings.section("detection") else { return }
        var first: [[UInt8]: (list: String, position: YAMLPosition?)] = [:]
        // Lists that were left out come last, so that what is written is to blame.
        let lists = ["healthy", "pending", "failing"]
        let written = lists.filter { detection.places[$0] != nil }
        let standard = lists.filter { detection.places[$0] == nil }
        for list in written {
            for status in detection.texts(list) ?? [] {
                let key = Array(status.text.utf8)
                guard let other = first[key] else {
                    first[key] = (list, status.position)
                    continue
                }
                let at = other.position.map { " at \($0)" } ?? ""
                reader.refuse(
                    status.position,
                    "the status `\(status.text.prefix(64))` stands in "
                        + "`detection.\(other.list)`\(at) "
                        + "and again in `detection.\(list)`: a status has one meaning")
            }
        }
        for list in standard {
            for status in detection.texts(list) ?? [] {
                guard let other = first[Array(status.text.utf8)], let position = other.position
                else { continue }
                reader.refuse(
                    position,
                    "the status `\(status.text)` stands in `detection.\(other.list)` and by "
                        + "default in "
                        + "`detection.\(list)`: write `detection.\(list)` without it")
            }
        }
    }

    private static func checkFiles(_ settings: Settings, _ reader: inout OptionReader) {
        guard let journal = settings.section("journal"), let source = settings.section("source")
        else { return }
        let files = [
            ("journal.sqlite", journal.text("sqlite"), journal.place(of: "sqlite")),
            ("journal.keyFile", journal.text("keyFile"), journal.place(of: "keyFile")),
            ("source.accounts", source.text("accounts"), source.place(of: "accounts")),
        ]
        for later in files.indices {
            for earlier in 0..<later {
                guard let path = files[later].1, path == files[earlier].1 else { continue }
                reader.refuse(
                    files[later].2,
                    "`\(files[later].0)` and `\(files[earlier].0)` are the same file: name two")
            }
        }
    }

    private static func checkSinks(_ settings: Settings, _ reader: inout OptionReader) {
        var first: [String: YAMLPosition] = [:]
        let progress = settings.text("name").map { $0 + ".progress" }
        var needsKafka = false
        for sink in settings.variants("sinks") {
            if sink.key != "log" { needsKafka = true }
            guard let name = sink.key == "log" ? "log" : sink.settings.text("topic") else {
                continue
            }
            let position = sink.key == "log" ? sink.position : sink.settings.place(of: "topic")
            if name == progress {
                reader.refuse(
                    position,
                    "the topic `\(name)` is where the relay keeps its own progress: name another")
            }
            if let other = first.updateValue(position, forKey: name) {
                first[name] = other
                reader.refuse(
                    position,
                    "the sink `\(name)` stands here and at \(other): a sink is its topic or name, "
                        + "so two cannot share one (`log` is the log sink's)")
            }
        }
        let kafka = settings.section("kafka")
        if needsKafka, let kafka, kafka["brokers"] == nil, kafka.places["brokers"] == nil {
            reader.refuse(
                kafka.position,
                "`kafka.brokers` is missing: write `host:9092`, or `embedded` to try things out "
                    + "without a Kafka")
        }
    }

    private static func checkHTTP(_ settings: Settings, _ reader: inout OptionReader) {
        guard let http = settings.section("http"), let listen = http.text("listen"),
            let address = HostAndPort(listen), !address.isLoopback,
            http["token"] == nil, http.places["token"] == nil
        else { return }
        reader.refuse(
            http.place(of: "listen"),
            "`http.listen` is open to other machines without a token: write "
                + "`token: env:NAME` or `token: file:PATH` beside it, or listen on `127.0.0.1`")
    }
}
