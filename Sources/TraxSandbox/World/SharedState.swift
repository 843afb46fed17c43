public import JSON
internal import Threading

/// The sandbox's world, shared by its HTTP server and the program that drives it.
///
/// Threads: any; every call is whole before the next begins. What is here for convenience can be
/// done with `change` too.
public final class SharedState: Sendable {
    private let state: Lock<SandboxState>
    let signer = TokenSigner()
    private let start = ContinuousClock.now

    init(_ state: SandboxState) {
        self.state = Lock(state)
    }

    /// Does several things at once; nothing is served in between.
    ///
    /// `body` must not block or come back here.
    public func change<Result>(
        _ body: (inout SandboxState) throws(SandboxError) -> Result
    ) throws(SandboxError) -> Result {
        try state.withLock(body)
    }

    /// Adds an account with one key, which is returned.
    public func createAccount(
        _ id: String, scopes: [String] = SandboxState.defaultScopes
    ) throws(SandboxError) -> String {
        let now = now
        return try change { (state) throws(SandboxError) in
            try state.createAccount(id, scopes: scopes, at: now)
        }
    }

    /// Adds a connection; its id is returned.
    @discardableResult
    public func addConnection(
        to account: String, platform: String, id: String? = nil, status: String = "active",
        grantedScopes: [String] = ["read"], displayName: String? = nil, extra: JSONObject = [:]
    ) throws(SandboxError) -> String {
        try change { (state) throws(SandboxError) in
            try state.addConnection(
                to: account, platform: platform, id: id, status: status,
                grantedScopes: grantedScopes, displayName: displayName, extra: extra)
        }
    }

    /// Sets the status of a connection: breaks or repairs it.
    public func setStatus(
        _ status: String, of id: String, account: String
    ) throws(SandboxError) {
        try change { (state) throws(SandboxError) in
            try state.setStatus(status, of: id, account: account)
        }
    }

    /// Sets what the platform granted.
    public func setScopes(
        _ scopes: [String], of id: String, account: String
    ) throws(SandboxError) {
        try change { (state) throws(SandboxError) in
            try state.setScopes(scopes, of: id, account: account)
        }
    }

    /// Removes a connection: it is in no list any more.
    public func removeConnection(_ id: String, of account: String) throws(SandboxError) {
        try change { (state) throws(SandboxError) in
            try state.removeConnection(id, of: account)
        }
    }

    /// Has the API refuse a key from now on.
    public func revokeKey(_ key: String) throws(SandboxError) {
        try change { (state) throws(SandboxError) in try state.revokeKey(key) }
    }

    /// Injects a fault; the number that clears it is returned.
    @discardableResult
    public func inject(_ fault: SandboxFault) throws(SandboxError) -> Int {
        try change { (state) throws(SandboxError) in try state.inject(fault) }
    }

    /// Clears the faults of one account, or all.
    public func clearFaults(of account: String? = nil) {
        read { $0.clearFaults(of: account) }
    }

    /// The clock of the rate buckets.
    var now: Duration { start.duration(to: .now) }

    /// Does what the API can refuse.
    func attempt<Result>(
        _ body: (inout SandboxState) throws(APIFailure) -> Result
    ) throws(APIFailure) -> Result {
        try state.withLock(body)
    }

    /// Does what the identity provider can refuse.
    func exchange<Result>(
        _ body: (inout SandboxState) throws(IdentityFailure) -> Result
    ) throws(IdentityFailure) -> Result {
        try state.withLock(body)
    }

    /// Reads, or changes what cannot go wrong.
    func read<Result>(_ body: (inout SandboxState) -> Result) -> Result {
        state.withLock(body)
    }
}
