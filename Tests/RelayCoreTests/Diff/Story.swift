public import ConnectionEvents
import JSON
import RelayCore
import Testing

/// One account's belief, fed list by list.
///
/// Walk n starts 10n s after noon, is sealed 1 s later, and decided 2 s later.
struct Story {
    static let noon = Timestamp(milliseconds: 1_796_040_000_000)

    var belief: Belief
    var rules: Detection
    var walks: Int64 = 0
    /// Whether the relay remembers the last sealed walk, as it does but after a crash.
    var remembersSeals = true
    private(set) var lastSealed: WalkID?
    private(set) var decision = Decision()
    /// What the other accounts say since the belief's first sights, and since this walk's.
    var others = 0
    var answer = FleetSight.Answer(asked: 0, lacking: 0)
    /// The account's open attempts to link.
    var links: [LinkWatch] = []

    init(_ rules: Detection = Detection(), epoch: Int64 = 1000) throws {
        self.rules = rules
        belief = Belief(meeting: "acct", epoch: epoch, incarnation: 1, rules: rules)
    }

    /// A story whose first list is its baseline, taken in by walk 1.
    init(_ rules: Detection = Detection(), baseline rows: [ListedRow]) throws {
        try self.init(rules)
        list(rows)
    }

    static func start(_ walk: Int64) -> Timestamp { noon.adding(.seconds(10 * walk)) }
    static func seal(_ walk: Int64) -> Timestamp { noon.adding(.seconds(10 * walk + 1)) }
    static func decided(_ walk: Int64) -> Timestamp { noon.adding(.seconds(10 * walk + 2)) }

    /// The next walk, sealed, shows these rows; the events that follow.
    @discardableResult
    mutating func list(_ rows: ListedRow...) -> [ConnectionEvent] { list(rows) }

    /// The next walk, sealed, shows these rows; the events that follow.
    @discardableResult
    mutating func list(_ rows: [ListedRow]) -> [ConnectionEvent] {
        walks += 1
        let walk = SealedWalk(
            id: WalkID(start: Self.start(walks), random: (1, UInt64(walks))),
            sealedAt: Self.seal(walks), rows: rows,
            pages: [PageTrace(status: 200, requestID: "req_\(walks)", bytes: 9)])
        decision = belief.observe(
            walk, lastSealed: remembersSeals ? lastSealed : nil, rules: rules,
            fleet: FleetSight(
                others: others,
                answers: Dictionary(
                    uniqueKeysWithValues: belief.head.missingSince.map { ($0, answer) })),
            links: links, decidedAt: Self.decided(walks))
        lastSealed = walk.id
        return events
    }

    /// The next walk is refused.
    @discardableResult
    mutating func refuse(
        _ status: Int = 401, code: String = "invalid_key", scope: String? = nil,
        fleet: FleetVerdict = .thisAccount
    ) -> [ConnectionEvent] {
        walks += 1
        decision = belief.refuse(
            status: status, code: code, requiredScope: scope, requestID: "req_\(walks)",
            at: Self.seal(walks), fleet: fleet, decidedAt: Self.decided(walks))
        return events
    }

    /// The pipeline's rules are others from now on.
    @discardableResult
    mutating func rejudge(_ rules: Detection) -> [ConnectionEvent] {
        walks += 1
        self.rules = rules
        decision = belief.rejudge(rules: rules, decidedAt: Self.decided(walks))
        return events
    }

    /// The account is read with this credential from now on.
    mutating func useCredential(_ tag: [UInt8]) {
        decision = belief.useCredential(tag: tag)
    }

    /// So many walks failed, or found the bytes of the last one: nobody judged them.
    mutating func pass(_ walks: Int64) {
        self.walks += walks
        decision = Decision()
    }

    /// An operator ends the open hold.
    @discardableResult
    mutating func end(_ action: HoldAction) throws -> [ConnectionEvent] {
        walks += 1
        let id = belief.head.hold?.id ?? HoldID("none")
        let epoch = belief.head.epoch + 1
        decision = try belief.endHold(
            id, action, rules: rules, decidedAt: Self.decided(walks), epoch: { epoch })
        return events
    }

    /// The account leaves the register.
    mutating func remove() -> [ConnectionEvent] {
        walks += 1
        decision = belief.remove(decidedAt: Self.decided(walks))
        return events
    }

    /// The events of the last decision.
    var events: [ConnectionEvent] { decision.entries.compactMap(\.event) }

    /// The state records of the last decision, as key and value.
    var states: [(key: String, record: StateRecord?)] {
        get throws {
            try decision.entries.compactMap(\.state).map { state in
                guard let value = state.value else { return (state.key, nil) }
                guard let record = StateRecord(json: try JSONValue(parsing: value)) else {
                    throw Missed(what: "a state record under \(state.key)")
                }
                return (state.key, record)
            }
        }
    }
}

/// A row of a list.
func row(
    _ id: String, _ status: String?, platform: String? = "youtube", scopes: [String]? = ["a"],
    extra: JSONObject = JSONObject()
) -> ListedRow {
    guard let id = ConnectionID(id) else { preconditionFailure("no id of a row: \(id)") }
    return ListedRow(
        Connection(
            id: id, platform: platform, status: status, health: .unrecognised,
            grantedScopes: scopes, extra: extra))
}

extension ConnectionEvent {
    /// `failing a`, `blind`: what it tells, in short.
    var short: String {
        let name = type.name.drop { $0 != "." }.dropFirst()
        return name + (subject.map { " \($0.text)" } ?? "")
    }

    /// What is told of the connection.
    var change: ConnectionChange {
        get throws {
            guard case .connection(let change) = content else {
                throw Missed(what: "\(type) is of the account")
            }
            return change
        }
    }
}

/// Something that a test needs and that is not there.
struct Missed: Error {
    let what: String
}

extension [ConnectionEvent] {
    /// What the events tell, in short.
    var short: [String] { map(\.short) }

    /// The only event's change.
    var change: ConnectionChange {
        get throws {
            guard count == 1, let first else { throw Missed(what: "one event, not \(short)") }
            return try first.change
        }
    }
}

extension ConnectionID: ExpressibleByStringLiteral {
    /// The id of that text.
    public init(stringLiteral text: String) {
        guard let id = ConnectionID(text) else { preconditionFailure("no id: \(text)") }
        self = id
    }
}
