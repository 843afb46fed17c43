internal import ConnectionEvents
internal import RelayConfiguration
internal import RelayJournal
internal import Threading

/// The parts of a bug report, each of which may fail without the others.
struct DoctorReport {
    private let time: Timestamp
    private let pipelineFile: String?
    private let offline: Bool
    private var lines: [String] = []

    init(_ time: Timestamp, pipelineFile: String?, offline: Bool) {
        (self.time, self.pipelineFile, self.offline) = (time, pipelineFile, offline)
    }

    /// Looks at everything, and takes every known secret out of what was found.
    mutating func text() -> String {
        lines = [
            "trax-relay bug report of \(time)",
            "Secrets are left out; look through it before you send it.",
        ]
        part("versions", MachineParts.versions)
        part("limits", MachineParts.limits)
        guard let pipelineFile else {
            part("pipeline") { ["no pipeline file was named; with -c it tells much more"] }
            return Redaction([]).redacted(lines)
        }
        part("configuration: \(pipelineFile)") { () throws(DoctorFailure) in
            try PipelineParts.configuration(pipelineFile)
        }
        let offline = offline
        part("check\(offline ? " --offline" : "")") { PipelineParts.check(pipelineFile, offline) }
        let pipeline: Pipeline?
        do throws(ConfigurationError) { pipeline = try Pipeline(file: pipelineFile) } catch {
            // The configuration's own part has told why.
            pipeline = nil
        }
        if let pipeline {
            part("journal: \(pipeline.journal.sqlite)") { () throws(DoctorFailure) in
                try PipelineParts.journal(pipeline)
            }
            if !offline { network(pipeline) }
        } else {
            part("journal, network, running relay") {
                ["not looked at: the pipeline file must be right first"]
            }
        }
        return Redaction(PipelineParts.secrets(pipelineFile, pipeline)).redacted(lines)
    }

    private mutating func network(_ pipeline: Pipeline) {
        part("API: \(pipeline.source.baseURL.text)") { NetworkParts.api(pipeline) }
        let address = NetworkParts.address(of: pipeline)
        for path in ["readyz", "metrics"] {
            part("running relay: http://\(address)/\(path)") { () throws(DoctorFailure) in
                try NetworkParts.page(path, at: address)
            }
        }
    }

    private mutating func part(
        _ title: String, _ body: () throws(DoctorFailure) -> [String]
    ) {
        lines += ["", "== \(title)"]
        do throws(DoctorFailure) {
            lines += try body()
        } catch {
            lines += "cannot be had: \(error.reason)".split(separator: "\n").map(String.init)
        }
    }
}

/// Why a part of a bug report cannot be had.
struct DoctorFailure: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}
