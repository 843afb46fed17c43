/// Slots in the order in which they are due; a binary heap that finds a slot again to move it.
struct DueHeap {
    private struct Item {
        var due: Int64
        var slot: Int32
    }

    private var items: [Item] = []
    /// Where a slot stands in `items`; -1: not in the heap.
    private var places: [Int32] = []

    var isEmpty: Bool { items.isEmpty }
    var count: Int { items.count }

    /// The slot that is due first.
    var first: (slot: Int, due: Instant)? {
        items.first.map { (Int($0.slot), Instant(nanoseconds: $0.due)) }
    }

    func contains(_ slot: Int) -> Bool { slot < places.count && places[slot] >= 0 }

    func due(of slot: Int) -> Instant? {
        contains(slot) ? Instant(nanoseconds: items[Int(places[slot])].due) : nil
    }

    /// Puts a slot in, or moves it.
    mutating func set(_ slot: Int, due: Instant) {
        if slot >= places.count {
            places += Array(repeating: -1, count: max(slot + 1, places.count * 2) - places.count)
        }
        if places[slot] >= 0 {
            let index = Int(places[slot])
            let earlier = due.nanoseconds < items[index].due
            items[index].due = due.nanoseconds
            if earlier { rise(index) } else { sink(index) }
        } else {
            items.append(Item(due: due.nanoseconds, slot: Int32(slot)))
            places[slot] = Int32(items.count - 1)
            rise(items.count - 1)
        }
    }

    /// Takes a slot out; nothing happens when it is not in.
    mutating func remove(_ slot: Int) {
        guard contains(slot) else { return }
        let index = Int(places[slot])
        places[slot] = -1
        let last = items.removeLast()
        guard index < items.count else { return }
        items[index] = last
        places[Int(last.slot)] = Int32(index)
        rise(index)
        sink(Int(places[Int(last.slot)]))
    }

    private mutating func rise(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard items[index].due < items[parent].due else { return }
            exchange(index, parent)
            index = parent
        }
    }

    private mutating func sink(_ start: Int) {
        var index = start
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < items.count {
                if items[child].due < items[least].due { least = child }
            }
            guard least != index else { return }
            exchange(index, least)
            index = least
        }
    }

    private mutating func exchange(_ one: Int, _ other: Int) {
        items.swapAt(one, other)
        places[Int(items[one].slot)] = Int32(one)
        places[Int(items[other].slot)] = Int32(other)
    }
}
