public import ConnectionEvents
public import RelayCore

/// How the relay stands, as of one moment; what readiness, metrics and the dashboard are made from.
public struct RelayStatus: Sendable {
    /// The pipeline's name.
    public var name: String
    /// When the relay started.
    public var startedAt: Timestamp
    /// The moment of this status.
    public var now: Instant
    /// `slowest` of the pipeline.
    public var slowest: Duration
    /// What polling has done.
    public var poll: PollFigures
    /// What was judged and written.
    public var judge: JudgeFigures
    /// How the journal stands with its bounds.
    public var bounds = BoundsFigures()
    /// How the sinks stand.
    public var sinks: [SinkFigures]
    /// What came of asking for people's access tokens, by words that are metric labels.
    public var tokenOutcomes: [String: Int] = [:]
    /// What is wrong with the accounts file that was to be loaded; nil: nothing.
    public var accountsFileProblem: String?
    /// Whether nothing is walked until the broker has told what it remembers.
    public var isWaitingForBroker: Bool

    /// Why the relay is not ready; empty when it is.
    public var reasons: [ReadinessReason] {
        var reasons: [ReadinessReason] = []
        if let failure = judge.failure {
            reasons.append(
                ReadinessReason(
                    "journal_stalled", "the journal cannot be written: \(failure.reason)"))
        }
        if let damage = judge.damage {
            reasons.append(
                ReadinessReason(
                    "journal_damaged", "what the journal believes is damaged: \(damage.reason)"))
        }
        if let problem = accountsFileProblem {
            reasons.append(ReadinessReason("accounts_file", problem))
        }
        if isWaitingForBroker {
            reasons.append(
                ReadinessReason(
                    "broker_progress",
                    "nothing is walked until what the broker says was published is known, and"
                        + " the journal fits it"))
        } else if !poll.hasAnswered, poll.dueSince != nil {
            reasons.append(ReadinessReason("api_silent", "the API has not answered anything yet"))
        }
        if let since = poll.dueSince, now - since > slowest * 3 {
            reasons.append(
                ReadinessReason(
                    "no_sealed_walk",
                    "no walk was sealed for three times `slowest` though accounts were due"))
        }
        if poll.fleetRefused > 0 {
            reasons.append(
                ReadinessReason(
                    "fleet_refused",
                    "half of the accounts or more are refused: the API's trouble, not theirs"))
        }
        for sink in sinks where sink.sort != "log" {
            guard let since = sink.failingSince, now - since >= .seconds(30) else { continue }
            reasons.append(
                ReadinessReason(
                    "sink_unreachable",
                    "sink \(sink.name) takes nothing: \(sink.failure?.reason ?? "unknown")"))
        }
        return reasons
    }
}

/// One reason why the relay is not ready.
public struct ReadinessReason: Hashable, Sendable {
    /// One of few stable words.
    public var code: String
    /// A sentence.
    public var text: String

    /// A reason of that code and wording.
    public init(_ code: String, _ text: String) {
        self.code = code
        self.text = text
    }
}
