package import RelayCore
internal import Threading

/// A relay without threads: whoever holds it says when each of its parts takes its next step.
///
/// Poll loop, judge and couriers are the very ones that ``Relay`` runs on threads; the simulation
/// drives them on a virtual clock. One thread at a time.
package final class SteppedRelay {
    /// What a courier wants after a step.
    package enum Turn: Hashable {
        /// The next step.
        case step
        /// To be left alone until then, or until the journal's head is beyond that position.
        ///
        /// When nothing came, it is probed, and takes its next step.
        case wait(until: Instant?, beyond: JournalPosition)
        /// Nothing any more: it is stopped for good.
        case over(PublishFailure?)
    }

    private let relay: Relay
    private var work = Judge.Work(epochs: EpochSource(last: 0))
    private var loads: [Courier.Load?] = []
    private var isEmpty = false

    /// Puts the parts together; nothing is read yet but the journal's last stamps.
    ///
    /// - Throws: where the journal cannot be read.
    package init(
        _ parts: Relay.Parts, readings: RelayClock.Readings,
        random: @escaping @Sendable () -> UInt64
    ) throws(JournalFailure) {
        relay = try Relay(parts, readings: readings, random: random)
    }

    /// Loads what is remembered.
    ///
    /// - Throws: where the journal or the register cannot be read.
    package func start() throws(JournalFailure) {
        let (lastEpoch, isEmpty) = try relay.prepare(once: false)
        work.epochs = EpochSource(last: lastEpoch)
        self.isEmpty = isEmpty
        loads = relay.couriers.map { $0.begin() }
    }

    /// What the transport drives.
    package var driver: any PageDriver { relay.loop }

    /// Whether polling may begin: an empty journal waits for what its brokers remember.
    package var mayPoll: Bool {
        !isEmpty
            || relay.couriers.allSatisfy {
                !$0.route.isRemote || $0.status.withLock { $0.hasOpened }
            }
    }

    /// How many couriers there are, in the order of the routes.
    package var couriers: Int { relay.couriers.count }

    /// How many jobs wait for the judge.
    package var waiting: Int { relay.queue.count + work.postponed.count }

    /// Whether the judge has anything to do.
    package var hasWork: Bool { mayPoll && (waiting > 0 || relay.queue.hasMarks) }

    /// Why the journal cannot go on as it is, where that has ended a courier.
    package var misfit: Misfit? { relay.misfit }

    /// The judge takes what waits.
    package func judge() {
        let loop = relay.loop
        _ = relay.judge.step(&work, patience: .zero) { loop.post(.judged($0)) }
    }

    /// A courier takes its next step.
    package func carry(_ courier: Int) -> Turn {
        guard var load = loads[courier] else { return .over(stopped(courier)) }
        let next = relay.couriers[courier].step(&load)
        loads[courier] = load
        switch next {
        case .step: return .step
        case .wait(let until, let head): return .wait(until: until, beyond: head)
        case .over: return .over(stopped(courier))
        }
    }

    /// A courier's wait was in vain.
    package func probe(_ courier: Int) {
        guard var load = loads[courier] else { return }
        relay.couriers[courier].probe(&load)
        loads[courier] = load
    }

    private func stopped(_ courier: Int) -> PublishFailure? {
        relay.couriers[courier].status.withLock { $0.stopped }
    }

    /// Looks at the register, as is done once a second.
    package func readRegister() { relay.lookAtRegister() }

    /// Looks for orders about holds, as is done once a second.
    package func readOrders() { relay.lookAtOrders() }

    /// Looks after the journal's bounds, as is done once a second.
    package func keepBounds() { relay.stepBounds() }

    /// Has the marks of sealed walks saved, as is done once a minute.
    package func saveMarks() { relay.loop.post(.saveMarks) }

    /// How the relay stands.
    package var status: RelayStatus { relay.status }
}
