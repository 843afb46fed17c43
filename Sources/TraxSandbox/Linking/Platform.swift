/// A platform as trax-connect knows it.
struct Platform: Sendable {
    /// The word in the API.
    let id: String
    /// The name for people.
    let label: String
    /// What is asked for when a link names no scopes; what is not among them is never granted.
    let scopes: [String]
    /// Whether the code is bound to a verifier that trax-connect keeps.
    let usesPKCE: Bool
    /// Whether embedded web views are turned away.
    let refusesWebViews: Bool

    private init(
        _ id: String, _ label: String, _ scopes: [String], usesPKCE: Bool = false,
        refusesWebViews: Bool = false
    ) {
        self.id = id
        self.label = label
        self.scopes = scopes
        self.usesPKCE = usesPKCE
        self.refusesWebViews = refusesWebViews
    }

    /// Those that link by OAuth.
    static let linkable = [
        Platform(
            "twitch", "Twitch",
            ["channel:manage:broadcast", "channel:read:stream_key", "chat:edit", "chat:read"]),
        Platform(
            "youtube", "YouTube", ["youtube", "youtube.force-ssl", "youtube.readonly"],
            refusesWebViews: true),
        Platform(
            "kick", "Kick", ["channel:read", "channel:write", "chat:write", "streamkey:read"],
            usesPKCE: true),
        Platform(
            "facebook", "Facebook",
            ["pages_read_engagement", "pages_show_list", "publish_video"]),
        Platform("linkedin", "LinkedIn", ["openid", "profile", "w_member_social"]),
    ]

    /// Those that take a pasted stream key, with their names for people.
    static let manual = [
        "facebook": "Facebook", "instagram": "Instagram", "rumble": "Rumble", "x": "X",
        "tiktok": "TikTok", "custom": "Custom",
    ]

    /// One that links by OAuth.
    static func named(_ id: String) -> Platform? { linkable.first { $0.id == id } }
}
