import RelayConfiguration
import Testing

@Suite struct AccountsFileErrorTests {
    private func problems(
        _ text: String, file: String = "a.csv", _ environment: [String: String] = [:]
    ) -> [String] {
        let error = #expect(throws: ConfigurationError.self) {
            try AccountsFileTests.read(text, file: file, environment)
        }
        return error?.problems.map(\.description) ?? []
    }

    @Test(
        "A header that cannot be used is told",
        arguments: [
            (
                "",
                "1:1: the file is empty: its first line must be a header, such as "
                    + "`account,credential,interval,paused`"
            ),
            (
                "account,credentials\na,b",
                "1:1: the header names no column `credential`: is "
                    + "`credentials` meant?"
            ),
            (
                "account;credential\n",
                "1:1: the header names no column `account`: cells are "
                    + "separated by commas"
            ),
            ("account,credential,x,x\n", "1:22: the column `x` is named twice"),
            ("account,credential,\n", "1:20: a column has no name"),
            ("\"account,credential\n", "1:1: a quote is opened and never closed"),
        ])
    func headers(text: String, expected: String) {
        #expect(problems(text).first == "a.csv:\(expected)")
    }

    @Test func `all bad lines are told at once, with both lines of doubles, without a credential`()
    {
        let found = problems(
            """
            account,credential,interval,paused
            a b,hunter2-0,,
            ,hunter2-1,,
            a,hunter2-2,5,
            b,,,
            c,hunter2-3,,maybe
            a,hunter2-4,,
            d,hunter2-3,,
            e,env:NOPE,,
            f,file:/nonexistent/x,,
            g,env:,,
            h,"hunter2 5",,
            i,hunter2-6,,,
            j,hunter2"7,,
            "k"x,hunter2-8,,
            l,env:SAME,,
            m
            é,"x
            y",1s,"
            """, ["SAME": "hunter2-2"])
        #expect(
            found == [
                "a.csv:2:1: the account id must be 1 to 128 of the characters `A-Z a-z 0-9 . _ : "
                    + "@ -`",
                "a.csv:3:1: the account id is missing",
                "a.csv:4:13: `interval` must be a duration such as `500ms`, `2s`, `5m`, `1h` or "
                    + "`2d`, "
                    + "from 10ms to 7d",
                "a.csv:5:3: the credential is missing",
                "a.csv:6:14: `paused` must be `true` or `false`, or empty",
                "a.csv:7:1: the account `a` is already on line 4: remove one of the lines",
                "a.csv:8:3: the account `d` has the same credential as `c` on line 6: each "
                    + "account has "
                    + "its own",
                "a.csv:9:3: `env:NOPE`: the environment variable is not set: set it",
                "a.csv:10:3: `file:/nonexistent/x` cannot be read: No such file or directory",
                "a.csv:11:3: the credential must be `env:NAME`, `file:PATH` or the key itself",
                "a.csv:12:3: the credential holds a space, line end or other character that no "
                    + "HTTP "
                    + "header can carry: write it as the API gave it",
                "a.csv:13:15: the line has 5 cells, the header 4: quote cells that hold commas",
                "a.csv:14:10: a quote stands inside a cell that does not begin with one",
                "a.csv:15:4: something stands behind a closing quote: double quotes inside",
                "a.csv:16:3: the account `l` has the same credential as `a` on line 4: each "
                    + "account has "
                    + "its own",
                "a.csv:17:1: the credential is missing",
                "a.csv:19:7: a quote is opened and never closed",
            ])
        #expect(!found.joined().contains("hunter2"))
    }

    @Test func `all bad JSON lines are told at once`() {
        let found = problems(
            """
            {"account":"a","apiKey":"hunter2"}
            {"account":"a b","apiKey":"hunter2-1"}
            {"account":"b","apiKey":"hunter2"}
            {"account":"a","apiKey":"hunter2-2"}
            {"account":5,"apiKey":["hunter2"]}
            {"account":"c","interval":5,"paused":7}
            {"account":"d","oidc":{"issuer":"x","refreshToken":"hunter2"}}
            {"account":"e","credential":"hunter2"}
            [1]
            {"account":"f" "apiKey":"hunter2"}
            {"apiKey":null}
            {"account":"g","apiKey":"env:NOPE","paused":"perhaps"}
            {"account":"h","apiKey":"hunter2-h","account":"i"}
            """)
        #expect(
            found == [
                "a.csv:2:1: the account id must be 1 to 128 of the characters `A-Z a-z 0-9 . _ : "
                    + "@ -`",
                "a.csv:3:1: the account `b` has the same credential as `a` on line 1: each "
                    + "account has "
                    + "its own",
                "a.csv:4:1: the account `a` is already on line 1: remove one of the lines",
                "a.csv:5:1: `account` must be a string",
                "a.csv:5:1: `apiKey` must be a string",
                "a.csv:6:1: `apiKey` is missing",
                "a.csv:6:1: `interval` must be a string",
                "a.csv:6:1: `paused` must be `true` or `false`",
                "a.csv:7:1: `oidc.clientID` is missing, and the pipeline has no `source.signIn` to "
                    + "take it from",
                "a.csv:7:1: the account `d` has the same credential as `a` on line 1: each "
                    + "account has its own",
                "a.csv:8:1: `credential` is a column of CSV files: did you mean `apiKey`?",
                "a.csv:9:1: the line must be an object, such as "
                    + "{\"account\":\"a\",\"apiKey\":\"env:KEY\"}",
                "a.csv:10:16: the line is no JSON: a comma or brace is missing",
                "a.csv:11:1: `account` is missing",
                "a.csv:11:1: `apiKey` is missing",
                "a.csv:12:1: `env:NOPE`: the environment variable is not set: set it",
                "a.csv:12:1: `paused` must be `true` or `false`, or empty",
                "a.csv:13:51: the line is no JSON: a member is named twice",
            ])
        #expect(!found.joined().contains("hunter2"))
    }

    @Test func `all that is wrong with people of JSON lines is told`() {
        let found = problems(
            """
            {"account":"a","oidc":"hunter2"}
            {"account":"b","oidc":{"issuer":"https://x","clientID":"c"}}
            {"account":"c","oidc":{"issuer":"http://x","clientID":"c","refreshToken":"hunter2-c"}}
            {"account":"d","oidc":{"issuer":"https://x","clientID":"c d","refreshToken":"r"}}
            {"account":"e","oidc":{"isuer":"https://x","clientID":"c","refreshToken":"hunter2-e"}}
            {"account":"f","apiKey":"k","oidc":{"issuer":"https://x","clientID":"c",\
            "refreshToken":5}}
            """)
        #expect(
            found == [
                #"a.csv:1:1: `oidc` must be an object, such as {"refreshToken":"env:TOKEN"}"#,
                "a.csv:2:1: `oidc.refreshToken` is missing",
                "a.csv:3:1: `oidc.issuer` must be an address that begins with `https://` (plain "
                    + "http only to this machine), without query or user",
                "a.csv:4:1: `oidc.clientID` must be 1 to 255 printable characters without spaces",
                "a.csv:5:1: `oidc.issuer` is missing, and the pipeline has no `source.signIn` to "
                    + "take it from",
                "a.csv:5:1: unknown key `isuer` in `oidc`: did you mean `issuer`?",
                "a.csv:6:1: `apiKey` and `oidc` are both there: an account has one credential",
                "a.csv:6:1: `oidc.refreshToken` must be a string",
            ])
        #expect(!found.joined().contains("hunter2"))
    }

    @Test func `cells that are no UTF-8 and UTF-16 files are told`() {
        func problems(_ bytes: [UInt8]) -> [String]? {
            let error = #expect(throws: ConfigurationError.self) {
                try AccountsFile(parsing: bytes, file: "a.csv")
            }
            return error?.problems.map(\.description)
        }
        #expect(
            problems(Array("account,credential,x\na,b,".utf8) + [0xE9])
                == ["a.csv:2:5: a cell is not UTF-8: save the file as such"])
        #expect(problems([0xFF, 0xFE, 0x61, 0]) == ["a.csv: is UTF-16: save it as UTF-8"])
    }

    @Test func `of very many problems the first are listed and the rest is counted`() {
        let text = "account,credential\n" + String(repeating: "a b,c\n", count: 10_003)
        let found = problems(text)
        #expect(found.count == 10_001)
        #expect(found.first == "a.csv: 10003 problems, of which the first 10000 follow")
    }

    @Test func `a file that cannot be read is told by name`() {
        let error = #expect(throws: ConfigurationError.self) {
            try AccountsFile(file: "/nonexistent/accounts.csv")
        }
        #expect(error?.kind == .unreadable)
        #expect(
            error?.description
                == "/nonexistent/accounts.csv: cannot be read: No such file or directory")
    }

    @Test func `every beginning of a file is read or refused, and none traps`() {
        let bytes = Array("account,credential,\"x\"\r\n\"a\",\"b\"\"c\",\"\n\"\r\nd,e,f\r\n".utf8)
        for length in bytes.indices {
            _ = try? AccountsFile(parsing: Array(bytes[..<length]), file: "a")
            _ = try? AccountsFile(parsing: Array(bytes[..<length]), file: "a.jsonl")
        }
    }
}
