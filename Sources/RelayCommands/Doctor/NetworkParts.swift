internal import ConnectionEvents
internal import Glibc
internal import HTTPClient
internal import RelayConfiguration
internal import RelayCore
internal import RelayRuntime

/// What a bug report says of the API's address, the clock and a running relay.
enum NetworkParts {
    /// The most of a page that is shown.
    static let pageLimit = 64 << 10
    static let patience: Duration = .seconds(5)

    /// Name, addresses, connection, and the clock beside the API's.
    static func api(_ pipeline: Pipeline) -> [String] {
        let base = pipeline.source.baseURL.text
        let authority = base.drop { $0 != ":" }.dropFirst(3).prefix { $0 != "/" }
        let host = HostAndPort(String(authority))?.host ?? String(authority)
        var lines = addresses(of: host)
        let ca = EnvironmentVariables.process["TRAX_RELAY_CA_FILE"]
        lines.append("TRAX_RELAY_CA_FILE \(ca ?? "not set")")
        let proxies = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        let set = proxies.filter { EnvironmentVariables.process[$0] != nil }
        lines.append("proxies set: \(set.isEmpty ? "none" : set.joined(separator: ", "))")
        do throws(HTTPError) {
            let client = try HTTPClient(
                HTTPLoopConfiguration(
                    userAgent: "trax-relay/\(RelayVersion.text)", maximumBody: pageLimit,
                    caFile: ca))
            let before = RelayClock.wall
            let answer = try client.perform(
                HTTPRequest(.get, url: "\(base)/v1/health", timeout: patience))
            lines.append(
                "GET /v1/health: HTTP \(answer.status) (\(answer.httpVersion)),"
                    + " \(answer.totalTime.wholeMilliseconds) ms")
            lines.append(skew(answer.header("Date"), between: before, and: RelayClock.wall))
        } catch {
            lines.append("GET /v1/health: \(error.reason) (\(error.code))")
        }
        return lines
    }

    /// Where a relay of this pipeline answers on this machine.
    static func address(of pipeline: Pipeline) -> String {
        let listen = pipeline.http.listen
        let anywhere = ["0.0.0.0", "::"]
        guard anywhere.contains(listen.host) else { return "\(listen)" }
        return "127.0.0.1:\(listen.port ?? 0)"
    }

    /// A page of a running relay that needs no token.
    static func page(_ path: String, at address: String) throws(DoctorFailure) -> [String] {
        do throws(HTTPError) {
            let client = try HTTPClient(HTTPLoopConfiguration(maximumBody: 4 << 20))
            let answer = try client.perform(
                HTTPRequest(.get, url: "http://\(address)/\(path)", timeout: patience))
            let body = String(decoding: answer.body.prefix(pageLimit), as: UTF8.self)
            let rest = answer.body.count - pageLimit
            return ["HTTP \(answer.status)"] + body.split(separator: "\n").map(String.init)
                + (rest > 0 ? ["… \(rest) bytes more"] : [])
        } catch {
            throw DoctorFailure("\(error.reason) (\(error.code)); perhaps no relay runs")
        }
    }

    /// The API's header has whole seconds, and the answer took its time.
    private static func skew(
        _ header: String?, between before: Timestamp, and after: Timestamp
    ) -> String {
        guard let header, let date = Timestamp(httpDate: header) else {
            return "clock: the API sends no Date to compare with"
        }
        let early = date.milliseconds + 1000 - before.milliseconds
        let late = date.milliseconds - after.milliseconds
        if early >= 0, late <= 0 { return "clock: agrees with the API's to a second" }
        let seconds = (early < 0 ? -early : late) / 1000 + 1
        return "clock: \(early < 0 ? "ahead of" : "behind") the API's by about \(seconds) s:"
            + " look at NTP"
    }

    /// What the system's resolver says of a host.
    private static func addresses(of host: String) -> [String] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        let began = ContinuousClock.now
        let code = unsafe getaddrinfo(host, nil, &hints, &first)
        let took = (ContinuousClock.now - began).wholeMilliseconds
        guard code == 0 else {
            return ["DNS of \(host): \(unsafe String(cString: gai_strerror(code))) (\(took) ms)"]
        }
        defer { unsafe freeaddrinfo(first) }
        var found: [String] = []
        var next = unsafe first
        while let entry = unsafe next {
            var name = [CChar](repeating: 0, count: 64)
            let named = unsafe getnameinfo(
                entry.pointee.ai_addr, entry.pointee.ai_addrlen, &name, socklen_t(name.count), nil,
                0, NI_NUMERICHOST)
            if named == 0 {
                found.append(
                    String(
                        decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) },
                        as: UTF8.self))
            }
            unsafe next = entry.pointee.ai_next
        }
        return ["DNS of \(host): \(found.joined(separator: ", ")) (\(took) ms)"]
    }
}
