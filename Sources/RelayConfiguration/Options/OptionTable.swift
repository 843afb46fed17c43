internal import RelayCore

/// The option table: every key of the pipeline file.
///
/// A new key is a new row, and a line in `PipelineBuilding.swift` that takes its value.
enum OptionTable {
    static let pipeline: [Option] = [
        Option("version", .integer(1...1, or: nil), .text("1"), "The version of this format."),
        Option(
            "name", .text(.pipelineName), .text("connections"),
            "Client ids, transactional ids, metrics and the progress topic `<name>.progress` are "
                + "named "
                + "after it. Two pipelines on one Kafka cluster need two names."),
        Option("source", .section(source), .section, "Where connections are read from."),
        Option("detection", .section(detection), .section, "What counts as a change."),
        Option("journal", .section(journal), .section, "Where the relay keeps what it knows."),
        Option(
            "kafka", .section(kafka), .section, "The Kafka cluster of all Kafka and state sinks."),
        Option(
            "sinks", .variants(sinks), .nothing,
            "Where events go, one entry for each: `kafka`, `state` or `log`. Without any, events "
                + "are "
                + "only kept in the journal."),
        Option("http", .section(http), .section, "The relay's own HTTP server."),
    ]

    private static let source: [Option] = [
        Option(
            "baseURL", .text(.baseURL), .text("https://api-dev.traxstreaming.live"),
            "Address of the TRaX API, with or without `/v1`. Plain http only to loopback and "
                + "private "
                + "hosts."),
        Option(
            "accounts", .text(.path), .nothing,
            "Accounts file (CSV or JSON lines), imported at start and on SIGHUP. Without it, "
                + "accounts "
                + "come from `trax-relay accounts` alone."),
        Option(
            "pageLimit", .integer(1...200, or: nil), .text("200"), "Rows asked for in one page."),
        Option(
            "requestTimeout", .duration(.milliseconds(10) ... .seconds(600)), .text("10s"),
            "The longest that one request may take."),
        Option(
            "walkTimeout", .duration(.milliseconds(10) ... .seconds(3600)), .text("60s"),
            "The longest that one complete reading of an account's list may take."),
        Option(
            "maxConnections", .integer(1...10_000, or: nil), .text("64"),
            "Sockets open to the API at once."),
        Option(
            "budget", .rate(slowestRate...Rate(perSecond: 100_000)), .text("200/s"),
            "Requests, of all accounts together."),
        Option(
            "perAccount", .rate(slowestRate...Rate(perSecond: 10_000)), .text("2/s"),
            "Requests of one account (token bucket for each credential)."),
        Option("interval", .section(interval), .section, "How often an account is walked."),
        Option("limits", .section(limits), .section, "Above one of these a walk fails."),
        Option(
            "signIn", .section(signIn), .nothing,
            "Where people sign in: for `login`, and for accounts of the accounts file whose `oidc` "
                + "names no issuer or client."),
    ]

    private static let signIn: [Option] = [
        Option(
            "issuer", .text(.issuer), .required,
            "The OpenID provider, exactly as it names itself."),
        Option(
            "clientID", .text(.clientID), .required,
            "The relay's client there: public, with PKCE, refresh tokens and a redirect to "
                + "`http://127.0.0.1` at any port."),
    ]

    private static let slowestRate = Rate(perSecond: 1.0 / 3600)

    private static let interval: [Option] = [
        Option(
            "fastest", .duration(.milliseconds(10) ... .seconds(86_400)), .text("2s"),
            "An account is not walked more often, unless a change is being confirmed."),
        Option(
            "slowest", .duration(.milliseconds(10) ... .seconds(604_800)), .text("60s"),
            "No account that answers waits longer, while the budget suffices."),
    ]

    private static let limits: [Option] = [
        Option("pages", .integer(1...10_000, or: nil), .text("100"), "Pages of one walk."),
        Option("rows", .integer(1...10_000_000, or: nil), .text("20000"), "Rows of one walk."),
        Option("body", .size(1024...(256 << 20)), .text("4MiB"), "Bytes of one page's body."),
    ]

    private static let detection: [Option] = [
        Option(
            "healthy", .texts(.word, mayBeEmpty: true), .texts(["active"]),
            "Statuses that mean that the link works."),
        Option(
            "pending", .texts(.word, mayBeEmpty: true),
            .texts(["pending", "connecting", "linking"]),
            "Statuses that mean that the link is being made or repaired."),
        Option(
            "failing", .texts(.word, mayBeEmpty: true),
            .texts(["expired", "revoked", "disconnected", "error", "reauth_required"]),
            "Statuses that mean that the link is broken and its owner can mend it."),
        Option(
            "otherStatus", .choice(["failing", "unrecognised"]), .text("failing"),
            "What any other status means."),
        Option(
            "baseline", .choice(["quiet", "publish"]), .text("quiet"),
            "Whether the rows of an account's first walk are published as events of kind "
                + "`baseline`. "
                + "The state topic gets them either way."),
        Option("removal", .section(removal), .section, "When a missing row counts as gone."),
        Option(
            "brake", .sectionOrFalse(brake), .section,
            "Holds back changes that look like a fault of the list rather than of the world; "
                + "`false`: none are."),
    ]

    private static let brake: [Option] = [
        Option(
            "share", .fraction(0...1), .text("0.5"),
            "So large a share of an account's believed rows removed, or failing, in one walk is "
                + "held; together with `atLeast`."),
        Option(
            "atLeast", .integer(1...1_000_000, or: nil), .text("5"),
            "Fewer rows than that are never held for their share."),
        Option(
            "fleet", .fraction(0...1), .text("0.5"),
            "Any removal is held while such a share of the other accounts lacks rows as well."),
        Option(
            "failuresAfter", .duration(.zero ... .seconds(31_536_000)), .text("15m"),
            "A held failure that is still true is published so long after it was first seen."),
        Option(
            "removalsAfter", .durationOrNever(.zero ... .seconds(31_536_000)), .text("24h"),
            "A held removal that is still true is published so long after it was first seen; "
                + "`never`: only by `holds release`."),
    ]

    private static let removal: [Option] = [
        Option(
            "confirmations", .integer(1...100, or: nil), .text("2"),
            "Sealed walks in a row without the row.")
    ]

    private static let journal: [Option] = [
        Option("sqlite", .text(.path), .text("relay.db"), "The journal's file; made on first use."),
        Option(
            "keyFile", .text(.path), .text("relay.key"),
            "The key that seals credentials at rest; made on first use, mode 0600."),
        Option(
            "retention", .duration(.seconds(1) ... .seconds(315_360_000)), .text("7d"),
            "How long an event is kept, from `decidedAt`; longer while a sink lacks it."),
        Option(
            "maxSize", .size((16 << 20)...(16 << 40)), .text("8GiB"),
            "Bytes of the journal, its write-ahead log among them. When they are used up, nothing "
                + "is "
                + "believed until there is room."),
    ]

    private static let kafka: [Option] = [
        Option(
            "brokers", .text(.brokers), .nothing,
            "Bootstrap servers, or `embedded`: a broker within the process for trying things out, "
                + "always at-least-once. Required once a sink is a topic."),
        Option(
            "delivery", .choice(["exactly-once", "at-least-once"]), .text("exactly-once"),
            "Transactions, or acknowledgements alone."),
        Option(
            "createTopics", .sectionOrFalse(createTopics), .section,
            "How missing topics are made; `false`: they are not."),
        Option(
            "properties", .properties, .nothing,
            "Properties of librdkafka, such as `security.protocol` and `sasl.password`; secrets as "
                + "`env:NAME` or `file:PATH`."),
    ]

    private static let createTopics: [Option] = [
        Option(
            "partitions", .integer(1...10_000, or: nil), .text("6"),
            "Partitions of a topic that is made."),
        Option(
            "replicationFactor", .integer(1...100, or: -1), .text("-1"),
            "Replicas of a topic that is made; `-1`: the broker's default."),
    ]

    private static let sinks: [Option] = [
        Option("kafka", .section(kafkaSink), .nothing, "Events to a topic, keyed by account."),
        Option(
            "state", .section([Option("topic", .text(.topic), .required, "The topic, compacted.")]),
            .nothing, "The last state of each connection to a compacted topic."),
        Option(
            "log",
            .section([Option("when", .section(when), .nothing, "Which events; all if left out.")]),
            .nothing, "Events as JSON lines to standard output."),
    ]

    private static let kafkaSink: [Option] = [
        Option("topic", .text(.topic), .required, "The topic."),
        Option("when", .section(when), .nothing, "Which events; all if left out."),
        Option(
            "format", .choice(EventFormat.allCases.map(\.rawValue)), .text("structured"),
            "How a CloudEvent lies in its record: one JSON value, or `data` as the value and the "
                + "attributes as headers `ce_*`."),
    ]

    private static let when: [Option] = [
        Option(
            "types", .texts(.eventType, mayBeEmpty: false), .nothing,
            "Types of event; `connection.` may be left out."),
        Option(
            "platforms", .texts(.word, mayBeEmpty: false), .nothing,
            "Platforms of the connection; lets no `account.*` through."),
        Option("accounts", .texts(.account, mayBeEmpty: false), .nothing, "Account ids."),
        Option(
            "kinds", .texts(.eventKind, mayBeEmpty: false), .nothing,
            "Kinds: `change`, `baseline`, `resync`."),
    ]

    private static let http: [Option] = [
        Option(
            "listen", .text(.listen), .text("127.0.0.1:7080"),
            "Host and port; anything but loopback needs a `token`."),
        Option(
            "token", .secret, .nothing,
            "Asked of every request but `/healthz`, `/readyz` and `/metrics`."),
    ]
}
