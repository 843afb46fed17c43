public import Crypto

/// Where a secret is: in the environment or in a file, never in the pipeline file itself.
public struct SecretReference: Hashable, Sendable, CustomStringConvertible {
    enum Origin: Hashable {
        case variable(String)
        case file(named: String, path: String)
    }

    let origin: Origin
    let place: Place

    /// The most bytes of a secret: 64 KiB.
    static let limit = 64 << 10

    /// Takes `env:NAME` or `file:PATH`; nil of all else, which may be a secret by mistake.
    init?(_ text: String, besides file: String, place: Place) {
        self.place = place
        if text.hasPrefix("env:"), EnvironmentVariables.isName(text.dropFirst(4)) {
            origin = .variable(String(text.dropFirst(4)))
        } else if text.hasPrefix("file:"), text.count > 5 {
            let name = String(text.dropFirst(5))
            origin = .file(named: name, path: Files.resolve(name, besides: file))
        } else {
            return nil
        }
    }

    /// The reference as it is written.
    public var description: String {
        switch origin {
        case .variable(let name): "env:\(name)"
        case .file(let name, _): "file:\(name)"
        }
    }

    /// Fetches the secret; of a file one line end at the end is left away.
    ///
    /// Read anew at each call, so that SIGHUP brings changes.
    ///
    /// - Throws: `ConfigurationError` where it is not there or empty.
    public func resolve(
        _ environment: EnvironmentVariables = .process
    ) throws(ConfigurationError) -> Secret {
        do throws(SecretFailure) {
            return try Self.fetch(origin, environment)
        } catch {
            throw ConfigurationError(.invalid, [place.problem(error.reason)])
        }
    }

    static func fetch(
        _ origin: Origin, _ environment: EnvironmentVariables
    ) throws(SecretFailure) -> Secret {
        var bytes: [UInt8]
        switch origin {
        case .variable(let name):
            guard let value = environment[name] else {
                throw SecretFailure(
                    reason: "`env:\(name)`: the environment variable is not set: set it")
            }
            bytes = Array(value.utf8)
        case .file(let name, let path):
            do throws(FileFailure) {
                bytes = try Files.contents(of: path, limit: limit)
            } catch {
                throw SecretFailure(reason: "`file:\(name)` cannot be read: \(error.reason)")
            }
            if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
            if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        }
        defer { Files.wipe(&bytes) }
        guard !bytes.isEmpty else { throw SecretFailure(reason: emptyReason(origin)) }
        return Secret(bytes)
    }

    private static func emptyReason(_ origin: Origin) -> String {
        switch origin {
        case .variable(let name): "`env:\(name)`: the environment variable is empty"
        case .file(let name, _): "`file:\(name)` is empty"
        }
    }
}

/// Why a secret cannot be had; names the place, never the secret.
struct SecretFailure: Error {
    let reason: String
}

/// A place in a file, remembered for problems that show only later.
public struct Place: Hashable, Sendable {
    /// The file as it was named.
    public let file: String
    /// The line, from 1.
    public let line: Int
    /// The column, from 1.
    public let column: Int

    /// A problem at this place.
    public func problem(_ message: String) -> ConfigurationProblem {
        ConfigurationProblem(file: file, line: line, column: column, message: message)
    }
}

/// An API key in a file of its own, for commands: never an argument, never printed.
public enum KeyFile {
    /// Reads the key; one line end at the end is left away.
    ///
    /// - Throws: `ConfigurationError` where the file is not there, is empty, or holds no API key.
    public static func read(_ path: String) throws(ConfigurationError) -> Secret {
        do throws(SecretFailure) {
            let key = try SecretReference.fetch(.file(named: path, path: path), .process)
            if let reason = problem(with: key) { throw SecretFailure(reason: reason) }
            return key
        } catch {
            throw ConfigurationError(
                .invalid, [ConfigurationProblem(file: path, message: error.reason)])
        }
    }

    /// Why a secret cannot be an API key; nil where it can.
    public static func problem(with key: Secret) -> String? {
        let isSendable = unsafe key.withBytes {
            unsafe $0.allSatisfy { (0x21...0x7E).contains($0) }
        }
        return isSendable
            ? nil
            : "the key holds a space, line end or other character that no HTTP header can carry"
    }
}
