import RelayConfiguration
import Testing

@Suite struct PipelineErrorTests {
    static func problems(_ text: String, _ environment: [String: String] = [:]) -> [String] {
        let error = #expect(throws: ConfigurationError.self) {
            try PipelineTests.read(text, environment)
        }
        return error?.problems.map(\.description) ?? []
    }

    @Test(
        "A key that is not known is told with place and the nearest known one",
        arguments: [
            ("nme: x", "1:1: unknown key `nme`: did you mean `name`?"),
            (
                "source:\n  base_url: x",
                "2:3: unknown key `base_url` in `source`: did you mean `baseURL`?"
            ),
            (
                "source: { fastest: 2s }",
                "1:11: unknown key `fastest` in `source`: it belongs to `source.interval`"
            ),
            (
                "source: { kafka: { topic: t } }",
                "1:11: unknown key `kafka` in `source`: it belongs to the top level of the file or "
                    + "an entry of `sinks`"
            ),
            (
                "detection: { removal: { xyz: 1 } }",
                "1:25: unknown key `xyz` in `detection.removal`: the keys here are `confirmations`"
            ),
            (
                "sinks: [{ kafak: { topic: t } }]",
                "1:11: unknown key `kafak` in `sinks[0]`: did you mean `kafka`?"
            ),
            (
                "sinks: [{ webhook: { url: x } }]",
                "1:11: unknown key `webhook` in `sinks[0]`: the keys here are `kafka`, `state`, "
                    + "`log`"
            ),
            (
                "detection: { settle: 30s }",
                "1:14: unknown key `settle` in `detection`: the keys here are `healthy`, "
                    + "`pending`, `failing`, `otherStatus`, `baseline`, `removal`, `brake`"
            ),
            (
                "sinks: [{ log: { when: { lane: raw } } }]",
                "1:26: unknown key `lane` in `sinks[0].log.when`: the keys here are `types`, "
                    + "`platforms`, `accounts`, `kinds`"
            ),
        ])
    func unknownKeys(text: String, expected: String) {
        #expect(Self.problems(text) == ["p.yaml:" + expected])
    }

    @Test(
        "A scalar that breaks its rule is told with place, rule and remedy",
        arguments: [
            ("version: 2", "1:10: `version` is `2`, it must be 1"),
            ("name: a b", "1:7: `name` must be 1 to 200 of the characters `A-Z a-z 0-9 . _ -`"),
            ("name: ''", "1:7: `name` must be 1 to 200 of the characters `A-Z a-z 0-9 . _ -`"),
            ("name:", "1:6: `name` has no value: write one, or remove the key"),
            ("name: [a]", "1:7: `name` must be a single value, not a list or mapping"),
            (
                "source: { pageLimit: 201 }",
                "1:22: `source.pageLimit` is `201`, it must be a whole number from 1 to 200"
            ),
            (
                "source: { pageLimit: 1.5 }",
                "1:22: `source.pageLimit` is `1.5`, it must be a whole number from 1 to 200"
            ),
            (
                "source: { requestTimeout: 10 }",
                "1:27: `source.requestTimeout` is `10`, it must be a duration such as "
                    + "`500ms`, `2s`, `5m`, `1h` or `2d`, from 10ms to 10m"
            ),
            (
                "source: { budget: 5 }",
                "1:19: `source.budget` is `5`, it must be a rate such as `200/s` or `60/m`, from "
                    + "1/h to 100000/s"
            ),
            (
                "source: { limits: { body: 4MB } }",
                "1:27: `source.limits.body` is `4MB`, it must be a size such as "
                    + "`64KiB` or `4MiB`, from 1KiB to 256MiB"
            ),
            (
                "detection: { otherStatus: failling }",
                "1:27: `detection.otherStatus` is `failling`, it must be `failing` "
                    + "or `unrecognised`: did you mean `failing`?"
            ),
            (
                "detection: { brake: { share: 1.5 } }",
                "1:30: `detection.brake.share` is `1.5`, it must be a number from 0 to 1"
            ),
            (
                "detection: { brake: { fleet: .5 } }",
                "1:30: `detection.brake.fleet` is `.5`, it must be a number from 0 to 1"
            ),
            (
                "detection: { brake: { failuresAfter: never } }",
                "1:38: `detection.brake.failuresAfter` is `never`, it must be a duration such as "
                    + "`500ms`, `2s`, `5m`, `1h` or `2d`, from 0s to 365d"
            ),
            (
                "detection: { brake: { removalsAfter: no } }",
                "1:38: `detection.brake.removalsAfter` is `no`, it must be a duration such as "
                    + "`500ms`, `2s`, `5m`, `1h` or `2d`, from 0s to 365d, or `never`"
            ),
            (
                "detection: { brake: true }",
                "1:21: `detection.brake` must be `false` or a mapping with the keys "
                    + "`share`, `atLeast`, `fleet`, `failuresAfter` and `removalsAfter`"
            ),
            (
                "kafka: { createTopics: true }",
                "1:24: `kafka.createTopics` must be `false` or a mapping with the keys "
                    + "`partitions` and `replicationFactor`"
            ),
            (
                "kafka: { createTopics: { replicationFactor: 0 } }",
                "1:45: `kafka.createTopics.replicationFactor` is `0`, "
                    + "it must be a whole number from 1 to 100, or -1"
            ),
            (
                "kafka: { brokers: 'a:99999' }",
                "1:19: `kafka.brokers` must be `embedded`, or hosts with ports such as "
                    + "`kafka-1:9092,kafka-2:9092`"
            ),
            (
                "http: { listen: 7080 }",
                "1:17: `http.listen` must be a host and a port, such as `127.0.0.1:7080`"
            ),
            (
                "http: { listen: '0.0.0.0:7080' }",
                "1:17: `http.listen` is open to other machines without a token: write "
                    + "`token: env:NAME` or `token: file:PATH` beside it, or listen on `127.0.0.1`"
            ),
            (
                "http: { token: hunter2 }",
                "1:16: `http.token` must be `env:NAME` or `file:PATH`: a secret is never written "
                    + "in this file"
            ),
            (
                "journal: { keyFile: relay.db }",
                "1:21: `journal.keyFile` and `journal.sqlite` are the same file: name two"
            ),
        ])
    func scalars(text: String, expected: String) {
        #expect(Self.problems(text) == ["p.yaml:" + expected])
    }

    @Test(
        "A list or mapping that breaks its rule is told with place, rule and remedy",
        arguments: [
            (
                "source: x",
                "1:9: `source` must be a mapping with the keys `baseURL`, `accounts`, "
                    + "`pageLimit`, `requestTimeout`, `walkTimeout`, `maxConnections`, `budget`, "
                    + "`perAccount`, `interval`, `limits` and `signIn`"
            ),
            (
                "detection: { healthy: active }",
                "1:23: `detection.healthy` must be a list, such as `[a, b]`"
            ),
            (
                "detection: { healthy: [''] }",
                "1:24: `detection.healthy[0]` must be a text of 1 to 1024 bytes"
            ),
            (
                "sinks: { log: {} }",
                "1:8: `sinks` must be a list of entries, such as `- log: {}`"
            ),
            (
                "sinks: [{ log: {}, state: {} }]",
                "1:9: `sinks[0]` must be a mapping with one key: `kafka`, `state` or `log`"
            ),
            (
                "sinks: [{ log: { when: { types: [faling] } } }]",
                "1:34: `sinks[0].log.when.types[0]` is `faling`: it is no type of event: "
                    + "did you mean `failing`?"
            ),
            (
                "sinks: [{ log: { when: { types: [] } } }]",
                "1:33: `sinks[0].log.when.types` is empty and lets nothing through: remove the key"
            ),
            (
                "sinks: [{ log: { when: { kinds: [changes] } } }]",
                "1:34: `sinks[0].log.when.kinds[0]` is `changes`: it is no kind of event: "
                    + "did you mean `change`?"
            ),
            (
                "sinks: [{ log: { when: { accounts: ['a b'] } } }]",
                "1:37: `sinks[0].log.when.accounts[0]` is `a b`: it must be an account id: "
                    + "1 to 128 of the characters `A-Z a-z 0-9 . _ : @ -`"
            ),
            ("a: 1\n---\nb: 1", "2:1: a second document begins: one file holds one"),
            (
                "- a",
                "1:1: the file must be a mapping with the keys `version`, `name`, `source`, "
                    + "`detection`, "
                    + "`journal`, `kafka`, `sinks` and `http`"
            ),
        ])
    func containers(text: String, expected: String) {
        #expect(Self.problems(text) == ["p.yaml:" + expected])
    }

    @Test(
        "The API's address must be one that a credential may go to",
        arguments: [
            ("api.example.com", "must begin with `https://`"),
            ("ftp://x", "must begin with `https://`"),
            ("https://", "must name a host, and after a colon perhaps a port"),
            ("https://a:b", "must name a host, and after a colon perhaps a port"),
            (
                "https://user:hunter2@x",
                "must hold no user name or password: credentials come from the accounts"
            ),
            ("https://x/?key=hunter2", "must have no query and no fragment"),
            (
                "http://api.example.com",
                "must begin with `https://`: plain http goes to loopback and private hosts only, "
                    + "since every request carries a credential"
            ),
        ])
    func addresses(text: String, expected: String) {
        #expect(
            Self.problems("source: { baseURL: '\(text)' }")
                == ["p.yaml:1:20: `source.baseURL` \(expected)"])
    }

    @Test func `all problems are told at once, in the order of the file`() {
        let found = Self.problems(
            """
            nam: x
            source:
              interval: { fastest: 5s, slowest: 2s }
              budget: 0/s
            detection:
              healthy: [active, ok]
              pending: [ok]
              failing: [active, expired, expired]
            kafka:
              properties:
                acks: 1
                sasl.password: hunter2
            sinks:
              - kafka: {}
              - kafka: { topic: a b }
              - kafka: { topic: t }
              - state: { topic: t }
              - state: { topic: connections.progress }
              - log:
              - log: {}
            """)
        #expect(
            found == [
                "p.yaml:1:1: unknown key `nam`: did you mean `name`?",
                "p.yaml:3:37: `source.interval.slowest` (2s) is shorter than `fastest` (5s): "
                    + "raise one or "
                    + "lower the other",
                "p.yaml:4:11: `source.budget` is `0/s`, it must be a rate such as `200/s` or "
                    + "`60/m`, from "
                    + "1/h to 100000/s",
                "p.yaml:7:13: the status `ok` stands in `detection.healthy` at 6:21 and again in "
                    + "`detection.pending`: a status has one meaning",
                "p.yaml:8:13: the status `active` stands in `detection.healthy` at 6:13 and again "
                    + "in "
                    + "`detection.failing`: a status has one meaning",
                "p.yaml:8:30: the status `expired` stands in `detection.failing` at 8:21 and "
                    + "again in "
                    + "`detection.failing`: a status has one meaning",
                "p.yaml:10:3: `kafka.brokers` is missing: write `host:9092`, or `embedded` to try "
                    + "things "
                    + "out without a Kafka",
                "p.yaml:11:5: `kafka.properties` takes no `acks`: the relay always waits for all "
                    + "replicas",
                "p.yaml:12:20: `kafka.properties.sasl.password` must be `env:NAME` or "
                    + "`file:PATH`: a secret "
                    + "is never written in this file",
                "p.yaml:14:12: `sinks[0].kafka.topic` is missing: it must be a topic: 1 to 249 of "
                    + "the "
                    + "characters `A-Z a-z 0-9 . _ -`, and not `.` or `..`",
                "p.yaml:15:21: `sinks[1].kafka.topic` must be a topic: 1 to 249 of the characters "
                    + "`A-Z a-z 0-9 . _ -`, and not `.` or `..`",
                "p.yaml:17:21: the sink `t` stands here and at 16:21: a sink is its topic or "
                    + "name, so two "
                    + "cannot share one (`log` is the log sink's)",
                "p.yaml:18:21: the topic `connections.progress` is where the relay keeps its own "
                    + "progress: "
                    + "name another",
                "p.yaml:20:5: the sink `log` stands here and at 19:5: a sink is its topic or "
                    + "name, so two "
                    + "cannot share one (`log` is the log sink's)",
            ])
        #expect(!found.joined().contains("hunter2"))
    }

    @Test func `a list that was left out may still clash with one that was written`() {
        #expect(
            Self.problems("detection: { healthy: [active, pending] }") == [
                "p.yaml:1:32: the status `pending` stands in `detection.healthy` and by default in "
                    + "`detection.pending`: write `detection.pending` without it"
            ])
    }

    @Test func `a default that is faster than what was written is told at what was written`() {
        #expect(
            Self.problems("source: { interval: { fastest: 2m } }") == [
                "p.yaml:1:32: `source.interval.slowest` (1m) is shorter than `fastest` (2m): "
                    + "raise one "
                    + "or lower the other"
            ])
    }

    @Test(
        "A variable that cannot be replaced is told at its place",
        arguments: [
            (
                "${NOPE}",
                "the environment variable `NOPE` is not set: set it, or write `${NOPE:-default}`"
            ),
            ("${NOPE", "`${` has no `}`: write `$${` for the characters themselves"),
            (
                "${NOPE-x}",
                "`${…}` takes a name, or a name, `:-` and a default: write `$${` for the "
                    + "characters themselves"
            ),
            (
                "${}",
                "`${…}` takes a name, or a name, `:-` and a default: write `$${` for the "
                    + "characters themselves"
            ),
        ])
    func variables(text: String, expected: String) {
        #expect(Self.problems("name: \(text)") == ["p.yaml:1:7: `name`: \(expected)"])
    }

    @Test func `what came from the environment is never quoted`() {
        let found = Self.problems(
            """
            name: "${SECRET} x"
            source: { pageLimit: "${SECRET}", budget: "${SECRET}", baseURL: "${SECRET}" }
            detection: { otherStatus: "${SECRET}", brake: "${SECRET}" }
            kafka: { brokers: "${SECRET}:x", properties: { sasl.password: "${SECRET}" } }
            sinks: [{ kafka: { topic: "${SECRET}!", when: { types: ["${SECRET}"] } } }]
            http: { listen: "${SECRET}", token: "${SECRET}" }
            """, ["SECRET": "hunter2"])
        #expect(found.count == 12)
        #expect(!found.joined().contains("hunter2"))
    }

    @Test func `a file that cannot be read is told by name`() {
        let error = #expect(throws: ConfigurationError.self) {
            try Pipeline(file: "/nonexistent/p.yaml")
        }
        #expect(error?.kind == .unreadable)
        #expect(
            error?.description == "/nonexistent/p.yaml: cannot be read: No such file or directory")
        let folder = #expect(throws: ConfigurationError.self) { try Pipeline(file: "/") }
        #expect(folder?.description == "/: cannot be read: is a folder")
    }
}
