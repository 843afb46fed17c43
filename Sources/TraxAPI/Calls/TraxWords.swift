/// A platform as the API names it; an open set, so that a new one is no error.
public struct TraxPlatform: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The word in the API.
    public let rawValue: String

    /// Names a platform, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Twitch.
    public static let twitch = TraxPlatform(rawValue: "twitch")
    /// YouTube.
    public static let youtube = TraxPlatform(rawValue: "youtube")
    /// Kick, the one platform with PKCE; its verifier stays on the server.
    public static let kick = TraxPlatform(rawValue: "kick")
    /// Facebook, linked or with a stream key.
    public static let facebook = TraxPlatform(rawValue: "facebook")
    /// LinkedIn.
    public static let linkedin = TraxPlatform(rawValue: "linkedin")
    /// Trovo, which the API knows and has no credentials for: linking it is a 400.
    public static let trovo = TraxPlatform(rawValue: "trovo")
    /// Instagram, by stream key.
    public static let instagram = TraxPlatform(rawValue: "instagram")
    /// Rumble, by stream key.
    public static let rumble = TraxPlatform(rawValue: "rumble")
    /// X, by stream key.
    public static let x = TraxPlatform(rawValue: "x")
    /// TikTok, by stream key.
    public static let tiktok = TraxPlatform(rawValue: "tiktok")
    /// Anything else, by stream key.
    public static let custom = TraxPlatform(rawValue: "custom")

    /// Those that have no link at all and take a pasted stream key.
    public static let takingKeys: Set<TraxPlatform> = [.instagram, .rumble, .x, .tiktok, .custom]

    /// The word.
    public var description: String { rawValue }
}

/// The status of a connection as the API names it; an open set of which `active` alone is
/// documented.
public struct TraxStatus: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The word in the API.
    public let rawValue: String

    /// Names a status, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The link works, and a repaired one works again.
    public static let active = TraxStatus(rawValue: "active")

    /// The word.
    public var description: String { rawValue }
}

/// A scope of an API key; an open set.
public struct TraxScope: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The word in the API.
    public let rawValue: String

    /// Names a scope, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Links, unlinks, and keeps stream keys.
    public static let writeConnections = TraxScope(rawValue: "connections:write")
    /// Lists studios.
    public static let readStudios = TraxScope(rawValue: "studios:read")

    /// The word.
    public var description: String { rawValue }
}
