/// The people signed in: families of refresh tokens by name, found by their session, too.
struct IdentitySessions: Sendable {
    private var families: [String: Identity.Family] = [:]
    private var live: Set<String> = []

    /// How many there are.
    var count: Int { families.count }

    /// A family by its name; nil ends it.
    subscript(name: String) -> Identity.Family? {
        get { families[name] }
        set {
            if let old = families[name], old.session != newValue?.session {
                live.remove(old.session)
            }
            if let newValue { live.insert(newValue.session) }
            families[name] = newValue
        }
    }

    /// Whether a session has not ended; access tokens name theirs.
    func isLive(_ session: String) -> Bool { live.contains(session) }

    /// Ends all that are meant.
    mutating func end(where isMeant: (Identity.Family) -> Bool) {
        for (name, family) in families where isMeant(family) { self[name] = nil }
    }
}
