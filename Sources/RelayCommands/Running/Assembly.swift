internal import ConnectionEvents
internal import Crypto
internal import Kafka
internal import RelayConfiguration
internal import RelayCore
internal import RelayJournal
internal import RelayRuntime
internal import RelaySinks
internal import Threading
internal import TraxAPI

/// Puts a relay together from a pipeline: the one place that knows every concrete type.
struct Assembly: Sendable {
    let pipeline: Pipeline
    let log: RelayLog

    /// What polling and judging need to know.
    var settings: RelaySettings {
        RelaySettings(
            name: pipeline.name, detection: pipeline.detection, schedule: schedule,
            limits: limits, requestTimeout: pipeline.source.requestTimeout,
            walkTimeout: pipeline.source.walkTimeout, retention: pipeline.journal.retention)
    }

    var schedule: ScheduleRules {
        ScheduleRules(
            budget: pipeline.source.budget.perSecond,
            perAccount: pipeline.source.perAccount.perSecond, fastest: pipeline.source.fastest,
            slowest: pipeline.source.slowest, places: pipeline.source.maxConnections)
    }

    var limits: WalkLimits {
        WalkLimits(
            pages: pipeline.source.limits.pages, rows: pipeline.source.limits.rows,
            body: pipeline.source.limits.body)
    }

    /// How the API is reached.
    var endpoint: TraxEndpoint {
        TraxEndpoint(
            baseURL: pipeline.source.baseURL.text,
            userAgent: "trax-relay/\(RelayVersion.text)",
            maxConnections: pipeline.source.maxConnections,
            maximumBody: pipeline.source.limits.body,
            caFile: EnvironmentVariables.process["TRAX_RELAY_CA_FILE"])
    }

    /// Asks the API for pages.
    func transport() throws(CommandError) -> ListTransport {
        do throws(TraxError) {
            return try ListTransport(endpoint, pageLimit: pipeline.source.pageLimit)
        } catch {
            throw CommandError(.failure, error.reason)
        }
    }

    /// The sinks that Kafka serves, in the pipeline's order.
    var kafkaSinks: [SinkPlan] {
        pipeline.sinks.filter { $0.kind != .log }.map(\.plan)
    }

    /// The embedded broker, where the pipeline asks for it and has sinks for it.
    func embeddedBroker() throws(CommandError) -> EmbeddedBroker? {
        guard pipeline.kafka.brokers == .embedded, !kafkaSinks.isEmpty else { return nil }
        do throws(KafkaError) {
            return try EmbeddedBroker(
                sinkTopics: kafkaSinks.map(\.name.text), name: pipeline.name,
                partitions: pipeline.kafka.createTopics?.partitions ?? 6, log: kafkaLog)
        } catch {
            throw CommandError(.failure, "the embedded broker did not start: \(error.reason)")
        }
    }

    /// librdkafka's log lines, limited like the relay's own.
    var kafkaLog: KafkaLog {
        // What the mock cluster does not offer is nothing that an operator could mend.
        let isEmbedded = pipeline.kafka.brokers == .embedded
        return { [log] line in
            guard !isEmbedded || line.level <= 3 else { return }
            log.note(.warning, "librdkafka", "librdkafka: \(line.text)")
        }
    }

    /// What the Kafka publisher needs to know.
    ///
    /// - Throws: exit 78 where a property is refused or a secret is missing.
    func kafkaSettings(
        journal: JournalID, embedded: EmbeddedBroker?
    ) throws(CommandError) -> KafkaSettings {
        let creation = pipeline.kafka.createTopics.map {
            KafkaSettings.TopicPolicy.create(
                partitions: $0.partitions, replicationFactor: $0.replicationFactor)
        }
        let isExact = pipeline.kafka.effectiveDelivery == .exactlyOnce
        let client = ClientSource(self, embedded: embedded, first: try client(embedded: embedded))
        return KafkaSettings(
            name: pipeline.name, client: client.current(), sinks: kafkaSinks,
            guarantee: isExact ? .exactlyOnce : .atLeastOnce,
            topics: embedded != nil ? .trust : creation ?? .check, journal: journal,
            instance: Self.instance)
    }

    /// What librdkafka has against properties, each at its place.
    static func problems(of properties: [KafkaProperty]) -> [ConfigurationProblem] {
        properties.flatMap { property in
            var configuration = KafkaConfiguration()
            guard case .text(let text) = property.value else { return [ConfigurationProblem]() }
            configuration.set(property.name, text)
            return configuration.refusals().map { property.place.problem($0.reason) }
        }
    }

    /// librdkafka's properties, ours and the pipeline's.
    func client(embedded: EmbeddedBroker?) throws(CommandError) -> KafkaConfiguration {
        var configuration = KafkaConfiguration()
        switch pipeline.kafka.brokers {
        case .servers(let servers): configuration.set("bootstrap.servers", servers)
        case .embedded: configuration.set("bootstrap.servers", embedded?.bootstrap ?? "")
        case nil: break
        }
        configuration.set("client.id", pipeline.name)
        for property in pipeline.kafka.properties {
            switch property.value {
            case .text(let text): configuration.set(property.name, text)
            case .secret(let reference):
                do throws(ConfigurationError) {
                    configuration.set(
                        property.name, try reference.resolve().reveal(), isSecret: true)
                } catch {
                    throw CommandError(error)
                }
            }
        }
        return configuration
    }

    /// Where entries go.
    func routes(
        journal: SQLiteJournal, embedded: EmbeddedBroker?
    ) throws(CommandError) -> [Route] {
        var routes: [Route] = []
        if !kafkaSinks.isEmpty {
            let settings = try kafkaSettings(journal: journal.id, embedded: embedded)
            let log = log
            let lastEpoch: @Sendable () -> Int64 = {
                do throws(JournalFailure) { return try journal.lastEpoch() } catch {
                    log.note(.warning, "journal", "the last epoch is unknown: \(error.reason)")
                    return 0
                }
            }
            routes.append(
                Route(
                    publisher: KafkaPublisher(
                        settings, lastEpoch: lastEpoch, log: kafkaLog,
                        note: { log.note(.info, "kafka", $0) }),
                    sinks: kafkaSinks,
                    sorts: Dictionary(
                        uniqueKeysWithValues: pipeline.sinks.filter { $0.kind != .log }.map {
                            ($0.name, $0.kind == .state ? "state" : "kafka")
                        }),
                    remembersPlaces: settings.guarantee == .exactlyOnce))
        }
        for sink in pipeline.sinks where sink.kind == .log {
            routes.append(
                Route(
                    publisher: LogPublisher(), sinks: [sink.plan], sorts: [sink.name: "log"],
                    remembersPlaces: false))
        }
        return routes
    }

    /// Tells this process from every other under the same name.
    static let instance: String = {
        var random = SystemRandomNumberGenerator()
        return String(random.next(), radix: 16) + String(random.next(), radix: 16)
    }()
}

/// librdkafka's properties with the secrets as they are now; the last good ones while one misses.
private final class ClientSource: Sendable {
    private let assembly: Assembly
    private let embedded: EmbeddedBroker?
    private let last: Lock<KafkaConfiguration>

    init(_ assembly: Assembly, embedded: EmbeddedBroker?, first: KafkaConfiguration) {
        self.assembly = assembly
        self.embedded = embedded
        last = Lock(first)
    }

    func current() -> KafkaConfiguration {
        do throws(CommandError) {
            let configuration = try assembly.client(embedded: embedded)
            last.withLock { $0 = configuration }
            return configuration
        } catch {
            assembly.log.note(
                .warning, "kafka.secrets",
                "a secret of kafka.properties is missing; the last one"
                    + " is used: \(error.message)")
            return last.withLock { $0 }
        }
    }
}

extension Pipeline.Sink {
    /// The sink as delivery sees it.
    var plan: SinkPlan {
        let filter =
            when.isEverything
            ? nil
            : EventFilter(
                types: when.types, platforms: when.platforms, accounts: when.accounts,
                kinds: when.kinds)
        return SinkPlan(
            name: name, role: kind == .state ? .state : .events(filter), format: format)
    }
}
