internal import ConnectionEvents
internal import RelayCore
internal import RelayRuntime

/// The open holds of a simulated disk, and the orders about them.
final class SimulatedHolds: HoldDesk, @unchecked Sendable {
    // @unchecked: a simulation runs on one thread.
    private unowned let world: World
    private let life: Life

    init(_ world: World, life: Life) {
        self.world = world
        self.life = life
    }

    func holds(after account: AccountID?, limit: Int) throws(JournalFailure) -> [OpenHold] {
        let all = world.disk.openHolds
        let rest = all.filter { hold in account.map { hold.account > $0 } ?? true }
        return Array(rest.prefix(limit))
    }

    func hold(_ id: HoldID) throws(JournalFailure) -> OpenHold? {
        world.disk.openHolds.first { $0.hold.id == id }
    }

    @discardableResult
    func order(_ action: HoldAction, of hold: HoldID) throws(HoldOrderFailure) -> HoldOrder {
        guard let open = world.disk.openHolds.first(where: { $0.hold.id == hold }) else {
            throw .refused(.noSuchHold)
        }
        guard action == .release || open.hold.reason != .wrongAccount else {
            throw .refused(.wrongAccountStays)
        }
        if let known = world.disk.orders.first(where: { $0.hold == hold && $0.action == action }) {
            return known
        }
        world.disk.lastOrder += 1
        let order = HoldOrder(
            number: world.disk.lastOrder, account: open.account, hold: hold, action: action)
        world.disk.orders.append(order)
        return order
    }

    func orders(after number: Int64) throws(JournalFailure) -> [HoldOrder] {
        guard life.isAlive, !world.isTroubled(.unreadable) else { throw SimulatedJournal.dead }
        return world.disk.orders.filter { $0.number > number }
    }

    func isWaiting(_ order: HoldOrder) throws(JournalFailure) -> Bool {
        world.disk.orders.contains(order)
    }
}

extension Disk {
    /// Every open hold, by account.
    var openHolds: [OpenHold] {
        beliefs.values.compactMap { OpenHold($0) }.sorted { $0.account < $1.account }
    }
}

// What the operator does, from another process.

extension World {
    /// Orders about each open hold; what is refused is not done.
    func orderAll(_ action: HoldAction) {
        for open in disk.openHolds { order(action, of: open.hold.id) }
    }

    func order(_ action: HoldAction, of hold: HoldID) {
        guard !isTroubled(.full) else { return }
        let known = disk.lastOrder
        do throws(HoldOrderFailure) {
            let order = try SimulatedHolds(self, life: life).order(action, of: hold)
            guard order.number > known else { return }
            tell("operator: \(action.rawValue) the hold of \(order.account)")
        } catch {
            tell("operator: \(action.rawValue) was refused")
        }
        noticeOrders()
    }

    private func noticeOrders() {
        agenda.add(.readOrders(life: life.number), at: clock.now + dice.milliseconds(1, 1000))
    }

    /// The relay looks once a second, while there is anything to be found.
    func readOrders() {
        guard let relay else { return }
        relay.readOrders()
        if isTroubled(.unreadable) { noticeOrders() }
    }

    /// The operator hears of each hold that was opened, and does what is usual.
    func answerHolds(_ batch: JournalBatch) {
        let answers = scenario.rules.answers
        for entry in batch.entries {
            guard case .account(.held(let hold, _, _, _, _)) = entry.event?.content else {
                continue
            }
            defer { holdCount += 1 }
            guard !answers.isEmpty, !isHealed else { continue }
            let answer = answers[holdCount % answers.count]
            guard let action = answer.action else { continue }
            agenda.add(.order(action, of: HoldID(hold)), at: clock.now + answer.after)
        }
    }

    /// A commit about a hold comes: the process may be about to die of it.
    func lightAtHold() {
        guard let fuse = holdFuse else { return }
        holdFuse = nil
        rest = rest ?? (fuse.rest, false)
        life.light(effects: fuse.effects, isBefore: fuse.isBefore)
    }
}
