internal import ConnectionEvents

/// Which rows a new row of a platform may replace: those failing or missing now, or lately unlinked.
///
/// A re-link without `reconnectConnectionId` leaves the old row behind, and its destinations orphaned.
struct Replaceable {
    private var byPlatform: [String: Set<ConnectionID>] = [:]

    /// How long an unlinked row counts.
    static let memory: Duration = .seconds(24 * 60 * 60)
    /// The most ids that an event names.
    static let limit = 16

    init(belief: Belief, walk: SealedWalk, rules: Detection) {
        let listed = Set(walk.rows.map(\.id))
        for row in walk.rows where rules.health(of: row.connection.status) == .failing {
            add(row.id, row.connection.platform)
        }
        for (id, row) in belief.rows where !listed.contains(id) { add(id, row.shown.platform) }
        for row in belief.head.departed where walk.sealedAt.since(row.at) <= Self.memory {
            add(row.id, row.platform)
        }
    }

    private mutating func add(_ id: ConnectionID, _ platform: String?) {
        guard let platform else { return }
        byPlatform[platform, default: []].insert(id)
    }

    /// The other rows of a platform, ascending, at most 16.
    func others(than id: ConnectionID, on platform: String?) -> [ConnectionID] {
        guard let platform, let all = byPlatform[platform] else { return [] }
        return Array(all.filter { $0 != id }.sorted().prefix(Self.limit))
    }
}
