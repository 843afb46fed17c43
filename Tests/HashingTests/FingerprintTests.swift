import Testing

@testable import Hashing

@Suite struct FingerprintTests {
    @Test func `a fingerprint is XXH3-128 in canonical form`() {
        // The value of an empty input, from the specification of xxHash.
        let empty = Fingerprint.of([])
        #expect(empty.high == 0x99aa_06d3_0147_98d8)
        #expect(empty.low == 0x6001_c324_468d_497f)
        #expect(empty.bytes.first == 0x99)
    }

    @Test func `the stored form is read back`() {
        let print = Fingerprint.of(Array("a body".utf8))
        #expect(Fingerprint(bytes: print.bytes) == print)
        #expect(Fingerprint(bytes: print.bytes.dropLast()) == nil)
    }

    @Test func `one byte more is another fingerprint`() {
        #expect(Fingerprint.of([1, 2]) != Fingerprint.of([1, 2, 0]))
    }

    @Test func `the order and number of pages count`() {
        let (first, second) = (Fingerprint.of([1]), Fingerprint.of([2]))
        #expect(Fingerprint.combining([first]) == first)
        #expect(Fingerprint.combining([first, second]) != Fingerprint.combining([second, first]))
        #expect(first.followed(by: second) != second.followed(by: first))
        #expect(Fingerprint.combining([first, second]) == first.followed(by: second))
    }

    @Test func `a stable hash is the same in every process`() {
        #expect(StableHash.of("") == 0x2d06_8005_38d3_94c2)
        #expect(StableHash.of("acct_1") != StableHash.of("acct_2"))
    }
}
