internal import ConnectionEvents
internal import RelayCore
internal import RelayJournal
internal import RelayRuntime
internal import RelaySinks

/// Takes a page of records to where a replay goes.
protocol ReplayOutlet {
    /// Returns when all of them are there.
    ///
    /// - Throws: how many at the front are there, and why not all.
    func send(_ messages: [OutboundMessage]) throws(ReplayProducer.Interruption)
}

/// One replay: reads the journal page by page, so that memory stays bounded.
struct Replay {
    /// Events read and sent at once.
    static let pageLimit = 200

    /// The value of the header `trax-replay`: when this replay began.
    let mark: Timestamp
    private let plan: SinkPlan
    private let log: EventLog
    private let head: JournalPosition
    private let stop: StopWatch
    private let terminal: Terminal
    private var query: EventLog.Query
    private let rate: Double?
    private var sent = 0
    private var leftOut = 0
    private var first: JournalPosition?
    private var last: JournalPosition?

    /// - Throws: where the one event that was asked for is not there.
    init(
        _ order: ReplayOrder, of plan: SinkPlan, from log: EventLog, _ stop: StopWatch,
        _ terminal: Terminal
    ) throws(CommandError) {
        (self.plan, self.log, self.stop, self.terminal) = (plan, log, stop, terminal)
        mark = RelayClock.wall
        rate = order.rate
        query = order.query
        query.limit = Self.pageLimit
        if let rate { query.limit = max(1, min(Self.pageLimit, Int(rate))) }
        let (head, tail, oldest): (JournalPosition, JournalPosition, Timestamp?)
        do throws(JournalFailure) {
            (head, tail, oldest) = (try log.head(), try log.tail(), try log.oldest())
        } catch {
            throw CommandError(error)
        }
        if let choice = order.choice {
            let position = try choice.find(in: log).position
            // Only that entry: from the one before it to itself.
            query.after = max(query.after, JournalPosition(position.number - 1))
            self.head = position
        } else {
            self.head = head
            if tail.number > 1, let oldest, let since = query.since, since < oldest {
                terminal.err(
                    "note: events decided before \(oldest) are pruned and are not replayed\n")
            }
        }
    }

    /// In words: how many, from where to where, and how many the sink's `when` leaves out.
    var summary: String {
        var text = "\(sent) event\(sent == 1 ? "" : "s")"
        if let first, let last {
            text += first == last ? " at position \(first)" : " at positions \(first) to \(last)"
        }
        if leftOut > 0 { text += ", \(leftOut) left out by the sink's `when`" }
        return text
    }

    /// Sends all that is asked for; without an outlet, counts it.
    ///
    /// - Throws: why it ended early, with the position after which to go on.
    mutating func run(through outlet: (any ReplayOutlet)?) throws(CommandError) {
        let began = ContinuousClock.now
        defer { if terminal.showsProgress, sent > 0 { terminal.err("\r\u{1B}[K") } }
        while query.after < head {
            guard !stop.isStopAsked else { throw interrupted(nil) }
            let page = try read()
            let entries = page.filter { $0.position <= head }
            try send(entries, through: outlet)
            guard page.count == query.limit, let end = page.last?.position, end < head else {
                return
            }
            query.after = end
            if terminal.showsProgress {
                terminal.err("\r\u{1B}[K\(sent) events, position \(end) of \(head)")
            }
            if let rate, outlet != nil {
                stop.wait(began + .seconds(Double(sent) / rate) - .now)
            }
        }
    }

    /// The next page; what was pruned before it could be read is told.
    private func read() throws(CommandError) -> [JournalEntry] {
        do throws(JournalFailure) {
            let page = try log.entries(query)
            let tail = try log.tail()
            let next = query.after.number + 1
            let first = min(tail, page.first?.position ?? tail, head).number
            if query.after > .start, first > next, tail.number > next {
                terminal.err(
                    "note: positions \(next) to \(first - 1) are pruned; events among them are not"
                        + " replayed\n")
            }
            return page
        } catch {
            throw CommandError(error)
        }
    }

    private mutating func send(
        _ entries: [JournalEntry], through outlet: (any ReplayOutlet)?
    ) throws(CommandError) {
        let messages = entries.compactMap { entry -> OutboundMessage? in
            var message = plan.message(of: entry)
            message?.headers.append(.init("trax-replay", mark.description))
            return message
        }
        do throws(ReplayProducer.Interruption) {
            try outlet?.send(messages)
        } catch {
            count(messages.prefix(error.acknowledged))
            if let last { query.after = max(query.after, last) }
            throw interrupted(error.failure)
        }
        count(messages[...])
        leftOut += entries.count - messages.count
    }

    private mutating func count(_ messages: ArraySlice<OutboundMessage>) {
        sent += messages.count
        first = first ?? messages.first?.position
        last = messages.last?.position ?? last
    }

    private func interrupted(_ failure: PublishFailure?) -> CommandError {
        let why = failure.map { "\($0.reason). Stopped" } ?? "stopped by a signal"
        let text =
            "\(why) after \(summary). Go on with --after \(query.after) in place of --since."
        guard let failure else { return CommandError(.failure, text) }
        var error = CommandError(failure)
        error.message = text
        return error
    }
}

/// Lines of JSON on standard output.
struct LogOutlet: ReplayOutlet {
    let terminal: Terminal

    func send(_ messages: [OutboundMessage]) throws(ReplayProducer.Interruption) {
        for message in messages {
            if let value = message.value { terminal.print(String(decoding: value, as: UTF8.self)) }
        }
    }
}

/// Records of a topic.
struct KafkaOutlet: ReplayOutlet {
    private let producer: ReplayProducer
    private let stop: StopWatch

    /// Connects, and makes the topic where that is allowed.
    init(
        _ topic: String, _ assembly: Assembly, _ stop: StopWatch, _ terminal: Terminal
    ) throws(CommandError) {
        self.stop = stop
        let settings = try assembly.kafkaSettings(journal: JournalID("replay"), embedded: nil)
        producer = ReplayProducer(settings, topic: topic, log: assembly.kafkaLog)
        do throws(PublishFailure) {
            for note in try producer.open() { terminal.err("note: \(note)\n") }
        } catch {
            throw CommandError(error)
        }
    }

    func send(_ messages: [OutboundMessage]) throws(ReplayProducer.Interruption) {
        try producer.send(messages) { stop.isStopAsked }
    }

    func close() { producer.close(within: .seconds(5)) }
}
