/// Finds the name that was probably meant.
enum NearestName {
    /// The known name nearest to a text; nil where none is near enough to be a slip.
    static func of(_ text: String, in names: [String]) -> String? {
        let plain = folded(text)
        if let same = names.first(where: { folded($0) == plain }) { return same }
        let near = names.map { (name: $0, distance: distance(plain, folded($0))) }
            .min { $0.distance < $1.distance }
        guard let near, near.distance <= max(1, plain.count / 3) else { return nil }
        return near.name
    }

    /// `: did you mean …?`, or the list of what there is.
    static func hint(_ text: String, in names: [String], noun: String) -> String {
        if let name = of(text, in: names) { return "did you mean `\(name)`?" }
        return "\(noun) are \(names.map { "`\($0)`" }.joined(separator: ", "))"
    }

    private static func folded(_ text: String) -> [UInt8] {
        text.prefix(64).lowercased().utf8.filter {
            $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "-")
        }
    }

    /// The number of insertions, deletions, changes and swaps of neighbours between two texts.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var older: [Int] = []
        var old = Array(0...right.count)
        for i in left.indices {
            var new = [i + 1]
            for j in right.indices {
                var best = min(old[j + 1] + 1, new[j] + 1)
                best = min(best, old[j] + (left[i] == right[j] ? 0 : 1))
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    best = min(best, older[j - 1] + 1)
                }
                new.append(best)
            }
            (older, old) = (old, new)
        }
        return old[right.count]
    }
}
