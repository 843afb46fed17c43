/// Builds the tree of one document from events, within the limits of `YAMLDocument`.
struct TreeBuilder {
    private let events: EventStream
    private var anchors: [String: YAMLNode] = [:]
    private var opened: Set<String> = []
    private var weight = 0
    private(set) var problems: [YAMLError] = []

    init(_ events: EventStream) {
        self.events = events
    }

    /// Reads to the end of the stream; nil where it holds no document.
    mutating func document() throws(YAMLError) -> YAMLNode? {
        var root: YAMLNode?
        var documents = 0
        while true {
            let event = try events.next()
            switch event.kind {
            case .streamStart, .documentEnd: continue
            case .streamEnd: return root
            case .documentStart:
                documents += 1
                guard documents == 1 else {
                    throw YAMLError(
                        .unsupported, at: event.position,
                        "a second document begins: one file holds one")
                }
            case .alias, .scalar, .sequenceStart, .sequenceEnd, .mappingStart, .mappingEnd:
                root = try node(event, depth: 1)
            }
        }
    }

    private mutating func node(_ event: YAMLEvent, depth: Int) throws(YAMLError) -> YAMLNode {
        if case .alias(let name) = event.kind { return try alias(name, at: event.position) }
        try count(1, at: event.position)
        let before = weight
        if let anchor = event.anchor { opened.insert(anchor) }
        let content = try content(event, depth: depth)
        let node = YAMLNode(
            content: content, position: event.position, weight: weight - before + 1)
        if let anchor = event.anchor {
            anchors[anchor] = node
            opened.remove(anchor)
        }
        return node
    }

    private mutating func content(
        _ event: YAMLEvent, depth: Int
    ) throws(YAMLError) -> YAMLNode.Content {
        guard depth <= YAMLDocument.depthLimit else {
            throw YAMLError(
                .tooLarge, at: event.position,
                "more than \(YAMLDocument.depthLimit) lists and mappings in each other")
        }
        switch event.kind {
        case .sequenceStart:
            note(tag: event.tag, allowed: ["seq"], at: event.position)
            return .sequence(try sequence(depth: depth))
        case .mappingStart:
            note(tag: event.tag, allowed: ["map"], at: event.position)
            return .mapping(try mapping(depth: depth))
        case .scalar(let text, let isPlain):
            note(
                tag: event.tag, allowed: ["str", "int", "bool", "float", "null"], at: event.position
            )
            let isText = event.tag == "!" || event.tag == Self.tagPrefix + "str"
            return .scalar(text, isPlain: isPlain && !isText)
        case .alias, .sequenceEnd, .mappingEnd, .streamStart, .streamEnd, .documentStart,
            .documentEnd:
            // libyaml's grammar puts none of these where a node belongs.
            throw YAMLError(.syntax, at: event.position, "a value is missing")
        }
    }

    private mutating func sequence(depth: Int) throws(YAMLError) -> [YAMLNode] {
        var elements: [YAMLNode] = []
        while true {
            let event = try events.next()
            if case .sequenceEnd = event.kind { return elements }
            elements.append(try node(event, depth: depth + 1))
        }
    }

    private mutating func mapping(depth: Int) throws(YAMLError) -> [YAMLNode.Entry] {
        var entries: [YAMLNode.Entry] = []
        var places: [[UInt8]: YAMLPosition] = [:]
        while true {
            let event = try events.next()
            if case .mappingEnd = event.kind { return entries }
            let key = try node(event, depth: depth + 1)
            let value = try node(try events.next(), depth: depth + 1)
            guard let text = key.text else {
                problems.append(YAMLError(.unsupported, at: event.position, "a key must be a text"))
                continue
            }
            if let first = places.updateValue(event.position, forKey: Array(text.utf8)) {
                places[Array(text.utf8)] = first
                problems.append(
                    YAMLError(
                        .duplicateKey, at: event.position,
                        "the key `\(text)` stands here again; it was first given at \(first)"))
                continue
            }
            entries.append(
                YAMLNode.Entry(key: text, keyPosition: event.position, value: value))
        }
    }

    private mutating func alias(
        _ name: String, at position: YAMLPosition
    ) throws(YAMLError) -> YAMLNode {
        guard !opened.contains(name) else {
            throw YAMLError(.unsupported, at: position, "`*\(name)` stands within its own anchor")
        }
        guard let node = anchors[name] else {
            throw YAMLError(
                .syntax, at: position, "there is no anchor `&\(name)` before this alias")
        }
        try count(node.weight, at: position)
        return node
    }

    /// Counts what a document grows to, so that a few aliases of aliases cannot fill the memory.
    private mutating func count(_ nodes: Int, at position: YAMLPosition) throws(YAMLError) {
        weight += nodes
        guard weight <= YAMLDocument.nodeLimit else {
            throw YAMLError(
                .tooLarge, at: position,
                "more than \(YAMLDocument.nodeLimit) values, counting what aliases repeat")
        }
    }

    private static let tagPrefix = "tag:yaml.org,2002:"

    private mutating func note(tag: String?, allowed: [String], at position: YAMLPosition) {
        guard let tag, tag != "!", !allowed.contains(where: { tag == Self.tagPrefix + $0 }) else {
            return
        }
        problems.append(
            YAMLError(.unsupported, at: position, "the tag `\(tag)` means nothing here: remove it"))
    }
}
