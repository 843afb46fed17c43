/// A page in Prometheus's text format 0.0.4, read strictly.
///
/// https://prometheus.io/docs/instrumenting/exposition_formats/
struct PrometheusPage {
    /// What is wrong with a page.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    struct Sample {
        var name: String
        var labels: [(name: String, value: String)]
        var value: Double

        func label(_ name: String) -> String? { labels.first { $0.name == name }?.value }
    }

    struct Family {
        var name: String
        var type: String
        var samples: [Sample] = []
    }

    private(set) var families: [Family] = []

    init(_ text: String) throws {
        guard text.hasSuffix("\n") else { throw Fault(description: "no newline at the end") }
        var help: String?
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
            let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
            switch words.prefix(2).joined(separator: " ") {
            case "# HELP":
                guard help == nil, words.count == 4 else { throw Fault(description: "\(line)") }
                help = String(words[2])
            case "# TYPE":
                guard words.count == 4, help == String(words[2]) else {
                    throw Fault(description: "TYPE does not follow its HELP: \(line)")
                }
                help = nil
                try open(String(words[2]), type: String(words[3]))
            default:
                guard help == nil else { throw Fault(description: "TYPE is missing: \(line)") }
                try take(Self.sample(line))
            }
        }
        for family in families where family.type == "histogram" { try Self.check(family) }
    }

    /// The only sample of that name, and with these label values.
    func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        let found = families.flatMap(\.samples).filter { sample in
            sample.name == "trax_relay_\(name)"
                && labels.allSatisfy { sample.label($0.key) == $0.value }
        }
        return found.count == 1 ? found[0].value : nil
    }

    private mutating func open(_ name: String, type: String) throws {
        guard ["counter", "gauge", "histogram"].contains(type) else {
            throw Fault(description: "type \(type) of \(name)")
        }
        guard !families.contains(where: { $0.name == name }) else {
            throw Fault(description: "\(name) is described twice")
        }
        guard (type == "counter") == name.hasSuffix("_total") else {
            throw Fault(description: "\(name) is a \(type)")
        }
        families.append(Family(name: name, type: type))
    }

    private mutating func take(_ sample: Sample) throws {
        guard let family = families.last else { throw Fault(description: "no TYPE before samples") }
        let names =
            family.type == "histogram"
            ? ["_bucket", "_sum", "_count"].map { family.name + $0 } : [family.name]
        guard names.contains(sample.name) else {
            throw Fault(description: "\(sample.name) stands in the family \(family.name)")
        }
        let isKnown = family.samples.contains { other in
            other.name == sample.name
                && other.labels.map { "\($0)" } == sample.labels.map { "\($0)" }
        }
        guard !isKnown else {
            throw Fault(description: "\(sample.name) twice with one set of labels")
        }
        families[families.count - 1].samples.append(sample)
    }

    /// `name{label="value",…} value`.
    private static func sample(_ line: Substring) throws -> Sample {
        var rest = line[...]
        func fault() -> Fault { Fault(description: "no sample: \(line)") }
        func word() -> String {
            let word = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
            rest = rest.dropFirst(word.count)
            return String(word)
        }
        let name = word()
        guard name.hasPrefix("trax_relay_") else { throw fault() }
        var labels: [(name: String, value: String)] = []
        if rest.first == "{" {
            repeat {
                rest = rest.dropFirst()
                let label = word()
                guard !label.isEmpty, rest.hasPrefix("=\"") else { throw fault() }
                rest = rest.dropFirst(2)
                labels.append((label, try text(&rest)))
            } while rest.first == ","
            guard rest.first == "}" else { throw fault() }
            rest = rest.dropFirst()
        }
        guard rest.first == " ", let value = Double(rest.dropFirst()), value.isFinite else {
            throw fault()
        }
        return Sample(name: name, labels: labels, value: value)
    }

    /// A label's value up to its quote, unescaped.
    private static func text(_ rest: inout Substring) throws -> String {
        var text = ""
        var isEscaped = false
        for scalar in rest.unicodeScalars {
            rest = Substring(rest.unicodeScalars.dropFirst())
            switch (isEscaped, scalar) {
            case (true, "\\"), (true, "\""): text.unicodeScalars.append(scalar)
            case (true, "n"): text += "\n"
            case (true, _): throw Fault(description: "an escape that there is not")
            case (false, "\""): return text
            case (false, "\\"):
                isEscaped = true
                continue
            case (false, _): text.unicodeScalars.append(scalar)
            }
            isEscaped = false
        }
        throw Fault(description: "a label without an end")
    }

    /// Buckets ascend and are cumulative, the last is `+Inf` and is the count.
    private static func check(_ family: Family) throws {
        var series: [String: [Sample]] = [:]
        for sample in family.samples {
            let key = sample.labels.filter { $0.name != "le" }.map { "\($0)" }.joined()
            series[key, default: []].append(sample)
        }
        for samples in series.values {
            let buckets = samples.filter { $0.name.hasSuffix("_bucket") }
            let bounds = buckets.compactMap { $0.label("le") }
            let numbers = bounds.dropLast().compactMap { Double($0) }
            let counts = buckets.map(\.value)
            guard bounds.last == "+Inf", numbers.count == bounds.count - 1,
                numbers == numbers.sorted(), Set(numbers).count == numbers.count,
                counts == counts.sorted(),
                samples.map(\.name).suffix(2) == [family.name + "_sum", family.name + "_count"],
                samples.last?.value == counts.last
            else { throw Fault(description: "\(family.name) is no histogram") }
        }
    }
}
