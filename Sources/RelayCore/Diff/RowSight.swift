internal import ConnectionEvents

/// What a sealed walk says of one believed row, before anything is decided about it.
struct RowSight {
    /// What the walk says, in one word.
    enum Word {
        /// The row is in its believed state.
        case same
        /// It is in another, and that is no `connection.failing`.
        case other
        /// It is failing, and its standing was not.
        case failure
        /// It is missing, which is not confirmed.
        case absence
        /// It is missing, which is confirmed.
        case removal
    }

    /// What becomes of it.
    enum Fate {
        /// It is taken in as ever.
        case flows
        /// The brake holds it from this walk on.
        case held
        /// It was held, and stays so.
        case kept
        /// It was held, and is published now, with the window of its first sight.
        case published
        /// It was held, and the list took it back.
        case recovered
    }

    let id: ConnectionID
    let word: Word
    /// The row as it was believed.
    let before: BelievedRow
    /// The same with what is noted in silence: missing or not, scopes first known.
    var row: BelievedRow
    /// As the walk shows it, unknown scopes as last known; nil where it is missing.
    var shown: Connection?
    /// In what that differs from the believed state.
    var difference = RowDifference()
    /// Start of the last sealed walk known to have shown the believed state.
    let lastShown: Timestamp?
    var fate = Fate.flows

    /// A believed row that the walk shows.
    init(_ listed: ListedRow, before: BelievedRow, last: WalkID?, rules: Detection) {
        id = listed.id
        self.before = before
        lastShown =
            before.held.map(\.lastShown) ?? before.missing.map(\.lastShown) ?? last?.start
        var shown = listed.connection
        shown.health = rules.health(of: shown.status)
        var row = before
        row.missing = nil
        // Unknown scopes leave the known ones believed; a first known set is taken silently.
        if let known = shown.grantedScopes {
            row.scopesShown = nil
            if before.shown.grantedScopes == nil { row.shown.grantedScopes = known }
        } else {
            shown.grantedScopes = before.shown.grantedScopes
            if before.shown.grantedScopes != nil, before.scopesShown == nil {
                row.scopesShown = lastShown
            }
        }
        difference = RowDifference(from: row.shown, to: shown)
        if difference.isEmpty {
            word = .same
        } else {
            let (type, _) = difference.rule(
                health: shown.health, standing: row.standing, isNew: false)
            word = type == .failing ? .failure : .other
        }
        self.row = row
        self.shown = shown
    }

    /// A believed row that the walk lacks.
    init(
        absent id: ConnectionID, before: BelievedRow, in walk: SealedWalk, last: WalkID?,
        rules: Detection, _ fleet: FleetSight
    ) {
        self.id = id
        self.before = before
        var missing =
            before.missing
            ?? Missing(walk: walk.id, firstSeal: walk.sealedAt, count: 0, lastShown: last?.start)
        if missing.count == 0 {
            (missing.walk, missing.firstSeal) = (walk.id, walk.sealedAt)
        }
        // Enough is enough: a removal that waits for others to be sealed is not written each time.
        missing.count = min(missing.count + 1, max(missing.count, rules.confirmations))
        row = before
        row.missing = missing
        lastShown = before.held.map(\.lastShown) ?? missing.lastShown
        let isConfirmed =
            before.held?.kind == .removal
            || (missing.count >= rules.confirmations
                && (rules.brake == nil || fleet.hasHeardEnough(since: missing.firstSeal)))
        word = isConfirmed ? .removal : .absence
    }

    /// What the brake holds of it, from this walk on.
    func heldChange(by walk: SealedWalk) -> HeldChange {
        if word == .removal, let missing = row.missing {
            return HeldChange(
                kind: .removal, firstSight: missing.firstSeal, lastShown: lastShown, seen: nil,
                seenAt: missing.firstSeal, walk: missing.walk)
        }
        return HeldChange(
            kind: .failure, firstSight: walk.sealedAt, lastShown: lastShown, seen: seen,
            seenAt: walk.sealedAt, walk: walk.id)
    }

    /// What stays held of a failure that the walk shows again, perhaps in another state.
    func heldAgain(_ held: HeldChange, by walk: SealedWalk, rules: Detection) -> HeldChange {
        guard var known = held.seen, let seen else { return held }
        known.health = rules.health(of: known.status)
        guard !RowDifference(from: known, to: seen).isEmpty else { return held }
        var held = held
        held.seen = seen
        held.seenAt = walk.sealedAt
        held.walk = walk.id
        return held
    }

    /// The failing row as it is published without a walk: unknown fields as last published.
    private var seen: Connection? {
        var seen = shown
        seen?.extra = before.shown.extra
        seen?.extraOmitted = before.shown.extraOmitted
        return seen
    }

    /// The row as it stays believed while this is held.
    var heldRow: BelievedRow {
        var held = row
        held.shown = before.shown
        // Known scopes of a held state are not believed, so they were not shown either.
        if let shown, shown.grantedScopes != before.shown.grantedScopes || row.scopesShown == nil {
            held.scopesShown = before.scopesShown
        }
        return held
    }
}
