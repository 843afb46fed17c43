import Crypto
import Testing

@Suite struct RSAKeyTests {
    @Test func `a signature is right for its key and message alone`() throws {
        let key = try RSAKey()
        let other = try RSAKey()
        #expect(key.modulus.count == 256 && key.modulus[0] >= 128)
        #expect(key.exponent == [1, 0, 1])
        #expect(key.modulus != other.modulus)
        for message in [[], Array("message".utf8), [UInt8](repeating: 7, count: 100_000)] {
            let signature = try key.sign(message)
            #expect(signature.count == 256)
            #expect(key.publicKey.verifies(signature, of: message))
            #expect(!other.publicKey.verifies(signature, of: message))
            #expect(!key.publicKey.verifies(signature, of: message + [0]))
            var bent = signature
            bent[100] ^= 1
            #expect(!key.publicKey.verifies(bent, of: message))
            #expect(!key.publicKey.verifies(Array(signature.dropLast()), of: message))
            #expect(!key.publicKey.verifies([], of: message))
        }
    }
}
