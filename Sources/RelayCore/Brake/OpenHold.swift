public import ConnectionEvents
public import JSON

/// An open hold of an account, with what is held, as commands and the HTTP side show it.
public struct OpenHold: Hashable, Sendable {
    /// Whose hold it is.
    public var account: AccountID
    /// The hold.
    public var hold: Hold
    /// The rows of which something is held, ascending by id; empty in lists.
    public var rows: [BelievedRow]
    /// What an operator has ordered about it and no relay has carried out; nil: nothing.
    public var ordered: HoldAction?

    /// A hold, field by field.
    public init(
        account: AccountID, hold: Hold, rows: [BelievedRow] = [], ordered: HoldAction? = nil
    ) {
        self.account = account
        self.hold = hold
        self.rows = rows
        self.ordered = ordered
    }

    /// The open hold of a belief; nil when there is none.
    public init?(_ belief: Belief) {
        guard let hold = belief.head.hold else { return nil }
        self.init(
            account: belief.account, hold: hold,
            rows: belief.rows.values.filter { $0.held != nil }
                .sorted { $0.shown.id < $1.shown.id })
    }

    /// The hold without its changes, as lists show it.
    public var summary: JSONObject {
        [
            "id": .string(hold.id.text),
            "account": .string(account.text),
            "reason": .string(hold.reason.rawValue),
            "since": .string(hold.since.description),
            "removals": .number(JSONNumber(Int64(hold.removals))),
            "failures": .number(JSONNumber(Int64(hold.failures))),
            "recovered": .number(JSONNumber(Int64(hold.recovered))),
            "published": .number(JSONNumber(Int64(hold.published))),
            "ordered": JSONValue(ordered?.rawValue),
        ]
    }

    /// The hold with what is held; of a wrong account with the list that is not believed.
    public var json: JSONValue {
        var object = summary
        object["changes"] = .array(rows.compactMap(\.heldJSON))
        if let list = hold.list {
            object["list"] = .array(list.rows.map(\.connection.json))
        }
        return .object(object)
    }
}

extension BelievedRow {
    fileprivate var heldJSON: JSONValue? {
        guard let held else { return nil }
        return [
            "kind": .string(held.kind.rawValue),
            "firstSight": .string(held.firstSight.description),
            "believed": shown.json,
            "seen": held.seen?.json ?? .null,
        ]
    }
}
