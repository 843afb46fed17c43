/// Which modules each target may import: the house of `docs/ARCHITECTURE.md`, as a table.
///
/// Arrows point down only and nothing imports sideways. A wrapper sees its C library and
/// `Threading`. `Glibc` is for those that do I/O, so neither the core nor the event model has it.
let arrows: [String: Set<String>] = [
    "Threading": ["CPosix", "Glibc"],
    "Crypto": ["COpenSSL", "Glibc"],
    "Hashing": ["CXXHash"],
    "HTTPClient": ["CCurl", "Threading", "Glibc"],
    "HTTPServer": ["CMicrohttpd", "Threading", "Glibc"],
    "JSON": ["CSimdjson", "Glibc"],
    "Kafka": ["CRdkafka", "Threading", "Glibc"],
    "SQLite": ["CSQLite", "Threading", "Glibc"],
    "YAML": ["CYAML", "Glibc"],
    "ConnectionEvents": ["Crypto", "JSON"],
    "RelayCore": ["ConnectionEvents", "Crypto", "Hashing", "JSON"],
    "RelayConfiguration": ["RelayCore", "ConnectionEvents", "Crypto", "JSON", "YAML", "Glibc"],
    "RelayJournal": [
        "RelayCore", "ConnectionEvents", "Crypto", "Hashing", "JSON", "SQLite", "Threading",
        "Glibc",
    ],
    "RelaySinks": ["RelayCore", "ConnectionEvents", "JSON", "Kafka", "Threading", "Glibc"],
    "SignIn": [
        "RelayCore", "ConnectionEvents", "Crypto", "HTTPClient", "HTTPServer", "JSON", "Threading",
        "Glibc",
    ],
    "TraxAPI": [
        "RelayCore", "ConnectionEvents", "Crypto", "Hashing", "HTTPClient", "JSON", "Threading",
        "Glibc",
    ],
    "RelayRuntime": [
        "RelayCore", "ConnectionEvents", "Crypto", "Hashing", "JSON", "Threading", "Glibc",
    ],
    "RelayDashboard": [
        "RelayRuntime", "RelayCore", "ConnectionEvents", "Crypto", "HTTPServer", "JSON",
        "Threading", "Glibc",
    ],
    "RelaySimulation": [
        "RelayRuntime", "RelayCore", "ConnectionEvents", "Crypto", "Hashing", "JSON",
    ],
    "TraxSandbox": ["ConnectionEvents", "Crypto", "HTTPServer", "JSON", "Threading", "Glibc"],
    "RelayCommands": [
        "ConnectionEvents", "Crypto", "Hashing", "HTTPClient", "HTTPServer", "JSON", "Kafka",
        "RelayConfiguration", "RelayCore", "RelayDashboard", "RelayJournal", "RelayRuntime",
        "RelaySimulation", "RelaySinks", "SQLite", "SignIn", "Threading", "TraxAPI", "TraxSandbox",
        "YAML", "Glibc",
    ],
    "trax-relay": ["RelayCommands"],
]

/// The targets that are values and functions only: no clock, no randomness of their own, no tasks.
let pureTargets: Set<String> = ["RelayCore", "ConnectionEvents"]

/// Finds imports that the table does not allow, and targets that the table does not know.
func forbiddenImports(_ file: TextFile) -> [Finding] {
    guard let target = file.target else { return [] }
    guard let allowed = arrows[target] else {
        return [Finding(path: file.path, line: 1, reason: "no arrows are known for \(target)")]
    }
    return file.code.enumerated().compactMap { index, code in
        let words = code.split(whereSeparator: { $0 == " " || $0 == "\t" })
        guard let position = words.firstIndex(of: "import"), position + 1 < words.count,
            words[..<position].allSatisfy({ $0.hasPrefix("@") || importModifiers.contains($0) })
        else { return nil }
        let kinds: Set<Substring> = ["struct", "class", "enum", "func", "let", "var", "typealias"]
        var name = words[position + 1]
        if kinds.contains(name), position + 2 < words.count { name = words[position + 2] }
        let module = String(name.prefix { $0 != "." && $0 != ";" })
        if allowed.contains(module) { return nil }
        return Finding(
            path: file.path, line: index + 1, reason: "\(target) may not import \(module)")
    }
}

private let importModifiers: Set<Substring> = [
    "public", "package", "internal", "fileprivate", "private",
]

/// Finds what a pure target must not say: time, randomness, tasks and waiting come in as arguments.
func impureWords(_ file: TextFile) -> [Finding] {
    guard let target = file.target, pureTargets.contains(target) else { return [] }
    let words: Set = [
        "async", "await", "Task", "TaskGroup", "actor", "DispatchQueue", "Date", "ContinuousClock",
        "SuspendingClock", "SystemRandomNumberGenerator", "Thread", "FileHandle", "print",
    ]
    return file.code.enumerated().flatMap { index, code in
        identifiers(in: code).filter { words.contains($0) }.map {
            Finding(path: file.path, line: index + 1, reason: "\(target) is pure, yet says \($0)")
        }
    }
}

/// The names in a line of code; a member after a dot or an argument label is no name of its own.
func identifiers(in code: String) -> [String] {
    var names: [String] = []
    var name = ""
    var before: Character = " "
    for character in code + " " {
        if character.isLetter || character.isNumber || character == "_" {
            name.append(character)
            continue
        }
        if !name.isEmpty, before != ".", character != ":" { names.append(name) }
        name = ""
        before = character
    }
    return names
}
