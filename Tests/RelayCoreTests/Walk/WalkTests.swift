import ConnectionEvents
import Hashing
import JSON
import RelayCore
import Testing

/// When a walk is sealed, and when it is not.
@Suite struct SealingTests {
    private func begin(
        _ limits: WalkLimits = WalkLimits(), expected: Fingerprint? = nil
    ) -> Walk {
        Walk(
            id: WalkID(start: Story.noon, random: (7, 9)), limits: limits, expected: expected)
    }

    /// Feeds pages to a walk, which must ask for each; the failure's code, or `sealed`.
    private func outcome(_ pages: [String], _ limits: WalkLimits = WalkLimits()) -> String {
        var walk = begin(limits)
        for (index, page) in pages.enumerated() {
            switch walk.answered(page) {
            case .failed(let failure): return failure.code
            case .unchanged: return "unchanged"
            case .page: if index == pages.count - 1 { return "page" }
            case .read(let reading):
                if index < pages.count - 1 { return "read too early" }
                switch reading.seal(at: Story.noon) {
                case .success: return "sealed"
                case .failure(let failure): return failure.code
                }
            }
        }
        return "no page"
    }

    @Test func `pages together no larger than eight of the largest`() {
        let row = String(repeating: "x", count: 60)
        let pages = (0..<9).map {
            #"{"data":[{"id":"\#($0)","n":"\#(row)"}],"nextCursor":"c\#($0)"}"#
        }
        let size = pages[0].utf8.count
        #expect(outcome(pages, WalkLimits(body: size)) == "walk_too_large")
        #expect(outcome(Array(pages.prefix(8)), WalkLimits(body: size)) == "page")
    }

    @Test(arguments: [
        #"{"data":[]}"#, #"{"data":[],"nextCursor":null}"#, #"{"data":[],"nextCursor":""}"#,
        #"{"nextCursor":null,"more":1,"data":[{"id":"a"}]}"#,
        #"{"data":[{"id":7},{"id":-7},{"id":"07"},{"id":"7 "}]}"#,
        #"{"data":[{"id":123456789012345678901234567890}]}"#,
        #"{"data":[{"id":"a","status":7,"platform":[],"grantedScopes":"x"}]}"#,
    ])
    func `a last page with usable rows seals a walk`(page: String) {
        #expect(outcome([page]) == "sealed")
    }

    @Test(arguments: [
        ("", "not_json"), ("<html>", "not_json"), (#"{"data":["#, "not_json"),
        (#"{"data":[]}x"#, "not_json"), ("[]", "bad_envelope"), ("null", "bad_envelope"),
        ("{}", "bad_envelope"), (#"{"data":null}"#, "bad_envelope"),
        (#"{"data":{}}"#, "bad_envelope"), (#"{"error":{"code":"x"}}"#, "bad_envelope"),
        (#"{"data":[],"nextCursor":7}"#, "bad_cursor"),
        (#"{"data":[],"nextCursor":false}"#, "bad_cursor"),
        (#"{"data":[],"nextCursor":{}}"#, "bad_cursor"),
        (#"{"data":[null]}"#, "bad_row"), (#"{"data":["a"]}"#, "bad_row"),
        (#"{"data":[[]]}"#, "bad_row"), (#"{"data":[{}]}"#, "bad_row"),
        (#"{"data":[{"id":null}]}"#, "bad_row"), (#"{"data":[{"id":""}]}"#, "bad_row"),
        (#"{"data":[{"id":true}]}"#, "bad_row"), (#"{"data":[{"id":1.0}]}"#, "bad_row"),
        (#"{"data":[{"id":1e3}]}"#, "bad_row"), (#"{"data":[{"id":{}}]}"#, "bad_row"),
        (#"{"data":[{"id":"a"},{"id":"a"}]}"#, "duplicate_id"),
        (#"{"data":[{"id":"7"},{"id":7}]}"#, "duplicate_id"),
    ])
    func `a page that is no list, or a row without a usable id, fails the walk`(
        page: String, code: String
    ) {
        #expect(outcome([page]) == code)
    }

    @Test func `an id has at most 512 bytes, as a text or as an integer`() {
        for (length, code) in [(512, "sealed"), (513, "bad_row")] {
            let digits = String(repeating: "1", count: length)
            #expect(outcome([#"{"data":[{"id":"\#(digits)"}]}"#]) == code)
            #expect(outcome([#"{"data":[{"id":\#(digits)}]}"#]) == code)
        }
    }

    @Test(arguments: [
        #""status":"X""#, #""platform":"X""#, #""grantedScopes":["a","X"]"#,
        #""grantedScopes":[1,"X"]"#, #""grantedScopes":"X""#,
    ])
    func `a string of more than 1 KiB in a known field fails the walk`(member: String) {
        for (length, code) in [(1024, "sealed"), (1025, "string_too_long")] {
            let text = String(repeating: "x", count: length)
            let row = #"{"id":"a",\#(member.replacing("X", with: text))}"#
            #expect(outcome([#"{"data":[\#(row)]}"#]) == code)
        }
    }

    @Test func `a long string in an unknown field is borne`() {
        let text = String(repeating: "x", count: 5000)
        #expect(outcome([#"{"data":[{"id":"a","note":"\#(text)"}]}"#]) == "sealed")
    }

    @Test func `pages are followed by their cursors to the last one`() throws {
        var walk = begin()
        #expect(walk.nextPage == 1)
        guard case .page("c1") = walk.answered(page("a", next: "c1")) else {
            Issue.record("not asked for c1")
            return
        }
        #expect(walk.nextPage == 2)
        guard case .page("c2") = walk.answered(page("b", next: "c2"), requestID: "req_b"),
            case .read(let reading) = walk.answered(page("c"))
        else {
            Issue.record("not read to the end")
            return
        }
        let sealed = try reading.seal(at: Story.start(1)).get()
        #expect(sealed.rows.map(\.id.text) == ["a", "b", "c"])
        #expect(sealed.sealedAt == Story.start(1))
        #expect(sealed.id == walk.id)
        #expect(
            sealed.pages.map(\.requestID) == [
                walk.id.requestID(page: 1), "req_b", walk.id.requestID(page: 3),
            ])
        #expect(sealed.pages.map(\.status) == [200, 200, 200])
        #expect(sealed.pages[0].bytes == page("a", next: "c1").utf8.count)
    }

    @Test func `a page that fails, fails the walk, whatever came before`() {
        let first = page("a", next: "c1")
        #expect(outcome([first, "<html>"]) == "not_json")
        #expect(outcome([first, #"{"data":[{"id":"a"}]}"#]) == "duplicate_id")
        #expect(outcome([first, #"{"data":[3]}"#]) == "bad_row")
        var walk = begin()
        _ = walk.answered(first)
        guard case .failed(let failure) = walk.answered("", status: 500) else {
            Issue.record("sealed")
            return
        }
        #expect(failure.code == "http_5xx")
    }

    @Test func `a cursor that comes again fails the walk`() {
        #expect(outcome([page("a", next: "c1"), page("b", next: "c1")]) == "cursor_repeated")
        let cycle = [page("a", next: "1"), page("b", next: "2"), page("c", next: "1")]
        #expect(outcome(cycle) == "cursor_repeated")
    }

    @Test func `a cursor has at most 4 KiB`() {
        for (length, code) in [(4096, "page"), (4097, "bad_cursor")] {
            #expect(outcome([page("a", next: String(repeating: "c", count: length))]) == code)
        }
    }

    @Test func `as many pages and rows as the limits say, and no more`() {
        let limits = WalkLimits(pages: 2, rows: 3)
        let two = [page("a", "b", next: "1")]
        #expect(outcome(two + [page("c")], limits) == "sealed")
        #expect(outcome(two + [page("c", "d")], limits) == "too_many_rows")
        #expect(outcome(two + [page("c", next: "2")], limits) == "too_many_pages")
        #expect(outcome([page("a", "b", "c", "d")], limits) == "too_many_rows")
        #expect(outcome([page("a", "b", "c")], WalkLimits(pages: 1, rows: 3)) == "sealed")
    }

    @Test func `failures are named by few words and say nothing of the content`() {
        var walk = begin()
        guard case .failed(let failure) = walk.answered(#"{"data":["secret_key"],"nextCursor":3}"#)
        else {
            Issue.record("sealed")
            return
        }
        #expect(!failure.reason.contains("secret"))
        #expect(failure.description == failure.reason)
        #expect(WalkFailure(PageFailure(code: "reset", reason: "gone")).code == "reset")
        #expect(WalkFailure.tookTooLong(.seconds(60)).code == "walk_timeout")
    }

    @Test func `an answer's request id is kept as evidence, but not without end`() throws {
        var walk = begin()
        let long = "x" + String(repeating: "é", count: 1000)
        guard case .read(let reading) = walk.answered(page("a"), requestID: long) else {
            Issue.record("not read")
            return
        }
        let kept = try reading.seal(at: Story.noon).get().pages[0].requestID
        #expect(kept == "x" + String(repeating: "é", count: 127), "no half of an é")
    }
}

/// The fast way: the bytes are those of last time.
@Suite struct FingerprintTests {
    private func begin(_ expected: Fingerprint?) -> Walk {
        Walk(
            id: WalkID(start: Story.noon, random: (7, 9)), limits: WalkLimits(), expected: expected)
    }

    private func fingerprint(_ pages: [String]) throws -> Fingerprint {
        var walk = begin(nil)
        for page in pages {
            if case .read(let reading) = walk.answered(page) { return reading.fingerprint }
        }
        throw Missed(what: "the last page")
    }

    private func steps(_ pages: [String], expecting: Fingerprint?) -> [String] {
        var walk = begin(expecting)
        return pages.map { page in
            switch walk.answered(page) {
            case .page: "page"
            case .unchanged: "unchanged"
            case .read: "read"
            case .failed: "failed"
            }
        }
    }

    @Test func `a list of one page with the same bytes is unchanged`() throws {
        let list = page("a")
        let known = try fingerprint([list])
        #expect(known == Fingerprint.of(Array(list.utf8)))
        #expect(steps([list], expecting: known) == ["unchanged"])
        #expect(steps([page("b")], expecting: known) == ["read"])
        #expect(steps([list], expecting: nil) == ["read"])
    }

    @Test func `bytes that are known are not read again`() {
        let bytes = "whatever it was that was sealed"
        #expect(steps([bytes], expecting: Fingerprint.of(Array(bytes.utf8))) == ["unchanged"])
    }

    @Test func `a list of many pages is unchanged when all of them are`() throws {
        let list = [page("a", next: "1"), page("b", next: "2"), page("c")]
        let known = try fingerprint(list)
        #expect(steps(list, expecting: known) == ["page", "page", "unchanged"])
        #expect(
            steps([list[0], list[1], page("d")], expecting: known) == ["page", "page", "read"])
        #expect(
            steps([page("x", next: "1"), list[1], list[2]], expecting: known)
                == ["page", "page", "read"])
    }

    @Test func `a first page like that of last time is not the list of last time`() throws {
        let list = [page("a", next: "1"), page("b")]
        let known = try fingerprint(list)
        #expect(steps([list[0], page("c")], expecting: known) == ["page", "read"])
        // The list had one page; now the same rows stand on one that has a next, or come last.
        let one = try fingerprint([page("a")])
        #expect(steps(list, expecting: one) == ["page", "read"])
        #expect(steps([page("b", next: "1"), page("a")], expecting: one) == ["page", "read"])
    }

    @Test func `what a page says of itself counts before its bytes do`() throws {
        let list = page("a")
        var walk = begin(try fingerprint([list]))
        guard case .failed = walk.answered(list, status: 503) else {
            Issue.record("an error page passed for an unchanged list")
            return
        }
    }
}

/// A page with rows of these ids.
func page(_ ids: String..., next: String? = nil) -> String {
    let rows = ids.map { #"{"id":"\#($0)","platform":"youtube","status":"active"}"# }
    let cursor = next.map { #","nextCursor":"\#($0)""# } ?? ""
    return #"{"data":[\#(rows.joined(separator: ","))]\#(cursor)}"#
}
