import ConnectionEvents
import Crypto
import RelayCore
import Testing

@testable import RelayJournal

@Suite struct AccountImportTests {
    let folder: Folder
    let register: AccountRegister

    init() throws {
        folder = try Folder()
        register = try AccountRegister(try folder.open())
    }

    private func line(
        _ number: Int, _ id: String, _ credential: String?, interval: Duration? = nil,
        paused: Bool? = nil, labels: [String: String] = [:]
    ) throws -> AccountEntry {
        AccountEntry(
            account: try account(id), credential: credential.map { Secret($0) },
            interval: interval, isPaused: paused, labels: labels, line: number)
    }

    private func lines(_ ids: some Sequence<Int>) throws -> [AccountEntry] {
        try ids.map { try line($0, "acct_\($0)", "key \($0)") }
    }

    private func summary(_ id: String) throws -> AccountSummary? {
        try register.summaries(of: try account(id)).first
    }

    private func refusal(_ entries: [AccountEntry]) throws -> RegisterRefusal {
        try #require(throws: RegisterRefusal.self) { try register.importFile(entries) }
    }

    @Test func `a file is taken in and once more changes nothing`() throws {
        #expect(try register.importFile(try lines(1...10)).added == 10)
        _ = try register.accounts()
        let again = try register.importFile(try lines(1...10))
        #expect(again.unchanged == 10)
        #expect(again.added + again.changed + again.removed == 0)
        #expect(try register.changes().isEmpty)
        #expect(try summary("acct_1")?.origin == .file)
    }

    @Test func `all bad lines are named with both lines, and none of the file is taken`() throws {
        let refused = try refusal([
            try line(2, "a", "key"), try line(3, "b", "key"), try line(4, "a", "other"),
            try line(5, "c", nil), try line(6, "d", "fine"),
        ])
        #expect(refused.kind == .badLines)
        #expect(refused.problems.map(\.line) == [3, 4, 5])
        #expect(refused.problems[0].reason.contains("line 2"))
        #expect(refused.problems[1].reason.contains("line 2"))
        #expect(!refused.description.contains("key,"))
        #expect(try register.summaries().isEmpty)
    }

    @Test func `what is gone from the file is removed, what was added by command stays`() throws {
        try register.add(try line(0, "mine", "my key"))
        try register.importFile(try lines(1...10))
        let done = try register.importFile(try lines(1...8))
        #expect(done.removed == 2)
        #expect(try summary("acct_9")?.isRemoving == true)
        #expect(try summary("mine")?.isRemoving == false)
        let again = try register.importFile(try lines(1...9))
        #expect(again.added == 1)
        #expect(try summary("acct_9")?.isRemoving == false)
    }

    @Test func `a file that would remove half or more, and at least five, is refused`() throws {
        try register.importFile(try lines(1...10))
        #expect(try refusal(try lines(1...5)).kind == .removesTooMany)
        #expect(try refusal([]).kind == .removesTooMany)
        #expect(try register.summaries().allSatisfy { !$0.isRemoving })
        #expect(try register.importFile(try lines(1...5), force: true).removed == 5)
    }

    @Test func `fewer than five may always go`() throws {
        try register.importFile(try lines(1...4))
        #expect(try register.importFile([]).removed == 4)
    }

    @Test func `one under half may go`() throws {
        try register.importFile(try lines(1...11))
        #expect(try register.importFile(try lines(1...6)).removed == 5)
    }

    @Test func `empty cells say nothing, and a pause by command beats them`() throws {
        try register.importFile([
            try line(2, "a", "key a", interval: .seconds(5), paused: true),
            try line(3, "b", "key b"),
        ])
        try register.pause(try account("b"))
        try register.importFile([try line(2, "a", nil), try line(3, "b", nil)])
        let a = try #require(try summary("a"))
        #expect(!a.isPaused)
        #expect(a.interval == nil)
        let b = try #require(try summary("b"))
        #expect(b.isPaused)
        #expect(b.pausedBy == .command)
        try register.importFile([try line(2, "a", nil), try line(3, "b", nil, paused: false)])
        #expect(try summary("b")?.isPaused == false)
    }

    @Test func `labels follow the file`() throws {
        try register.importFile([try line(2, "a", "k", labels: ["team": "x", "plan": "ü\""])])
        #expect(try summary("a")?.labels == ["team": "x", "plan": "ü\""])
        #expect(try register.importFile([try line(2, "a", "k", labels: [:])]).changed == 1)
        #expect(try summary("a")?.labels == [:])
    }

    @Test func `a changed credential is counted and sealed anew`() throws {
        try register.importFile([try line(2, "a", "old"), try line(3, "b", "same")])
        let before = try register.accounts()
        let done = try register.importFile([try line(2, "a", "new"), try line(3, "b", "same")])
        #expect(done.credentialsChanged == 1)
        #expect(done.unchanged == 1)
        let after = try register.changes()
        try #require(after.map(\.credential) == [Secret("new")])
        #expect(after[0].credentialTag != before[0].credentialTag)
        #expect(after[0].incarnation == before[0].incarnation)
    }

    @Test func `two accounts may trade their credentials`() throws {
        try register.importFile([try line(2, "a", "one"), try line(3, "b", "two")])
        let done = try register.importFile([try line(2, "a", "two"), try line(3, "b", "one")])
        #expect(done.credentialsChanged == 2)
    }

    @Test func `a credential that an account added by command has is refused`() throws {
        try register.add(try line(0, "mine", "my key"))
        let refused = try refusal([try line(2, "a", "my key")])
        #expect(refused.problems.map(\.line) == [2])
        #expect(refused.description.contains("account mine"))
    }

    @Test func `an account added by command may stand in the file and outlives it`() throws {
        try register.add(try line(0, "mine", "my key"))
        try register.importFile([try line(2, "mine", "my key", labels: ["x": "y"])])
        #expect(try summary("mine")?.labels == ["x": "y"])
        try register.importFile([])
        #expect(try summary("mine")?.isRemoving == false)
    }

    @Test func `progress is told on the way`() throws {
        var told: [Int] = []
        try register.importFile(try lines(1...20_000)) { done, all in
            #expect(all == 20_000)
            told.append(done)
        }
        #expect(told == [10_000, 20_000])
        #expect(try register.accounts().count == 20_000)
    }
}
