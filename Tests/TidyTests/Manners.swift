/// Finds `package` and `public` declarations without a documentation comment.
func undocumented(_ file: TextFile) -> [Finding] {
    let kinds: Set = [
        "func", "var", "let", "struct", "class", "enum", "actor", "protocol", "init", "typealias",
        "subscript", "associatedtype", "operator", "macro",
    ]
    let code = file.code
    var found: [Finding] = []
    for (index, line) in code.enumerated() {
        let words = line.split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == "@") }
        guard
            let visible = words.prefix(6).firstIndex(where: { $0 == "public" || $0 == "package" }),
            words[..<visible].allSatisfy({ modifiers.contains($0) || $0.hasPrefix("@") }),
            words[visible...].contains(where: { kinds.contains(String($0)) }),
            !words[visible...].prefix(2).contains("import")
        else { continue }
        var above = index - 1
        while above >= 0, isAttribute(code[above]) { above -= 1 }
        let comment = above >= 0 ? file.lines[above].drop { $0 == " " } : ""
        if !comment.hasPrefix("///"), !comment.hasSuffix("*/") {
            let name = line.drop { $0 == " " }.prefix(60)
            let reason = "no documentation comment: \(name)"
            found.append(Finding(path: file.path, line: index + 1, reason: reason))
        }
    }
    return found
}

private let modifiers: Set<Substring> = [
    "final", "static", "class", "override", "mutating", "nonisolated", "indirect", "convenience",
    "required", "consuming", "borrowing", "unowned", "weak", "lazy", "prefix", "postfix", "infix",
    "unsafe", "safe",
]

private func isAttribute(_ code: String) -> Bool {
    let start = code.drop { $0 == " " }
    guard start.hasPrefix("@") else { return false }
    return !start.contains(" func ") && !start.contains(" var ") && !start.contains(" let ")
        && !start.contains(" struct ") && !start.contains(" class ") && !start.contains(" enum ")
}

/// Finds errors that are thrown away: an optional try, and a catch that says and does nothing.
///
/// A comment in the block counts as a reason: there the error was handled by deciding so.
func swallowedErrors(_ file: TextFile) -> [Finding] {
    let code = file.code
    var found: [Finding] = []
    for (index, line) in code.enumerated() {
        if line.firstMatch(of: /\btry\?/) != nil {
            found.append(Finding(path: file.path, line: index + 1, reason: "try? hides an error"))
        }
        guard let keyword = line.firstRange(of: "catch") else { continue }
        let opens = line[keyword.upperBound...].hasSuffix("{")
        let next = index + 1 < file.lines.count ? file.lines[index + 1].drop { $0 == " " } : ""
        let closesAtOnce = line.firstMatch(of: /\bcatch\b[^{]*\{\s*\}/) != nil
        if closesAtOnce || (opens && next.hasPrefix("}")) {
            found.append(Finding(path: file.path, line: index + 1, reason: "an empty catch"))
        }
    }
    return found
}

/// Finds promises to the compiler about threads that no comment nearby explains.
func unexplainedUnchecked(_ file: TextFile) -> [Finding] {
    file.code.enumerated().compactMap { index, code in
        guard code.contains("@unchecked Sendable") || code.contains("nonisolated(unsafe)") else {
            return nil
        }
        let near = file.lines[max(0, index - 8)..<min(file.lines.count, index + 7)]
        let explained = near.contains { line in
            let comment = line.firstRange(of: "//").map { line[$0.lowerBound...].lowercased() }
            guard let comment else { return false }
            return ["unchecked", "thread", "lock", "immutable"].contains { comment.contains($0) }
        }
        if explained { return nil }
        return Finding(
            path: file.path, line: index + 1, reason: "no comment names the promise of threads")
    }
}

/// Finds what says that work is unfinished, and paths of the machine it was written on.
///
/// The words are put together here so that this file does not find itself.
func unfinished(_ file: TextFile) -> [Finding] {
    let marks = ["TO" + "DO", "FIX" + "ME", "not " + "implemented", "un" + "implemented"]
    let places = ["/" + "work/", "." + "library/", "/" + "root/"]
    return file.lines.enumerated().flatMap { index, line in
        (marks.filter { line.contains($0) }.map { "unfinished: \($0)" }
            + places.filter { line.contains($0) }.map { "a path of one machine: \($0)" })
            .map { Finding(path: file.path, line: index + 1, reason: $0) }
    }
}
