internal import ConnectionEvents
internal import JSON
internal import RelayCore
internal import RelayJournal

/// All that the journal knows about why an event was published, and who has it.
struct Explanation {
    /// What has become of an event on one sink.
    enum Arrival: String {
        /// The sink's place is at the event or past it.
        case delivered
        /// The sink would not take it; it waits for `parked retry` or `parked drop`.
        case parked
        /// The sink would not take it, and an operator dropped it for good.
        case dropped
        /// The sink has not come so far.
        case waiting
        /// The sink takes no such event: its `when` leaves it out, or it is given states alone.
        case notTaken = "not taken"
    }

    let event: ConnectionEvent
    /// The event as it was stored.
    let body: JSONValue
    let position: JournalPosition
    /// What was stored with it; nil where nothing was.
    let evidence: JSONValue?
    /// The pipeline's sinks, in its order.
    let sinks: [(name: SinkName, place: JournalPosition?, arrival: Arrival)]

    init(
        _ stored: EventLog.StoredEvent, _ log: EventLog, _ plans: [SinkPlan]
    ) throws(CommandError) {
        position = stored.position
        do throws(JSONError) {
            body = try JSONValue(parsing: stored.body)
            evidence = try stored.evidence.map { (bytes) throws(JSONError) in
                try JSONValue(parsing: bytes)
            }
        } catch {
            throw CommandError(
                .failure, "position \(stored.position) of the journal is no JSON: \(error.reason)")
        }
        do throws(EventDecodingError) {
            event = try ConnectionEvent(json: body)
        } catch {
            throw CommandError(.failure, error.description)
        }
        let places: [SinkName: JournalPosition]
        let parked: Set<SinkName>
        let dropped: Set<SinkName>
        do throws(JournalFailure) {
            places = try log.places()
            parked = try log.parkedSinks(at: stored.position)
            dropped = try log.droppedSinks(at: stored.position)
        } catch { throw CommandError(error) }
        sinks = plans.map { plan in
            let place = places[plan.name]
            let isTaken =
                switch plan.role {
                case .state: stored.facts.type.name.hasPrefix("connection.")
                case .events(let filter): filter?.takes(stored.facts, of: stored.account) ?? true
                }
            guard isTaken else { return (plan.name, place, .notTaken) }
            guard !parked.contains(plan.name) else { return (plan.name, place, .parked) }
            guard !dropped.contains(plan.name) else { return (plan.name, place, .dropped) }
            return (plan.name, place, (place ?? .start) >= stored.position ? .delivered : .waiting)
        }
    }

    /// For `--json`.
    var json: JSONValue {
        [
            "event": body,
            "position": .number(JSONNumber(position.number)),
            "evidence": evidence ?? .null,
            "sinks": .array(
                sinks.map { sink in
                    [
                        "sink": .string(sink.name.text),
                        "place": sink.place.map { .number(JSONNumber($0.number)) } ?? .null,
                        "arrival": .string(sink.arrival.rawValue),
                    ]
                }),
        ]
    }
}

/// An explanation as people read it.
struct ExplanationPage {
    private(set) var lines: [String] = []

    init(_ explanation: Explanation) {
        let event = explanation.event
        add("event", event.id.text)
        add("what", EventLine.text(event))
        add("number", "\(event.sequence) of epoch \(event.epoch), \(event.lane.rawValue) lane")
        add("position", "\(explanation.position) of the journal")
        if case .connection(let change) = event.content, let window = change.changedBetween {
            let after = window.after.map { "after \($0)" } ?? "at an unknown time"
            add("happened", "\(after), before \(window.before)")
        }
        add("decided", event.decidedAt.description)
        if let evidence = explanation.evidence {
            add(evidence)
        } else {
            add("rule", "no evidence is stored with it")
        }
        for (index, sink) in explanation.sinks.enumerated() {
            let place = sink.place.map { "its place is \($0)" } ?? "it has no place yet"
            add(
                index == 0 ? "sinks" : "",
                "\(Table.clean(sink.name.text)): \(sink.arrival.rawValue) (\(place))")
        }
    }

    private mutating func add(_ evidence: JSONValue) {
        add("rule", Self.text(evidence["rule"]))
        if let attempt = evidence["attempt"] {
            add("attempt", Self.text(attempt))
            add("", "known by \(Self.rule(evidence["attemptRule"]?.stringValue))")
        }
        if let refusals = evidence["refusals"] {
            add("counted", "\(Self.text(refusals)) refusals in a row")
            for request in evidence["requests"]?.arrayValue ?? [] {
                add("", "request id \(Self.text(request))")
            }
        }
        previous(evidence)
        if let missing = evidence["before"]?["missing"] {
            add("counted", "\(Self.text(missing["count"])) sealed walks in a row without the row")
            add(
                "",
                "the first: walk \(Self.walk(missing["walk"])), sealed at"
                    + " \(Self.text(missing["firstSeal"]))")
        }
        if let hold = evidence["hold"] { add("held", "until now, in hold \(Self.text(hold))") }
        if let held = evidence["before"]?["held"] {
            add(
                evidence["hold"] == nil ? "held" : "",
                "first seen \(Self.text(held["firstSight"])), last in walk"
                    + " \(Self.walk(held["walk"])), sealed at \(Self.text(held["seenAt"]))")
        }
        if let shown = evidence["after"].flatMap({ Self.row($0) }) {
            add("present", shown)
        } else if evidence["before"]?["missing"] != nil {
            add("present", "the row is not in the list")
        }
        if let walk = evidence["walk"] { add(walk: walk) }
    }

    private mutating func previous(_ evidence: JSONValue) {
        guard let before = evidence["before"] else { return }
        guard let shown = before["shown"].flatMap({ Self.row($0) }) else {
            if evidence["after"]?["id"] != nil { add("previous", "no such row was believed") }
            last(evidence)
            return
        }
        add("previous", shown)
        let standing = before["standing"].map { ", standing \(Self.text($0))" } ?? ", no standing"
        let since = before["since"].map { " since \(Self.text($0))" } ?? ""
        add(
            "",
            "as walked at \(Self.text(before["observedAt"])) (raw number"
                + " \(Self.text(before["recordedAt"])))\(standing)\(since)")
        last(evidence)
    }

    private mutating func last(_ evidence: JSONValue) {
        guard let walk = evidence["lastSealed"], walk.stringValue != nil else { return }
        add("", "last sealed before: walk \(Self.walk(walk))")
    }

    private mutating func add(walk: JSONValue) {
        add(
            "walk",
            "\(Self.walk(walk["id"])), sealed at \(Self.text(walk["sealed"])),"
                + " \(Self.text(walk["rows"])) rows")
        for (index, page) in (walk["pages"]?.arrayValue ?? []).enumerated() {
            add(
                "",
                "page \(index + 1): HTTP \(Self.text(page["status"])),"
                    + " \(Self.text(page["bytes"])) bytes, request id"
                    + " \(Self.text(page["requestId"]))")
        }
    }

    private mutating func add(_ word: String, _ text: String) {
        lines.append(word + String(repeating: " ", count: max(1, 10 - word.count)) + text)
    }

    private static func row(_ value: JSONValue) -> String? {
        guard let connection = Connection(json: value) else { return nil }
        let scopes = connection.grantedScopes.map { "[\($0.joined(separator: " "))]" } ?? "unknown"
        return Table.clean(
            "\(connection.id) on \(connection.platform ?? "null"): \(connection.status ?? "null"),"
                + " \(connection.health.rawValue), scopes \(scopes)")
    }

    /// A walk's id, which says when the walk began.
    private static func walk(_ value: JSONValue?) -> String {
        guard let id = value?.stringValue.flatMap({ WalkID($0) }) else { return text(value) }
        return "\(id), begun at \(id.start)"
    }

    /// How a row's attempt to link was found.
    private static func rule(_ name: String?) -> String {
        switch name.flatMap({ LinkMatch.Rule(rawValue: $0) }) {
        case .known: "an earlier list, of the relay or of `trax-relay link`"
        case .reconnect: "reconnectConnectionId: the attempt was to repair this row"
        case .state: "the row's own state"
        case .platform: "the platform: the one new row, and the one attempt that was open"
        case nil: Table.clean(name ?? "?")
        }
    }

    private static func text(_ value: JSONValue?) -> String {
        Table.clean(value?.stringValue ?? value?.numberValue?.text ?? "?")
    }
}
