import ConnectionEvents
import Crypto
import RelayCore
import Threading

@testable import SignIn

/// A vault in memory, which several desks may share as processes share a journal.
final class FakeVault: PersonVault {
    struct State {
        var sessions: [AccountID: PersonSession] = [:]
        var leases: [AccountID: (holder: String, until: Timestamp)] = [:]
        /// What `replace` throws so many times before it works.
        var refusals = 0
        /// Called with each session that is put away, before it is.
        var replacing: (@Sendable (PersonSession) -> Void)?
        var replaced = 0
    }

    let state = Lock(State())

    func session(of account: AccountID) -> PersonSession? {
        state.withLock { $0.sessions[account] }
    }

    func lease(_ account: AccountID, holder: String, for time: Duration) -> Bool {
        state.withLock { state in
            let now = WallClock.now()
            if let other = state.leases[account], other.holder != holder, other.until > now {
                return false
            }
            state.leases[account] = (holder, now.adding(time))
            return true
        }
    }

    func exchangeName(of token: Secret) -> String { "exchange of \(token.reveal())" }

    func release(_ account: AccountID, holder: String) {
        state.withLock { state in
            if state.leases[account]?.holder == holder { state.leases[account] = nil }
        }
    }

    func replace(
        _ session: PersonSession, of account: AccountID, tried: Secret, holder: String
    ) throws(JournalFailure) -> Bool {
        state.withLock { $0.replacing }?(session)
        let isRefused = state.withLock { state in
            guard state.refusals > 0 else { return false }
            state.refusals -= 1
            return true
        }
        if isRefused {
            throw JournalFailure(kind: .full, code: "full", reason: "the disk is full")
        }
        release(account, holder: holder)
        return state.withLock { state in
            guard state.sessions[account]?.refreshToken == tried else { return false }
            state.sessions[account] = session
            state.replaced += 1
            return true
        }
    }
}
