/// Finds files, lines and functions that are longer than the house allows.
///
/// - Parameter lineLimit: columns of a line; nil where prose or tables may be wider.
func oversized(
    _ file: TextFile, fileLimit: Int, lineLimit: Int? = 100, functionLimit: Int? = nil
) -> [Finding] {
    var found: [Finding] = []
    let count = file.lines.last == "" ? file.lines.count - 1 : file.lines.count
    if count > fileLimit {
        let reason = "\(count) lines, the limit is \(fileLimit)"
        found.append(Finding(path: file.path, line: count, reason: reason))
    }
    if let lineLimit {
        for (index, line) in file.lines.enumerated() where line.count > lineLimit {
            let reason = "\(line.count) columns, the limit is \(lineLimit)"
            found.append(Finding(path: file.path, line: index + 1, reason: reason))
        }
    }
    if let functionLimit { found += longFunctions(file, limit: functionLimit) }
    return found
}

/// Finds functions and initializers by the formatter's indentation: the body ends with a brace that
/// stands as deep as the line that began the declaration.
private func longFunctions(_ file: TextFile, limit: Int) -> [Finding] {
    let code = file.code
    var found: [Finding] = []
    for (start, line) in code.enumerated() {
        guard line.contains("func ") || line.contains("init") else { continue }
        guard identifiers(in: line).contains(where: { $0 == "func" || $0 == "init" }) else {
            continue
        }
        if line.contains("{"), line.hasSuffix("}") { continue }
        let indent = line.prefix { $0 == " " }
        guard let end = code[start...].firstIndex(where: { $0 == indent + "}" }) else { continue }
        let opens = code[start...end].first { $0.hasSuffix("{") }
        let length = end - start + 1
        if opens != nil, length > limit {
            let reason = "a function of \(length) lines, the limit is \(limit)"
            found.append(Finding(path: file.path, line: start + 1, reason: reason))
        }
    }
    return found
}
