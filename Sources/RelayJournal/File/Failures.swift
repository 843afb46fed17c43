internal import RelayCore
internal import Crypto
internal import JSON
internal import SQLite

extension JournalFailure {
    /// Another process holds the journal's lock.
    static func locked(_ path: String, by process: Int32?) -> JournalFailure {
        let who = process.map { "another relay (process \($0))" } ?? "another relay"
        return JournalFailure(
            kind: .locked, code: "locked",
            reason: "\(who) runs on \(path): stop it first, or give this pipeline another journal")
    }

    /// There is no file yet.
    static func missing(_ path: String) -> JournalFailure {
        JournalFailure(
            kind: .failed, code: "missing",
            reason: "there is no journal at \(path): `trax-relay run` or `accounts add` makes it,"
                + " and `journal.sqlite` says where it lies")
    }

    /// The file cannot serve as this pipeline's journal; nothing in it was changed.
    static func unusable(_ code: String, _ reason: String) -> JournalFailure {
        JournalFailure(kind: .unusable, code: code, reason: reason)
    }

    /// The file is damaged, as SQLite says.
    static func damaged(_ path: String, _ reason: String) -> JournalFailure {
        .unusable(
            "corrupt",
            "\(path) is damaged (\(reason)). Nothing was changed: `trax-relay journal check`"
                + " tells all; move the file and its -wal and -shm away and restore a backup, or"
                + " start with a new journal")
    }

    /// The system refused; `reason` says what was tried.
    static func system(_ reason: String) -> JournalFailure {
        JournalFailure(kind: .failed, code: "io_error", reason: reason)
    }

    /// What an error of SQLite means to who keeps a journal in it.
    init(_ error: SQLiteError, in path: String) {
        switch error.kind {
        case .busy:
            self.init(
                kind: .busy, code: error.code,
                reason: "\(path) is held by another process for longer than is waited")
        case .full:
            self.init(
                kind: .full, code: error.code,
                reason: "no room for \(path): make room on its disk; the relay goes on by itself")
        case .corrupt:
            self = .damaged(path, error.reason)
        case .notADatabase:
            self = .unusable(
                "not_a_journal",
                "\(path) is no journal but something else. Nothing was changed: name another file")
        case .readOnly:
            self.init(
                kind: .failed, code: error.code,
                reason: "\(path) or its folder cannot be written (\(error.reason)):"
                    + " see to its owner and mode")
        case .cannotOpen:
            self.init(
                kind: .failed, code: error.code,
                reason: "\(path) cannot be opened (\(error.reason)):"
                    + " see to its folder, owner and mode")
        default:
            self.init(
                kind: .failed, code: error.code,
                reason: "\(path): \(error.reason) (SQLite \(error.extendedCode))")
        }
    }
}

/// Runs work on a journal's file and gives its errors the journal's words.
func reporting<Result>(
    _ path: String, _ body: () throws -> Result
) throws(JournalFailure) -> Result {
    do {
        return try body()
    } catch let failure as JournalFailure {
        throw failure
    } catch let error as SQLiteError {
        throw JournalFailure(error, in: path)
    } catch let error as CryptoError {
        throw .unusable(error.code, "\(path): \(error.reason)")
    } catch let error as JSONError {
        throw .unusable(
            "corrupt",
            "\(path) is damaged: a stored record is no JSON (\(error.code)). Nothing was changed:"
                + " restore a backup")
    } catch {
        throw JournalFailure(kind: .failed, code: "other", reason: "\(path): \(type(of: error))")
    }
}
