internal import ConnectionEvents
internal import Crypto
internal import JSON
internal import RelayCore

/// A person's session as the text that is sealed: a JSON object.
enum PersonCoding {
    /// The text.
    static func text(of session: PersonSession) -> Secret {
        var object: JSONObject = [
            "issuer": .string(session.issuer.text), "client": .string(session.clientID),
            "refresh": .string(session.refreshToken.reveal()), "number": JSONValue(session.number),
            "obtained": JSONValue(session.obtainedAt.milliseconds),
            "expires": JSONValue(session.expiresAt.milliseconds),
        ]
        object["subject"] = session.subject.map { .string($0) }
        object["name"] = session.name.map { .string($0) }
        object["access"] = session.accessToken.map { .string($0.reveal()) }
        object["identity"] = session.idToken.map { .string($0.reveal()) }
        object["leaving"] = session.isLeaving ? .bool(true) : nil
        object["paused"] = session.wasPausedBefore ? .bool(true) : nil
        return Secret(JSONValue.object(object).serialized())
    }

    /// Reads the text.
    ///
    /// - Throws: `JournalFailure` when it is none.
    static func session(of text: Secret, account: AccountID) throws(JournalFailure) -> PersonSession
    {
        guard let json = json(text), let issuer = json["issuer"]?.stringValue.flatMap(Issuer.init),
            let client = json["client"]?.stringValue, let refresh = json["refresh"]?.stringValue
        else {
            throw .unusable(
                "credential_unreadable",
                "what is kept of the person of account \(account) is no session: the journal is"
                    + " damaged there. Remove the account and sign in again")
        }
        var session = PersonSession(
            issuer: issuer, clientID: client, refreshToken: Secret(refresh))
        session.subject = json["subject"]?.stringValue
        session.name = json["name"]?.stringValue
        session.accessToken = json["access"]?.stringValue.map { Secret($0) }
        session.idToken = json["identity"]?.stringValue.map { Secret($0) }
        session.number = json["number"]?.integerValue ?? 0
        session.isLeaving = json["leaving"]?.boolValue ?? false
        session.wasPausedBefore = json["paused"]?.boolValue ?? false
        session.obtainedAt = Timestamp(milliseconds: json["obtained"]?.integerValue ?? 0)
        session.expiresAt = Timestamp(milliseconds: json["expires"]?.integerValue ?? 0)
        return session
    }

    private static func json(_ text: Secret) -> JSONValue? {
        do throws(JSONError) {
            return try JSONValue(parsing: text.revealBytes())
        } catch {
            return nil
        }
    }
}

extension CredentialSeal {
    /// The tag of a refresh token that a file gave, apart from the tag of the same text as a key.
    func tag(ofGiven session: PersonSession) -> [UInt8] {
        tag(of: ["given", session.issuer.text, session.clientID, session.refreshToken.reveal()])
    }

    /// The tag of what an entry brings; nil where it brings no credential.
    func tag(ofOffered entry: AccountEntry) -> [UInt8]? {
        entry.person.map { tag(ofGiven: $0) } ?? entry.credential.map { tag(of: $0) }
    }

    /// The tag of a person, whatever tokens they have.
    func tag(ofSubject subject: String, at issuer: Issuer) -> [UInt8] {
        tag(of: ["person", issuer.text, subject])
    }

    /// Names the exchange of a refresh token, and tells nothing of it.
    func exchangeName(of token: Secret) -> String {
        Hex.encode(tag(of: ["exchange", token.reveal()]))
    }

    private func tag(of parts: [String]) -> [UInt8] {
        // NUL is in none of them, and a key that holds one goes into no header.
        tag(of: Secret(Array(parts.joined(separator: "\0").utf8)))
    }
}
