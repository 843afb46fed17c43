internal import ConnectionEvents

/// An event in one line, for people.
enum EventLine {
    static func text(_ event: ConnectionEvent) -> String {
        var parts = [event.decidedAt.description, event.account.text, event.type.name]
        switch event.content {
        case .connection(let change):
            parts.append(Table.clean(change.connection.id.text))
            parts.append(Table.clean(change.connection.platform ?? "-"))
            let before = change.previous.map { $0.status ?? "null" }
            let now = change.connection.status ?? "null"
            parts.append(Table.clean(before.map { $0 == now ? now : "\($0) -> \(now)" } ?? now))
            if let scopes = change.scopes {
                let words = scopes.added.map { "+\($0)" } + scopes.removed.map { "-\($0)" }
                parts.append(Table.clean(words.joined(separator: " ")))
            }
            if let failedFor = change.failedFor { parts.append("after \(failedFor.iso8601)") }
        case .account(let change):
            parts.append(text(change))
        }
        if event.kind != .change { parts.append("(\(event.kind.rawValue))") }
        return parts.filter { !$0.isEmpty }.joined(separator: "  ")
    }

    private static func text(_ change: AccountChange) -> String {
        switch change {
        case .blind(let status, let code, let scope, _):
            Table.clean("\(status) \(code)" + (scope.map { ", lacks \($0)" } ?? ""))
        case .restored(let blindFor): "after \(blindFor.iso8601)"
        case .removed, .unknown: ""
        case .resynced(let reason): reason
        case .held(_, let reason, let removals, let failures, _):
            "\(reason): \(removals) removals, \(failures) failures"
        case .released(_, let recovered, let published, let discarded):
            "\(recovered) recovered, \(published) published, \(discarded) discarded"
        }
    }
}
