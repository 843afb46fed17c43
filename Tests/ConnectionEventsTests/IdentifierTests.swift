import ConnectionEvents
import JSON
import Testing

@Suite struct IdentifierTests {
    @Test(arguments: [
        "a", "acct_7", "A.b_c:d@e-9", String(repeating: "x", count: 128),
    ])
    func `an account id is 1 to 128 letters, digits and . _ : @ -`(text: String) {
        #expect(AccountID(text)?.text == text)
    }

    @Test(arguments: [
        "", "a/b", "a b", "a\n", "é", "a\u{301}", "a+b", "\u{0}", "a,b",
        String(repeating: "x", count: 129),
    ])
    func `what is no account id is refused`(text: String) {
        #expect(AccountID(text) == nil)
    }

    @Test func `a connection id is any text of 1 to 512 bytes`() {
        #expect(ConnectionID("") == nil)
        #expect(ConnectionID(String(repeating: "é", count: 256))?.text.utf8.count == 512)
        #expect(ConnectionID(String(repeating: "é", count: 257)) == nil)
        #expect(ConnectionID("a/b c\u{0}") != nil)
    }

    @Test func `connection ids are told apart and ordered by bytes`() throws {
        let composed = try #require(ConnectionID("\u{E9}"))
        let decomposed = try #require(ConnectionID("e\u{301}"))
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
        let ids = ["b", "a", "Z", "10", "9", "é", "e\u{301}", "a1"].compactMap { ConnectionID($0) }
        #expect(ids.sorted().map(\.text) == ["10", "9", "Z", "a", "a1", "b", "e\u{301}", "é"])
    }

    @Test func `the trace of an event is its id, the span the id's first half`() {
        #expect(
            EventID("b1946ac92492d2347c6235b4d2611184").traceparent
                == "00-b1946ac92492d2347c6235b4d2611184-b1946ac92492d234-01")
    }

    @Test(arguments: [
        "", "x", "B1946AC92492D2347C6235B4D2611184", "b1946ac92492d2347c6235b4d261118",
    ])
    func `an id that is not 32 hexadecimal digits has no trace`(text: String) {
        #expect(EventID(text).traceparent == nil)
    }

    @Test func `a type is named with or without its prefix`() {
        #expect(EventType("live.traxstreaming.connection.failing") == .failing)
        #expect(EventType("connection.failing") == .failing)
        #expect(EventType.failing.cloudEventsType == "live.traxstreaming.connection.failing")
        #expect(EventType.known.filter(\.isAboutAccount).count == 6)
        #expect(Set(EventType.known).count == 13)
    }
}

@Suite struct StateKeyTests {
    @Test(arguments: [
        ("acct_7/conn_42", "acct_7", "conn_42"), ("a/b/c", "a", "b/c"), ("a//", "a", "/"),
        ("a/\u{301}x", "a", "\u{301}x"), ("a:b@c/é", "a:b@c", "é"),
    ])
    func `a state key is account, slash, connection, and is split at the first slash`(
        key: String, account: String, connection: String
    ) throws {
        let pair = try #require(StateRecord.split(key: key))
        #expect(pair.0.text == account)
        #expect(pair.1.text == connection)
        #expect(StateRecord.key(pair.0, pair.1) == key)
    }

    @Test(arguments: ["", "/", "a", "a/", "/b", "a b/c", "é/c"])
    func `what is no state key is nil`(key: String) {
        #expect(StateRecord.split(key: key) == nil)
    }

    @Test func `a state record is written in the contract's order, and read again`() throws {
        var record = StateRecord(
            account: try #require(AccountID("acct_7")), epoch: 5, sequence: 0,
            connection: Connection(
                id: try #require(ConnectionID("c")), platform: "kick", status: "pending",
                health: .pending, grantedScopes: nil),
            standing: nil, observedAt: Timestamp(milliseconds: 1), since: nil)
        #expect(
            record.json.text
                == #"{"account":"acct_7","epoch":5,"sequence":0,"#
                + #""connection":{"id":"c","platform":"kick","status":"pending","#
                + #""health":"pending","grantedScopes":null},"standing":null,"#
                + #""observedAt":"1970-01-01T00:00:00.001Z","since":null}"#)
        #expect(StateRecord(json: record.json) == record)
        record.standing = .failing
        record.since = Timestamp(milliseconds: 2)
        #expect(StateRecord(json: record.json) == record)
        #expect(record.json["standing"] == "failing")
    }
}
