public import ConnectionEvents
public import RelayCore
internal import Threading

// What is asked of a running relay, and its end.

extension Relay {
    /// How often the register is looked at.
    static let registerAge: Duration = .seconds(1)
    /// How long a round of `run --once` waits for a broker that must be asked first.
    public static let oncePatience: Duration = .seconds(30)
    /// How often the marks of sealed walks are saved.
    static let markAge: Duration = .seconds(60)

    /// How the relay stands now.
    public var status: RelayStatus {
        let (startedAt, problem, waiting) = state.withLock {
            ($0.startedAt, $0.accountsFileProblem, $0.isWaitingForBroker)
        }
        return RelayStatus(
            name: parts.settings.name, startedAt: startedAt, now: clock.now,
            slowest: parts.settings.schedule.slowest,
            poll: loop.published.withLock { $0 }, judge: judge.published.withLock { $0 },
            bounds: bounds.withLock { $0 },
            sinks: couriers.flatMap { $0.published.withLock { $0 } },
            tokenOutcomes: parts.bearers?.outcomes ?? [:], accountsFileProblem: problem,
            isWaitingForBroker: waiting || misfit != nil)
    }

    /// Walks an account as soon as its bucket allows.
    public func hasten(_ account: AccountID) {
        loop.post(.hasten(account))
    }

    /// Says what is wrong with an accounts file that was not taken, or nil that it was.
    public func noteAccountsFile(problem: String?) {
        state.withLock { $0.accountsFileProblem = problem }
    }

    /// Has the register looked at now, instead of within a second.
    public func readRegister() {
        state.signal { $0.wantsRegister = true }
    }

    /// One thread alone does this: two could hand over what changed in the wrong order.
    func lookAtRegister() {
        do {
            let changes = try parts.register.changes()
            if !changes.isEmpty { loop.post(.register(changes)) }
        } catch {
            parts.log.note(
                .warning, "register", "the register could not be read: \(error.reason)",
                ["code": error.code])
        }
    }

    /// Has orders about holds looked for now, instead of within a second.
    public func readOrders() {
        state.signal { $0.wantsRegister = true }
    }

    /// One thread alone does this, as with the register.
    func lookAtOrders() {
        do throws(JournalFailure) {
            let orders = try takeOrders()
            if !orders.isEmpty { loop.post(.orders(orders)) }
        } catch {
            parts.log.note(
                .warning, "holds", "orders about holds could not be read: \(error.reason)",
                ["code": error.code])
        }
    }

    /// Orders that nobody has taken yet; each is taken once.
    func takeOrders() throws(JournalFailure) -> [HoldOrder] {
        guard let holds = parts.holds else { return [] }
        let found = try holds.orders(after: state.withLock { $0.lastOrder })
        return state.withLock { state in
            let fresh = found.filter { $0.number > state.lastOrder }
            state.lastOrder = fresh.last?.number ?? state.lastOrder
            return fresh
        }
    }

    /// Waits until something ends the relay for good; nil when the time is over first.
    public func failure(within patience: Duration) -> PublishFailure? {
        state.wait(timeout: patience) { $0.failure }
    }

    /// Why the journal cannot go on as it is, where that has ended the relay.
    ///
    /// A ``Renewal`` mends it once the relay is stopped.
    public var misfit: Misfit? {
        couriers.lazy.compactMap { $0.status.withLock { $0.misfit } }.first
    }

    /// Waits for the round of `run --once`, and until what it found is delivered.
    ///
    /// - Parameter patience: how long delivery may take after the last walk.
    public func finishOnce(patience: Duration) -> OnceResult {
        let round = state.wait { state -> (sealed: Int, unsealed: Int)? in
            state.onceResult ?? (state.failure != nil ? (0, 0) : nil)
        }
        let isDelivered = stop(within: patience)
        return OnceResult(
            sealed: round?.sealed ?? 0, unsealed: round?.unsealed ?? 0, isDelivered: isDelivered)
    }

    /// Ends the round of `run --once` before its time; what it has found is still delivered.
    public func abandonOnce() {
        state.signal { $0.isStopping = true }
        for courier in couriers { courier.status.signal { _ in } }
        loop.post(.stop)
    }

    /// Stops polling, delivers for at most that long, and ends the threads; the rest stays in the
    /// journal.
    ///
    /// The last fifth of the time is for closing publishers that block, so that the whole ends in
    /// time.
    ///
    /// - Returns: whether everything was delivered.
    @discardableResult
    public func stop(within limit: Duration) -> Bool {
        let end = clock.now + limit
        let deadline = clock.now + limit * 0.8
        let (threads, judgeThread, courierThreads) = state.signal { state in
            state.isStopping = true
            return (state.threads, state.judgeThread, state.courierThreads)
        }
        for courier in couriers { courier.status.signal { _ in } }
        loop.post(.stop)
        for thread in threads { thread.join(timeout: deadline - clock.now) }
        queue.close()
        judgeThread?.join(timeout: deadline - clock.now)
        let isDelivered = awaitDelivery(until: deadline)
        for courier in couriers { courier.stop() }
        for (thread, courier) in zip(courierThreads, couriers)
        where !thread.join(timeout: max(.milliseconds(200), (end - clock.now) * 0.25)) {
            // Blocked in a publish that will not end in time: closing ends it.
            courier.route.publisher.close(within: max(.milliseconds(200), end - clock.now))
            thread.join(timeout: max(.milliseconds(200), end - clock.now))
        }
        return isDelivered
    }

    private func awaitDelivery(until deadline: Instant) -> Bool {
        let goal = head.withLock { $0 }
        while true {
            let behind = couriers.contains { courier in
                courier.status.withLock { $0.stopped } != nil
                    || courier.published.withLock { $0.contains { $0.place < goal } }
            }
            guard behind else { return true }
            guard clock.now < deadline, state.withLock({ $0.failure }) == nil else { return false }
            _ = state.wait(timeout: .milliseconds(20)) { $0.failure }
        }
    }

    /// Once a second: what changed in the register; once a minute: the marks of sealed walks.
    func keepHouse() {
        var markedAt = clock.now
        while true {
            let goesOn = state.wait(timeout: Self.registerAge) { state -> Bool? in
                if state.isStopping { return false }
                defer { state.wantsRegister = false }
                return state.wantsRegister ? true : nil
            }
            if goesOn == false { return }
            lookAtRegister()
            lookAtOrders()
            lookAtWatches()
            if clock.now - markedAt >= Self.markAge {
                markedAt = clock.now
                loop.post(.saveMarks)
            }
        }
    }
}
