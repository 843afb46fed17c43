import Testing

@testable import Crypto

@Suite struct SecretTests {
    private struct Holder {
        let name = "holder"
        let credential: Secret
        let maybe: Secret?
    }

    @Test func `a secret prints as redacted on every path`() {
        let secret = Secret("canary-7f3a")
        var dumped = ""
        dump(secret, to: &dumped)
        let holder = Holder(credential: secret, maybe: secret)
        dump(holder, to: &dumped)
        dump([secret], to: &dumped)
        let texts = [
            "\(secret)", String(describing: secret), String(reflecting: secret),
            "\(holder)", String(reflecting: holder), "\([secret])", "\(["k": secret])", dumped,
        ]
        for text in texts {
            #expect(!text.contains("canary"))
            #expect(text.contains("[redacted]"))
        }
    }

    @Test func `a mirror shows no bytes`() {
        let children = Mirror(reflecting: Secret("canary")).children.map { "\($0.value)" }
        #expect(children.allSatisfy { !$0.contains("canary") })
    }

    @Test func `what goes in comes out by reveal only`() {
        let secret = Secret("key-ü")
        #expect(secret.reveal() == "key-ü")
        #expect(secret.revealBytes() == Array("key-ü".utf8))
        #expect(secret.count == 6)
        #expect(Secret("").isEmpty)
    }

    @Test func `secrets are equal when their bytes are`() {
        #expect(Secret("a") == Secret([97]))
        #expect(Secret("a") != Secret("b"))
        #expect(Secret("a") != Secret("aa"))
    }
}
