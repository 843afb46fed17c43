import ConnectionEvents
import JSON
import Testing

@Suite struct EventEncodingTests {
    @Test func `the contract's example is written byte for byte`() throws {
        let event = try failing()
        #expect(String(decoding: event.serialized(), as: UTF8.self) == example)
    }

    @Test func `an event that is written and read again is the same event`() throws {
        for event in try [failing(), baseline(), repaired(), resync(), omitted()] + accountEvents()
        {
            let bytes = event.serialized()
            let read = try ConnectionEvent(parsing: bytes)
            #expect(read == event)
            #expect(read.serialized() == bytes)
        }
    }

    @Test func `unknown scopes are null, and an empty set is an empty array`() throws {
        let unknown = try connection(status: "active", health: .healthy, scopes: nil)
        let empty = try connection(status: "active", health: .healthy, scopes: [])
        #expect(unknown.json["grantedScopes"] == .null)
        #expect(empty.json["grantedScopes"] == .array([]))
    }

    @Test func `unknown fields of a row stand in extra, and only where there are some`() throws {
        var row = try connection(status: "active", health: .healthy)
        #expect(
            row.json.objectValue?.keys == ["id", "platform", "status", "health", "grantedScopes"])
        row.extra = ["displayName": "Ann", "n": .number(try #require(JSONNumber(text: "1.10")))]
        #expect(row.json["extra"] == .object(row.extra))
        row.extra = JSONObject()
        row.extraOmitted = true
        #expect(row.json["extra"] == nil)
        #expect(row.json["extraOmitted"] == true)
    }

    @Test func `scopes stand between changed and changedBetween, failedFor and replacements last`()
        throws
    {
        #expect(
            try repaired().json["data"]?.objectValue?.keys == [
                "account", "kind", "lane", "epoch", "sequence", "connection", "previous", "changed",
                "scopes", "changedBetween", "decidedAt", "walk", "statusRecognised",
                "userActionable", "failedFor", "possibleReplacementOf",
            ])
    }

    @Test func `what is not there is null: the previous row, and the walk that showed it`() throws {
        let data = try #require(try baseline().json["data"]?.objectValue)
        #expect(data["previous"] == .null)
        #expect(data["changedBetween"]?["after"] == .null)
        #expect(data["connection"]?["status"] == .null)
        #expect(data["connection"]?["grantedScopes"] == .null)
    }

    @Test func `an event without a walk has no window and no walk`() throws {
        let data = try #require(try resync().json["data"]?.objectValue)
        #expect(data["changedBetween"] == nil)
        #expect(data["walk"] == nil)
    }

    @Test func `account events have no subject and no window, and their own fields`() throws {
        let common = ["account", "kind", "lane", "epoch", "sequence", "decidedAt"]
        let own: [[String]] = [
            ["status", "code", "requiredScope", "since"], ["status", "code", "since"],
            ["blindFor"], [], ["reason"],
            ["hold", "reason", "removals", "failures", "connections"],
            ["hold", "recovered", "published", "discarded"],
        ]
        for (event, fields) in zip(try accountEvents(), own) {
            #expect(event.json["subject"] == nil)
            #expect(event.subject == nil)
            #expect(event.json["data"]?.objectValue?.keys == common + fields)
        }
    }

    @Test func `the attribute sequence sorts as text in the order of epoch and number`() throws {
        let places: [(Int64, Int64)] = [
            (1_796_040_000_123, 9), (1_796_040_000_123, 10), (1_796_040_000_123, 999_999_999_999),
            (1_796_040_000_124, 1),
        ]
        let texts = try places.map { place in
            var event = try failing()
            (event.epoch, event.sequence) = place
            return event.sequenceAttribute
        }
        #expect(texts == texts.sorted())
        #expect(texts[0] == "1796040000123-000000000009")
    }

    @Test func `an account event that this version does not know keeps its data`() throws {
        var object = try #require(try accountEvents()[3].json.objectValue)
        object["type"] = "live.traxstreaming.account.moved"
        var data = try #require(object["data"]?.objectValue)
        data["target"] = "elsewhere"
        object["data"] = .object(data)
        let event = try ConnectionEvent(json: .object(object))
        #expect(event.type.name == "account.moved")
        #expect(event.json["data"]?["target"] == "elsewhere")
    }
}

let example =
    #"{"specversion":"1.0","id":"b1946ac92492d2347c6235b4d2611184","source":"/accounts/acct_7","#
    + #""type":"live.traxstreaming.connection.failing","subject":"conn_42","#
    + #""time":"2026-11-30T12:00:00.123Z","datacontenttype":"application/json","#
    + #""dataschema":"https://traxstreaming.live/schemas/connection-event/1","#
    + #""partitionkey":"acct_7","sequence":"1796040000123-000000000042","#
    + #""data":{"account":"acct_7","kind":"change","lane":"raw","epoch":1796040000123,"#
    + #""sequence":42,"#
    + #""connection":{"id":"conn_42","platform":"youtube","status":"expired","health":"failing","#
    + #""grantedScopes":["a","b"]},"#
    + #""previous":{"id":"conn_42","platform":"youtube","status":"active","health":"healthy","#
    + #""grantedScopes":["a","b"]},"#
    + #""changed":["status"],"changedBetween":{"after":"2026-11-30T11:59:30.000Z","#
    + #""before":"2026-11-30T12:00:00.123Z"},"decidedAt":"2026-11-30T12:00:00.131Z","#
    + #""walk":"w_01J","statusRecognised":true,"userActionable":true}}"#

private func instant(_ text: String) throws -> Timestamp { try #require(Timestamp(text)) }

private func connection(
    status: String?, health: Health, scopes: [String]? = ["a", "b"]
) throws -> Connection {
    Connection(
        id: try #require(ConnectionID("conn_42")), platform: "youtube", status: status,
        health: health, grantedScopes: scopes)
}

private func event(
    _ type: EventType, kind: EventKind = .change, _ content: ConnectionEvent.Content
) throws -> ConnectionEvent {
    ConnectionEvent(
        id: EventID("b1946ac92492d2347c6235b4d2611184"), account: try #require(AccountID("acct_7")),
        type: type, kind: kind, lane: .raw, epoch: 1_796_040_000_123, sequence: 42,
        time: try instant("2026-11-30T12:00:00.123Z"),
        decidedAt: try instant("2026-11-30T12:00:00.131Z"), content: content)
}

private func window() throws -> ChangeWindow {
    ChangeWindow(
        after: try instant("2026-11-30T11:59:30.000Z"),
        before: try instant("2026-11-30T12:00:00.123Z"))
}

private func failing() throws -> ConnectionEvent {
    try event(
        .failing,
        .connection(
            ConnectionChange(
                connection: connection(status: "expired", health: .failing),
                previous: connection(status: "active", health: .healthy), changed: ["status"],
                changedBetween: window(), walk: "w_01J", statusRecognised: true,
                userActionable: true)))
}

private func baseline() throws -> ConnectionEvent {
    try event(
        .baseline, kind: .baseline,
        .connection(
            ConnectionChange(
                connection: connection(status: nil, health: .unrecognised, scopes: nil),
                previous: nil,
                changedBetween: ChangeWindow(
                    after: nil, before: instant("2026-11-30T12:00:00.123Z")),
                walk: "w_01J", statusRecognised: false)))
}

private func repaired() throws -> ConnectionEvent {
    var row = try connection(status: "active", health: .healthy, scopes: ["b", "c"])
    row.extra = ["a/b": [1, nil, "\u{0}\u{1F600}"]]
    return try event(
        .repaired,
        .connection(
            ConnectionChange(
                connection: row, previous: connection(status: "expired", health: .failing),
                changed: ["status", "grantedScopes"],
                scopes: ScopeChange(added: ["c"], removed: ["a"]), changedBetween: window(),
                walk: "w_01J", statusRecognised: true, failedFor: .milliseconds(93_784_005),
                possibleReplacementOf: [try #require(ConnectionID("conn_1"))])))
}

private func resync() throws -> ConnectionEvent {
    try event(
        .statusChanged, kind: .resync,
        .connection(
            ConnectionChange(
                connection: connection(status: "odd", health: .unrecognised),
                previous: connection(status: "odd", health: .failing), changed: ["health"],
                statusRecognised: false)))
}

private func omitted() throws -> ConnectionEvent {
    var row = try connection(status: "active", health: .healthy)
    row.extraOmitted = true
    return try event(
        .linked,
        .connection(
            ConnectionChange(
                connection: row, previous: nil, changedBetween: window(), walk: "w_01J",
                statusRecognised: true)))
}

private func accountEvents() throws -> [ConnectionEvent] {
    let since = try instant("2026-11-30T11:59:00.000Z")
    let ids = [try #require(ConnectionID("a")), try #require(ConnectionID("b"))]
    return try [
        event(
            .accountBlind,
            .account(
                .blind(
                    status: 403, code: "insufficient_scope", requiredScope: "connections:read",
                    since: since))),
        event(
            .accountBlind,
            .account(
                .blind(status: 401, code: "invalid_key", requiredScope: nil, since: since))),
        event(.accountRestored, .account(.restored(blindFor: .seconds(61)))),
        event(.accountRemoved, .account(.removed)),
        event(.accountResynced, kind: .resync, .account(.resynced(reason: "loss"))),
        event(
            .accountHeld,
            .account(
                .held(hold: "h1", reason: "share", removals: 2, failures: 0, connections: ids))),
        event(
            .accountReleased,
            .account(.released(hold: "h1", recovered: 1, published: 2, discarded: 3))),
    ]
}
