import ConnectionEvents
import JSON
import Testing

@Suite struct EventDecodingTests {
    @Test(arguments: [
        "type", "id", "time", "data",
    ])
    func `an event that lacks an attribute is refused by that name`(_ attribute: String) throws {
        var object = try #require(JSONValue(parsing: Array(example.utf8)).objectValue)
        object[attribute] = nil
        let error = #expect(throws: EventDecodingError.self) {
            try ConnectionEvent(json: .object(object))
        }
        #expect(error?.attribute == attribute)
    }

    @Test(arguments: [
        "account", "kind", "lane", "epoch", "sequence", "decidedAt", "connection",
    ])
    func `an event whose data lack a member, or have it wrong, is refused by that name`(
        _ member: String
    ) throws {
        for wrong in [nil, JSONValue.null, [1], "?"] {
            var object = try #require(JSONValue(parsing: Array(example.utf8)).objectValue)
            var data = try #require(object["data"]?.objectValue)
            data[member] = wrong
            object["data"] = .object(data)
            let error = #expect(throws: EventDecodingError.self) {
                try ConnectionEvent(json: .object(object))
            }
            #expect(error?.attribute == member)
        }
    }

    @Test(arguments: ["", "{", "[]", "null", "{\"data\":[]}", "\u{FEFF}1"])
    func `bytes that are no event are refused, never a trap`(_ text: String) {
        #expect(throws: EventDecodingError.self) { try ConnectionEvent(parsing: Array(text.utf8)) }
    }

    @Test func `what a consumer does not know is ignored`() throws {
        let known = try ConnectionEvent(parsing: Array(example.utf8))
        var object = try #require(JSONValue(parsing: Array(example.utf8)).objectValue)
        object["traceparent"] = "00-x"
        var data = try #require(object["data"]?.objectValue)
        data["weather"] = ["sky": "blue"]
        var row = try #require(data["connection"]?.objectValue)
        row["colour"] = 7
        data["connection"] = .object(row)
        object["data"] = .object(data)
        #expect(try ConnectionEvent(json: .object(object)) == known)
    }

    @Test func `a health that a later relay may send reads as unrecognised`() throws {
        let row: JSONValue = ["id": "a", "health": "resting", "status": 7, "platform": nil]
        let connection = try #require(Connection(json: row))
        #expect(connection.health == .unrecognised)
        #expect(connection.status == nil)
        #expect(connection.grantedScopes == nil)
    }

    @Test func `a hostile duration in an event never traps`() throws {
        let texts = [
            "P999999999999D", "PT99999999999999999999S", "PT1e999S", "PTnanS", "P-1D", "PT0x10S",
        ]
        for text in texts {
            var object = try #require(JSONValue(parsing: Array(example.utf8)).objectValue)
            var data = try #require(object["data"]?.objectValue)
            data["failedFor"] = .string(text)
            object["data"] = .object(data)
            let event = try ConnectionEvent(json: .object(object))
            guard case .connection(let change) = event.content else {
                Issue.record("not of a connection")
                return
            }
            #expect(change.failedFor == nil)
        }
    }
}
