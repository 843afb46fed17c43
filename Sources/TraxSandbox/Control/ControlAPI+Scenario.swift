internal import HTTPServer
internal import JSON

/// What happens by itself.
extension ControlAPI {
    /// `/sandbox/scenario`.
    func scenario() throws(SandboxError) -> HTTPServerReply {
        let now = state.now
        switch request.method {
        case "POST":
            let scenario = try Scenario(parsing: request.body)
            let made = try state.change { (state) throws(SandboxError) in
                try state.begin(scenario, at: now)
            }
            let rows = made.map { account, key -> JSONValue in
                ["account": .string(account), "apiKey": .string(key)]
            }
            return Self.json(["data": .array(rows)], status: 201)
        case "DELETE":
            state.read { $0.play = nil }
            return Self.done
        case "GET":
            let (story, seconds) = state.read { state in
                state.catchUp(at: now)
                return (state.story, state.play?.time(at: now))
            }
            guard var object = story.objectValue, let seconds else {
                throw SandboxError(.notFound, "No scenario is played.")
            }
            object["seconds"] = JSONValue(Int(seconds))
            return Self.json(.object(object))
        default: return .methodNotAllowed("GET", "POST", "DELETE")
        }
    }
}
