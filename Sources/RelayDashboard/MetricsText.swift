internal import ConnectionEvents
internal import RelayCore
public import RelayRuntime

/// Prometheus text format 0.0.4 of a relay's status.
///
/// Labels are bounded: never an account, a URL or a message.
/// https://prometheus.io/docs/instrumenting/exposition_formats/
public struct MetricsText: Sendable {
    private var lines: [String] = []

    /// The page for a status.
    ///
    /// - Parameters:
    ///   - version: of the product.
    ///   - libraries: name and version of libraries that matter for support, as librdkafka.
    public static func render(
        _ status: RelayStatus, version: String, libraries: [(name: String, version: String)]
    ) -> String {
        var text = MetricsText()
        text.writeBuild(version, libraries)
        text.writeAccounts(status)
        text.writeWalks(status)
        text.writeTokens(status)
        text.writeJournal(status)
        text.writeBounds(status.bounds)
        text.writeSinks(status)
        return text.lines.joined(separator: "\n") + "\n"
    }

    private mutating func writeBuild(
        _ version: String, _ libraries: [(name: String, version: String)]
    ) {
        let labels = [("version", version)] + libraries.map { ($0.name, $0.version) }
        family("build_info", "gauge", "Always 1; the labels tell versions.")
        sample("build_info", labels, 1)
    }

    private mutating func writeAccounts(_ status: RelayStatus) {
        let poll = status.poll
        family("ready", "gauge", "1 when /readyz answers 200.")
        sample("ready", [], status.reasons.isEmpty ? 1 : 0)
        family("accounts", "gauge", "Accounts by state; blind and failing are active ones.")
        sample("accounts", [("state", "active")], Double(poll.active))
        sample("accounts", [("state", "paused")], Double(poll.paused))
        sample("accounts", [("state", "blind")], Double(poll.blind))
        sample("accounts", [("state", "failing")], Double(poll.failing))
        sample("accounts", [("state", "fleet_refused")], Double(poll.fleetRefused))
        family("open_holds", "gauge", "Accounts of which changes are held, by reason.")
        for reason in HoldReason.allCases {
            sample(
                "open_holds", [("reason", reason.rawValue)], Double(poll.holds[reason] ?? 0))
        }
        family("link_watches", "gauge", "Attempts to link that are waited for.")
        sample("link_watches", [], Double(poll.watches))
        family("links_total", "counter", "Attempts to link that ended, by what became of them.")
        for outcome in LinkOutcome.allCases {
            sample(
                "links_total", [("outcome", outcome.rawValue)],
                Double(status.judge.links[outcome] ?? 0))
        }
        family(
            "first_round_left_accounts", "gauge",
            "Accounts that have not ended a walk since the start.")
        sample("first_round_left_accounts", [], Double(poll.firstRoundLeft))
    }

    private mutating func writeWalks(_ status: RelayStatus) {
        let poll = status.poll
        family("walks_total", "counter", "Walks by how they ended.")
        for (outcome, count) in poll.walks.sorted(by: { $0.key < $1.key }) {
            sample("walks_total", [("outcome", outcome)], Double(count))
        }
        family("requests_total", "counter", "Requests sent to the API.")
        sample("requests_total", [], Double(poll.requests))
        family("walks_in_flight", "gauge", "Walks under way.")
        sample("walks_in_flight", [], Double(poll.walking))
        family("walks_held_bytes", "gauge", "Bodies of walks under way whose rows are in memory.")
        sample("walks_held_bytes", [], Double(poll.heldBytes))
        family(
            "walk_cycle_seconds", "gauge",
            "How often an account is walked that asks for nothing of its own.")
        sample("walk_cycle_seconds", [], poll.cycle.inSeconds)
        family("budget_sufficient", "gauge", "1 while the budget suffices for `slowest`.")
        sample("budget_sufficient", [], poll.isBudgetSufficient ? 1 : 0)
        family("last_sealed_walk_age_seconds", "gauge", "Time since the last sealed walk.")
        if let last = poll.lastSealed {
            sample("last_sealed_walk_age_seconds", [], (status.now - last).inSeconds)
        }
        histogram(
            "walk_lateness_seconds", "From when a walk was due to when it began.", [],
            poll.lateness)
        histogram(
            "walk_duration_seconds", "From a walk's first request to its end.", [],
            poll.walkDuration)
    }

    private mutating func writeTokens(_ status: RelayStatus) {
        guard !status.tokenOutcomes.isEmpty else { return }
        family(
            "token_refreshes_total", "counter",
            "What came of asking for access tokens of people who are signed in.")
        for (outcome, count) in status.tokenOutcomes.sorted(by: { $0.key < $1.key }) {
            sample("token_refreshes_total", [("outcome", outcome)], Double(count))
        }
    }

    private mutating func writeJournal(_ status: RelayStatus) {
        let judge = status.judge
        family("events_total", "counter", "Events written to the journal, by type.")
        for (type, count) in judge.events.sorted(by: { $0.key < $1.key }) {
            sample("events_total", [("type", type)], Double(count))
        }
        family("journal_writable", "gauge", "1 while the journal can be written.")
        sample("journal_writable", [], judge.failingSince == nil ? 1 : 0)
        family("journal_head", "gauge", "Position of the newest entry.")
        sample("journal_head", [], Double(judge.head.number))
        histogram(
            "journal_commit_duration_seconds", "How long a commit took.", [],
            judge.commitDuration)
        histogram(
            "decision_delay_seconds",
            "From the first walk that showed a state to its event in the journal.", [],
            judge.decisionDelay)
    }

    private mutating func writeBounds(_ bounds: BoundsFigures) {
        family("journal_pruned_entries_total", "counter", "Entries pruned since the start.")
        sample("journal_pruned_entries_total", [], Double(bounds.pruned))
        histogram(
            "journal_prune_duration_seconds", "How long a step of pruning took.", [],
            bounds.pruneDuration)
        guard let size = bounds.size else { return }
        family("journal_size_bytes", "gauge", "Bytes of the journal's files and in use.")
        sample("journal_size_bytes", [("part", "file")], Double(size.file))
        sample("journal_size_bytes", [("part", "used")], Double(size.used))
        sample("journal_size_bytes", [("part", "log")], Double(size.log))
        family("journal_limit_bytes", "gauge", "What file and log may take (`journal.maxSize`).")
        sample("journal_limit_bytes", [], Double(size.limit))
        family("journal_entries", "gauge", "Entries that are kept.")
        sample("journal_entries", [], Double(size.entries))
        family(
            "journal_prunable_entries", "gauge",
            "Entries past `journal.retention` that every sink has.")
        sample("journal_prunable_entries", [], Double(size.prunable))
        family(
            "journal_oldest_event_age_seconds", "gauge",
            "Age of the oldest event that is kept; 0: none is.")
        let age = size.oldest.map { bounds.measuredAt.since($0).inSeconds } ?? 0
        sample("journal_oldest_event_age_seconds", [], max(0, age))
    }

    private mutating func writeSinks(_ status: RelayStatus) {
        let sinks = status.sinks
        func labels(_ sink: SinkFigures) -> [(String, String)] {
            [("sink", sink.name.text), ("sort", sink.sort)]
        }
        family("sink_records_total", "counter", "Records that a sink has acknowledged.")
        for sink in sinks { sample("sink_records_total", labels(sink), Double(sink.records)) }
        family("sink_lag_entries", "gauge", "Journal entries that a sink does not have yet.")
        for sink in sinks {
            let lag = max(0, status.judge.head.number - sink.place.number)
            sample("sink_lag_entries", labels(sink), Double(lag))
        }
        family("sink_up", "gauge", "0 while a sink takes nothing.")
        for sink in sinks { sample("sink_up", labels(sink), sink.failingSince == nil ? 1 : 0) }
        family(
            "parked_records", "gauge", "Records that a sink did not take, parked for an operator.")
        for sink in sinks { sample("parked_records", labels(sink), Double(sink.parked)) }
        family("sink_failures_total", "counter", "Runs that a sink did not take, by reason.")
        for sink in sinks {
            for (code, count) in sink.failures.sorted(by: { $0.key < $1.key }) {
                sample("sink_failures_total", labels(sink) + [("reason", code)], Double(count))
            }
        }
        for (index, sink) in sinks.enumerated() {
            histogram(
                "delivery_delay_seconds", "From `decidedAt` to the acknowledgement.",
                labels(sink), sink.delay, isFirst: index == 0)
        }
    }

    private mutating func family(_ name: String, _ type: String, _ help: String) {
        lines.append("# HELP trax_relay_\(name) \(help)")
        lines.append("# TYPE trax_relay_\(name) \(type)")
    }

    private mutating func sample(_ name: String, _ labels: [(String, String)], _ value: Double) {
        let pairs = labels.map { "\($0.0)=\"\(Self.escape($0.1))\"" }.joined(separator: ",")
        let number =
            value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
        lines.append("trax_relay_\(name)\(pairs.isEmpty ? "" : "{\(pairs)}") \(number)")
    }

    private mutating func histogram(
        _ name: String, _ help: String, _ labels: [(String, String)], _ histogram: Histogram,
        isFirst: Bool = true
    ) {
        if isFirst { family(name, "histogram", help) }
        var sum = 0
        for (index, count) in histogram.counts.enumerated() {
            sum += count
            let bound =
                index < histogram.bounds.count ? String(histogram.bounds[index]) : "+Inf"
            sample("\(name)_bucket", labels + [("le", bound)], Double(sum))
        }
        sample("\(name)_sum", labels, histogram.sum)
        sample("\(name)_count", labels, Double(sum))
    }

    private static func escape(_ text: String) -> String {
        // By scalars: a carriage return and a line feed are one `Character`.
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
