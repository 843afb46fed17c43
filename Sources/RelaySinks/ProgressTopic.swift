internal import ConnectionEvents
internal import JSON
internal import Kafka
internal import RelayCore

/// The record by which a broker remembers how far a sink has come.
enum ProgressRecord {
    /// The version of the record's form; a reader takes this one and older ones.
    static let version: Int64 = 1

    /// The record's value.
    static func encode(_ progress: Progress) -> [UInt8] {
        let json: JSONValue = [
            "version": .number(JSONNumber(version)),
            "journal": .string(progress.journal.text),
            "position": .number(JSONNumber(progress.position.number)),
            "eventID": JSONValue(progress.eventID?.text),
            "epoch": .number(JSONNumber(progress.epoch)),
            "instance": .string(progress.instance),
        ]
        return json.serialized()
    }

    /// Reads what `encode` wrote; nil where it is something else, or of a later version.
    static func decode(_ value: [UInt8]) -> Progress? {
        let json: JSONValue
        do throws(JSONError) {
            json = try JSONValue(parsing: value)
        } catch { return nil }
        guard let object = json.objectValue,
            let version = object["version"]?.integerValue, (1...Self.version).contains(version),
            let journal = object["journal"]?.stringValue,
            let position = object["position"]?.integerValue,
            let epoch = object["epoch"]?.integerValue,
            let instance = object["instance"]?.stringValue
        else { return nil }
        return Progress(
            journal: JournalID(journal), position: JournalPosition(position),
            eventID: object["eventID"]?.stringValue.map { EventID($0) }, epoch: epoch,
            instance: instance)
    }
}

/// All of a progress topic, last word of each sink.
struct ProgressTable {
    private struct Word {
        var partition: Int32
        var milliseconds: Int64
        var value: [UInt8]?
    }

    private var words: [String: Word] = [:]

    /// Takes the next record of the topic.
    ///
    /// A key's records share a partition and come in order, unless the topic was given more
    /// partitions since; then the later written one counts.
    mutating func take(_ record: KafkaRecord) {
        let key = record.key.map { String(decoding: $0, as: UTF8.self) } ?? ""
        let time = record.milliseconds ?? 0
        if let held = words[key], held.partition != record.partition, held.milliseconds > time {
            return
        }
        words[key] = Word(partition: record.partition, milliseconds: time, value: record.value)
    }

    /// The progress of each sink that has any.
    ///
    /// - Throws: `misconfigured` where a record is not one of ours.
    func progress(topic: String) throws(PublishFailure) -> [SinkName: Progress] {
        var all: [SinkName: Progress] = [:]
        for (key, word) in words {
            guard let value = word.value else { continue }
            guard let progress = ProgressRecord.decode(value) else {
                throw PublishFailure(
                    kind: .misconfigured, code: "foreign_progress",
                    reason: "topic \(topic) holds a record for '\(key)' that this version cannot "
                        + "read. It is of a newer relay or of another program: give the pipeline "
                        + "another name, or delete the topic to start at the places of the journal")
            }
            all[SinkName(key)] = progress
        }
        return all
    }
}
