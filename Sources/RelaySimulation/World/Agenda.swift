internal import RelayCore

/// What is to happen when, in virtual time: first in time, then first in line.
struct Agenda {
    /// One thing to be done; those of a life that is over are passed by.
    enum Item {
        case turn(life: Int)
        case answer(life: Int, token: Int, serial: Int)
        case judge(life: Int)
        case carry(life: Int, courier: Int)
        case readRegister(life: Int)
        case readOrders(life: Int)
        case order(HoldAction, of: HoldID)
        case saveMarks(life: Int)
        case happening(Int)
        case end(of: Int)
        case start
        case heal
        case look
        case keepBounds(life: Int)
    }

    private struct Entry {
        var at: Int64
        var order: Int
        var item: Item

        func isBefore(_ other: Entry) -> Bool {
            at != other.at ? at < other.at : order < other.order
        }
    }

    private var heap: [Entry] = []
    private var order = 0

    mutating func add(_ item: Item, at: Instant) {
        order += 1
        heap.append(Entry(at: at.nanoseconds, order: order, item: item))
        var index = heap.count - 1
        while index > 0, heap[index].isBefore(heap[(index - 1) / 2]) {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    mutating func next() -> (at: Instant, item: Item)? {
        guard let first = heap.first else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink()
        }
        return (Instant(nanoseconds: first.at), first.item)
    }

    private mutating func sink() {
        var index = 0
        while true {
            var least = index
            let (left, right) = (2 * index + 1, 2 * index + 2)
            if left < heap.count, heap[left].isBefore(heap[least]) { least = left }
            if right < heap.count, heap[right].isBefore(heap[least]) { least = right }
            guard least != index else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}
