internal import HTTPServer
internal import RelayConfiguration
internal import RelayCore
internal import RelayJournal
internal import RelaySinks

// What `check` finds out of what would otherwise show only when the relay runs.

extension Check {
    /// Compares what the broker remembers with the journal: one that was lost or restored shows.
    mutating func progress(_ settings: KafkaSettings) {
        do throws(PublishFailure) {
            let progress = try KafkaPublisher.recall(settings)
            guard !progress.isEmpty else {
                ok("progress: nothing was published yet as \(settings.name)")
                return
            }
            var decisions: [SinkName: Reconciliation] = [:]
            for (sink, told) in progress {
                do throws(CommandError) {
                    let known = try knowledge(of: sink, at: told.position)
                    decisions[sink] = Reconciliation.decide(progress: told, known: known)
                } catch {
                    // That the journal cannot be read is told already.
                    return
                }
            }
            say(Misfit(decisions, progress: progress), progress)
        } catch {
            away("progress: \(error.reason)")
        }
    }

    private mutating func say(_ misfit: Misfit?, _ progress: [SinkName: Progress]) {
        guard let misfit else {
            for (sink, told) in progress.sorted(by: { $0.key < $1.key }) {
                ok("progress: \(sink) has everything up to position \(told.position)")
            }
            return
        }
        let told = progress[misfit.sink]
        let place = "\(misfit.sink) up to position \(told.map { "\($0.position)" } ?? "?")"
        switch misfit.cause {
        case .lost:
            note(
                "progress: a journal has published to \(place), and this one is empty: it was lost."
                    + " `run` begins anew: every account gets a new epoch and account.resynced."
                    + " If the journal file is elsewhere, put it back first")
        case .restored:
            note(
                "progress: this journal has published to \(place), and its history ends before or"
                    + " is another: an older copy of it. `run` begins anew: every account gets a"
                    + " new epoch and account.resynced. If a newer file is elsewhere, put it back"
                    + " first")
        case .foreign:
            problem(
                "progress: another journal (\(told?.journal.text ?? "?")) has published to"
                    + " \(place): another relay runs as \(pipeline.name), or the journal files were"
                    + " exchanged. Put the right one back, name the pipeline otherwise, or"
                    + " `trax-relay run --take-over`")
        }
    }

    private func knowledge(
        of sink: SinkName, at position: JournalPosition
    ) throws(CommandError) -> Reconciliation.Known {
        guard Self.hasContent(pipeline.journal.sqlite) else {
            return Reconciliation.Known(
                journal: JournalID("none"), head: .start, tail: JournalPosition(1), isEmpty: true,
                place: .start)
        }
        let file = try workshop.openFile(.existing)
        do throws(JournalFailure) {
            return try EventLog(file).knowledge(of: sink, at: position, journal: file.id)
        } catch {
            throw CommandError(error)
        }
    }

    /// Whether the HTTP side would find its port; a relay on this very journal may have it.
    mutating func listening() {
        let listen = pipeline.http.listen
        guard JournalLock.holder(of: pipeline.journal.sqlite) == nil else { return }
        do throws(HTTPServerError) {
            try HTTPServer.tryAddress(host: listen.host, port: UInt16(clamping: listen.port ?? 0))
            ok("http: \(listen.host):\(listen.port ?? 0) is free")
        } catch {
            problem(pipeline.problem(at: "http.listen", error.reason).description)
        }
    }
}
