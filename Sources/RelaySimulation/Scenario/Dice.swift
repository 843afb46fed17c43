internal import RelayCore

/// Draws that a seed and a few words determine, whatever else was drawn before.
///
/// So a scenario that lost an account or a fault still draws the same for all that stayed.
struct Dice {
    private var random: SeededRandom

    init(_ seed: UInt64, _ words: UInt64...) {
        var mixed = seed
        for word in words {
            var mixer = SeededRandom(seed: mixed ^ (word &* 0x9E37_79B9_7F4A_7C15))
            mixed = mixer.next()
        }
        random = SeededRandom(seed: mixed)
    }

    mutating func next() -> UInt64 { random.next() }

    /// From 0 up to, not including, the limit, which is at least 1.
    mutating func below(_ limit: Int) -> Int { Int(random.next() % UInt64(max(1, limit))) }

    /// From the first to the last, both included.
    mutating func between(_ first: Int, _ last: Int) -> Int { first + below(last - first + 1) }

    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    /// One of those; there must be one.
    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[below(elements.count)]
    }

    /// So many milliseconds, both included.
    mutating func milliseconds(_ first: Int, _ last: Int) -> Duration {
        .milliseconds(between(first, last))
    }
}
