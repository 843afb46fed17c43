import ConnectionEvents
import Testing

@testable import RelayCore

/// What an answer's status and headers say.
@Suite struct AnswerTests {
    private static let envelope =
        #"{"error":{"code":"invalid_key","message":"no","requestId":"req_1"}}"#
    private static let scope =
        #"{"error":{"code":"insufficient_scope","message":"no","requestId":"r","#
        + #""requiredScope":"connections:read"}}"#

    private func failure(
        _ status: Int, _ body: String = #"{"data":[]}"#, retryAfter: String? = nil,
        date: String? = nil
    ) -> WalkFailure? {
        var walk = Walk(
            id: WalkID(start: Story.noon, random: (7, 9)), limits: WalkLimits(), expected: nil)
        let step = walk.answered(body, status: status, retryAfter: retryAfter, date: date)
        if case .failed(let failure) = step { return failure }
        return nil
    }

    @Test(arguments: [200, 201, 203, 206, 299])
    func `a 2xx that holds a list is read`(status: Int) {
        #expect(failure(status) == nil)
    }

    @Test(arguments: [
        (204, "no_content"), (205, "no_content"), (301, "redirect"), (302, "redirect"),
        (304, "redirect"), (307, "redirect"), (308, "redirect"), (400, "http_4xx"),
        (404, "not_found"), (410, "http_4xx"), (418, "http_4xx"), (500, "http_5xx"),
        (502, "http_5xx"), (504, "http_5xx"), (100, "http_other"), (0, "http_other"),
        (600, "http_other"), (429, "throttled"), (503, "http_5xx"),
        (401, "unauthorized_without_envelope"), (403, "unauthorized_without_envelope"),
    ])
    func `any other answer never seals, whatever its body, and is an ordinary failure`(
        status: Int, code: String
    ) {
        #expect(failure(status)?.code == code)
        #expect(failure(status)?.kind == .failed)
    }

    @Test func `401 and 403 with the API's envelope are refusals`() {
        #expect(
            failure(401, Self.envelope)?.kind
                == .refused(status: 401, code: "invalid_key", requiredScope: nil))
        #expect(
            failure(403, Self.scope)?.kind
                == .refused(
                    status: 403, code: "insufficient_scope", requiredScope: "connections:read"))
        #expect(failure(404, Self.envelope)?.kind == .failed)
        #expect(failure(400, Self.envelope)?.kind == .failed)
    }

    @Test(arguments: [
        "", "<html>401</html>", "{}", #"{"error":"invalid_key"}"#, #"{"error":null}"#,
        #"{"error":{}}"#, #"{"error":{"code":null}}"#, #"{"error":{"code":""}}"#,
        #"{"error":{"code":7}}"#, #"[{"error":{"code":"x"}}]"#, #"{"code":"invalid_key"}"#,
        #"{"error":{"message":"no"}}"#,
    ])
    func `without the envelope a 401 is an ordinary failure`(body: String) {
        #expect(failure(401, body)?.kind == .failed)
    }

    @Test func `a code of any length is kept to 128 bytes`() throws {
        let plain = #"{"error":{"code":"\#(String(repeating: "c", count: 129))"}}"#
        #expect(
            failure(401, plain)?.kind
                == .refused(
                    status: 401, code: String(repeating: "c", count: 128), requiredScope: nil))
        let mark = String(repeating: "\u{301}", count: 500)
        let body = #"{"error":{"code":"e\#(mark)","requiredScope":"s\#(mark)"}}"#
        guard case .refused(_, let code, let scope)? = failure(401, body)?.kind else {
            Issue.record("not refused")
            return
        }
        #expect(code.utf8.count <= 128)
        #expect(try #require(scope).utf8.count <= 128)
    }

    @Test(arguments: [429, 503])
    func `429 and 503 with Retry-After wait that long`(status: Int) {
        #expect(failure(status, retryAfter: "7")?.kind == .throttled(.seconds(7)))
        #expect(failure(status, retryAfter: "soon")?.kind == .failed)
        #expect(failure(status)?.kind == .failed)
    }

    @Test func `Retry-After on any other answer says nothing`() {
        #expect(failure(500, retryAfter: "7")?.kind == .failed)
        #expect(failure(401, Self.envelope, retryAfter: "7")?.code == "refused")
    }
}

@Suite struct RetryAfterTests {
    private static let now = Timestamp(milliseconds: 784_111_777_000)  // 1994-11-06T08:49:37Z

    @Test(arguments: [
        ("1", 1), ("0", 1), ("59", 59), (" 30\t", 30), ("900", 900), ("901", 900),
        ("99999999999999999999999999", 900), ("007", 7),
    ])
    func `seconds are at least 1 and at most 15 minutes`(header: String, seconds: Int) {
        #expect(RetryAfter.wait(header, date: nil, now: Self.now) == .seconds(seconds))
    }

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:50:37 GMT", "Sunday, 06-Nov-94 08:50:37 GMT",
        "Sun Nov  6 08:50:37 1994", " Sun, 06 Nov 1994 08:50:37 GMT ",
    ])
    func `a date in any of the three forms is that instant`(header: String) {
        #expect(RetryAfter.wait(header, date: nil, now: Self.now) == .seconds(60))
    }

    @Test func `a date is measured against the answer's own Date, whatever our clock says`() {
        let header = "Sun, 06 Nov 1994 08:50:37 GMT"
        let elsewhere = Self.now.adding(.seconds(86_400))
        for date in ["Sun, 06 Nov 1994 08:50:07 GMT", "Sunday, 06-Nov-94 08:50:07 GMT"] {
            #expect(RetryAfter.wait(header, date: date, now: elsewhere) == .seconds(30))
        }
        #expect(RetryAfter.wait(header, date: "yesterday", now: Self.now) == .seconds(60))
    }

    @Test func `a date in the past is 1 second, one far off 15 minutes`() {
        #expect(
            RetryAfter.wait("Sun, 06 Nov 1994 08:00:00 GMT", date: nil, now: Self.now)
                == .seconds(1))
        #expect(
            RetryAfter.wait("Fri, 31 Dec 9999 23:59:59 GMT", date: nil, now: Self.now)
                == .seconds(900))
    }

    @Test(arguments: [
        "", " ", "-1", "+5", "1.5", "1s", "soon", "Sun, 06 Nov 1994", "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 32 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 06 Nov 1994 08:x:49:37 GMT", "Sun, 06 Nov 1994 08::49:37 GMT",
        "Sun, 06 Nov 99999 08:49:37 GMT", "Sun, 06 Nov 0 08:49:37 GMT", "a b c d e f", "a b c : e",
        "1994-11-06T08:49:37Z",
    ])
    func `what is neither says nothing`(header: String) {
        #expect(RetryAfter.wait(header, date: nil, now: Self.now) == nil)
    }

    @Test func `a year of two digits is of this century up to 69`() {
        #expect(
            RetryAfter.httpDate("Sunday, 06-Nov-69 08:49:37 GMT")?.description
                == "2069-11-06T08:49:37.000Z")
        #expect(
            RetryAfter.httpDate("Sunday, 06-Nov-70 08:49:37 GMT")?.description
                == "1970-11-06T08:49:37.000Z")
    }
}

@Suite struct WalkIDTests {
    @Test func `a walk's id tells its start, and is read as it was written`() throws {
        let id = WalkID(start: Story.noon, random: (0xFFFF_FFFF_FFFF_FFFF, 0x0123_4567_89AB_CDEF))
        #expect(id.start == Story.noon)
        #expect(id.description.hasPrefix("w_01"))
        #expect(id.description.utf8.count == 28)
        #expect(WalkID(id.description) == id)
        #expect(id.requestID(page: 3) == "\(id).3")
    }

    @Test func `ids sort as text in the order of their starts`() {
        var random = SeededRandom(seed: 1)
        let ids = (0..<50).map { step in
            WalkID(
                start: Timestamp(milliseconds: Int64(step) * 977),
                random: (random.next(), random.next())
            ).description
        }
        #expect(ids == ids.sorted())
        #expect(Set(ids).count == 50)
    }

    @Test(arguments: [
        "", "w_", "01JDXYZ", "w_80000000000000000000000000", "w_ZZZZZZZZZZZZZZZZZZZZZZZZZZ",
        "w_0000000000000000000000000", "w_000000000000000000000000000",
        "w_0000000000000000000000000U", "w_0000000000000000000000000l",
        "x_00000000000000000000000000",
    ])
    func `what is no walk's id is nil`(text: String) {
        #expect(WalkID(text) == nil)
    }

    @Test func `the clock of stamps goes at half the speed until the wall clock has caught up`() {
        var clock = StampClock(floor: Timestamp(milliseconds: 100))
        func stamp(_ wall: Int64, _ now: Int64) -> Int64 {
            clock.stamp(
                Timestamp(milliseconds: wall), now: Instant(nanoseconds: now * 1_000_000)
            ).milliseconds
        }
        #expect(stamp(50, 1000) == 100)
        #expect(stamp(70, 1020) == 110)
        #expect(stamp(70, 1020) == 110)
        #expect(stamp(100, 1060) == 130)
        #expect(stamp(150, 1100) == 150)
        #expect(stamp(250, 1200) == 250)
        #expect(stamp(240, 1210) == 250)
        #expect(stamp(244, 1214) == 252)
        clock.raise(to: Timestamp(milliseconds: 300))
        clock.raise(to: Timestamp(milliseconds: 10))
        #expect(stamp(248, 1218) == 300)
        #expect(stamp(258, 1228) == 305)
    }
}
