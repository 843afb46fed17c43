internal import JSON

/// The body of `POST /v1/connections/link`.
struct LinkRequest {
    let platform: Platform
    let target: ReturnTarget?
    let scopes: [String]?
    let reconnect: String?

    init(_ body: JSONObject) throws(APIFailure) {
        guard let name = body["platform"]?.stringValue else {
            throw .invalidRequest("platform must be a string.")
        }
        guard let platform = Platform.named(name) else {
            throw .invalidRequest(Self.refusal(of: name))
        }
        self.platform = platform
        if let value = body["returnTo"] {
            guard let target = value.stringValue.flatMap(ReturnTarget.init) else {
                throw .invalidRequest("returnTo must be an https address on a host of TRaX's.")
            }
            self.target = target
        } else {
            target = nil
        }
        if let value = body["scopes"] {
            let scopes = value.arrayValue?.compactMap(\.stringValue)
            guard let scopes, scopes.count == value.arrayValue?.count,
                (1...50).contains(scopes.count), scopes.allSatisfy(Self.isScope)
            else { throw .invalidRequest("scopes must be an array of 1 to 50 scopes.") }
            self.scopes = scopes
        } else {
            scopes = nil
        }
        if let value = body["reconnectConnectionId"] {
            guard let id = value.stringValue, (1...512).contains(id.unicodeScalars.count) else {
                throw .invalidRequest("reconnectConnectionId must be a connection's id.")
            }
            reconnect = id
        } else {
            reconnect = nil
        }
    }

    private static func refusal(of platform: String) -> String {
        if platform == "trovo" { return "trovo has no credentials here; it cannot be linked." }
        if Platform.manual[platform] != nil {
            return "This platform takes a stream key: POST /v1/connections/manual."
        }
        let known = Platform.linkable.map(\.id).joined(separator: ", ")
        return "platform must be one of \(known)."
    }

    /// A scope token of RFC 6749, 3.3, of at most 200 characters.
    private static func isScope(_ text: String) -> Bool {
        (1...200).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
            }
    }
}

/// The body of `POST /v1/connections/manual`.
struct ManualRequest {
    let platform: String
    let label: String

    init(_ body: JSONObject) throws(APIFailure) {
        guard let platform = body["platform"]?.stringValue, let label = Platform.manual[platform]
        else {
            let known = Platform.manual.keys.sorted().joined(separator: ", ")
            throw .invalidRequest("platform must be one of \(known).")
        }
        self.platform = platform
        guard let key = body["streamKey"]?.stringValue, (1...512).contains(key.utf8.count),
            key.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw .invalidRequest("streamKey must be 1 to 512 printable characters.") }
        if let value = body["displayName"] {
            guard let name = value.stringValue, (1...100).contains(name.unicodeScalars.count) else {
                throw .invalidRequest("displayName must be 1 to 100 characters.")
            }
            self.label = name
        } else {
            self.label = label
        }
    }
}
