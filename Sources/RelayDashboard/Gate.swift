internal import HTTPServer

/// Who may ask: with a token whoever bears it; without one only pages and programs of this machine.
///
/// A page from elsewhere that a browser on this machine shows can reach loopback; its `Host` (DNS
/// rebinding) or its `Origin` gives it away.
enum Gate {
    /// Why a request is refused; nil where it may pass.
    ///
    /// - Parameter bearsToken: whether it bears the token; nil where none is asked for.
    static func refusal(
        of request: HTTPServerRequest, bearsToken: Bool?
    ) -> HTTPServerReply? {
        if let bearsToken {
            guard !bearsToken else { return nil }
            var refusal = HTTPServerReply.failure(
                request, 401, "unauthorized",
                "Send `Authorization: Bearer` and the token of http.token.")
            // RFC 9110, 11.6.1.
            refusal.headers.append(("WWW-Authenticate", "Bearer"))
            return refusal
        }
        guard let host = request.header("Host")?.lowercased(), isLoopback(host) else {
            return .failure(
                request, 403, "forbidden",
                "Without http.token only this machine may ask, by a loopback name in `Host`.")
        }
        guard let origin = request.header("Origin")?.lowercased() else { return nil }
        guard origin == "http://\(host)" else {
            return .failure(
                request, 403, "forbidden", "Without http.token no other `Origin` may ask.")
        }
        return nil
    }

    /// Whether an authority, as `localhost:7080` or `[::1]:7080`, is a loopback one.
    static func isLoopback(_ authority: String) -> Bool {
        if authority.hasPrefix("[") {
            return authority == "[::1]" || authority.hasPrefix("[::1]:")
        }
        let name = authority.split(separator: ":", maxSplits: 1).first ?? ""
        if name == "localhost" || name == "localhost." { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy {
                UInt8($0) != nil && $0.utf8.allSatisfy { (48...57).contains($0) }
            }
    }
}
