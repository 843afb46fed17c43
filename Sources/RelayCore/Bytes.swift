// Texts from outside are compared by their bytes, as every other program compares them; Swift's
// `==` takes two Unicode spellings of one text for equal.

extension String {
    /// Whether both are the same bytes.
    func isSame(as other: String) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }

    /// Whether it stands before another in the order of bytes.
    func precedes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }

    /// No more than its first so many bytes, cut between two Unicode scalars.
    func cut(to bytes: Int) -> String {
        guard utf8.count > bytes else { return self }
        // A slice of a text ends before a scalar that its end would cut in two.
        return String(self[..<utf8.index(startIndex, offsetBy: bytes)])
    }
}

extension String? {
    /// Whether both are the same bytes, or both are unknown.
    func isSame(as other: String?) -> Bool {
        switch (self, other) {
        case (let text?, let other?): text.isSame(as: other)
        case (nil, nil): true
        case (nil, _?), (_?, nil): false
        }
    }
}

extension Array<String> {
    /// In the order of bytes, without doubles.
    var sortedWithoutDoubles: [String] {
        var result: [String] = []
        for text in sorted(by: { $0.precedes($1) }) {
            if let last = result.last, last.isSame(as: text) { continue }
            result.append(text)
        }
        return result
    }
}

extension Set<String> {
    /// Whether it holds these very bytes.
    func holds(_ text: String) -> Bool {
        firstIndex(of: text).map { self[$0].isSame(as: text) } ?? false
    }
}
