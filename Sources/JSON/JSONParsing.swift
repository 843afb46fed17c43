internal import CSimdjson

extension JSONValue {
    /// The most containers that may stand in each other: 512.
    ///
    /// Bounds the stack in the face of a hostile `[[[[…`.
    public static var depthLimit: Int { 512 }

    /// The most bytes of one document: 256 MiB.
    public static var sizeLimit: Int { 256 << 20 }

    /// Above this many bytes a thread's parser is not kept for the next document.
    static var keptCapacity: Int { 8 << 20 }

    /// Parses one JSON document.
    ///
    /// Every document of RFC 8259 is taken: numbers of any length keep their text, a byte order
    /// mark at the start is skipped, of a member named twice the last counts. The escape of half a
    /// surrogate pair, which JavaScript writes where it cuts a text, becomes U+FFFD.
    ///
    /// - Throws: `JSONError` with the place where a document breaks off or breaks the rules.
    public init(parsing bytes: [UInt8]) throws(JSONError) {
        let value = unsafe bytes.withUnsafeBytes { unsafe Self.fast($0) }
        if let value {
            self = value
        } else {
            self = try Self.strict(bytes)
        }
    }

    /// Parses one JSON document that another owner keeps alive for the time of the call.
    ///
    /// - Throws: as `init(parsing:)` over an array.
    public init(parsing bytes: UnsafeRawBufferPointer) throws(JSONError) {
        if let value = unsafe Self.fast(bytes) {
            self = value
        } else {
            self = unsafe try Self.strict([UInt8](bytes))
        }
    }

    /// Parses one JSON document in which no object names a member twice.
    ///
    /// For requests that do something: two readers of a repeated member may each believe another
    /// value. Slower than `init(parsing:)`, so for small documents (RFC 8259, section 4).
    ///
    /// - Throws: as `init(parsing:)`, and `malformed` where a member is repeated.
    public init(parsingWithoutRepeats bytes: [UInt8]) throws(JSONError) {
        self = try Self.strict(bytes, refusesRepeats: true)
    }

    /// simdjson's answer; nil where it refuses, rightly or not.
    private static func fast(_ bytes: UnsafeRawBufferPointer) -> JSONValue? {
        unsafe SimdDocument.withParsed(bytes) { document in
            var walk = TapeWalk(document)
            return walk.value()
        }
    }

    /// The answer of the slow reader, which knows every legal document and names every mistake.
    private static func strict(
        _ bytes: [UInt8], refusesRepeats: Bool = false
    ) throws(JSONError) -> JSONValue {
        guard bytes.count <= sizeLimit else {
            throw JSONError(.tooLarge, at: nil, "more than \(sizeLimit) bytes")
        }
        var reader = StrictReader(bytes, depthLimit: depthLimit)
        reader.refusesRepeats = refusesRepeats
        return try reader.document()
    }
}

/// A document in the calling thread's simdjson parser.
@safe struct SimdDocument {
    let tape: UnsafePointer<UInt64>
    let strings: UnsafePointer<UInt8>
    let tokens: UnsafeBufferPointer<UInt32>
    let source: UnsafeRawBufferPointer

    /// Parses and lets `body` look at the result; nil where simdjson refuses.
    ///
    /// `body` must not parse: the document lives in the thread's one parser.
    static func withParsed<Result>(
        _ bytes: UnsafeRawBufferPointer, _ body: (SimdDocument) -> Result
    ) -> Result? {
        let source = unsafe UnsafeRawBufferPointer(rebasing: bytes.dropFirst(markLength(bytes)))
        guard unsafe !source.isEmpty, source.count <= JSONValue.sizeLimit else { return nil }
        var parsed = unsafe csimdjson_document()
        let start = unsafe source.assumingMemoryBound(to: UInt8.self).baseAddress
        // simdjson refuses this depth itself, and an empty innermost container counts for nothing:
        // what it lets through is within our limit, and the slow reader judges the rest.
        let done = unsafe csimdjson_parse(start, source.count, JSONValue.depthLimit, &parsed)
        defer { csimdjson_trim(JSONValue.keptCapacity) }
        guard done == 1, let tape = unsafe parsed.tape, let strings = unsafe parsed.strings else {
            return nil
        }
        let tokens = unsafe UnsafeBufferPointer(start: parsed.tokens, count: parsed.token_count)
        return unsafe body(
            SimdDocument(tape: tape, strings: strings, tokens: tokens, source: source))
    }

    /// The length of a UTF-8 byte order mark at the start: 3 or 0.
    private static func markLength(_ bytes: UnsafeRawBufferPointer) -> Int {
        unsafe bytes.starts(with: StrictReader.byteOrderMark) ? 3 : 0
    }
}
