internal import ConnectionEvents
internal import RelayCore
internal import YAML

extension Pipeline {
    /// Takes settings that hold a legal value for every key; a missing one is a mistake of ours.
    init(_ settings: Settings, file: String) {
        self.file = file
        name = must(settings.text("name"))
        source = Source(must(settings.section("source")), file: file)
        detection = Detection(settings: must(settings.section("detection")))
        let journalSettings = must(settings.section("journal"))
        journal = Journal(
            sqlite: Files.resolve(must(journalSettings.text("sqlite")), besides: file),
            keyFile: Files.resolve(must(journalSettings.text("keyFile")), besides: file),
            retention: must(journalSettings.duration("retention")),
            maxSize: must(journalSettings.size("maxSize")))
        kafka = Kafka(must(settings.section("kafka")))
        sinks = settings.variants("sinks").enumerated().map { Sink($0.element, index: $0.offset) }
        let httpSettings = must(settings.section("http"))
        http = HTTP(
            listen: must(HostAndPort(must(httpSettings.text("listen")))),
            token: httpSettings.secret("token"))
        var places: [String: Place] = [:]
        Self.collect(settings, path: "", file: file, into: &places)
        self.places = places
    }

    private static func collect(
        _ settings: Settings, path: String, file: String, into places: inout [String: Place]
    ) {
        for (key, position) in settings.places {
            let name = path.isEmpty ? key : "\(path).\(key)"
            places[name] = place(position, in: file)
            if let section = settings.section(key) {
                collect(section, path: name, file: file, into: &places)
            }
            for (index, variant) in settings.variants(key).enumerated() {
                let name = "\(name)[\(index)].\(variant.key)"
                places[name] = place(variant.position, in: file)
                collect(variant.settings, path: name, file: file, into: &places)
            }
            for property in settings.properties(key) {
                places["\(name).\(property.name)"] = property.place
            }
        }
    }
}

/// A value that the option table guarantees.
private func must<Value>(_ value: Value?) -> Value {
    guard let value else { preconditionFailure("the option table gave no value") }
    return value
}

extension Pipeline.Source {
    fileprivate init(_ settings: Settings, file: String) {
        baseURL = must(BaseURL(must(settings.text("baseURL"))))
        accounts = settings.text("accounts").map { Files.resolve($0, besides: file) }
        pageLimit = must(settings.integer("pageLimit"))
        requestTimeout = must(settings.duration("requestTimeout"))
        walkTimeout = must(settings.duration("walkTimeout"))
        maxConnections = must(settings.integer("maxConnections"))
        budget = must(settings.rate("budget"))
        perAccount = must(settings.rate("perAccount"))
        let interval = must(settings.section("interval"))
        fastest = must(interval.duration("fastest"))
        slowest = must(interval.duration("slowest"))
        let limits = must(settings.section("limits"))
        self.limits = Pipeline.Limits(
            pages: must(limits.integer("pages")), rows: must(limits.integer("rows")),
            body: must(limits.size("body")))
        signIn = settings.section("signIn").map { section in
            Pipeline.SignIn(
                issuer: must(Issuer(must(section.text("issuer")))),
                clientID: must(section.text("clientID")))
        }
    }
}

extension Detection {
    fileprivate init(settings: Settings) {
        func list(_ key: String) -> Set<String> { Set(must(settings.texts(key)).map(\.text)) }
        self.init(
            healthy: list("healthy"), pending: list("pending"), failing: list("failing"),
            otherStatus: must(OtherStatus(rawValue: must(settings.text("otherStatus")))),
            baseline: must(BaselinePolicy(rawValue: must(settings.text("baseline")))),
            confirmations: must(settings.section("removal")?.integer("confirmations")),
            brake: settings.section("brake").map { Brake(settings: $0) })
    }
}

extension Brake {
    fileprivate init(settings: Settings) {
        self.init(
            share: must(settings.fraction("share")), atLeast: must(settings.integer("atLeast")),
            fleet: must(settings.fraction("fleet")),
            failuresAfter: must(settings.duration("failuresAfter")),
            removalsAfter: settings.duration("removalsAfter"))
    }
}

extension Pipeline.Kafka {
    fileprivate init(_ settings: Settings) {
        brokers = settings.text("brokers").map { text in
            let servers = text.split(separator: ",").map { String($0.trimmed) }
            return text == "embedded" ? .embedded : .servers(servers.joined(separator: ","))
        }
        delivery = must(Pipeline.Delivery(rawValue: must(settings.text("delivery"))))
        createTopics = settings.section("createTopics").map { section in
            Pipeline.TopicCreation(
                partitions: must(section.integer("partitions")),
                replicationFactor: must(section.integer("replicationFactor")))
        }
        properties = settings.properties("properties")
    }
}

extension Pipeline.Sink {
    fileprivate init(_ variant: Setting.Variant, index: Int) {
        switch variant.key {
        case "kafka": kind = .kafka
        case "state": kind = .state
        default: kind = .log
        }
        name = SinkName(kind == .log ? "log" : must(variant.settings.text("topic")))
        format =
            variant.settings.text("format").map { must(EventFormat(rawValue: $0)) }
            ?? .structured
        when = variant.settings.section("when").map { Pipeline.When($0) } ?? .always
        path = "sinks[\(index)].\(variant.key)"
    }
}

extension Pipeline.When {
    fileprivate init(_ settings: Settings) {
        func set<Value: Hashable>(_ key: String, _ make: (String) -> Value?) -> Set<Value>? {
            settings.texts(key).map { texts in Set(texts.map { must(make($0.text)) }) }
        }
        let types = settings.texts("types").map { texts in
            Set(texts.flatMap { TextRule.knownTypes($0.text) })
        }
        self.init(
            types: types, platforms: set("platforms") { $0 },
            accounts: set("accounts") { AccountID($0) },
            kinds: set("kinds") { EventKind(rawValue: $0) })
    }
}
