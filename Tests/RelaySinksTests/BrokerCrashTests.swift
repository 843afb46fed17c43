import Foundation
import Kafka
import RelayCore
import RelaySinks
import Testing

/// A cluster of the test's own, started by the program that `KAFKA_TEST_TOOL` names.
final class OwnCluster: Sendable {
    let folder: String
    let bootstrap: String

    init(_ options: String...) throws {
        folder = NSTemporaryDirectory() + unique("kafka")
        bootstrap = try Self.tool(["up", folder] + options)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    deinit { _ = try? Self.tool(["rm", folder]) }

    /// Runs `kill`, `start`, `pause`, `resume` or `tool` on it.
    @discardableResult
    func run(_ command: String, _ arguments: String...) throws -> String {
        try Self.tool([command, folder] + arguments)
    }

    fileprivate static func tool(_ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: try #require(environment["KAFKA_TEST_TOOL"]))
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(arguments)")
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Delivers a journal of so many entries through the relay's own delivery machine.
struct Feed {
    let pipeline: Pipeline
    let publisher: KafkaPublisher
    let count: Int64
    private(set) var opened = 0
    private(set) var codes: [String: Int] = [:]

    init(_ pipeline: Pipeline, count: Int64, instance: String = "one") {
        self.pipeline = pipeline
        self.count = count
        publisher = pipeline.publisher(instance: instance)
    }

    private static var now: Instant {
        let time = DispatchTime.now().uptimeNanoseconds
        return Instant(nanoseconds: Int64(time))
    }

    /// Goes on until every sink has everything; nil then, else what stopped it.
    mutating func deliver(within limit: Double) -> PublishFailure? {
        let deadline = Date() + limit
        let head = JournalPosition(count)
        var delivery = Delivery(
            sinks: pipeline.plans.map { ($0, JournalPosition.start) }, now: Self.now)
        while delivery.slowestPlace != head {
            if Date() > deadline {
                return PublishFailure(kind: .unavailable, code: "late", reason: "\(codes)")
            }
            switch delivery.next(now: Self.now, head: head) {
            case .stop(let failure): return failure
            case .wait: Thread.sleep(forTimeInterval: 0.01)
            case .park(let after, let sink):
                return PublishFailure(
                    kind: .refusedRecord(sink), code: "park", reason: "after \(after)")
            case .open: open(&delivery)
            case .publish(let place, let limit, let sinks):
                let last = min(place.number + Int64(min(limit, 20)), count)
                let entries = (place.number + 1...last).map { entry($0) }
                let run = delivery.run(of: entries, to: sinks)
                if let error = failure({ try publisher.publish(run) }) {
                    codes["\(error.kind) \(error.code)", default: 0] += 1
                    delivery.failed(error, sinks: sinks, entries: entries.count, now: Self.now)
                } else {
                    delivery.published(run)
                }
            }
        }
        return nil
    }

    private mutating func open(_ delivery: inout Delivery) {
        do {
            let places = try publisher.open().mapValues(\.position)
            delivery.opened(places: places)
            opened += 1
        } catch {
            codes["open \(error.kind) \(error.code)", default: 0] += 1
            delivery.failed(error, sinks: [], entries: 0, now: Self.now)
        }
    }
}

// Brokers of the test's own, so that they may be killed; one test at a time, for the memory.
@Suite(.kafkaTool, .serialized) struct BrokerCrashTests {
    /// Every position once, in order, whatever happened.
    private func expectOnce(_ pipeline: Pipeline, _ count: Int64) throws {
        for (key, positions) in try pipeline.positions() {
            #expect(positions == (1...count).filter { key == "acct_\($0 % 5)" }, "\(key)")
        }
        #expect(try pipeline.read(pipeline.state.text).count == Int(count))
    }

    @Test func `a broker killed again and again under publishing loses and doubles nothing`() throws
    {
        let cluster = try OwnCluster()
        let pipeline = Pipeline(cluster.bootstrap)
        var feed = Feed(pipeline, count: 6000)
        let killer = Thread {
            for _ in 0..<4 {
                Thread.sleep(forTimeInterval: .random(in: 0.2...1.5))
                _ = try? cluster.run("kill")
                Thread.sleep(forTimeInterval: .random(in: 0...1.5))
                _ = try? cluster.run("start")
            }
        }
        killer.start()
        #expect(feed.deliver(within: 180) == nil)
        #expect(eventually(60) { killer.isFinished })
        print("kills: opened \(feed.opened), \(feed.codes)")
        try expectOnce(pipeline, 6000)
    }

    @Test func `a broker that sleeps past the transaction's time is no other relay`() throws {
        let cluster = try OwnCluster()
        let pipeline = Pipeline(cluster.bootstrap)
        var feed = Feed(pipeline, count: 8000)
        let pauser = Thread {
            for time in [2, 18] {
                Thread.sleep(forTimeInterval: 1)
                _ = try? cluster.run("pause")
                Thread.sleep(forTimeInterval: Double(time))
                _ = try? cluster.run("resume")
            }
        }
        pauser.start()
        #expect(feed.deliver(within: 180) == nil)
        #expect(eventually(60) { pauser.isFinished })
        print("pauses: opened \(feed.opened), \(feed.codes)")
        try expectOnce(pipeline, 8000)
    }

    @Test func `a relay that sleeps inside a run past the transaction's time goes on`() throws {
        let cluster = try OwnCluster()
        let pipeline = Pipeline(cluster.bootstrap)
        // A transaction that was begun and never ended, as by a relay that was killed.
        let dead = try KafkaProducer(
            pipeline.client.setting("transactional.id", pipeline.name))
        var feed = Feed(pipeline, count: 500)
        try feed.publisher.opened()
        try dead.initTransactions(timeout: .seconds(20))
        try dead.begin()
        try dead.produce(
            topic: pipeline.events.text, key: Array("acct_1".utf8), value: Array("1 dead".utf8))
        try dead.flush(timeout: .seconds(20))
        #expect(feed.deliver(within: 120) == nil)
        try expectOnce(pipeline, 500)
    }

    @Test func `what we may not write to blocks its sink, and is told with the remedy`() throws {
        let cluster = try OwnCluster(
            "--sasl", "PLAIN:admin:secret-a", "--sasl", "PLAIN:relay:secret-r", "--acl", "admin")
        var pipeline = Pipeline(cluster.bootstrap)
        func login(_ user: String, _ password: String) {
            pipeline.client = KafkaConfiguration(bootstrap: cluster.bootstrap)
            pipeline.client.set("security.protocol", "SASL_PLAINTEXT")
            pipeline.client.set("sasl.mechanism", "PLAIN")
            pipeline.client.set("sasl.username", user)
            pipeline.client.set("sasl.password", password)
        }
        login("admin", "secret-a")
        try pipeline.publisher().opened()

        login("relay", "wrong")
        let refused = failure { _ = try pipeline.publisher().open() }
        #expect(refused?.kind == .unavailable)
        #expect(refused?.reason.contains("sasl.*") == true, "\(refused?.reason ?? "")")
        #expect(refused?.reason.contains("wrong") == false)

        login("relay", "secret-r")
        let nothing = failure { _ = try pipeline.publisher().open() }
        #expect(nothing?.kind == .misconfigured, "\(nothing?.reason ?? "")")

        func grant(_ arguments: String) throws {
            try cluster.run(
                "tool",
                ["acls", "--add", "--allow-principal", "User:relay"]
                    + arguments.split(separator: " ").map(String.init))
        }
        try grant(
            "--operation Write --operation Describe --operation Read --topic \(pipeline.progress)")
        try grant("--operation Write --operation Describe --topic \(pipeline.events)")
        try grant("--operation Describe --topic \(pipeline.state)")
        try grant("--operation Write --operation Describe --transactional-id \(pipeline.name)")
        let notes = Notes()
        let publisher = pipeline.publisher(notes: { notes.add($0) })
        try publisher.opened()
        #expect(notes.all.count == 3)
        #expect(notes.all.allSatisfy { $0.contains("does not let us see the settings") })
        let both = pipeline.run(1...3)
        let (events, states) = (Run(parts: [both.parts[0]]), Run(parts: [both.parts[1]]))
        // Which topic it was the coordinator does not say: each alone then shows.
        #expect(failure { try publisher.publish(both) }?.kind == .again)
        for _ in 0..<2 {
            let refused = try publisher.refusal(of: states)
            #expect(refused?.kind == .refusedSink(pipeline.state), "\(refused?.reason ?? "")")
            try publisher.published(events)
        }
        try grant("--operation Write --topic \(pipeline.state)")
        // Brokers learn of a grant a moment after the tool has made it.
        #expect(eventually { failure { try publisher.publish(states) } == nil })
    }
}

extension BrokerCrashTests {
    /// A pipeline with what the cluster's own file says that clients need.
    private func pipeline(_ cluster: OwnCluster) throws -> Pipeline {
        var pipeline = Pipeline(cluster.bootstrap)
        let file = try String(
            contentsOfFile: cluster.folder + "/client.properties", encoding: .utf8)
        for line in file.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
            if parts[0] != "bootstrap.servers" { pipeline.client.set(parts[0], parts[1]) }
        }
        return pipeline
    }

    @Test func `client certificates by properties are enough to publish`() throws {
        let cluster = try OwnCluster("--mtls")
        let pipeline = try pipeline(cluster)
        let publisher = pipeline.publisher()
        try publisher.opened()
        try publisher.published(pipeline.run(1...5))
        #expect(try pipeline.positions().values.flatMap(\.self).sorted() == Array(1...5))

        var untrusting = Pipeline(cluster.bootstrap)
        untrusting.client.set("security.protocol", "SSL")
        let error = failure { _ = try untrusting.publisher().open() }
        #expect(error?.kind == .unavailable)
        #expect(error?.reason.contains("ssl.*") == true, "\(error?.reason ?? "")")
    }

    @Test(arguments: ["3.9.1", "4.4.0"])
    func `SCRAM works, or an old library is told what to do about it`(release: String) throws {
        let cluster = try OwnCluster(
            "--release", release, "--sasl", "SCRAM-SHA-256:relay:secret-r")
        let pipeline = try pipeline(cluster)
        let publisher = pipeline.publisher()
        if release.hasPrefix("3") || KafkaLibrary.hasWorkingSCRAM {
            try publisher.opened()
            try publisher.published(pipeline.run(1...5))
            return
        }
        let error = failure { _ = try publisher.open() }
        #expect(error?.kind == .unavailable)
        #expect(error?.reason.contains("LD_LIBRARY_PATH") == true, "\(error?.reason ?? "")")
    }
}

extension OwnCluster {
    func run(_ command: String, _ arguments: [String]) throws {
        _ = try Self.tool([command, folder] + arguments)
    }
}
