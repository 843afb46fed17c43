import ConnectionEvents
import Crypto
import RelayConfiguration
import RelayCore
import Testing

@Suite struct PipelineTests {
    static func read(
        _ text: String, file: String = "p.yaml", _ environment: [String: String] = [:]
    ) throws -> Pipeline {
        try Pipeline(
            parsing: Array(text.utf8), file: file, environment: EnvironmentVariables(environment))
    }

    @Test(
        "An empty file is the default pipeline",
        arguments: ["", "# nothing\n", "version: 1\n", "{}"])
    func defaults(text: String) throws {
        let pipeline = try Self.read(text)
        #expect(pipeline.name == "connections")
        #expect(pipeline.progressTopic == "connections.progress")
        #expect(pipeline.source.baseURL.text == "https://api-dev.traxstreaming.live")
        #expect(pipeline.source.accounts == nil)
        #expect(pipeline.source.pageLimit == 200)
        #expect(pipeline.source.requestTimeout == .seconds(10))
        #expect(pipeline.source.walkTimeout == .seconds(60))
        #expect(pipeline.source.maxConnections == 64)
        #expect(pipeline.source.budget == Rate(perSecond: 200))
        #expect(pipeline.source.perAccount == Rate(perSecond: 2))
        #expect(pipeline.source.fastest == .seconds(2))
        #expect(pipeline.source.slowest == .seconds(60))
        #expect(pipeline.source.limits.pages == 100)
        #expect(pipeline.source.limits.rows == 20000)
        #expect(pipeline.source.limits.body == 4 << 20)
        #expect(pipeline.detection == Detection(brake: Brake()))
        #expect(pipeline.journal.sqlite == "relay.db")
        #expect(pipeline.journal.keyFile == "relay.key")
        #expect(pipeline.kafka.brokers == nil)
        #expect(pipeline.kafka.delivery == .exactlyOnce)
        #expect(pipeline.kafka.createTopics?.partitions == 6)
        #expect(pipeline.kafka.createTopics?.replicationFactor == -1)
        #expect(pipeline.kafka.properties.isEmpty)
        #expect(pipeline.sinks.isEmpty)
        #expect(pipeline.http.listen.description == "127.0.0.1:7080")
        #expect(pipeline.http.token == nil)
    }

    @Test func `every key of the file reaches the pipeline`() throws {
        let text = """
            version: 1
            name: prod
            source:
              baseURL: ${TRAX_BASE_URL:-https://api.example.com/}/v1/
              accounts: accounts.csv
              pageLimit: 50
              requestTimeout: 500ms
              walkTimeout: 2m
              maxConnections: 8
              budget: 90/m
              perAccount: 0.5/s
              interval: { fastest: 100ms, slowest: 1h }
              limits: { pages: 2, rows: 3, body: 64KiB }
            detection:
              healthy: [active, live]
              pending: []
              failing: [expired]
              otherStatus: unrecognised
              baseline: publish
              removal: { confirmations: 3 }
              brake: false
            journal: { sqlite: data/relay.db, keyFile: /etc/relay.key }
            kafka:
              brokers: ${KAFKA}, b:9093
              delivery: at-least-once
              createTopics: false
              properties:
                security.protocol: SASL_SSL
                sasl.password: env:PASSWORD
                ssl.ca.location: ca.pem
                linger.ms: 5
            sinks:
              - kafka: { topic: events, format: binary }
              - kafka:
                  topic: alerts
                  when: { types: [failing, connection.repaired, account.blind], kinds: [change] }
              - state: { topic: state }
              - log: { when: { platforms: [youtube], accounts: [acct_7] } }
            http: { listen: "0.0.0.0:0", token: file:token }
            """
        let pipeline = try Self.read(text, file: "conf/p.yaml", ["KAFKA": "a:9092"])
        #expect(pipeline.name == "prod")
        #expect(pipeline.source.baseURL.text == "https://api.example.com")
        #expect(pipeline.source.accounts == "conf/accounts.csv")
        #expect(pipeline.source.budget == Rate(perSecond: 1.5))
        #expect(pipeline.source.perAccount.perSecond == 0.5)
        #expect(pipeline.source.requestTimeout == .milliseconds(500))
        #expect(pipeline.source.slowest == .seconds(3600))
        #expect(pipeline.source.limits.body == 65536)
        #expect(
            pipeline.detection
                == Detection(
                    healthy: ["active", "live"], pending: [], failing: ["expired"],
                    otherStatus: .unrecognised, baseline: .publish, confirmations: 3))
        #expect(pipeline.journal.sqlite == "conf/data/relay.db")
        #expect(pipeline.journal.keyFile == "/etc/relay.key")
        #expect(pipeline.kafka.brokers == .servers("a:9092,b:9093"))
        #expect(pipeline.kafka.effectiveDelivery == .atLeastOnce)
        #expect(pipeline.kafka.createTopics == nil)
        #expect(pipeline.kafka.properties.map(\.name).count == 4)
        #expect(pipeline.kafka.properties[2].value == .text("conf/ca.pem"))
        #expect(pipeline.kafka.properties[3].value == .text("5"))
        #expect(pipeline.sinks.map(\.name.text) == ["events", "alerts", "state", "log"])
        #expect(pipeline.sinks.map(\.topic) == ["events", "alerts", "state", nil])
        #expect(pipeline.sinks[0].when.isEverything)
        #expect(pipeline.sinks[1].when.types == [.failing, .repaired, .accountBlind])
        #expect(pipeline.sinks[1].when.kinds == [.change])
        #expect(pipeline.sinks[3].when.platforms == ["youtube"])
        #expect(pipeline.sinks[3].when.accounts?.map(\.text) == ["acct_7"])
        #expect(pipeline.http.listen.port == 0)
        #expect(pipeline.http.token?.description == "file:token")
    }

    @Test func `the embedded broker is always at-least-once`() throws {
        let pipeline = try Self.read("kafka: { brokers: embedded }\nsinks: [{ log: }]")
        #expect(pipeline.kafka.brokers == .embedded)
        #expect(pipeline.kafka.delivery == .exactlyOnce)
        #expect(pipeline.kafka.effectiveDelivery == .atLeastOnce)
        #expect(pipeline.sinks.map(\.kind) == [.log])
    }

    @Test func `variables are replaced in values, and only there`() throws {
        let environment = ["NAME": "n", "EMPTY": "", "LIMIT": "7", "KEYS": "a: b"]
        let pipeline = try Self.read(
            """
            name: ${NAME}-${EMPTY:-x}${EMPTY}
            source: { pageLimit: "${LIMIT}", accounts: "$${NAME}$" }
            detection: { healthy: ["${KEYS}"] }
            """, environment)
        #expect(pipeline.name == "n-x")
        #expect(pipeline.source.pageLimit == 7)
        #expect(pipeline.source.accounts == "${NAME}$")
        #expect(pipeline.detection.healthy == ["a: b"])
    }

    @Test func `a problem found later is told at the place of its key`() throws {
        let pipeline = try Self.read(
            "kafka: { brokers: a }\nsinks:\n  - kafka: { topic: t }\n", file: "dir/p.yaml")
        #expect(pipeline.problem(at: "kafka.brokers", "x").description == "dir/p.yaml:1:19: x")
        #expect(pipeline.problem(at: "kafka.delivery", "x").description == "dir/p.yaml:1:8: x")
        #expect(
            pipeline.problem(at: "sinks[0].kafka.topic", "x").description == "dir/p.yaml:3:21: x")
        #expect(pipeline.problem(at: "sinks[0].kafka", "x").description == "dir/p.yaml:3:5: x")
        #expect(pipeline.problem(at: "http.listen", "x").description == "dir/p.yaml: x")
    }

    @Test func `secrets are fetched when asked for, from variable or file`() throws {
        let pipeline = try Self.read(
            """
            kafka: { properties: { sasl.password: env:P, ssl.key.password: env:Q } }
            http: { token: file:none }
            """)
        let environment = EnvironmentVariables(["P": "hunter2", "Q": ""])
        guard case .secret(let reference) = pipeline.kafka.properties[0].value else {
            Issue.record("no secret")
            return
        }
        #expect(try reference.resolve(environment).reveal() == "hunter2")
        #expect(
            pipeline.secretProblems(environment).map(\.description) == [
                "p.yaml:1:64: `env:Q`: the environment variable is empty",
                "p.yaml:2:16: `file:none` cannot be read: No such file or directory",
            ])
        #expect(
            pipeline.secretProblems(EnvironmentVariables([:])).first?.message
                == "`env:P`: the environment variable is not set: set it")
    }
}
