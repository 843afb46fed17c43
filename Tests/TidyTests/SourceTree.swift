import Foundation

/// A text file of this package, by its path from the package root.
struct TextFile {
    let path: String
    let lines: [Substring]
    /// The code of each line of a Swift file, without comments and what stands between quotes.
    let code: [String]

    init(path: String, text: String) {
        self.path = path
        lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        code = path.hasSuffix(".swift") ? codeOnly(lines) : []
    }

    /// The target that a file under `Sources` belongs to.
    var target: String? {
        let parts = path.split(separator: "/")
        return parts.count > 2 && parts[0] == "Sources" ? String(parts[1]) : nil
    }
}

/// What a rule holds against one line.
struct Finding: CustomStringConvertible, Equatable {
    let path: String
    let line: Int
    let reason: String

    var description: String { "\(path):\(line): \(reason)" }
}

/// The files of this package as they stand on the disk.
struct SourceTree {
    let root: URL
    let files: [TextFile]
    let topLevel: [String]

    /// Reads the tree once; build products, caches and what git ignores are left out.
    static let here = SourceTree()

    private init() {
        root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        var files: [TextFile] = []
        let skipped: Set = [".build", ".venv", ".git", "__pycache__", ".pytest_cache", ".swiftpm"]
        let kinds: Set = ["swift", "py", "md", "yaml", "yml", "h", "cpp", "modulemap", "sh", ""]
        let listing = FileManager.default.enumerator(
            at: root, includingPropertiesForKeys: [.isDirectoryKey])
        while let url = listing?.nextObject() as? URL {
            if skipped.contains(url.lastPathComponent) {
                listing?.skipDescendants()
                continue
            }
            guard kinds.contains(url.pathExtension),
                let values = try? url.resourceValues(forKeys: [.isDirectoryKey]),
                values.isDirectory == false,
                let text = try? String(contentsOf: url, encoding: .utf8)
            else { continue }
            let path = url.standardizedFileURL.path.dropFirst(root.standardizedFileURL.path.count)
            files.append(TextFile(path: String(path.drop { $0 == "/" }), text: text))
        }
        self.files = files.sorted { $0.path < $1.path }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: root.path)) ?? []
        topLevel = names.sorted()
    }

    /// The files below one of the folders given, with one of the endings given.
    func files(below folders: [String], ending: [String] = [".swift"]) -> [TextFile] {
        files.filter { file in
            folders.contains { file.path.hasPrefix($0 + "/") }
                && ending.contains { file.path.hasSuffix($0) }
        }
    }

    /// Whether a path from the package root names a file or a folder.
    func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.appendingPathComponent(path).path)
    }
}

/// The code of each line without comments and without what stands between quotes.
///
/// Good enough for rules about words: block comments and multi-line strings are followed, nested
/// quotes inside an interpolation are not.
private func codeOnly(_ lines: [Substring]) -> [String] {
    var inBlockComment = false
    var inLongString = false
    return lines.map { line in
        var code: [UInt8] = []
        var rest = Array(line.utf8)[...]
        var quoted = false
        func begins(_ mark: StaticString) -> Bool {
            rest.starts(with: String(describing: mark).utf8)
        }
        while let first = rest.first {
            var taken = 1
            if inBlockComment {
                if begins("*/") { (inBlockComment, taken) = (false, 2) }
            } else if begins("\"\"\"") {
                inLongString.toggle()
                taken = 3
            } else if inLongString {
                // Text, not code.
            } else if quoted {
                if first == UInt8(ascii: "\\") { taken = 2 }
                if first == UInt8(ascii: "\"") {
                    quoted = false
                    code.append(first)
                }
            } else if begins("//") {
                break
            } else if begins("/*") {
                (inBlockComment, taken) = (true, 2)
            } else {
                quoted = first == UInt8(ascii: "\"")
                code.append(first)
            }
            rest = rest.dropFirst(taken)
        }
        return String(decoding: code, as: UTF8.self)
    }
}
