internal import ConnectionEvents
internal import Glibc
internal import JSON
internal import RelayConfiguration
internal import RelayCore
internal import RelayJournal
internal import RelayRuntime
internal import TraxAPI

/// One run of `trax-relay link`: the list before, the address, and the lists after.
struct LinkSession {
    let wish: LinkCommand.Wish
    let account: RegisteredAccount
    let workshop: Workshop
    let terminal: Terminal
    private let lists: AccountLists
    private let book: LinkBook
    private let register: AccountRegister
    private let beliefs: BeliefReader
    private let leaving: LinkLeaving

    init(
        _ wish: LinkCommand.Wish, _ account: RegisteredAccount, _ workshop: Workshop,
        _ terminal: Terminal
    ) throws(CommandError) {
        self.wish = wish
        self.account = account
        self.workshop = workshop
        self.terminal = terminal
        lists = try AccountLists(account, workshop)
        let file = try workshop.openFile(.existing)
        do throws(JournalFailure) {
            book = try LinkBook(file)
            register = try AccountRegister(file)
        } catch {
            throw CommandError(error)
        }
        beliefs = BeliefReader(file)
        leaving = LinkLeaving(book, terminal)
    }

    func run() throws(CommandError) -> ExitCode {
        try leaving.guarding { () throws(CommandError) in
            defer { leaving.leave() }
            return try attempt()
        }
    }

    private func attempt() throws(CommandError) -> ExitCode {
        let before: [Connection]
        switch try lists.connections() {
        case .success(let rows): before = rows
        case .failure(let failure):
            throw CommandError(
                .unavailable,
                "\(account.id) could not be read: \(failure.words). Nothing was asked for.")
        }
        try warn(before)
        try awaitFirstList()
        lists.pause()
        let ticket = try ask()
        let watch = open(ticket)
        if wish.wait > .zero { leaving.take(watch) }
        show(ticket, watch, before)
        if wish.opensBrowser { Browser.open(ticket.authorizationURL, terminal) }
        guard wish.wait > .zero else { return .ok }
        let page = LinkReport(self, ticket, before)
        let wait = LinkWait(wish.wait, watch: watch, before: before) {
            () throws(CommandError) in try isRegistered()
        }
        let ending = try wait.run(lists, book, account: account.id, terminal)
        leave(ending, page)
        return page.tell(ending)
    }

    /// What the relay has still to do with the attempt, it does; else its watch ends here.
    private func leave(_ ending: LinkWait.Ending, _ page: LinkReport) {
        switch ending {
        // The list that the relay reads next ends these, and says the same of all open attempts.
        case .done, .untold, .nothing(seen: .some): leaving.take(nil)
        case .nothing(seen: nil): leaving.leave(as: page.isUnchanged ? .unchanged : .abandoned)
        }
    }

    /// Whether the account is in the register still, the same that it was.
    private func isRegistered() throws(CommandError) -> Bool {
        do throws(JournalFailure) {
            return try register.account(account.id)?.incarnation == account.incarnation
        } catch {
            throw CommandError(error)
        }
    }

    /// Sees that the row of the link is news to a relay, or says that it will not be.
    private func awaitFirstList() throws(CommandError) {
        guard !account.isPaused else {
            return terminal.err(
                "note: \(account.id) is paused: no relay watches it, and no event comes of this"
                    + " link before it is resumed\n")
        }
        let isRunning = JournalLock.holder(of: workshop.pipeline.journal.sqlite) != nil
        do throws(JournalFailure) {
            let isRead = try FirstList.await(for: isRunning ? FirstList.patience : .zero) {
                () throws(JournalFailure) in try FirstList.isRead(of: account, beliefs)
            }
            guard !isRead else { return }
        } catch {
            throw CommandError(error)
        }
        terminal.err(
            "note: no relay has read this account yet: its first list is believed without news, so"
                + " no event will come of this link, unless that list is read before consent is"
                + " given\n")
    }

    /// What a link would orphan, said before anything is opened.
    private func warn(_ before: [Connection]) throws(CommandError) {
        let same = before.filter { $0.platform == wish.platform }
        if let id = wish.reconnecting {
            guard let row = before.first(where: { $0.id == id }) else {
                let known = same.map { Table.clean($0.id.text) }.joined(separator: ", ")
                throw CommandError(
                    .failure,
                    "\(account.id) has no connection '\(Table.clean(id.text))'."
                        + (known.isEmpty
                            ? " It has none of \(wish.platform): link it without --reconnect."
                            : " Those of \(wish.platform): \(known)."))
            }
            guard row.platform == wish.platform else {
                throw CommandError(
                    .usage,
                    "'\(Table.clean(id.text))' is a connection of"
                        + " \(Table.clean(row.platform ?? "no platform")), not of"
                        + " \(wish.platform).")
            }
            return
        }
        guard !same.isEmpty else { return }
        let failing = same.filter { $0.health != .healthy }
        let names = same.map { "\(Table.clean($0.id.text)) (\($0.health.rawValue))" }
        terminal.err(
            "Warning: \(account.id) is linked with \(wish.platform) already:"
                + " \(names.joined(separator: ", ")). This makes a second connection; destinations"
                + " bound to the first stay bound to it, and fail at go-live if it fails.\n")
        for row in failing.isEmpty ? same : failing {
            terminal.err("  to repair it instead: \(repair(row.id))\n")
        }
    }

    /// The command line that repairs a connection in place.
    func repair(_ id: ConnectionID) -> String {
        let words = [
            "trax-relay", "link", wish.platform, "--account", account.id.text, "--reconnect",
            id.text, "-c", workshop.pipeline.file,
        ]
        return words.map { word in
            let isPlain = word.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0)
                    || (0x61...0x7A).contains($0) || "_-./@:+".utf8.contains($0)
            }
            let clean = Table.clean(word)
            return isPlain ? clean : "'\(clean.replacing("'", with: "'\\''"))'"
        }.joined(separator: " ")
    }

    private func ask() throws(CommandError) -> LinkTicket {
        do throws(TraxError) {
            return try askOnce()
        } catch {
            // Refused is not done: it may be asked for again.
            guard error.status == 401, try lists.renewCredential() else {
                throw CommandError(linking: wish.platform, error)
            }
        }
        do throws(TraxError) {
            return try askOnce()
        } catch {
            throw CommandError(linking: wish.platform, error)
        }
    }

    private func askOnce() throws(TraxError) -> LinkTicket {
        let client = try TraxClient(
            Assembly(pipeline: workshop.pipeline, log: .standardError).endpoint,
            credential: lists.credential, requestTimeout: workshop.pipeline.source.requestTimeout)
        return try client.wait(
            for: .link(
                LinkRequest(
                    TraxPlatform(rawValue: wish.platform), returnTo: wish.returnTo,
                    reconnecting: wish.reconnecting)))
    }

    /// Has a relay that runs beside this watch, too; without one the lists here are enough.
    private func open(_ ticket: LinkTicket) -> LinkWatch {
        do throws(LinkRefusal) {
            return try book.open(
                LinkOpening(
                    account: account.id, attempt: ticket.state.attempt, platform: wish.platform,
                    reconnecting: wish.reconnecting))
        } catch {
            let reason =
                switch error {
                case .accountFull:
                    "\(LinkBook.accountLimit) links of the account are waited for already"
                case .full: "\(LinkBook.openLimit) links are waited for already"
                case .journal(let failure): failure.reason
                }
            terminal.err("note: a running relay does not watch for this link: \(reason)\n")
            let now = RelayClock.wall
            return LinkWatch(
                number: 0, account: account.id, attempt: ticket.state.attempt,
                platform: wish.platform, reconnecting: wish.reconnecting, openedAt: now,
                expiresAt: Timestamp(
                    milliseconds: now.milliseconds + LinkWatch.lifetime.wholeMilliseconds))
        }
    }

    private func show(_ ticket: LinkTicket, _ watch: LinkWatch, _ before: [Connection]) {
        if wish.printsJSON {
            let orphans = before.filter {
                wish.reconnecting == nil && $0.platform == wish.platform
            }
            terminal.print(
                JSONValue.object([
                    "authorizationUrl": .string(ticket.authorizationURL),
                    "attempt": .string(watch.attempt.text), "watch": .string(watch.id.text),
                    "expiresAt": .string(watch.expiresAt.description),
                    "orphans": .array(orphans.map { .string($0.id.text) }),
                ]).text)
        } else {
            terminal.print(ticket.authorizationURL)
        }
        let wait = wish.wait > .zero ? " Waiting for at most \(wish.wait.words)." : ""
        terminal.err(
            "Open this address in a browser, signed in as the person whose \(wish.platform) it is."
                + " It is good once. Attempt \(watch.attempt).\(wait)\n")
    }
}

extension Duration {
    /// As `5m` or `90s`.
    fileprivate var words: String {
        let seconds = components.seconds
        return seconds >= 60 && seconds % 60 == 0 ? "\(seconds / 60)m" : "\(max(1, seconds))s"
    }
}

extension CommandError {
    /// The API gave no address.
    init(linking platform: String, _ error: TraxError) {
        let id = error.requestID.map { " Request \(Table.clean($0))." } ?? ""
        let reason = Table.clean(error.reason)
        switch error.kind {
        case .refused:
            self.init(
                .failure,
                "the account's credential may not link: \(reason) Give it a key with the scope"
                    + " \(Table.clean(error.requiredScope ?? "connections:write")).\(id)")
        case .invalid where error.status == 400 && platform == "trovo":
            self.init(
                .usage,
                "trovo cannot be linked: TRaX knows it and has no credentials for it."
                    + " \(reason)\(id)")
        case .invalid where error.status == 400:
            let known = ["twitch", "youtube", "kick", "facebook", "linkedin"]
            let near = known.contains(platform) ? nil : Nearest.of(platform, among: known)
            self.init(
                .usage,
                "TRaX does not take this: \(reason)"
                    + (near.map { " Did you mean '\($0)'?" } ?? "") + id)
        case .invalid: self.init(.failure, "TRaX does not take this: \(reason)\(id)")
        default:
            let remedy =
                error.code == "write_disabled"
                ? " Writing is switched off there: ask TRaX, or come again later."
                : " Nothing may have happened; ask again."
            self.init(
                .unavailable,
                "no address was had: \(CommandError.words(reason, Table.clean(error.code)))."
                    + "\(remedy)\(id)")
        }
    }
}

extension WalkFailure {
    /// The reason and, where it does not name it, the code.
    fileprivate var words: String { CommandError.words(reason, code) }
}

extension CommandError {
    /// A reason and, where it does not name it, the code.
    fileprivate static func words(_ reason: String, _ code: String) -> String {
        let reason = reason.hasSuffix(".") ? String(reason.dropLast()) : reason
        return reason.contains(code) ? reason : "\(reason) (\(code))"
    }
}
