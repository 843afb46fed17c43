internal import Crypto
internal import Glibc
internal import RelayConfiguration
internal import RelayCore
internal import RelayJournal
internal import Threading

/// What a bug report says of pipeline file, `check` and journal.
enum PipelineParts {
    static func configuration(_ file: String) throws(DoctorFailure) -> [String] {
        do throws(ConfigurationError) {
            return try Pipeline.effectiveLines(file: file)
        } catch {
            throw DoctorFailure(
                "\n  " + error.problems.map(\.description).joined(separator: "\n  "))
        }
    }

    /// What the command says; it creates nothing.
    static func check(_ file: String, _ offline: Bool) -> [String] {
        let said = Lock("")
        let terminal = Terminal(
            out: { text in said.withLock { $0 += text } },
            err: { text in said.withLock { $0 += text } }, showsProgress: false,
            askSecret: { _ in nil })
        let words = ["check", file] + (offline ? ["--offline"] : [])
        let code = RelayCommandLine.run(words, terminal: terminal)
        return said.withLock { $0 }.split(separator: "\n").map(String.init)
            + ["exit code \(code.rawValue)"]
    }

    static func journal(_ pipeline: Pipeline) throws(DoctorFailure) -> [String] {
        let path = pipeline.journal.sqlite
        var lines = [room(for: path)]
        lines.append(
            JournalLock.holder(of: path).map { "a relay runs on it: process \($0)" }
                ?? "no relay runs on it")
        lines.append("key file: \(mode(of: pipeline.journal.keyFile))")
        let figures: JournalFigures
        do throws(JournalFailure) { figures = try JournalFigures(path: path) } catch {
            throw DoctorFailure((lines + [error.reason]).joined(separator: "\n"))
        }
        lines += figures.files.map { "\($0.path): \($0.bytes) bytes" }
        let pages = figures.pages
        lines += [
            "id \(figures.id), made \(figures.createdAt)",
            "schema \(figures.schema), this relay's is \(JournalFigures.knownSchema)",
            "pages \(pages.count) of \(pages.size) bytes, \(pages.free) free",
        ]
        if let positions = figures.positions {
            lines.append("entries \(positions.lowerBound) to \(positions.upperBound)")
        } else {
            lines.append("no entries")
        }
        if let (first, last) = figures.decided {
            lines.append("events decided \(first) to \(last)")
        }
        lines += figures.counters.map { "counter \($0.name): \($0.value)" }
        lines += figures.tables.map { "table \($0.name): \($0.rows) rows" }
        lines += figures.places.map { "place of \($0.sink): \($0.position)" }
        return lines
    }

    /// All secrets that pipeline, accounts file and register know.
    static func secrets(_ file: String, _ pipeline: Pipeline?) -> [Secret] {
        guard let pipeline else { return [] }
        var secrets = pipeline.knownSecrets()
        if let accounts = pipeline.source.accounts {
            do throws(ConfigurationError) {
                secrets += try AccountsFile(
                    file: accounts, signIn: pipeline.source.signIn
                ).lines.compactMap(\.credential)
            } catch {
                // `check` has told what is wrong with it, and quotes no credential.
            }
        }
        do throws(CommandError) {
            let register = try Workshop(pipeline: pipeline).openRegister()
            do throws(JournalFailure) {
                secrets += try register.accounts().map(\.credential).filter { !$0.isEmpty }
            } catch { throw CommandError(error) }
        } catch {
            // A register that cannot be read shows nothing either.
        }
        return secrets
    }

    private static func room(for path: String) -> String {
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        var status = statvfs()
        guard unsafe statvfs(folder.isEmpty ? "/" : folder, &status) == 0 else {
            return "room: unknown"
        }
        let size = UInt64(status.f_frsize)
        return "room: \(UInt64(status.f_bavail) * size) of \(UInt64(status.f_blocks) * size) bytes"
    }

    private static func mode(of path: String) -> String {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return "\(path) is not there" }
        return "\(path), mode 0\(String(status.st_mode & 0o7777, radix: 8))"
    }
}
