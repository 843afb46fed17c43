import Testing

@testable import Crypto

@Suite struct RSAPublicKeyTests {
    @Test func `a public key takes its own signatures, and no others`() throws {
        let key = try RSAKey()
        let other = try RSAKey()
        let known = try RSAPublicKey(modulus: key.modulus, exponent: key.exponent)
        let message = Array("message".utf8)
        let signature = try key.sign(message)
        #expect(known.verifies(signature, of: message))
        #expect(!known.verifies(signature, of: Array("messagf".utf8)))
        #expect(!known.verifies(try other.sign(message), of: message))
        #expect(!known.verifies(Array(signature.dropLast()), of: message))
        #expect(!known.verifies([], of: message))
    }

    @Test func `numbers that make no safe key are refused`() throws {
        let key = try RSAKey()
        for (modulus, exponent): ([UInt8], [UInt8]) in [
            (Array(key.modulus.prefix(128)), key.exponent), ([], key.exponent),
            (Array(repeating: 0xFF, count: 1025), key.exponent), (key.modulus, []),
            (key.modulus, [1]), (key.modulus, [4]), (key.modulus, [1, 0, 0, 0, 1]),
        ] {
            #expect(throws: CryptoError.self) {
                try RSAPublicKey(modulus: modulus, exponent: exponent)
            }
        }
    }
}
