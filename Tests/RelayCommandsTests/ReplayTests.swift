import ConnectionEvents
import JSON
import RelayCore
import SQLite
import Testing

@testable import RelayCommands

@Suite struct ReplayTests {
    /// A journal with four events of two accounts, decided at 12, 22 and 12 seconds past noon.
    private func door() throws -> Door {
        let door = try Door()
        for id in ["a", "b"] { _ = door.run("accounts", "add", id, "@", secret: "sk_\(id)") }
        try door.believe(
            "a", [["c1": "active"], ["c1": "expired"], ["c1": "active", "c2": "active"]])
        try door.believe("b", [["d": "active"], ["d": "expired"]])
        return door
    }

    private func stored(_ door: Door) -> [String] { door.run("events", "@", "--json").lines }

    @Test func `a log sink gets the stored bytes on standard output, in their order`() throws {
        let door = try door()
        let ending = door.run("replay", "@", "--to", "log", "--since", "2026-01-01")
        #expect(ending.code == .ok)
        #expect(ending.lines == stored(door))
        #expect(ending.lines.count == 4)
        #expect(ending.err == "replayed 4 events at positions 2 to 6\n")
    }

    @Test func `times go by decidedAt: from since on, before until`() throws {
        let door = try door()
        let all = stored(door)
        let from = door.run(
            "replay", "@", "--to=log", "--since", "2026-11-30T12:00:22Z")
        #expect(from.lines == [all[1], all[2]])
        let before = door.run(
            "replay", "@", "--to=log", "--since=2026-01-01", "--until", "2026-11-30T12:00:22Z")
        #expect(before.lines == [all[0], all[3]])
        #expect(door.run("replay", "@", "--to=log", "--since=2100-01-01").lines.isEmpty)
    }

    @Test func `one account, one event, and what is after a position`() throws {
        let door = try door()
        let all = stored(door)
        let ofAccount = door.run("replay", "@", "--to=log", "--since=2026-01-01", "-a", "b")
        #expect(ofAccount.lines == [all[3]])
        for line in all {
            let id = try #require(try JSONValue(parsing: Array(line.utf8))["id"]?.stringValue)
            #expect(door.run("replay", "@", "--to=log", "--id", id).lines == [line])
            #expect(
                door.run("replay", "@", "--to=log", "--id", String(id.prefix(10))).lines == [line])
        }
        #expect(door.run("replay", "@", "--to=log", "--after=3").lines == [all[2], all[3]])
        let unknown = door.run("replay", "@", "--to=log", "--id", "0123456789")
        #expect(unknown.code == .failure)
        #expect(unknown.err.contains("no event 0123456789"))
    }

    @Test func `the sink's filter applies, and what it leaves out is counted`() throws {
        let door = try door()
        try door.write(
            """
            version: 1
            journal: { sqlite: relay.db, keyFile: relay.key }
            sinks:
              - log: { when: { types: [failing] } }

            """, to: "relay.yaml")
        let all = stored(door)
        let ending = door.run("replay", "@", "--to=log", "--since=2026-01-01")
        #expect(ending.lines == [all[0], all[3]])
        #expect(ending.err.contains("2 events at positions 2 to 6, 2 left out by the sink's"))
    }

    @Test func `a dry run counts and writes nothing`() throws {
        let ending = try door().run(
            "replay", "@", "--to=log", "--since=2026-01-01", "--dry-run", "--rate", "1/h")
        #expect(ending.out == "would replay 4 events at positions 2 to 6\n")
        #expect(ending.code == .ok)
    }

    @Test func `a journal of many pages is replayed whole`() throws {
        let door = try Door()
        _ = door.run("accounts", "add", "a", "@", secret: "sk_a")
        try door.believe(
            "a", (0..<(2 * Replay.pageLimit + 3)).map { ["c": $0 % 2 == 0 ? "active" : "expired"] })
        let all = stored(door)
        #expect(all.count == 2 * Replay.pageLimit + 2)
        #expect(door.run("replay", "@", "--to=log", "--since=2026-01-01").lines == all)
        #expect(
            door.run("replay", "@", "--to=log", "--since=2026-01-01", "--rate=100000/s").lines
                == all)
    }

    @Test func `what is pruned is told`() throws {
        let door = try door()
        let all = stored(door)
        try Database(path: "\(door.path)/relay.db").execute(
            "DELETE FROM entries WHERE position <= 3")
        let ending = door.run("replay", "@", "--to=log", "--after=2")
        #expect(ending.lines == [all[2], all[3]])
        #expect(ending.err.hasPrefix("note: positions 3 to 3 are pruned"))
        let since = door.run("replay", "@", "--to=log", "--since=2026-01-01")
        #expect(since.lines == [all[2], all[3]])
        #expect(since.err.hasPrefix("note: events decided before 2026-11-30T12:00:22"))
    }

    @Test func `what cannot be replayed is told with the reason`() throws {
        let door = try door()
        try door.write(
            """
            version: 1
            name: test
            journal: { sqlite: relay.db, keyFile: relay.key }
            kafka: { brokers: "127.0.0.1:9" }
            sinks:
              - kafka: { topic: events }
              - state: { topic: state }
              - log: {}

            """, to: "relay.yaml")
        let since = "--since=2026-01-01"
        for (words, part) in [
            (["--to=evens", since], "no sink 'evens'; did you mean 'events'?"),
            (["--to=state", since], "state is a state sink"),
            (["--to=events", since], "--into-topic TOPIC"),
            (["--to=events", since, "--into-topic=events"], "is a topic of this pipeline"),
            (["--to=events", since, "--into-topic=state"], "is a topic of this pipeline"),
            (["--to=events", since, "--into-topic=test.progress"], "is a topic of this pipeline"),
            (["--to=events", since, "--into-topic=bad topic!"], "--into-topic must be a topic"),
            (["--to=events", since, "--into-topic=.."], "--into-topic must be a topic"),
            (["--to=log", since, "--into-topic=x"], "a log sink writes to standard output"),
            (["--to=log"], "--since TIME, --id EVENT_ID or --after POSITION"),
            (["--to=log", "--since=yesterday"], "--since: 'yesterday' is no time"),
            (["--to=log", since, "--until=2025-01-01"], "is not after --since"),
            (["--to=log", since, "--rate=0/s"], "--rate takes a rate"),
            (["--to=log", "--after=x"], "--after takes a position"),
            (["--to=log", "--id=x"], "is no event's id"),
            ([since], "--to SINK is missing"),
        ] {
            let ending = Door.run(["replay", "-c", door.file] + words)
            #expect(ending.code == .usage, "\(words): \(ending.err)")
            #expect(ending.err.contains(part), "\(words): \(ending.err)")
            #expect(ending.out.isEmpty)
        }
    }

    @Test func `the embedded broker is out of reach`() throws {
        let door = try door()
        try door.write(
            """
            version: 1
            journal: { sqlite: relay.db, keyFile: relay.key }
            kafka: { brokers: embedded }
            sinks:
              - kafka: { topic: events }

            """, to: "relay.yaml")
        let ending = door.run(
            "replay", "@", "--to=events", "--since=2026-01-01", "--into-topic=again")
        #expect(ending.code == .configuration)
        #expect(ending.err.contains("embedded"))
    }

    @Test func `a broker that is away is 69, and nothing else is changed`() throws {
        let door = try door()
        try door.write(
            """
            version: 1
            journal: { sqlite: relay.db, keyFile: relay.key }
            kafka: { brokers: "127.0.0.1:9" }
            sinks:
              - kafka: { topic: events }

            """, to: "relay.yaml")
        let ending = door.run(
            "replay", "@", "--to=events", "--since=2026-01-01", "--into-topic=again")
        #expect(ending.code == .unavailable)
        #expect(ending.err.contains("127.0.0.1:9"))
    }
}
