import ConnectionEvents
import JSON
import Testing

@testable import RelayCommands

@Suite struct EventsCommandTests {
    /// A journal with four events of two accounts.
    private func door() throws -> Door {
        let door = try Door()
        for id in ["a", "b"] { _ = door.run("accounts", "add", id, "@", secret: "sk_\(id)") }
        try door.believe(
            "a", [["c1": "active"], ["c1": "expired"], ["c1": "active", "c2": "active"]])
        try door.believe("b", [["d\u{1B}[2J": "active"], ["d\u{1B}[2J": "expired"]])
        return door
    }

    @Test func `events are printed for people, oldest first`() throws {
        let ending = try door().run("events", "@")
        #expect(ending.code == .ok)
        #expect(ending.err.isEmpty)
        let lines = ending.lines
        #expect(lines.count == 4)
        #expect(lines[0].contains("  a  connection.failing  c1  youtube  active -> expired"))
        #expect(lines[1].contains("connection.repaired"))
        #expect(lines[1].contains("after PT"))
        #expect(lines[2].contains("connection.linked  c2"))
        #expect(lines[3].contains("d?[2J"))
    }

    @Test func `they are chosen by type, account and time`() throws {
        let door = try door()
        #expect(door.run("events", "@", "--type", "failing").lines.count == 2)
        #expect(door.run("events", "@", "--type", "connection.failing", "-a", "a").lines.count == 1)
        #expect(
            door.run(
                "events", "@", "--type=linked",
                "--type=live.traxstreaming.connection.repaired"
            ).lines.count == 2)
        let nobody = door.run("events", "@", "--account", "nobody")
        #expect(nobody.code == .ok)
        #expect(nobody.out.isEmpty)
        #expect(nobody.err == "note: register and journal know no account nobody\n")
        #expect(door.run("events", "@", "--since", "2020-01-01").lines.count == 4)
        let none = door.run("events", "@", "--since", "2100-01-01T00:00:00Z", "-a", "a")
        #expect(none.out.isEmpty)
        #expect(none.err == "note: the journal has no such event\n")
        let parked = door.run("parked", "retry", "all", "@")
        #expect(parked.code == .ok)
        #expect(parked.out.isEmpty)
        #expect(parked.err == "note: no record is parked\n")
        #expect(door.run("events", "@", "--since=15m").code == .ok)
    }

    @Test func `what is asked wrongly is usage`() throws {
        let door = try door()
        let type = door.run("events", "@", "--type", "failling")
        #expect(type.code == .usage)
        #expect(type.err.contains("'failling'; did you mean 'failing'?"))
        #expect(type.err.contains("connection.failing"))
        #expect(door.run("events", "@", "--since", "yesterday").code == .usage)
        #expect(door.run("events", "@", "--account", "a b").code == .usage)
    }

    @Test func `as JSON they are the stored bytes, and hold to the schema`() throws {
        let lines = try door().run("events", "@", "--json").lines
        #expect(lines.count == 4)
        let schema = try JSONValue(parsing: Array(Door.run(["schema", "event"]).out.utf8))
        for line in lines {
            let event = try JSONValue(parsing: Array(line.utf8))
            #expect(missing(event, by: schema).isEmpty)
            #expect(try ConnectionEvent(json: event).serialized() == Array(line.utf8))
        }
    }

    /// Members that a schema requires, at any depth, and the value lacks.
    private func missing(_ value: JSONValue, by schema: JSONValue) -> [String] {
        guard let object = value.objectValue else { return [] }
        let required = schema["required"]?.arrayValue?.compactMap(\.stringValue) ?? []
        var found = required.filter { object[$0] == nil }
        for (name, inner) in object {
            guard let part = schema["properties"]?[name] else { continue }
            let choices = [part] + (part["anyOf"]?.arrayValue ?? [])
            found += choices.flatMap { missing(inner, by: $0) }
        }
        return found
    }

    @Test func `schemas are JSON, and say what they are`() throws {
        for (words, title) in [
            (["schema", "event"], "trax-relay connection event"), (["schema", "pipeline"], nil),
        ] as [([String], String?)] {
            let ending = Door.run(words)
            #expect(ending.code == .ok)
            let schema = try JSONValue(parsing: Array(ending.out.utf8))
            #expect(schema["$schema"]?.stringValue?.contains("json-schema.org") == true)
            #expect(schema["properties"]?.objectValue != nil)
            if let title { #expect(schema["title"]?.stringValue == title) }
        }
        #expect(Door.run(["schema", "event", "extra"]).code == .usage)
    }
}
