import JSON
import Testing

@Suite struct JSONObjectTests {
    @Test func `members keep their place when changed and go to the end when new`() {
        var object: JSONObject = ["a": 1, "b": 2]
        object["a"] = 3
        object["c"] = nil
        object["d"] = JSONValue.null
        #expect(object.keys == ["a", "b", "d"])
        object["b"] = nil
        #expect(object.map(\.key) == ["a", "d"])
        #expect(object.count == 2)
        #expect(object["d"]?.isNull == true)
        #expect(object["b"] == nil)
        #expect(JSONObject().isEmpty)
    }

    @Test func `objects are equal in whatever order, and hash so`() {
        let one: JSONValue = ["a": 1, "b": [true]]
        let other: JSONValue = ["b": [true], "a": 1]
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
        #expect(one != ["a": 1, "b": [false]])
        #expect(one != ["a": 1])
        #expect((["a": 1, "b": 1] as JSONValue) != ["a": 1, "c": 1])
    }

    @Test func `two spellings of one character are two keys and two strings`() {
        let composed: JSONValue = ["\u{E9}": 1]
        let decomposed: JSONValue = ["e\u{301}": 1]
        #expect(composed != decomposed)
        #expect(composed["e\u{301}"] == nil)
        #expect(JSONValue("\u{E9}") != JSONValue("e\u{301}"))
        #expect(Set<JSONValue>(["\u{E9}", "e\u{301}"]).count == 2)
    }

    @Test func `members are found without reading the rest`() throws {
        let bytes = Array(
            #"{"n":1,"data":[{"data":1},2,[]],"nextCursor":"a\u0062","x":null,"t":true,"o":{}}"#
                .utf8)
        let found = try JSONPeek.members(
            ["data", "nextCursor", "none", "x", "o", "n", "t"], in: bytes)
        #expect(
            found == [
                .array(count: 3), .string("ab"), .absent, .null, .object(count: 0), .number,
                .bool(true),
            ])
        #expect(try JSONPeek.topLevelString("nextCursor", in: bytes) == "ab")
        #expect(try JSONPeek.topLevelString("data", in: bytes) == nil)
        #expect(try JSONPeek.members(["data"], in: Array("[1]".utf8)) == nil)
    }

    @Test func `members are found in documents that simdjson refuses`() throws {
        let bytes = Array(#"{"a":1e999,"data":[1,2],"s":"\ud800","data":[3]}"#.utf8)
        #expect(
            try JSONPeek.members(["a", "data", "s", "z"], in: bytes)
                == [.number, .array(count: 1), .string("\u{FFFD}"), .absent])
        #expect(try JSONPeek.members(["data"], in: Array("[1e999]".utf8)) == nil)
    }
}
