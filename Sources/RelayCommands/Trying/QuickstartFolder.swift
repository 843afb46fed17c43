internal import Glibc
internal import RelayConfiguration
internal import RelayCore
internal import RelayJournal
internal import Threading

/// The temporary folder of a quickstart: pipeline, journal, key; gone at its end.
struct QuickstartFolder {
    let path: String

    init() throws(CommandError) {
        let root = EnvironmentVariables.process["TMPDIR"] ?? "/tmp"
        // mkdtemp(3) puts letters in the place of the X.
        var template = Array("\(root)/trax-relay-quickstart-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else {
            throw CommandError(.failure, "no temporary folder can be made in \(root).")
        }
        path = String(
            decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // A closed pipe ends the process on the spot (`quickstart | head`): nothing stays then
        // either.
        let path = path
        ProcessEnd.before { QuickstartFolder.remove(path) }
    }

    /// The pipeline that the demonstration runs; `Pipelines/quickstart.yaml` is the same as a file.
    func workshop(api: String) throws(CommandError) -> Workshop {
        let text = """
            version: 1
            name: quickstart
            source:
              baseURL: \(api)
              budget: 50/s
              perAccount: 10/s
              interval: { fastest: 500ms, slowest: 2s }
            journal: { sqlite: relay.db, keyFile: relay.key }
            kafka: { brokers: embedded, createTopics: { partitions: 3 } }
            sinks:
              - kafka: { topic: quickstart.events }
              - kafka: { topic: quickstart.alerts, when: { types: [failing, repaired] } }
              - state: { topic: quickstart.state }
            http: { listen: "127.0.0.1:0" }

            """
        do throws(ConfigurationError) {
            return Workshop(
                pipeline: try Pipeline(
                    parsing: Array(text.utf8), file: "\(path)/quickstart.yaml",
                    environment: EnvironmentVariables([:])))
        } catch {
            throw CommandError(error)
        }
    }

    /// The journal of the running relay, for reading.
    func openFile() throws(CommandError) -> JournalFile {
        do throws(JournalFailure) {
            return try JournalFile(
                path: "\(path)/relay.db", keyFile: "\(path)/relay.key", access: .existing)
        } catch {
            throw CommandError(error)
        }
    }

    /// Deletes the files that the relay makes, and the folder.
    func remove() {
        Self.remove(path)
    }

    private static func remove(_ path: String) {
        for name in [
            "relay.db", "relay.db-wal", "relay.db-shm", "relay.db.lock", "relay.key",
        ] {
            unsafe unlink("\(path)/\(name)")
        }
        unsafe rmdir(path)
    }
}
