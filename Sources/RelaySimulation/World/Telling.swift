internal import ConnectionEvents
internal import RelayCore

// A history in the contract's words.

extension World {
    func tell(_ batch: JournalBatch) {
        for entry in batch.entries {
            guard let event = entry.event else {
                tell("written: the state of \(entry.state?.key ?? "nothing")")
                continue
            }
            let subject = event.subject.map { "/\($0)" } ?? ""
            var change = ""
            if case .connection(let content) = event.content {
                let before = content.previous.map { $0.status ?? "null" } ?? "no row"
                change = ": \(before) → \(content.connection.status ?? "null")"
            }
            if case .account(let content) = event.content { change = content.told }
            tell(
                "written: \(event.type) of \(event.account)\(subject), number"
                    + " \(event.sequence)\(change)")
        }
        for (account, write) in batch.beliefs where batch.entries.isEmpty {
            guard case .update(let head, _) = write else { continue }
            tell(
                "written: \(account) lacks \(head.missingRows) rows, was refused"
                    + " \(head.refusal?.count ?? 0) times"
                    + (head.hold.map { ", holds by \($0.reason.rawValue)" } ?? ""))
        }
    }
}

extension AccountChange {
    fileprivate var told: String {
        switch self {
        case .held(_, let reason, let removals, let failures, _):
            ": \(reason), \(removals) removals, \(failures) failures"
        case .released(_, let recovered, let published, let discarded):
            ": \(recovered) recovered, \(published) published, \(discarded) discarded"
        case .blind, .restored, .removed, .resynced, .unknown: ""
        }
    }
}

extension Happening {
    /// What happens, in the contract's words.
    var told: String {
        let span = lasting > .zero ? ", for \(Int(lasting.inSeconds)) s" : ""
        return what.told + span
    }
}

extension What {
    fileprivate var told: String {
        switch self {
        case .set(let account, let row):
            "truth: a\(account)/\(row.id) is \(row.status ?? "null") on"
                + " \(row.platform ?? "null") with scopes \(row.scopes ?? ["unknown"])"
        case .drop(let account, let id): "truth: a\(account)/\(id) is gone"
        case .wave(let account, let status):
            "truth: all rows of \(account.map { "a\($0)" } ?? "everyone") are"
                + " \(status ?? "null")"
        case .empty(let account): "truth: all rows of a\(account) are gone"
        case .lend(let account, _, let rows):
            "register: a\(account) has the key of another person, who has"
                + " \(rows.map { "\($0.id) \($0.status ?? "null")" })"
        case .order(let action): "operator: \(action.rawValue) all holds"
        case .crashAtHold(let effects, let isBefore, let rest):
            "process: dies \(isBefore ? "before" : "after") effect \(effects + 1) from the next"
                + " commit about a hold, and starts again \(rest) later"
        case .retryParked: "operator: has all parked records sent again"
        case .backup: "operator: copies the journal's file"
        case .lose(let restoring):
            restoring
                ? "disk: the last copy is put in place of the journal's file"
                : "disk: the journal's file is lost"
        case .brake(let brake): "pipeline: brake is \(brake.map { "\($0)" } ?? "false")"
        case .pause(let account): "register: a\(account) is paused"
        case .remove(let account): "register: a\(account) is removed"
        case .add(let account): "register: a\(account) is added"
        case .rotate(let account, _): "register: a\(account) has a new credential"
        case .interval(let account, let interval):
            "register: interval of a\(account) is \(interval.map { "\($0)" } ?? "empty")"
        case .weather(let weather, let account):
            "API: \(weather) for \(account.map { "a\($0)" } ?? "everyone")"
        case .broker(let trouble): "broker: \(trouble)"
        case .disk(let trouble): "disk: \(trouble)"
        case .crash(let effects, let isBefore, let isPowerCut, let rest):
            "process: dies \(isBefore ? "before" : "after") effect \(effects + 1) from now"
                + "\(isPowerCut ? " by a power cut" : ""), and starts again \(rest) later"
        case .rules(let otherStatus): "pipeline: otherStatus is \(otherStatus.rawValue)"
        case .clock(let step): "machine: the wall clock steps by \(step)"
        case .suspend(let duration): "machine: suspended for \(duration)"
        }
    }
}
