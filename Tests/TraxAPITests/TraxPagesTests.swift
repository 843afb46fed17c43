import ConnectionEvents
import Crypto
import HTTPServer
import JSON
import Testing
import Threading

@testable import TraxAPI

@Suite struct TraxPagesTests {
    @Test func `rows come page by page, and each page is asked for when it is needed`() async throws
    {
        let upstream = try Upstream { request in
            switch request.parameter("cursor") {
            case nil: Upstream.page(["c1", "c2"], next: "p&2")
            case "p&2": Upstream.page(["c3"], next: "p3")
            default: Upstream.page(["c4"])
            }
        }
        let client = try upstream.client()
        var ids: [String] = []
        for try await row in client.connections(pageSize: 2).rows {
            ids.append(row.id.text)
            if ids.count == 2 { #expect(upstream.requests.count == 1) }
        }
        #expect(ids == ["c1", "c2", "c3", "c4"])
        #expect(upstream.requests.map { $0.parameter("cursor") } == [nil, "p&2", "p3"])
        #expect(upstream.requests.allSatisfy { $0.parameter("limit") == "2" })
        var pages = client.connections(pageSize: 2).makeAsyncIterator()
        #expect(try await pages.next()?.nextCursor == "p&2")
    }

    @Test func `fields that are odd or unknown are borne`() async throws {
        let upstream = try Upstream { _ in
            Upstream.json(
                #"{"data":[{"id":7,"platform":1,"grantedScopes":["b","a"],"state":"s","x":[1]}]}"#)
        }
        let row = try #require(try await upstream.client().connections().all().first)
        #expect(row.id.text == "7")
        #expect(row.platform == nil)
        #expect(row.status == nil)
        #expect(row.grantedScopes == ["a", "b"])
        #expect(row.state?.text == "s")
        #expect(row.otherFields["x"] == [1])
    }

    @Test func `a cursor that comes again, and lists without end, are errors`() async throws {
        let cycling = try Upstream { _ in Upstream.page(["c1"], next: "again") }
        let client = try cycling.client()
        #expect(
            await failure { try await client.connections().all() }?.code == "cursor_repeated")
        #expect(cycling.requests.count == 2)
        let endless = try Upstream { request in
            let number = Int(request.parameter("cursor") ?? "0") ?? 0
            return Upstream.page(["c\(number)"], next: "\(number + 1)")
        }
        let other = try endless.client()
        let pages = await failure {
            try await other.connections(limits: TraxListLimits(pages: 5)).all()
        }
        #expect(pages?.code == "too_many_pages")
        #expect(endless.requests.count == 5)
        let rows = await failure {
            try await other.connections(limits: TraxListLimits(rows: 3)).all()
        }
        #expect(rows?.code == "too_many_rows")
    }

    @Test func `an iteration that failed is over`() async throws {
        let upstream = try Upstream { request in
            request.parameter("cursor") == nil
                ? Upstream.page(["c1"], next: "p2") : .text("{}")
        }
        var pages = try upstream.client().connections().makeAsyncIterator()
        #expect(try await pages.next()?.rows.count == 1)
        let error = await #expect(throws: TraxError.self) { _ = try await pages.next() }
        #expect(error?.code == "bad_envelope")
        #expect(try await pages.next() == nil)
    }

    @Test func `a row without an id fails the page`() async throws {
        let upstream = try Upstream { _ in .text(#"{"data":[{"name":"x"}]}"#) }
        let client = try upstream.client()
        #expect(await failure { try await client.connections().all() }?.code == "bad_row")
        #expect(await failure { try await client.studios().all() }?.code == "bad_row")
    }

    @Test func `a cancelled task ends its call at once, whenever it is cancelled`() async throws {
        let upstream = try Upstream { _ in Upstream.page([]).delayed(by: .seconds(60)) }
        let client = try upstream.client()
        for wait in [false, true] {
            let before = upstream.requests.count
            let task = Task { await failure { try await client.connections().all() } }
            while wait, upstream.requests.count == before { await Task.yield() }
            task.cancel()
            #expect(await task.value?.kind == .cancelled)
        }
        // The client goes on.
        let other = try Upstream { _ in Upstream.page(["c1"]) }
        #expect(try await other.client().connections().all().count == 1)
    }

    @Test func `a cancelled pause before another attempt ends too`() async throws {
        let upstream = try Upstream { _ in .text("", status: 503) }
        let client = try upstream.client(
            RetryRules(attempts: 3, firstPause: .seconds(300), longestPause: .seconds(600)))
        let task = Task { await failure { try await client.connections().all() } }
        while upstream.requests.isEmpty { await Task.yield() }
        task.cancel()
        #expect(await task.value?.kind == .cancelled)
    }

    @Test func `a list that was asked for outlives the client that asked`() async throws {
        let upstream = try Upstream { request in
            request.parameter("cursor") == nil
                ? Upstream.page(["c1"], next: "p2") : Upstream.page(["c2"])
        }
        let rows = try upstream.client().connections().rows
        var ids: [String] = []
        for try await row in rows { ids.append(row.id.text) }
        #expect(ids == ["c1", "c2"])
    }
}
