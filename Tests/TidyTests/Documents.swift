/// Finds commands in the code blocks of a document that the program does not have.
///
/// - Parameter known: says whether a word is a command or a subcommand of the program.
func unknownCommands(_ file: TextFile, known: (String) -> Bool) -> [Finding] {
    var inBlock = false
    var found: [Finding] = []
    for (index, line) in file.lines.enumerated() {
        if line.drop(while: { $0 == " " }).hasPrefix("```") {
            inBlock.toggle()
            continue
        }
        guard inBlock else { continue }
        let words = line.split(separator: " ")
        for (position, word) in words.enumerated()
        where word == "trax-relay" || word.hasSuffix("/trax-relay") {
            // In prose, in a path or in a unit file the name may stand without a command.
            guard position + 1 < words.count else { continue }
            let command = String(words[position + 1])
            guard command.allSatisfy({ $0.isLowercase && $0.isLetter }) else { continue }
            if !known(command) {
                let reason = "no such command: trax-relay \(command)"
                found.append(Finding(path: file.path, line: index + 1, reason: reason))
            }
        }
    }
    return found
}

/// Finds links of a document to files that are not there.
///
/// - Parameter exists: says whether a path from the package root names a file or a folder.
func brokenLinks(_ file: TextFile, exists: (String) -> Bool) -> [Finding] {
    let folder = file.path.split(separator: "/").dropLast()
    var inBlock = false
    var found: [Finding] = []
    for (index, line) in file.lines.enumerated() {
        if line.drop(while: { $0 == " " }).hasPrefix("```") { inBlock.toggle() }
        if inBlock { continue }
        for match in line.matches(of: /\]\(([^)\s]+)\)/) {
            let link = match.1
            if link.hasPrefix("#") || link.contains("://") || link.hasPrefix("mailto:") { continue }
            let target = link.prefix { $0 != "#" }
            var parts = target.hasPrefix("/") ? [] : Array(folder)
            for part in target.split(separator: "/") {
                switch part {
                case ".": break
                case "..": _ = parts.popLast()
                default: parts.append(part)
                }
            }
            if !exists(parts.joined(separator: "/")) {
                let reason = "a link to a file that is not there: \(link)"
                found.append(Finding(path: file.path, line: index + 1, reason: reason))
            }
        }
    }
    return found
}

/// Finds names at the top of the package that belong into a room of it.
func strays(_ topLevel: [String]) -> [String] {
    let house: Set = [
        "CHANGELOG.md", "LICENSE", "Package.resolved", "Package.swift", "Pipelines", "README.md",
        "Sources", "Tests", "deploy", "docs", "scripts",
    ]
    // Hidden names are tools' own business: caches, editors, version control.
    return topLevel.filter { !$0.hasPrefix(".") && !house.contains($0) }
}
