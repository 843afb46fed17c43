public import ConnectionEvents
internal import HTTPClient
internal import JSON
internal import RelayCore

/// One call of the API: what is asked, and how its answer is read.
///
/// A value that asks nothing by itself; ``TraxClient`` carries it out.
public struct TraxCall<Result: Sendable>: Sendable {
    let method: HTTPMethod
    /// From `/v1` on, with its query.
    let path: String
    var body: [UInt8]?
    var needsCredential = true
    let read: @Sendable (TraxAnswer) throws(TraxError) -> Result
    /// What an answer that is no success means all the same.
    var forgives: @Sendable (TraxError) -> Result? = { _ in nil }
}

/// A success, before it is read.
struct TraxAnswer: Sendable {
    let status: Int
    let body: [UInt8]
    let requestID: String

    /// The JSON object of the body.
    func object() throws(TraxError) -> JSONObject {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: body)
        } catch {
            throw odd("not_json", "the answer is not JSON: \(error.reason)")
        }
        guard let object = value.objectValue else {
            throw odd("bad_envelope", "the answer is no JSON object")
        }
        return object
    }

    /// A 2xx that is not what the API promises.
    func odd(_ code: String, _ reason: String) -> TraxError {
        TraxError(
            kind: .unavailable, code: code, reason: "HTTP \(status), but \(reason).",
            status: status, requestID: requestID)
    }
}

extension TraxCall where Result == TraxPage<TraxConnection> {
    /// `GET /v1/connections`: one page.
    ///
    /// - Parameters:
    ///   - limit: rows of the page, 1 to 200.
    ///   - cursor: of the page before; nil from the start.
    public static func connections(limit: Int = 200, after cursor: String? = nil) -> TraxCall {
        .page("connections", limit: limit, after: cursor) { (value, number) throws(WalkFailure) in
            TraxConnection(try ListedRow.decode(value, number: number).get())
        }
    }
}

extension TraxCall where Result == TraxPage<TraxStudio> {
    /// `GET /v1/studios`, the operation `listStudios`: one page.
    ///
    /// - Parameters:
    ///   - limit: rows of the page, 1 to 200.
    ///   - cursor: of the page before; nil from the start.
    public static func studios(limit: Int = 200, after cursor: String? = nil) -> TraxCall {
        .page("studios", limit: limit, after: cursor) { (value, number) throws(WalkFailure) in
            guard var object = value.objectValue, let id = object["id"]?.stringValue, !id.isEmpty
            else {
                throw WalkFailure(code: "bad_row", reason: "row \(number) has no `id`")
            }
            let name = object["name"]?.stringValue
            object["id"] = nil
            object["name"] = nil
            return TraxStudio(id: id, name: name, otherFields: object)
        }
    }
}

extension TraxCall where Result == LinkTicket {
    /// `POST /v1/connections/link`: the address of a consent screen.
    ///
    /// Scope `connections:write`.
    public static func link(_ request: LinkRequest) -> TraxCall {
        var object: JSONObject = ["platform": .string(request.platform.rawValue)]
        if let returnTo = request.returnTo { object["returnTo"] = .string(returnTo) }
        if let scopes = request.scopes {
            object["scopes"] = .array(scopes.map { .string($0) })
        }
        if let id = request.reconnecting { object["reconnectConnectionId"] = .string(id.text) }
        return TraxCall(
            method: .post, path: "/v1/connections/link",
            body: JSONValue.object(object).serialized(),
            read: { (answer) throws(TraxError) in
                let object = try answer.object()
                guard let url = object["authorizationUrl"]?.stringValue, Self.isOpenable(url),
                    let state = object["state"]?.stringValue.flatMap({ LinkState($0) })
                else {
                    throw answer.odd("bad_ticket", "it has no usable authorizationUrl and state")
                }
                return LinkTicket(authorizationURL: url, state: state)
            })
    }

    /// Whether it is an http address of printable characters, so that it may be shown and opened.
    private static func isOpenable(_ url: String) -> Bool {
        (url.hasPrefix("https://") || url.hasPrefix("http://")) && url.utf8.count <= 8192
            && url.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") }
    }
}

extension TraxCall where Result == TraxConnection {
    /// `POST /v1/connections/manual`: keeps a pasted stream key.
    ///
    /// Scope `connections:write`.
    public static func addManualKey(_ key: ManualKey) -> TraxCall {
        var object: JSONObject = [
            "platform": .string(key.platform.rawValue), "streamKey": .string(key.streamKey),
        ]
        if let name = key.displayName { object["displayName"] = .string(name) }
        return TraxCall(
            method: .post, path: "/v1/connections/manual",
            body: JSONValue.object(object).serialized(),
            read: { (answer) throws(TraxError) in
                do throws(WalkFailure) {
                    let object = JSONValue.object(try answer.objectOrFailure())
                    return TraxConnection(try ListedRow.decode(object, number: 1).get())
                } catch {
                    throw answer.odd(error.code, error.reason)
                }
            })
    }
}

extension TraxCall where Result == Void {
    /// `DELETE /v1/connections/{id}`: unlinks.
    ///
    /// Scope `connections:write`. Sent again where its answer was lost, and then the row's absence
    /// is success, too.
    public static func unlink(_ id: ConnectionID) -> TraxCall {
        TraxCall(
            method: .delete, path: "/v1/connections/\(QueryValue.encode(id.text))",
            read: { _ in },
            forgives: { $0.status == 404 && $0.mayHaveBeenDone ? () : nil })
    }

}

extension TraxCall where Result == TraxHealth {
    /// `GET /v1/health`, without a credential: what the API says of itself.
    public static var health: TraxCall {
        TraxCall(
            method: .get, path: "/v1/health", needsCredential: false,
            read: { (answer) throws(TraxError) in
                var fields = try answer.object()
                let status = fields["status"]?.stringValue
                fields["status"] = nil
                return TraxHealth(status: status, otherFields: fields)
            })
    }
}

extension TraxCall {
    private static func page<Row: Sendable>(
        _ list: String, limit: Int, after cursor: String?,
        row: @escaping @Sendable (JSONValue, Int) throws(WalkFailure) -> Row
    ) -> TraxCall where Result == TraxPage<Row> {
        precondition((1...200).contains(limit), "a page of 1 to 200 rows")
        let rest = cursor.map { "&cursor=\(QueryValue.encode($0))" } ?? ""
        return TraxCall(
            method: .get, path: "/v1/\(list)?limit=\(limit)\(rest)",
            read: { (answer) throws(TraxError) in
                do throws(WalkFailure) {
                    let page = try unsafe answer.body.withUnsafeBytes {
                        unsafe ListPage.read($0)
                    }.get()
                    var rows: [Row] = []
                    for (index, value) in page.rows.enumerated() {
                        rows.append(try row(value, index + 1))
                    }
                    return TraxPage(rows: rows, nextCursor: page.nextCursor)
                } catch {
                    throw answer.odd(error.code, error.reason)
                }
            })
    }
}

extension TraxAnswer {
    fileprivate func objectOrFailure() throws(WalkFailure) -> JSONObject {
        do throws(TraxError) {
            return try object()
        } catch {
            throw WalkFailure(code: error.code, reason: "the answer is no JSON object")
        }
    }
}
