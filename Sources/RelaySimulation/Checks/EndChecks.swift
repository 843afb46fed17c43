internal import ConnectionEvents
internal import RelayCore

// Once faults stop: what is believed and what was published last become the truth.

extension World {
    /// Says what is not yet true; nil: everything is.
    func untruth() -> String? {
        var expected: Set<String> = []
        for account in register.all {
            let id = SimulatedRegister.id(account)
            guard let registered = register[account], !registered.isRemoving else {
                return "\(id) is still being removed"
            }
            guard let belief = disk.beliefs[id], belief.head.isBaselined else {
                return "\(id) has no baseline"
            }
            if belief.head.incarnation != registered.incarnation {
                return "\(id) is believed as it was before it was added again"
            }
            if belief.head.blindSince != nil { return "\(id) is blind" }
            let last = api.shown.complete[account]?.last?.began
            guard let last, let healedAt, last >= healedAt else {
                return "\(id) was not walked since"
            }
            if let hold = belief.head.hold { return "\(id) holds changes: \(hold.reason)" }
            if let text = untruth(of: belief, account) { return text }
            expected.formUnion(belief.rows.keys.map { StateRecord.key(id, $0) })
        }
        for account in disk.beliefs.keys
        where register[SimulatedRegister.number(account)] == nil {
            return "\(account) is believed and in no register"
        }
        if let text = checks.sinks.missing(Self.sinks) { return text }
        // After a loss nobody knows what the topic holds of accounts that are in no register.
        let keys = checks.sinks.states.keys.filter { key in
            guard hasLost, let (account, _) = StateRecord.split(key: key) else { return true }
            return register[SimulatedRegister.number(account)] != nil
        }
        if let extra = Set(keys).symmetricDifference(expected).min() {
            return "the state topic and the truth differ in \(extra)"
        }
        return nil
    }

    private func untruth(of belief: Belief, _ account: Int) -> String? {
        let truth = api.truth(account)
        guard Set(truth.keys) == Set(belief.rows.keys.map(\.text)) else {
            return "\(belief.account) has rows \(truth.keys.sorted()), is believed to have"
                + " \(belief.rows.keys.map(\.text).sorted())"
        }
        for (id, believed) in belief.rows {
            guard let row = truth[id.text] else { continue }
            let key = StateRecord.key(belief.account, id)
            let shown = believed.shown
            if shown.status != row.status || shown.platform != row.platform
                || shown.health != detection.health(of: row.status)
            {
                return "\(key) is \(row.status ?? "null"), believed \(shown.status ?? "null")"
            }
            if let scopes = row.scopes, Set(scopes) != Set(shown.grantedScopes ?? []) {
                return "\(key) has other scopes than believed"
            }
            guard let record = checks.sinks.record(key) else {
                return "the state topic has no \(key)"
            }
            if Facts(record.connection) != Facts(shown) || record.epoch != belief.head.epoch {
                return "the state topic's \(key) is not the last state"
            }
        }
        return nil
    }
}
