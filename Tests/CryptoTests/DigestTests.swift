import Testing

@testable import Crypto

@Suite struct DigestTests {
    @Test func `SHA-256 gives the digests of FIPS 180-4`() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        #expect(Hex.encode(SHA256.hash("abc")) == abc)
        #expect(Hex.encode(SHA256.hash([])) == empty)
    }

    @Test func `parts laid end to end have the digest of the whole`() {
        let whole = SHA256.hash("abcdef")
        #expect(SHA256.hash(parts: [Array("ab".utf8), [], Array("cdef".utf8)]) == whole)
        var hash = SHA256()
        hash.update(Array("abc".utf8))
        hash.update(Array("def".utf8))
        #expect(hash.finish() == whole)
    }

    @Test func `HMAC gives the codes of RFC 4231`() {
        let first = HMACSHA256.authenticate(
            Array("Hi There".utf8), key: Secret([UInt8](repeating: 0x0b, count: 20)))
        #expect(
            Hex.encode(first) == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
        let second = HMACSHA256.authenticate(
            parts: [Array("what do ya want ".utf8), Array("for nothing?".utf8)], key: Secret("Jefe")
        )
        #expect(
            Hex.encode(second) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        )
        let longKey = HMACSHA256.authenticate(
            Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            key: Secret([UInt8](repeating: 0xaa, count: 131)))
        #expect(
            Hex.encode(longKey)
                == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
        #expect(
            HMACSHA256.isValid(
                second, for: Array("what do ya want for nothing?".utf8),
                key: Secret("Jefe")))
        #expect(!HMACSHA256.isValid(second, for: Array("no".utf8), key: Secret("Jefe")))
    }

    @Test func `an empty key and an empty message have a code`() {
        let code = HMACSHA256.authenticate(Secret(""), key: Secret(""))
        #expect(
            Hex.encode(code) == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    }

    @Test func `random bytes differ and have the length asked for`() throws {
        let (first, second) = (try Random.bytes(32), try Random.bytes(32))
        #expect(first.count == 32)
        #expect(first != second)
        #expect(try Random.bytes(0).isEmpty)
    }

    @Test func `comparison in constant time is comparison`() {
        #expect(ConstantTime.equal([1, 2], [1, 2]))
        #expect(!ConstantTime.equal([1, 2], [1, 3]))
        #expect(!ConstantTime.equal([1, 2], [1, 2, 3]))
        #expect(ConstantTime.equal([], []))
    }
}
