// swift-tools-version: 6.3
import PackageDescription

// Arrows point down only: the door, the edge, the shell, the adapters, the core, the public event
// model, the wrappers (one C library each), the module maps. `Tests/TidyTests` holds them to it.

let swiftSettings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

/// A module map over a C library that Debian keeps.
func library(_ name: String, _ pkgConfig: String, apt package: String) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([package])])
}

/// A room of the house, and what stands below it.
func room(_ name: String, _ below: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: below, swiftSettings: swiftSettings)
}

/// The tests of one room, which may also use what stands below it.
func tests(_ name: String, _ below: [Target.Dependency], except: [String] = []) -> Target {
    .testTarget(
        name: name, dependencies: below, exclude: except, swiftSettings: swiftSettings)
}

let moduleMaps: [Target] = [
    library("CCurl", "libcurl", apt: "libcurl4-openssl-dev"),
    library("CMicrohttpd", "libmicrohttpd", apt: "libmicrohttpd-dev"),
    library("COpenSSL", "openssl", apt: "libssl-dev"),
    library("CRdkafka", "rdkafka", apt: "librdkafka-dev"),
    library("CSQLite", "sqlite3", apt: "libsqlite3-dev"),
    library("CXXHash", "libxxhash", apt: "libxxhash-dev"),
    library("CYAML", "yaml-0.1", apt: "libyaml-dev"),
    .systemLibrary(name: "CPosix"),
    .target(name: "CSimdjson", linkerSettings: [.linkedLibrary("simdjson")]),
]

let wrappers: [Target] = [
    room("Threading", ["CPosix"]),
    room("Crypto", ["COpenSSL"]),
    room("Hashing", ["CXXHash"]),
    room("HTTPClient", ["CCurl", "Threading"]),
    room("HTTPServer", ["CMicrohttpd", "Threading"]),
    room("JSON", ["CSimdjson"]),
    room("Kafka", ["CRdkafka", "Threading"]),
    room("SQLite", ["CSQLite"]),
    room("YAML", ["CYAML"]),
]

let house: [Target] = [
    room("ConnectionEvents", ["Crypto", "JSON"]),
    room("RelayCore", ["ConnectionEvents", "Crypto", "Hashing", "JSON"]),
    room("RelayConfiguration", ["RelayCore", "ConnectionEvents", "Crypto", "JSON", "YAML"]),
    room(
        "RelayJournal",
        [
            "RelayCore", "ConnectionEvents", "Crypto", "Hashing", "JSON", "SQLite", "Threading",
        ]),
    room(
        "SignIn",
        [
            "RelayCore", "ConnectionEvents", "Crypto", "HTTPClient", "HTTPServer", "JSON",
            "Threading",
        ]),
    room("RelaySinks", ["RelayCore", "ConnectionEvents", "JSON", "Kafka", "Threading"]),
    room(
        "TraxAPI",
        ["RelayCore", "ConnectionEvents", "Crypto", "HTTPClient", "JSON", "Threading"]),
    room(
        "RelayRuntime", ["RelayCore", "ConnectionEvents", "Crypto", "Hashing", "JSON", "Threading"]),
    room(
        "RelayDashboard",
        [
            "RelayRuntime", "RelayCore", "ConnectionEvents", "HTTPServer", "JSON", "Threading",
        ]),
    room(
        "RelaySimulation",
        ["RelayRuntime", "RelayCore", "ConnectionEvents", "Crypto", "Hashing", "JSON"]),
    room("TraxSandbox", ["ConnectionEvents", "Crypto", "HTTPServer", "JSON", "Threading"]),
    room(
        "RelayCommands",
        [
            "ConnectionEvents", "Crypto", "Hashing", "HTTPClient", "HTTPServer", "JSON", "Kafka",
            "RelayConfiguration", "RelayCore", "RelayDashboard", "RelayJournal", "RelayRuntime",
            "RelaySimulation", "RelaySinks", "SQLite", "SignIn", "Threading", "TraxAPI",
            "TraxSandbox", "YAML",
        ]),
    .executableTarget(
        name: "trax-relay", dependencies: ["RelayCommands"], swiftSettings: swiftSettings),
]

let testTargets: [Target] = [
    tests("ConnectionEventsTests", ["ConnectionEvents", "JSON"]),
    tests("CryptoTests", ["Crypto"]),
    tests("HashingTests", ["Hashing"]),
    tests("HTTPClientTests", ["HTTPClient", "HTTPServer", "Threading"]),
    tests("HTTPServerTests", ["HTTPServer", "Threading"]),
    tests("JSONTests", ["JSON"]),
    tests("KafkaTests", ["Kafka", "Threading"]),
    tests(
        "RelayCommandsTests",
        [
            "RelayCommands", "RelayConfiguration", "RelayCore", "RelayJournal", "ConnectionEvents",
            "Crypto", "HTTPServer", "JSON", "SQLite", "Threading",
        ],
        except: ["Help"]),
    tests(
        "RelayConfigurationTests",
        ["RelayConfiguration", "RelayCore", "ConnectionEvents", "Crypto", "JSON"]),
    tests("RelayCoreTests", ["RelayCore", "ConnectionEvents", "JSON", "Hashing"]),
    tests(
        "RelayDashboardTests",
        [
            "RelayDashboard", "RelayRuntime", "RelayCore", "ConnectionEvents", "Crypto",
            "HTTPServer", "HTTPClient", "JSON",
        ]),
    tests(
        "RelayJournalTests",
        ["RelayJournal", "RelayCore", "ConnectionEvents", "Crypto", "Hashing", "JSON", "SQLite"]),
    tests(
        "RelayRuntimeTests",
        ["RelayRuntime", "RelayCore", "ConnectionEvents", "Crypto", "Hashing", "JSON", "Threading"]),
    tests(
        "RelaySimulationTests",
        ["RelaySimulation", "RelayRuntime", "RelayCore", "ConnectionEvents", "JSON"]),
    tests("RelaySinksTests", ["RelaySinks", "RelayCore", "ConnectionEvents", "Kafka"]),
    tests(
        "SignInTests",
        [
            "SignIn", "RelayCore", "ConnectionEvents", "Crypto", "HTTPClient", "HTTPServer", "JSON",
            "Threading", "TraxSandbox",
        ]),
    tests("SQLiteTests", ["SQLite"]),
    tests("ThreadingTests", ["Threading"]),
    tests("TidyTests", []),
    tests(
        "TraxAPITests",
        [
            "TraxAPI", "TraxSandbox", "RelayCore", "ConnectionEvents", "Crypto", "HTTPServer",
            "JSON", "Threading",
        ]),
    tests("TraxSandboxTests", ["TraxSandbox", "Crypto", "HTTPClient", "JSON"]),
    tests("YAMLTests", ["YAML"]),
]

let package = Package(
    name: "trax-relay",
    products: [
        .executable(name: "trax-relay", targets: ["trax-relay"]),
        .library(name: "ConnectionEvents", targets: ["ConnectionEvents"]),
        .library(name: "TraxAPI", targets: ["TraxAPI"]),
    ],
    targets: moduleMaps + wrappers + house + testTargets,
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)
