import ConnectionEvents
import JSON
import RelayCore
import RelayJournal
import Testing

@testable import RelayCommands

@Suite struct ExplainTests {
    /// A journal with a failing, a repaired and an unlinked event of one row.
    private func door() throws -> Door {
        let door = try Door()
        _ = door.run("accounts", "add", "a", "@", secret: "sk_a")
        let (kept, row) = (["c0": "active"], ["c1": "active", "c0": "active"])
        try door.believe(
            "a", [row, ["c1": "expired\u{1B}[2J", "c0": "active"], row, kept, kept])
        return door
    }

    private func ids(_ door: Door) throws -> [String] {
        try door.run("events", "@", "--json").lines.map {
            try #require(try JSONValue(parsing: Array($0.utf8))["id"]?.stringValue)
        }
    }

    @Test func `it tells both observations, walks, request ids, rule, numbers and sinks`() throws {
        let door = try door()
        let ending = try door.run("explain", #require(try ids(door).first), "@")
        #expect(ending.code == .ok)
        #expect(ending.err.isEmpty)
        for part in [
            "rule      failing: failing now, standing not failing",
            "number    1 of epoch 1796040000000, raw lane", "position  3 of the journal",
            "previous  c1 on youtube: active, healthy, scopes [a]", "standing healthy",
            "last sealed before: walk w_", "begun at 2026-11-30T12:00:00.000Z",
            "present   c1 on youtube: expired?[2J, failing, scopes [a]",
            "begun at 2026-11-30T12:00:10.000Z, sealed at 2026-11-30T12:00:11.000Z, 2 rows",
            "page 1: HTTP 200, 9 bytes, request id req_1",
            "happened  after 2026-11-30T12:00:00.000Z, before 2026-11-30T12:00:11.000Z",
            "sinks     log: waiting (it has no place yet)",
        ] {
            #expect(ending.out.contains(part), "\(part) in:\n\(ending.out)")
        }
    }

    @Test func `a removal tells the walks that confirmed it`() throws {
        let door = try door()
        let ending = try door.run("explain", #require(try ids(door).last), "@")
        for part in [
            "rule      unlinked: 2 sealed walks in a row without the row",
            "counted   2 sealed walks in a row without the row",
            "sealed at 2026-11-30T12:00:31.000Z", "present   the row is not in the list",
            "sealed at 2026-11-30T12:00:41.000Z, 1 rows", "request id req_4",
        ] {
            #expect(ending.out.contains(part), "\(part) in:\n\(ending.out)")
        }
    }

    @Test func `as JSON it has the stored event, the evidence and the sinks`() throws {
        let door = try door()
        let id = try #require(try ids(door).first)
        let json = try JSONValue(parsing: Array(door.run("explain", id, "@", "--json").out.utf8))
        #expect(json["event"]?["id"]?.stringValue == id)
        #expect(json["position"]?.integerValue == 3)
        #expect(json["evidence"]?["walk"]?["pages"]?.arrayValue?.count == 1)
        #expect(json["evidence"]?["before"]?["shown"]?["status"]?.stringValue == "active")
        #expect(json["sinks"]?.arrayValue?.first?["arrival"]?.stringValue == "waiting")
    }

    @Test func `sinks tell who has it, and who does not take it`() throws {
        let door = try door()
        try door.write(
            """
            version: 1
            journal: { sqlite: relay.db, keyFile: relay.key }
            kafka: { brokers: "127.0.0.1:9" }
            sinks:
              - log: {}
              - kafka: { topic: alerts, when: { types: [repaired] } }
              - state: { topic: state }

            """, to: "relay.yaml")
        try door.withJournal { journal, _ in
            try journal.setPlaces([SinkName("log"): JournalPosition(3)])
        }
        let out = try door.run("explain", #require(try ids(door).first), "@").out
        #expect(out.contains("log: delivered (its place is 3)"))
        #expect(out.contains("alerts: not taken (it has no place yet)"))
        #expect(out.contains("state: waiting (it has no place yet)"))
    }

    @Test func `the first digits of an id and a position name an event as well`() throws {
        let door = try door()
        for id in try ids(door) {
            #expect(door.run("explain", String(id.prefix(9)).uppercased(), "@").out.contains(id))
            #expect(door.run("explain", String(id.prefix(20)), "@").out.contains(id))
        }
        let first = try #require(try ids(door).first)
        #expect(door.run("explain", "--position", "3", "@").out.contains(first))
    }

    @Test func `an event that is not there is told with the remedy`() throws {
        let door = try door()
        for words in [["0123456789abcdef"], ["--position", "99"], ["--position", "1"]] {
            let ending = Door.run(["explain", "-c", door.file] + words)
            #expect(ending.code == .failure)
            #expect(ending.err.hasPrefix("Error: the journal has no event"))
            #expect(ending.err.contains("2026-11-30T12:00:12.000Z"))
            #expect(ending.err.contains("trax-relay events"))
        }
    }

    @Test func `what names no event is usage`() throws {
        let door = try door()
        for words in [
            [], ["abc"], ["xyz12345"], ["0123456789abcdef0123456789abcdef0"], ["ab\u{301}cd"],
            ["--position", "0"], ["--position", "x"], ["0123456789", "--position", "3"],
        ] {
            #expect(Door.run(["explain", "-c", door.file] + words).code == .usage, "\(words)")
        }
    }
}
