public import ConnectionEvents

/// The pipeline's `detection.brake`: which changes look like a fault of the list rather than of the
/// world, and how long they are held back.
public struct Brake: Hashable, Sendable {
    /// So large a share of the believed rows opens a hold, with `atLeast`; 0 to 1.
    public var share: Double
    /// So many changes of a kind open a hold, with `share`; at least 1.
    public var atLeast: Int
    /// Any removal opens a hold where such a share of the others asked lacked a row; 0 to 1.
    public var fleet: Double
    /// How long after its first sight a held failure is published.
    public var failuresAfter: Duration
    /// How long after its first sight a held removal is published; nil: never.
    public var removalsAfter: Duration?

    /// The rules, field by field; the defaults are the contract's.
    public init(
        share: Double = 0.5, atLeast: Int = 5, fleet: Double = 0.5,
        failuresAfter: Duration = .seconds(900), removalsAfter: Duration? = .seconds(86_400)
    ) {
        self.share = share
        self.atLeast = max(1, atLeast)
        self.fleet = fleet
        self.failuresAfter = failuresAfter
        self.removalsAfter = removalsAfter
    }

    /// Why a walk opens a hold; nil where it does not.
    ///
    /// - Parameters:
    ///   - removals: first sights of the removals that are confirmed now.
    ///   - failures: how many believed rows are failing now.
    ///   - believed: how many rows were believed when the walk came.
    func reason(
        removals: [Timestamp], failures: Int, believed: Int, fleet sight: FleetSight
    ) -> HoldReason? {
        func isMany(_ count: Int) -> Bool {
            count >= atLeast && Double(count) >= share * Double(believed)
        }
        if isMany(removals.count) || isMany(failures) { return .share }
        return removals.contains { sight.lacks(share: fleet, since: $0) } ? .fleet : nil
    }

    /// Whether a held change that is still true is to be published by a walk sealed then.
    func isOver(_ held: HeldChange, at seal: Timestamp) -> Bool {
        let limit =
            switch held.kind {
            case .failure: failuresAfter
            case .removal: removalsAfter
            }
        return limit.map { seal.since(held.firstSight) >= $0 } ?? false
    }
}

/// What the other accounts' last sealed walks say about removals of one account.
public struct FleetSight: Hashable, Sendable {
    /// What those say that were sealed since one first sight.
    public struct Answer: Hashable, Sendable {
        /// How many others with rows were sealed since.
        public var asked: Int
        /// How many of them lacked, in their last sealed walk, a row that was believed then.
        public var lacking: Int

        /// So many were asked, and so many of them lacked a row.
        public init(asked: Int, lacking: Int) {
            self.asked = asked
            self.lacking = lacking
        }
    }

    /// How many other accounts with rows the register polls; fewer than the quorum are not asked.
    public var others: Int
    /// By first sight; one that is not here has heard nobody yet.
    public var answers: [Timestamp: Answer]

    /// How many others must have been sealed since a first sight.
    public static let quorum = 5
    /// There is nobody to ask.
    public static let alone = FleetSight(others: 0, answers: [:])

    /// The others, and what they say by first sight.
    public init(others: Int, answers: [Timestamp: Answer]) {
        self.others = others
        self.answers = answers
    }

    /// Whether enough others were sealed since a removal's first sight to let it be confirmed.
    func hasHeardEnough(since sight: Timestamp) -> Bool {
        others < Self.quorum || (answers[sight]?.asked ?? 0) >= Self.quorum
    }

    /// Whether such a share of the others asked, or more, lacked a row.
    func lacks(share: Double, since sight: Timestamp) -> Bool {
        guard others >= Self.quorum, let answer = answers[sight], answer.asked > 0 else {
            return false
        }
        return Double(answer.lacking) >= share * Double(answer.asked)
    }
}
