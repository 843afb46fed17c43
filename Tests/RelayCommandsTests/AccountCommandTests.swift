import JSON
import Testing

@testable import RelayCommands

@Suite struct AccountCommandTests {
    @Test func `an account is added, listed, shown, paused, resumed and removed`() throws {
        let door = try Door()
        let added = door.run(
            "accounts", "add", "acct_1", "@", "--interval", "30s", secret: "sk_CANARY_1")
        #expect(added.code == .ok)
        #expect(added.out == "acct_1: added\n")
        #expect(door.run("accounts", "add", "acct_2", "@", "--paused", secret: "sk_2").code == .ok)
        let listed = door.run("accounts", "list", "@")
        #expect(listed.code == .ok)
        #expect(listed.lines[0].hasPrefix("ACCOUNT  STATE   FROM     INTERVAL  KEY"))
        #expect(listed.lines[1].hasPrefix("acct_1   active  command  30s "))
        #expect(listed.lines[2].hasPrefix("acct_2   paused  command  - "))
        for (command, state) in [
            ("pause", "paused"), ("resume", "active"), ("remove", "being removed"),
        ] {
            #expect(door.run("accounts", command, "acct_1", "@").code == .ok)
            let shown = door.run("accounts", "show", "acct_1", "@")
            #expect(shown.lines.contains("state      \(state)"))
        }
        for text in [added.out, listed.out, door.run("accounts", "show", "acct_1", "@").out] {
            #expect(!text.contains("CANARY"))
        }
    }

    @Test func `as JSON each account is an object on a line`() throws {
        let door = try Door()
        _ = door.run("accounts", "add", "b", "@", secret: "sk_1")
        _ = door.run("accounts", "add", "a", "@", "--interval=2m", "--paused", secret: "sk_2")
        let lines = door.run("accounts", "list", "@", "--json").lines
        let objects = try lines.map { try JSONValue(parsing: Array($0.utf8)) }
        #expect(objects.map { $0["account"]?.stringValue } == ["a", "b"])
        #expect(objects[0]["paused"]?.boolValue == true)
        #expect(objects[0]["interval"]?.stringValue == "2m")
        #expect(objects[1]["interval"] == .null)
        #expect(objects[0]["key"]?.stringValue != objects[1]["key"]?.stringValue)
        let shown = door.run("accounts", "show", "b", "@", "--json")
        #expect(try JSONValue(parsing: Array(shown.out.utf8))["state"]?.stringValue == "active")
    }

    @Test func `what is believed of an account is shown`() throws {
        let door = try Door()
        _ = door.run("accounts", "add", "a", "@", secret: "sk_1")
        #expect(door.run("accounts", "show", "a", "@").out.contains("no walk was sealed yet"))
        try door.believe("a", [["c1": "active", "c2": "active"], ["c1": "expired"]])
        let shown = door.run("accounts", "show", "a", "@")
        #expect(shown.lines.contains("epoch      1796040000000, 1 events"))
        #expect(shown.out.contains("c1  youtube   expired"))
        #expect(shown.out.contains("healthy, missing"))
        let json = door.run("accounts", "show", "a", "@", "--json")
        #expect(try JSONValue(parsing: Array(json.out.utf8))["sequence"]?.integerValue == 1)
    }

    @Test func `what cannot be added is refused with the remedy`() throws {
        let door = try Door()
        _ = door.run("accounts", "add", "a", "@", secret: "sk_CANARY")
        let again = door.run("accounts", "add", "a", "@", secret: "sk_other")
        #expect(again.code == .failure)
        #expect(again.err.contains("--replace"))
        let shared = door.run("accounts", "add", "b", "@", secret: "sk_CANARY")
        #expect(shared.code == .failure)
        #expect(shared.err.contains("account a"))
        #expect(!shared.err.contains("CANARY"))
        let none = door.run("accounts", "add", "b", "@")
        #expect(none.code == .usage)
        #expect(none.err.contains("--key-file"))
        let odd = door.run("accounts", "add", "b", "@", secret: "CANARY key")
        #expect(odd.code == .usage)
        #expect(!odd.err.contains("CANARY"))
        #expect(door.run("accounts", "add", "b c", "@", secret: "k").code == .usage)
        for interval in ["soon", "0s", "-5s"] {
            let ending = door.run(
                "accounts", "add", "b", "@", "--interval=\(interval)", secret: "sk_9")
            #expect(ending.code == .usage)
            #expect(ending.err.contains("--interval"))
        }
        #expect(door.run("accounts", "list", "@").lines.count == 2)
    }

    @Test func `a key comes from a file, and replaces another`() throws {
        let door = try Door()
        try door.write("sk_CANARY_file\n", to: "key")
        let key = "\(door.path)/key"
        #expect(door.run("accounts", "add", "a", "@", "--key-file", key).code == .ok)
        let before = door.run("accounts", "list", "@").lines[1]
        try door.write("sk_CANARY_other", to: "key")
        #expect(door.run("accounts", "add", "a", "@", "--key-file", key, "--replace").code == .ok)
        #expect(door.run("accounts", "list", "@").lines[1] != before)
        let missing = door.run("accounts", "add", "b", "@", "--key-file", "\(door.path)/none")
        #expect(missing.code == .configuration)
        #expect(missing.err.contains("\(door.path)/none"))
    }

    @Test func `an account that is not there is a failure that says where to look`() throws {
        let door = try Door()
        _ = door.run("accounts", "add", "a", "@", secret: "sk_1")
        for command in ["show", "pause", "resume", "remove"] {
            let ending = door.run("accounts", command, "nobody", "@")
            #expect(ending.code == .failure)
            #expect(ending.err.contains("nobody"))
            #expect(ending.err.contains("accounts list"))
        }
    }

    @Test func `a file is taken whole, or not at all`() throws {
        let door = try Door()
        let file = "\(door.path)/accounts.csv"
        #expect(door.run("accounts", "import", "@").code == .usage)
        try door.write("account,credential,team\na,sk_1,blue\nb,sk_2,red\n", to: "accounts.csv")
        let taken = door.run("accounts", "import", file, "@")
        #expect(taken.code == .ok)
        #expect(taken.out == "2 added, 0 changed, 0 removed, 0 unchanged\n")
        #expect(door.run("accounts", "list", "@").out.contains("team=blue"))
        try door.write("account,credential\na,CANARY 1\nb,sk_2\nb,sk_3\n", to: "accounts.csv")
        let bad = door.run("accounts", "import", file, "@")
        #expect(bad.code == .configuration)
        #expect(bad.err.contains("\(file):2"))
        #expect(bad.err.contains("\(file):4"))
        #expect(!bad.err.contains("CANARY"))
        #expect(door.run("accounts", "import", "\(door.path)/none.csv", "@").code == .configuration)
        #expect(door.run("accounts", "list", "@").lines.count == 3)
    }

    @Test func `a file that removes half is refused, unless it is forced`() throws {
        let door = try Door()
        let file = "\(door.path)/accounts.csv"
        let lines = (0..<10).map { "a\($0),sk_\($0)\n" }
        try door.write("account,credential\n" + lines.joined(), to: "accounts.csv")
        #expect(door.run("accounts", "import", file, "@").code == .ok)
        try door.write("account,credential\n" + lines.prefix(5).joined(), to: "accounts.csv")
        let refused = door.run("accounts", "import", file, "@")
        #expect(refused.code == .configuration)
        #expect(refused.err.contains("--force"))
        #expect(door.run("accounts", "list", "@").out.contains("being removed") == false)
        let forced = door.run("accounts", "import", file, "@", "--force")
        #expect(forced.out == "0 added, 0 changed, 5 removed, 5 unchanged\n")
    }
}
