internal import ConnectionEvents

/// Which rows a new row of a platform may replace: those failing or missing now, or lately
/// unlinked.
///
/// A re-link without `reconnectConnectionId` leaves the old row behind, and its destinations
/// orphaned.
struct Replaceable {
    /// Rows that were unlinked in this epoch: one that comes back is no first sight.
    private(set) var departed: Set<ConnectionID> = []
    /// The first of each platform's rows, ascending: as many as an event names, and the row itself.
    private var byPlatform: [String: [ConnectionID]] = [:]

    /// How long an unlinked row counts.
    static let memory: Duration = .seconds(24 * 60 * 60)
    /// The most ids that an event names.
    static let limit = 16

    /// Nothing to replace; for a walk without a new row.
    init() {}

    /// What a walk shows, and lacks, beside its new rows.
    ///
    /// - Parameter listed: the ids of the walk's rows.
    init(belief: Belief, walk: SealedWalk, listed: Set<ConnectionID>, rules: Detection) {
        var found: [String: Set<ConnectionID>] = [:]
        func add(_ id: ConnectionID, _ platform: String?) {
            guard let platform else { return }
            found[platform, default: []].insert(id)
        }
        for row in walk.rows where rules.health(of: row.connection.status) == .failing {
            add(row.id, row.connection.platform)
        }
        for (id, row) in belief.rows where !listed.contains(id) { add(id, row.shown.platform) }
        // One that is back is judged by what the walk shows of it.
        for row in belief.head.departed where !listed.contains(row.id) {
            if walk.sealedAt.since(row.at) <= Self.memory { add(row.id, row.platform) }
        }
        byPlatform = found.mapValues { Array($0.sorted().prefix(Self.limit + 1)) }
        departed = Set(belief.head.departed.map(\.id))
    }

    /// The other rows of a platform, ascending, at most 16.
    func others(than id: ConnectionID, on platform: String?) -> [ConnectionID] {
        guard let platform, let all = byPlatform[platform] else { return [] }
        return Array(all.filter { $0 != id }.prefix(Self.limit))
    }
}
