internal import Kafka
public import RelayCore

// Sinks that took nothing the last time: they are tried without much ado, since all others wait for
// the one producer meanwhile.

extension KafkaPublisher {
    /// How long a run for sinks that took nothing the last time may last.
    static let troubledPatience = Duration.seconds(3)

    /// How long a run without a transaction may last until its records are acknowledged.
    func patience(for run: Run) -> Duration {
        let troubled = troubled
        let isTroubled = run.parts.allSatisfy { troubled.contains($0.sink) }
        return isTroubled ? Self.troubledPatience : Self.patience
    }

    /// Asks whether topics that took nothing the last time are there and may be seen.
    ///
    /// A question costs a millisecond; a transaction that ends in a refusal seconds, and a client.
    func askForTroubled(_ run: Run, _ producer: KafkaProducer) throws(PublishFailure) {
        let suspects = suspects
        for part in run.parts where suspects.contains(part.sink) {
            do throws(KafkaError) {
                try producer.find(topic: part.sink.text, timeout: .seconds(1))
            } catch {
                let isOfSink =
                    error.kind == .unknownTopic || error.kind == .unauthorized
                    || error.number == 5
                throw PublishFailure(
                    isOfSink ? .refusedSink(part.sink) : .again, error,
                    doing: "looking for topic \(part.sink)", settings)
            }
        }
    }

    /// Whether a state sink's topic was never written to: its records count from 0 when it is new.
    public func isEmpty(_ sink: SinkName) throws(PublishFailure) -> Bool {
        do throws(KafkaError) {
            let consumer = try KafkaConsumer(
                settings.readerConfiguration(), isolation: .readUncommitted)
            defer { consumer.close(timeout: .seconds(2)) }
            let partitions = try consumer.partitions(of: sink.text, timeout: .seconds(5))
            return try consumer.watermarks(
                topic: sink.text, partitions: partitions, timeout: .seconds(5)
            ).values.allSatisfy { $0.high == 0 }
        } catch { throw reading(error, of: sink) }
    }

    /// What an error in reading a state topic means: a refusal is the sink's alone.
    func reading(_ error: KafkaError, of sink: SinkName) -> PublishFailure {
        let doing = "reading the state topic \(sink)"
        switch error.kind {
        case .unknownTopic, .unauthorized:
            return PublishFailure(.refusedSink(sink), error, doing: doing, settings)
        default:
            return PublishFailure(error, doing: doing, settings)
        }
    }
}
