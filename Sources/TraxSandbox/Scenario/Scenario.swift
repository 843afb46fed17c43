internal import JSON

/// What is to happen by itself: how many accounts, how often their connections break and are
/// repaired, and when the API has an outage.
///
/// A value read from JSON; `docs/SANDBOX.md` names the members. Times are in seconds of the
/// scenario's own clock, which runs `speed` times as fast as the real one.
public struct Scenario: Sendable {
    /// Something wrong with the API for a while.
    struct Outage: Sendable {
        let start: Double
        let length: Double
        /// When it comes again; nil never.
        let every: Double?
        let fault: SandboxFault
    }

    /// What happens to a connection, on average.
    struct Breakage: Sendable {
        /// Breaks of one connection in a day.
        var perDay = 0.01
        /// How long one stays broken, on average.
        var repairAfter = 4 * 3600.0
        /// Of those broken, how many are repaired in place; of the rest half is linked anew as a
        /// second row, half is unlinked.
        var repaired = 0.8
        /// The statuses that a broken one may have.
        var statuses = ["expired", "revoked", "error"]
    }

    let speed: Double
    let accounts: Int
    let prefix: String
    let connections: Int
    let breakage: Breakage?
    let outages: [Outage]

    /// Reads a scenario.
    ///
    /// - Throws: `SandboxError` of kind `invalid` whose reason names the member.
    public init(parsing bytes: [UInt8]) throws(SandboxError) {
        let body = try ControlBody(bytes)
        try body.allow("speed", "accounts", "prefix", "connections", "breakage", "outages")
        speed = try body.optionalNumber("speed") ?? 1
        accounts = try body.optionalInteger("accounts") ?? 0
        prefix = try body.optionalString("prefix") ?? "acct_"
        connections = try body.optionalInteger("connections") ?? 2
        guard (0.001...1_000_000).contains(speed), (0...100_000).contains(accounts),
            (0...1000).contains(connections)
        else {
            throw SandboxError(
                .invalid,
                "\"speed\" must be 0.001 to 1,000,000, \"accounts\" 0 to 100,000, "
                    + "\"connections\" 0 to 1,000.")
        }
        breakage = try body.optionalObject("breakage").map { (body) throws(SandboxError) in
            try Self.breakage(body)
        }
        var outages: [Outage] = []
        for value in body.object["outages"]?.arrayValue ?? [] {
            guard let object = value.objectValue else {
                throw SandboxError(.invalid, "\"outages\" must be an array of objects.")
            }
            outages.append(try Self.outage(ControlBody(object)))
        }
        guard outages.count <= 100 else {
            throw SandboxError(.invalid, "A scenario has at most 100 outages.")
        }
        self.outages = outages
    }

    private static func breakage(_ body: ControlBody) throws(SandboxError) -> Breakage {
        try body.allow("perDay", "repairAfter", "repaired", "statuses")
        var breakage = Breakage()
        breakage.perDay = try body.optionalNumber("perDay") ?? breakage.perDay
        breakage.repairAfter = try body.optionalNumber("repairAfter") ?? breakage.repairAfter
        breakage.repaired = try body.optionalNumber("repaired") ?? breakage.repaired
        breakage.statuses = try body.optionalStrings("statuses") ?? breakage.statuses
        guard (0...86_400).contains(breakage.perDay), breakage.repairAfter > 0,
            (0...1).contains(breakage.repaired), !breakage.statuses.isEmpty
        else {
            throw SandboxError(
                .invalid,
                "\"perDay\" must be 0 to 86,400, \"repairAfter\" above 0, \"repaired\" 0 to 1, "
                    + "\"statuses\" not empty.")
        }
        return breakage
    }

    private static func outage(_ body: ControlBody) throws(SandboxError) -> Outage {
        try body.allow(
            "at", "seconds", "every", "kind", "account", "laterPages", "status", "code",
            "retryAfter", "milliseconds")
        let start = try body.optionalNumber("at") ?? 0
        let length = try body.optionalNumber("seconds") ?? 30
        let every = try body.optionalNumber("every")
        guard start >= 0, length > 0, every.map({ $0 > length }) ?? true else {
            throw SandboxError(
                .invalid,
                "\"at\" of an outage must be 0 or more, \"seconds\" above 0, \"every\" longer.")
        }
        return Outage(
            start: start, length: length, every: every, fault: try SandboxFault(body))
    }
}
