import ConnectionEvents
import Crypto
import Foundation
import RelayCore
import SQLite
import Testing

@testable import RelayJournal

/// People in the register: their tokens sealed, rotated and never taken back.
@Suite struct PersonTests {
    private let folder: Folder
    private let register: AccountRegister
    private let book: PersonBook
    private let issuer: Issuer

    init() throws {
        folder = try Folder()
        let file = try folder.open()
        register = try AccountRegister(file)
        book = try PersonBook(file)
        issuer = try #require(Issuer("https://auth.example"))
    }

    private func session(_ refresh: String, subject: String? = nil) -> PersonSession {
        var session = PersonSession(
            issuer: issuer, clientID: "relay", refreshToken: Secret(refresh))
        session.subject = subject
        return session
    }

    private func line(_ refresh: String, _ id: String = "a", _ number: Int = 1) throws
        -> AccountEntry
    {
        AccountEntry(
            account: try account(id), credential: nil, person: session(refresh), line: number)
    }

    /// What a refresh does.
    private func rotate(_ id: String = "a", to refresh: String, access: String = "x") throws {
        let id = try account(id)
        var next = try #require(try book.session(of: id))
        let tried = next.refreshToken
        next.refreshToken = Secret(refresh)
        next.accessToken = Secret(access)
        next.subject = "person"
        #expect(try book.replace(next, of: id, tried: tried, holder: "me"))
    }

    private func loaded(_ id: String = "a") throws -> RegisteredAccount {
        try #require(try register.accounts().first { $0.id.text == id })
    }

    @Test func `a person of the file is taken in, and the same file again changes nothing`() throws
    {
        #expect(try register.importFile([try line("r1")]).added == 1)
        let before = try loaded()
        #expect(before.person != nil)
        #expect(before.credential.isEmpty)
        try rotate(to: "r2", access: "token")
        let again = try register.importFile([try line("r1")])
        #expect(again.unchanged == 1)
        #expect(try book.session(of: try account("a"))?.refreshToken == Secret("r2"))
        let after = try loaded()
        #expect(after.credentialTag == before.credentialTag)
        #expect(after.credential == Secret("token"))
    }

    @Test func `a new refresh token in the file takes the place of the rotated one`() throws {
        try register.importFile([try line("r1")])
        let before = try loaded()
        try rotate(to: "r2")
        #expect(try register.importFile([try line("r9")]).credentialsChanged == 1)
        #expect(try book.session(of: try account("a"))?.refreshToken == Secret("r9"))
        #expect(try loaded().credentialTag != before.credentialTag)
        // The old one in the file is a new one again.
        #expect(try register.importFile([try line("r1")]).credentialsChanged == 1)
    }

    @Test func `a refresh is no change of the register`() throws {
        try register.importFile([try line("r1")])
        let before = try register.summaries()
        _ = try register.accounts()
        try rotate(to: "r2")
        #expect(try register.changes().isEmpty)
        #expect(try register.summaries() == before)
    }

    @Test func `one refresh token under two ids is an error that names both lines`() throws {
        let refusal = try #require(throws: RegisterRefusal.self) {
            try register.importFile([try line("r1", "a", 1), try line("r1", "b", 2)])
        }
        #expect(refusal.problems.map(\.line) == [2])
    }

    @Test func `an API key may become a person, and a person an API key`() throws {
        let key = AccountEntry(account: try account("a"), credential: Secret("k"), line: 1)
        try register.importFile([key])
        try register.importFile([try line("r1")])
        #expect(try loaded().person != nil)
        try register.importFile([key])
        #expect(try loaded().person == nil)
        #expect(try loaded().credential == Secret("k"))
        #expect(try book.session(of: try account("a")) == nil)
    }

    @Test func `the same person signs in again: no other credential, another session`() throws {
        let id = try account("a")
        #expect(try register.signIn(session("r1", subject: "p"), as: id) == .added)
        let before = try loaded()
        #expect(try register.signIn(session("r2", subject: "p"), as: id) == .renewed)
        let after = try loaded()
        #expect(after.credentialTag == before.credentialTag)
        #expect(after.person?.number == 2)
        #expect(try register.signIn(session("r3", subject: "q"), as: id) == .changed)
        #expect(try loaded().credentialTag != before.credentialTag)
    }

    @Test
    func `a person of the file who signs in keeps the tag, and the file's old token is no news`()
        throws
    {
        try register.importFile([try line("r1")])
        try rotate(to: "r2")
        let before = try loaded()
        let id = try account("a")
        #expect(try register.signIn(session("r5", subject: "person"), as: id) == .renewed)
        #expect(try loaded().credentialTag == before.credentialTag)
        #expect(try register.importFile([try line("r1")]).unchanged == 1)
        #expect(try book.session(of: id)?.refreshToken == Secret("r5"))
    }

    @Test func `one person stands for one account`() throws {
        try register.signIn(session("r1", subject: "p"), as: try account("a"))
        let refusal = try #require(throws: RegisterRefusal.self) {
            try register.signIn(session("r2", subject: "p"), as: try account("b"))
        }
        #expect(refusal.kind == .sharedCredential)
        #expect(try register.accounts(of: session("", subject: "p")) == [try account("a")])
        #expect(try register.accounts(of: session("", subject: "q")).isEmpty)
    }

    @Test func `a person takes no account whose key is in the accounts file`() throws {
        try register.importFile([
            AccountEntry(account: try account("a"), credential: Secret("k"), line: 1)
        ])
        let refusal = try #require(throws: RegisterRefusal.self) {
            try register.signIn(session("r", subject: "p"), as: try account("a"))
        }
        #expect(refusal.kind == .exists)
    }

    @Test func `signing out forgets the tokens and pauses, signing in resumes`() throws {
        let id = try account("a")
        try register.signIn(session("r1", subject: "p"), as: id)
        try register.signOut(id)
        #expect(try loaded().isPaused)
        #expect(try book.session(of: id)?.refreshToken.isEmpty == true)
        #expect(try register.signIn(session("r2", subject: "p"), as: id) == .renewed)
        #expect(try !loaded().isPaused)
        try register.pause(id)
        try register.signIn(session("r3", subject: "p"), as: id)
        #expect(try loaded().isPaused, "an operator's pause stays")
        #expect(throws: RegisterRefusal.self) { try register.signOut(try account("b")) }
    }

    @Test func `signing out begins with a pause, and goes on or is taken back`() throws {
        let id = try account("a")
        try register.signIn(session("r1", subject: "p"), as: id)
        try register.beginSignOut(id)
        try register.beginSignOut(id)
        #expect(try loaded().isPaused)
        // Refreshed by the relay meanwhile, which knew nothing of it.
        try rotate(to: "r2")
        try register.abandonSignOut(id)
        #expect(try !loaded().isPaused)
        #expect(try book.session(of: id)?.refreshToken == Secret("r2"))
        try register.beginSignOut(id)
        try register.signOut(id)
        try register.abandonSignOut(id)
        #expect(try book.session(of: id)?.refreshToken.isEmpty == true)
        #expect(try loaded().isPaused)
    }

    @Test(
        "a sign-out that was killed half way is ended by a login or a logout",
        arguments: [true, false])
    func killedSignOut(signsOut: Bool) throws {
        let id = try account("a")
        try register.signIn(session("r1", subject: "p"), as: id)
        try register.beginSignOut(id)
        if signsOut { try register.signOut(id) }
        try register.signIn(session("r2", subject: "p"), as: id)
        #expect(try !loaded().isPaused)
    }

    @Test func `an operator's pause outlasts a sign-out that is taken back`() throws {
        let id = try account("a")
        try register.signIn(session("r1", subject: "p"), as: id)
        try register.pause(id)
        try register.beginSignOut(id)
        try register.abandonSignOut(id)
        #expect(try loaded().isPaused)
        try register.beginSignOut(id)
        try register.signIn(session("r2", subject: "p"), as: id)
        #expect(try loaded().isPaused)
    }

    @Test func `what was refreshed while somebody signed in is not written`() throws {
        let id = try account("a")
        try register.signIn(session("r1", subject: "p"), as: id)
        var next = try #require(try book.session(of: id))
        try register.signIn(session("r9", subject: "p"), as: id)
        next.refreshToken = Secret("r2")
        #expect(try !book.replace(next, of: id, tried: Secret("r1"), holder: "me"))
        #expect(try book.session(of: id)?.refreshToken == Secret("r9"))
        try register.remove(id)
        #expect(try book.session(of: id) == nil)
        #expect(try !book.replace(next, of: id, tried: Secret("r9"), holder: "me"))
    }

    @Test func `the right to refresh is one process's until its time is over`() throws {
        let id = try account("a")
        let other = try PersonBook(try folder.open())
        #expect(try book.lease(id, holder: "relay-1", for: .seconds(30)))
        #expect(try book.lease(id, holder: "relay-1", for: .seconds(30)))
        #expect(try !other.lease(id, holder: "command-2", for: .seconds(30)))
        #expect(try other.lease(try account("b"), holder: "command-2", for: .seconds(30)))
        try other.release(id, holder: "command-2")
        #expect(try !other.lease(id, holder: "command-2", for: .seconds(30)))
        try book.release(id, holder: "relay-1")
        #expect(try other.lease(id, holder: "command-2", for: .milliseconds(-1)))
        #expect(try book.lease(id, holder: "relay-1", for: .seconds(30)))
        try other.forgetLeases(of: "relay-")
        #expect(try other.lease(id, holder: "command-2", for: .seconds(3600)))
        // A right that a wrong clock has given does not last.
        #expect(try book.lease(id, holder: "relay-1", for: .seconds(30)))
    }

    @Test func `the key is not rotated while a token is refreshed, nor the other way round`() throws
    {
        let id = try account("a")
        try register.signIn(session("r1", subject: "p"), as: id)
        #expect(try book.lease(id, holder: "command-1", for: .seconds(30)))
        let busy = try #require(throws: JournalFailure.self) {
            try KeyRotation.rotate(journal: folder.journal, keyFile: folder.key)
        }
        #expect(busy.code == "refreshing")
        try book.release(id, holder: "command-1")
        _ = try KeyRotation.rotate(journal: folder.journal, keyFile: folder.key)
        for call in [
            { _ = try book.lease(id, holder: "command-1", for: .seconds(30)) },
            { _ = try book.session(of: id) },
        ] {
            let late = try #require(throws: JournalFailure.self) { try call() }
            #expect(late.code == "key_rotated")
        }
    }

    @Test func `a person is known again whatever their tokens' way into the register was`() throws {
        try register.importFile([try line("r1")])
        try rotate(to: "r2")
        let refusal = try #require(throws: RegisterRefusal.self) {
            try register.signIn(session("r5", subject: "person"), as: try account("b"))
        }
        #expect(refusal.kind == .sharedCredential)
    }

    @Test func `who was paused before signing out stays so after signing in`() throws {
        let id = try account("a")
        try register.signIn(session("r1", subject: "p"), as: id)
        try register.pause(id)
        try register.signOut(id)
        try register.signOut(id)
        try register.signIn(session("r2", subject: "p"), as: id)
        #expect(try loaded().isPaused)
    }

    @Test func `nothing of a person stands in the files in clear, and a new key seals them anew`()
        throws
    {
        try register.signIn(
            {
                var session = session("CANARY-refresh", subject: "p")
                session.accessToken = Secret("CANARY-access")
                session.idToken = Secret("CANARY-identity")
                return session
            }(), as: try account("a"))
        try rotate(to: "CANARY-next", access: "CANARY-other")
        for (name, content) in try folder.contents() {
            #expect(content.range(of: Data("CANARY".utf8)) == nil, "\(name)")
        }
        _ = try KeyRotation.rotate(journal: folder.journal, keyFile: folder.key)
        let after = try PersonBook(try folder.open())
        #expect(try after.session(of: try account("a"))?.refreshToken == Secret("CANARY-next"))
    }

    @Test func `lists say that it is a person, and where`() throws {
        try register.signIn(session("r1", subject: "p"), as: try account("a"))
        let summary = try #require(try register.summaries().first)
        #expect(summary.scheme == .person)
        #expect(summary.issuer == issuer)
        #expect(summary.origin == .command)
    }
}
