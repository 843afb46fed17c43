import Testing

@testable import Crypto

@Suite struct EncodingTests {
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ])
    func `base64 gives the vectors of RFC 4648`(plain: String, text: String) {
        let bytes = Array(plain.utf8)
        #expect(Base64.encode(bytes, .standard) == text)
        #expect(Base64.decode(text, .standard) == bytes)
        let bare = String(text.prefix { $0 != "=" })
        #expect(Base64.encode(bytes) == bare)
        #expect(Base64.decode(bare) == bytes)
    }

    @Test func `each alphabet refuses the other's letters`() {
        #expect(Base64.encode([0xfb, 0xff], .standard) == "+/8=")
        #expect(Base64.encode([0xfb, 0xff], .url) == "-_8")
        #expect(Base64.decode("-_8", .standard) == nil)
        #expect(Base64.decode("+/8", .url) == nil)
    }

    @Test(arguments: ["Z", "Zg=", "Zh", "Zg==Zg==", "Zm9v=", "Z g", "Zm9vY", "===="])
    func `base64 that is not canonical is refused`(text: String) {
        #expect(Base64.decode(text, .standard) == nil)
    }

    @Test func `hex goes there and back and refuses what is none`() {
        #expect(Hex.encode([0, 0x1f, 0xff]) == "001fff")
        #expect(Hex.decode("001FfF") == [0, 0x1f, 0xff])
        #expect(Hex.decode("0") == nil)
        #expect(Hex.decode("0g") == nil)
        #expect(Hex.decode("") == [])
    }
}
