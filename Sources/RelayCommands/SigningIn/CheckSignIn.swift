internal import RelayConfiguration
internal import RelayCore
internal import SignIn

extension Check {
    /// Whether the provider of `source.signIn` answers as a sign-in needs it.
    mutating func signIn() {
        guard let signIn = pipeline.source.signIn else { return }
        do throws(SignInError) {
            try SignedIn.probe(signIn.issuer, manners: workshop.manners)
            ok(
                "sign-in: \(signIn.issuer) answers; whether it knows the client"
                    + " \(signIn.clientID), a login shows")
        } catch {
            let text = pipeline.problem(at: "source.signIn.issuer", "sign-in: \(error.reason)")
                .description
            if error.kind == .unavailable { away(text) } else { problem(text) }
        }
    }
}
