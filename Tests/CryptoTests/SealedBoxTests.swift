import Testing

@testable import Crypto

@Suite struct SealedBoxTests {
    private let owner = Array("acct_1".utf8)

    @Test(arguments: [0, 1, 16, 1000])
    func `what is sealed opens with the same key and owner`(size: Int) throws {
        let key = try SealedBox.makeKey()
        let plain = [UInt8](repeating: 7, count: size)
        let box = try SealedBox.seal(plain, key: key, additionalData: owner)
        #expect(box.count == size + SealedBox.overhead)
        #expect(try SealedBox.open(box, key: key, additionalData: owner).revealBytes() == plain)
    }

    @Test func `two boxes of one secret differ`() throws {
        let key = try SealedBox.makeKey()
        let first = try SealedBox.seal(Secret("k"), key: key, additionalData: [])
        #expect(first != (try SealedBox.seal(Secret("k"), key: key, additionalData: [])))
    }

    @Test func `another key, another owner or one changed bit does not open`() throws {
        let key = try SealedBox.makeKey()
        let box = try SealedBox.seal(Secret("credential"), key: key, additionalData: owner)
        let other = try SealedBox.makeKey()
        #expect(throws: CryptoError.self) {
            try SealedBox.open(box, key: other, additionalData: owner)
        }
        #expect(throws: CryptoError.self) {
            try SealedBox.open(box, key: key, additionalData: Array("acct_2".utf8))
        }
        for index in box.indices {
            var changed = box
            changed[index] ^= 1
            let error = #expect(throws: CryptoError.self) {
                try SealedBox.open(changed, key: key, additionalData: owner)
            }
            #expect(error?.kind == .notAuthentic)
        }
    }

    @Test func `a box that is cut short and a key of the wrong length are told apart`() throws {
        let key = try SealedBox.makeKey()
        let short = #expect(throws: CryptoError.self) {
            try SealedBox.open([1, 2, 3], key: key, additionalData: [])
        }
        #expect(short?.kind == .malformed)
        let bad = #expect(throws: CryptoError.self) {
            try SealedBox.seal(Secret("x"), key: Secret("short"), additionalData: [])
        }
        #expect(bad?.kind == .badKey)
    }

    @Test func `a box opens the test vector of the GCM specification`() throws {
        // Test case 14 of McGrew and Viega: a zero key, a zero nonce, one zero block.
        let box = try #require(
            Hex.decode(
                "000000000000000000000000" + "cea7403d4d606b6e074ec5d3baf39d18"
                    + "d0d1c8a799996bf0265b98b5d48ab919"))
        let key = Secret([UInt8](repeating: 0, count: 32))
        let plain = try SealedBox.open(box, key: key, additionalData: [])
        #expect(plain.revealBytes() == [UInt8](repeating: 0, count: 16))
    }
}
