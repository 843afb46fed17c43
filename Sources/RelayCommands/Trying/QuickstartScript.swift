internal import ConnectionEvents
internal import Crypto
internal import RelayCore
internal import RelayJournal
internal import TraxSandbox

/// What happens to the scripted accounts of a quickstart, over and over.
struct QuickstartScript {
    /// One thing that happens in the sandbox, and what a newcomer is told of it.
    private struct Step: Sendable {
        /// Seconds after the step before.
        var wait: Double
        var text: String
        var act: @Sendable (SharedState) throws -> Void
    }

    private let state: SharedState
    private let register: AccountRegister
    private var next = 0
    private var dueAt: Duration

    init(state: SharedState, register: AccountRegister) {
        self.state = state
        self.register = register
        dueAt = .seconds(3)
    }

    /// Makes two accounts with what they have linked already, and puts them into the register.
    func begin() throws {
        for (account, rows) in [
            ("ada", [("conn_youtube", "youtube"), ("conn_twitch", "twitch")]),
            ("grace", [("conn_kick", "kick")]),
        ] {
            let key = try state.createAccount(account)
            for (id, platform) in rows {
                try state.addConnection(
                    to: account, platform: platform, id: id,
                    grantedScopes: ["channel:manage", "chat:read"])
            }
            guard let accountID = AccountID(account) else { continue }
            try register.add(
                AccountEntry(
                    account: accountID, credential: Secret(key), interval: nil, isPaused: nil,
                    labels: [:], line: 0))
        }
    }

    /// Does what is due, and says it.
    mutating func advance(after elapsed: Duration, say: (String) -> Void) throws {
        while elapsed >= dueAt {
            let step = Self.steps[next]
            say("» \(step.text)")
            try step.act(state)
            next = (next + 1) % Self.steps.count
            dueAt += .seconds(Self.steps[next].wait)
        }
    }

    private static let steps: [Step] = [
        Step(wait: 6, text: "ada's YouTube link expires.") {
            try $0.setStatus("expired", of: "conn_youtube", account: "ada")
        },
        Step(wait: 4, text: "grace links Facebook: pending until she has consented.") {
            try $0.addConnection(
                to: "grace", platform: "facebook", id: "conn_facebook", status: "pending")
        },
        Step(wait: 3, text: "grace has consented.") {
            try $0.setStatus("active", of: "conn_facebook", account: "grace")
        },
        Step(wait: 4, text: "ada repairs her YouTube link.") {
            try $0.setStatus("active", of: "conn_youtube", account: "ada")
        },
        Step(wait: 4, text: "ada takes a right away from TRaX at Twitch.") {
            try $0.setScopes(["chat:read"], of: "conn_twitch", account: "ada")
        },
        Step(wait: 4, text: "ada gives it back.") {
            try $0.setScopes(["channel:manage", "chat:read"], of: "conn_twitch", account: "ada")
        },
        Step(wait: 4, text: "grace unlinks Facebook. Gone is believed after a second look.") {
            try $0.removeConnection("conn_facebook", of: "grace")
        },
    ]
}
