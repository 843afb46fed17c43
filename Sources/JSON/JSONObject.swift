/// The members of a JSON object in the order of the source, each key once.
///
/// Where a source names a key twice the last value counts, in the place of the first. Looking a
/// member up reads through them all: objects here are small.
public struct JSONObject: Sendable {
    struct Member: Sendable {
        let key: String
        var value: JSONValue
    }

    private(set) var members: [Member] = []

    /// Makes an object without members.
    public init() {}

    /// Makes an object of members; of one key twice, the last counts.
    public init(_ members: some Sequence<(key: String, value: JSONValue)>) {
        self.init(folding: members.map { Member(key: $0.key, value: $0.value) })
    }

    /// Takes members that may name a key twice.
    init(folding members: [Member]) {
        self.members = Self.hasDuplicates(members) ? Self.folded(members) : members
    }

    /// Above this many members a set finds duplicates faster than comparing each with each.
    private static let pairwiseLimit = 16

    static func hasDuplicates(_ members: [Member]) -> Bool {
        if members.count > pairwiseLimit {
            var seen = Set<ByteKey>(minimumCapacity: members.count)
            return !members.allSatisfy { seen.insert(ByteKey($0.key)).inserted }
        }
        for later in members.indices.dropFirst() {
            for earlier in 0..<later where sameKey(members[earlier].key, members[later].key) {
                return true
            }
        }
        return false
    }

    private static func folded(_ members: [Member]) -> [Member] {
        var places: [ByteKey: Int] = [:]
        var result: [Member] = []
        for member in members {
            if let place = places[ByteKey(member.key)] {
                result[place].value = member.value
            } else {
                places[ByteKey(member.key)] = result.count
                result.append(member)
            }
        }
        return result
    }

    /// Whether there is no member.
    public var isEmpty: Bool { members.isEmpty }

    /// The number of members.
    public var count: Int { members.count }

    /// The keys in order.
    public var keys: [String] { members.map(\.key) }

    /// The value of a key, compared by bytes; a new key goes to the end, nil takes the member away.
    public subscript(_ key: String) -> JSONValue? {
        get {
            for member in members where Self.sameKey(member.key, key) { return member.value }
            return nil
        }
        set {
            let place = members.firstIndex { Self.sameKey($0.key, key) }
            switch (place, newValue) {
            case (let place?, let value?): members[place].value = value
            case (let place?, nil): members.remove(at: place)
            case (nil, let value?): members.append(Member(key: key, value: value))
            case (nil, nil): break
            }
        }
    }

    private static func sameKey(_ left: String, _ right: String) -> Bool {
        left.utf8.count == right.utf8.count && left.utf8.elementsEqual(right.utf8)
    }
}

extension JSONObject: Sequence {
    /// Walks the members in order.
    public struct Iterator: IteratorProtocol {
        var members: IndexingIterator<[Member]>

        /// The next member, nil behind the last.
        public mutating func next() -> (key: String, value: JSONValue)? {
            members.next().map { ($0.key, $0.value) }
        }
    }

    /// Walks the members in order.
    public func makeIterator() -> Iterator { Iterator(members: members.makeIterator()) }

    /// The number of members, known without walking.
    public var underestimatedCount: Int { members.count }
}

extension JSONObject: Hashable, ExpressibleByDictionaryLiteral {
    /// Whether both have the same keys with equal values, in whatever order.
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        guard left.count == right.count else { return false }
        // Nearly always in the same order, and then without a look-up.
        return zip(left.members, right.members).allSatisfy { mine, other in
            if sameKey(mine.key, other.key) { return mine.value == other.value }
            return right[mine.key] == mine.value && left[other.key] == other.value
        }
    }

    /// Feeds the members to the hasher, in agreement with `==`.
    public func hash(into hasher: inout Hasher) {
        var sum = 0
        for member in members {
            var inner = Hasher()
            inner.combine(ByteKey(member.key))
            inner.combine(member.value)
            sum ^= inner.finalize()
        }
        hasher.combine(count)
        hasher.combine(sum)
    }

    /// Makes an object with its members in the order written; of one key twice, the last counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements.map { (key: $0.0, value: $0.1) })
    }
}
