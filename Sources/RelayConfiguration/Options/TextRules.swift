internal import ConnectionEvents
internal import RelayCore

extension TextRule {
    /// The pipeline's name, from which client ids, transactional ids and a topic are made.
    static let pipelineName = TextRule(
        "1 to 200 of the characters `A-Z a-z 0-9 . _ -`", pattern: "^[A-Za-z0-9._-]{1,200}$"
    ) { isKafkaName($0, limit: 200) }

    /// A topic of Kafka, by Kafka's own rule.
    static let topic = TextRule(
        "a topic: 1 to 249 of the characters `A-Z a-z 0-9 . _ -`, and not `.` or `..`",
        pattern: "^[A-Za-z0-9._-]{1,249}$"
    ) { isKafkaName($0, limit: 249) }

    /// The API's address.
    static let baseURL = TextRule("an address", pattern: "^https?://") {
        BaseURL.objection(to: $0)
    }

    /// An OpenID provider.
    static let issuer = TextRule(
        "an address that begins with `https://` (plain http only to this machine), without query"
            + " or user", pattern: "^https?://"
    ) { Issuer($0) != nil }

    /// A client of an OpenID provider.
    static let clientID = TextRule(
        "1 to 255 printable characters without spaces", pattern: "^[!-~]{1,255}$"
    ) { text in
        (1...255).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Host and port to listen on.
    static let listen = TextRule(
        "a host and a port, such as `127.0.0.1:7080`", pattern: "^.+:[0-9]{1,5}$"
    ) { HostAndPort($0)?.port != nil && HostAndPort($0)?.host.isEmpty == false }

    /// Kafka's bootstrap servers, or the broker within the process.
    static let brokers = TextRule(
        "`embedded`, or hosts with ports such as `kafka-1:9092,kafka-2:9092`", pattern: "^.+$"
    ) { text in
        text.split(separator: ",", omittingEmptySubsequences: false).allSatisfy { part in
            let address = HostAndPort(String(part.trimmed))
            return address?.host.isEmpty == false && address?.port != 0
        }
    }

    /// A path, absolute or relative to the pipeline file.
    static let path = TextRule("a path", pattern: "^.+$") { text in
        !text.isEmpty && !text.utf8.contains(0) && text.utf8.count <= 4096
    }

    /// A raw status or a platform, as the API sends it.
    static let word = TextRule("a text of 1 to 1024 bytes", pattern: "^.+$") { text in
        (1...1024).contains(text.utf8.count)
    }

    /// An account's id.
    static let account = TextRule(
        "an account id: 1 to 128 of the characters `A-Z a-z 0-9 . _ : @ -`",
        pattern: "^[A-Za-z0-9._:@-]{1,128}$"
    ) { AccountID($0) != nil }

    /// A type of event.
    static let eventType = TextRule(
        "a type of event",
        pattern: "^(live\\.traxstreaming\\.)?("
            + EventType.known.map {
                $0.isAboutAccount
                    ? $0.name.replacing(".", with: "\\.")
                    : "(connection\\.)?" + $0.name.dropFirst("connection.".count)
            }.joined(separator: "|") + "|account\\.\\*|connection\\.\\*)$"
    ) { text in
        guard knownTypes(text).isEmpty else { return nil }
        let names = EventType.known.map { $0.isAboutAccount ? $0.name : shortName($0) }
        return "is no type of event: "
            + NearestName.hint(shortName(EventType(text)), in: names, noun: "the types")
    }

    /// A kind of event.
    static let eventKind = TextRule(
        "a kind of event",
        pattern: "^(" + EventKind.allCases.map(\.rawValue).joined(separator: "|") + ")$"
    ) { text in
        guard EventKind(rawValue: text) == nil else { return nil }
        return "is no kind of event: "
            + NearestName.hint(text, in: EventKind.allCases.map(\.rawValue), noun: "the kinds")
    }

    /// The types that a text names: one, or with `account.*` and `connection.*` all of a family.
    static func knownTypes(_ text: String) -> [EventType] {
        switch EventType(text).name {
        case "account.*": EventType.known.filter(\.isAboutAccount)
        case "connection.*": EventType.known.filter { !$0.isAboutAccount }
        default: knownType(text).map { [$0] } ?? []
        }
    }

    /// The type that a text names, with or without `connection.` in front; nil where there is none.
    static func knownType(_ text: String) -> EventType? {
        let type = EventType(text)
        return EventType.known.first { $0 == type || $0.name == "connection.\(type.name)" }
    }

    private static func shortName(_ type: EventType) -> String {
        type.name.hasPrefix("connection.")
            ? String(type.name.dropFirst("connection.".count)) : type.name
    }

    private static func isKafkaName(_ text: String, limit: Int) -> Bool {
        (1...limit).contains(text.utf8.count) && text != "." && text != ".."
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}

extension StringProtocol {
    /// Without spaces and tabs at both ends.
    var trimmed: SubSequence {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        let head = drop(while: isSpace)
        return head[
            ..<(head.lastIndex { !isSpace($0) }.map { head.index(after: $0) } ?? head.startIndex)]
    }
}

/// Names that Kafka takes for topics.
public enum TopicName {
    /// Why a text is no topic's name, as in `must be …`; nil where it is one.
    public static func objection(to text: String) -> String? { TextRule.topic.objection(text) }
}
