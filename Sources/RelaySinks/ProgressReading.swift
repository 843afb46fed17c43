internal import Kafka
public import RelayCore

extension KafkaPublisher {
    /// What a pipeline's progress topic says of its sinks, read without fencing anybody.
    ///
    /// For `check`. The topic must be there; an open transaction is waited for, ten seconds at
    /// most.
    public static func recall(
        _ settings: KafkaSettings
    ) throws(PublishFailure) -> [SinkName: Progress] {
        let ours = Set(settings.sinks.map(\.name))
        return try readProgress(settings) { _ in }.filter { ours.contains($0.key) }
    }

    /// All that a pipeline's progress topic says, also of sinks that are no longer ours.
    static func readProgress(
        _ settings: KafkaSettings, log: @escaping KafkaLog
    ) throws(PublishFailure) -> [SinkName: Progress] {
        let topic = settings.progressTopic
        var table = ProgressTable()
        do {
            let consumer = try KafkaConsumer(settings.readerConfiguration(), log: log)
            defer { consumer.close(timeout: .seconds(2)) }
            try consumer.read(topic: topic, patience: .seconds(10)) { table.take($0) }
        } catch let error as KafkaError {
            throw PublishFailure(error, doing: "reading the progress topic \(topic)", settings)
        } catch {
            throw PublishFailure(
                kind: .unavailable, code: "progress", reason: "reading \(topic): \(error)")
        }
        return try table.progress(topic: topic)
    }
}
