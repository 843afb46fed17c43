internal import CYAML

/// What libyaml reports next, in Swift's own types.
struct YAMLEvent {
    enum Kind {
        case streamStart, streamEnd, documentStart, documentEnd
        case alias(String)
        case scalar(String, isPlain: Bool)
        case sequenceStart, sequenceEnd, mappingStart, mappingEnd
    }

    let kind: Kind
    let position: YAMLPosition
    let anchor: String?
    let tag: String?
}

/// libyaml's event parser over bytes that it owns.
///
/// One thread. `deinit` frees the parser and the copy of the text. libyaml `yaml.h`.
@safe final class EventStream {
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let input: UnsafeMutableBufferPointer<UInt8>

    init(_ bytes: [UInt8]) {
        unsafe input = .allocate(capacity: bytes.count)
        _ = unsafe input.initialize(from: bytes)
        unsafe parser = .allocate(capacity: 1)
        unsafe parser.initialize(to: yaml_parser_t())
        // 0 means out of memory, as Swift's own allocations trap then.
        precondition(unsafe yaml_parser_initialize(parser) == 1, "libyaml: out of memory")
        unsafe yaml_parser_set_input_string(parser, input.baseAddress, input.count)
    }

    deinit {
        unsafe yaml_parser_delete(parser)
        unsafe parser.deallocate()
        unsafe input.deallocate()
    }

    /// Takes the next event; not to be called again after `streamEnd` or an error.
    func next() throws(YAMLError) -> YAMLEvent {
        var event = unsafe yaml_event_t()
        guard unsafe yaml_parser_parse(parser, &event) == 1 else { throw mistake() }
        defer { unsafe yaml_event_delete(&event) }
        return unsafe YAMLEvent(event)
    }

    private func mistake() -> YAMLError {
        let problem = unsafe parser.pointee.problem.map { unsafe String(cString: $0) }
        switch unsafe parser.pointee.error {
        case YAML_READER_ERROR:
            return YAMLError(
                .syntax, at: unsafe YAMLPosition(parser.pointee.mark),
                "\(problem ?? "unreadable"): save the file as UTF-8")
        default:
            let position = unsafe YAMLPosition(parser.pointee.problem_mark)
            let context = unsafe parser.pointee.context.map { unsafe String(cString: $0) }
            let start = unsafe YAMLPosition(parser.pointee.context_mark)
            return YAMLError(
                .syntax, at: position,
                Self.reason(
                    problem ?? "not YAML", context: context, from: start, at: position,
                    onTab: unsafe isTab(Int(parser.pointee.problem_mark.index))))
        }
    }

    /// libyaml's words hold nothing of the text; they are kept, and what helps is added.
    private static func reason(
        _ problem: String, context: String?, from start: YAMLPosition, at position: YAMLPosition,
        onTab: Bool
    ) -> String {
        if onTab { return "a tab stands where only spaces may: indent with spaces" }
        var reason = problem
        if let context {
            reason += " \(context)"
            if start.line != position.line { reason += " that begins at \(start)" }
        }
        return reason
    }

    private func isTab(_ index: Int) -> Bool {
        // `index` counts characters, which are bytes up to the first one outside ASCII; past such,
        // look is not worth the walk and the general reason is given.
        unsafe index < input.count && input[index] == UInt8(ascii: "\t")
    }
}

extension YAMLPosition {
    fileprivate init(_ mark: yaml_mark_t) {
        self.init(line: Int(mark.line) + 1, column: Int(mark.column) + 1)
    }
}

extension YAMLEvent {
    fileprivate init(_ event: yaml_event_t) {
        var anchor: UnsafeMutablePointer<yaml_char_t>?
        var tag: UnsafeMutablePointer<yaml_char_t>?
        switch unsafe event.type {
        case YAML_STREAM_START_EVENT: kind = .streamStart
        case YAML_STREAM_END_EVENT: kind = .streamEnd
        case YAML_DOCUMENT_START_EVENT: kind = .documentStart
        case YAML_DOCUMENT_END_EVENT: kind = .documentEnd
        case YAML_ALIAS_EVENT:
            kind = .alias(unsafe Self.text(event.data.alias.anchor) ?? "")
        case YAML_SCALAR_EVENT:
            let scalar = unsafe event.data.scalar
            unsafe anchor = scalar.anchor
            unsafe tag = scalar.tag
            let bytes = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            kind = .scalar(
                unsafe String(decoding: bytes, as: UTF8.self),
                isPlain: unsafe scalar.style == YAML_PLAIN_SCALAR_STYLE)
        case YAML_SEQUENCE_START_EVENT:
            kind = .sequenceStart
            unsafe anchor = event.data.sequence_start.anchor
            unsafe tag = event.data.sequence_start.tag
        case YAML_SEQUENCE_END_EVENT: kind = .sequenceEnd
        case YAML_MAPPING_START_EVENT:
            kind = .mappingStart
            unsafe anchor = event.data.mapping_start.anchor
            unsafe tag = event.data.mapping_start.tag
        default: kind = .mappingEnd
        }
        position = unsafe YAMLPosition(event.start_mark)
        self.anchor = unsafe Self.text(anchor)
        self.tag = unsafe Self.text(tag)
    }

    private static func text(_ pointer: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        unsafe pointer.map { unsafe String(cString: $0) }
    }
}
