internal import Crypto
internal import Glibc
internal import HTTPClient
internal import HTTPServer
internal import Kafka
internal import RelayConfiguration
internal import SQLite
internal import YAML

/// What a bug report says of program and machine.
enum MachineParts {
    static func versions() -> [String] {
        [
            "trax-relay     \(RelayVersion.text) (\(build), \(architecture))",
            "Swift          \(compiler)",
            "librdkafka     \(KafkaLibrary.version): \(KafkaLibrary.features)",
            "libcurl        \(CurlLibrary.version)",
            "SQLite         \(Database.libraryVersion)",
            "OpenSSL        \(OpenSSLLibrary.version)",
            "libmicrohttpd  \(HTTPServer.libraryVersion)",
            "libyaml        \(YAMLDocument.libraryVersion)",
            "libc           \(libc)",
            "kernel         \(line("/proc/sys/kernel/osrelease"))",
            "system         \(system)",
            "LD_LIBRARY_PATH \(EnvironmentVariables.process["LD_LIBRARY_PATH"] ?? "not set")",
        ]
    }

    static func limits() -> [String] {
        var lines = [
            "processors     \(sysconf(Int32(_SC_NPROCESSORS_ONLN)))",
            "open files     \(openFiles)",
        ]
        let memory = text("/proc/meminfo").split(separator: "\n")
        lines += memory.filter { line in
            ["MemTotal:", "MemAvailable:", "SwapFree:"].contains { line.hasPrefix($0) }
        }.map { "memory         \($0.split(separator: " ").joined(separator: " "))" }
        let group = text("/proc/self/cgroup").split(separator: "\n").last { $0.hasPrefix("0::") }
        let folder = "/sys/fs/cgroup" + (group.map { $0.dropFirst(3) } ?? "")
        for name in ["memory.max", "memory.current", "cpu.max", "pids.max"] {
            let own = line("\(folder)/\(name)")
            let value = own == "unknown" ? line("/sys/fs/cgroup/\(name)") : own
            lines.append("cgroup         \(name) \(value)")
        }
        return lines
    }

    private static var build: String {
        #if DEBUG
            "debug"
        #else
            "release"
        #endif
    }

    private static var architecture: String {
        #if arch(x86_64)
            "x86_64"
        #elseif arch(arm64)
            "arm64"
        #else
            "another processor"
        #endif
    }

    /// Only bounds are known when a program is built.
    private static var compiler: String {
        #if compiler(>=6.4)
            "6.4 or newer"
        #else
            "6.3"
        #endif
    }

    private static var libc: String {
        var buffer = [CChar](repeating: 0, count: 64)
        let length = unsafe confstr(Int32(_CS_GNU_LIBC_VERSION), &buffer, buffer.count)
        guard length > 1, length <= buffer.count else { return "unknown" }
        return String(
            decoding: buffer.prefix(length - 1).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static var system: String {
        let name = text("/etc/os-release").split(separator: "\n").first {
            $0.hasPrefix("PRETTY_NAME=")
        }
        return name.map { $0.dropFirst(12).filter { $0 != "\"" } } ?? "unknown"
    }

    private static var openFiles: String {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return "unknown"
        }
        return "\(limit.rlim_cur), at most \(limit.rlim_max)"
    }

    private static func line(_ path: String) -> String {
        let first = text(path).split(separator: "\n").first.map(String.init) ?? ""
        return first.isEmpty ? "unknown" : first
    }

    /// The first 64 KiB of a file of the system; empty where it cannot be read.
    private static func text(_ path: String) -> String {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe read(file, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
