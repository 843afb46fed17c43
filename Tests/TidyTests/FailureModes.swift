/// Finds what is wrong with the table of known failures: rows that are missing or doubled, rows
/// without a test or a reason, and names of tests that do not exist.
///
/// - Parameters:
///   - count: how many failures there are, from F1 on.
///   - names: what a test may be called by: sentences, functions of Python, suites, rules.
func brokenFailureTable(_ file: TextFile, count: Int, names: Set<String>) -> [Finding] {
    var found: [Finding] = []
    var rows: [String: Int] = [:]
    for (index, line) in file.lines.enumerated() {
        guard let match = line.firstMatch(of: /^\| (F\d+) \| [^|]+ \| (.+) \|$/) else { continue }
        func note(_ reason: String) {
            found.append(Finding(path: file.path, line: index + 1, reason: reason))
        }
        let row = String(match.1)
        if rows.updateValue(index, forKey: row) != nil { note("\(row) comes twice") }
        let cell = match.2
        var named = cell.matches(of: /"([^"]+)"/).map { String($0.1) }
        named += cell.matches(of: /`([A-Za-z_]+)`/).map { String($0.1) }
            .filter { $0.hasPrefix("test_") || $0.hasSuffix("Tests") }
        // Rules of the simulation stand between "Simulation:" and the end of the clause.
        for clause in cell.matches(of: /Simulation[^:;|]*: ([^;|]+)/) {
            named += clause.1.matches(of: /`([A-Za-z]+)`/).map { "rule " + $0.1 }
        }
        for name in named where !names.contains(name) { note("\(row): no test \"\(name)\"") }
        let hasReason = cell.contains("cannot arise") || cell.contains("open:")
        if named.isEmpty, !hasReason { note("\(row) has neither a test nor a reason") }
    }
    for number in 1...count where rows["F\(number)"] == nil {
        found.append(Finding(path: file.path, line: 1, reason: "F\(number) is not in the table"))
    }
    return found
}

/// What tests may be called by: their sentences, their functions in Python, their suites, and
/// `rule` with the name of a checker of the simulation.
func testNames(_ files: [TextFile]) -> Set<String> {
    var names: Set<String> = []
    for file in files {
        for line in file.lines {
            if let match = line.firstMatch(of: /func `([^`]+)`/) { names.insert(String(match.1)) }
            if let match = line.firstMatch(of: /def (test_\w+)/) { names.insert(String(match.1)) }
            if let match = line.firstMatch(of: /@Suite.* struct (\w+)/) {
                names.insert(String(match.1))
            }
            if file.path.hasSuffix("Checks/Violation.swift"),
                let match = line.firstMatch(of: /^ +case (\w+)$/)
            {
                names.insert("rule \(match.1)")
            }
        }
    }
    return names
}
