import HTTPClient
import JSON
import Testing
import TraxSandbox

@Suite struct OpenAPITests {
    private func document(_ client: SandboxClient) throws -> JSONValue {
        try client.send(.get, "/v1/openapi.json").json
    }

    @Test func `the description needs no key, and names this server without v1`() throws {
        let client = try SandboxClient()
        let document = try document(client)
        #expect(document["openapi"] == "3.0.3")
        #expect(document["servers"]?.arrayValue?.first?["url"] == .string(client.sandbox.url))
    }

    @Test func `the first call of the quickstart is as the guide has it`() throws {
        let client = try SandboxClient()
        let operation = try document(client)["paths"]?["/v1/studios"]?["get"]
        #expect(operation?["operationId"] == "listStudios")
        #expect(operation?["tags"] == ["Studios"])
    }

    @Test func `every path that is described is served, and other methods are 405`() throws {
        let client = try SandboxClient()
        let paths = try document(client)["paths"]?.objectValue ?? [:]
        #expect(paths.count >= 4)
        for (path, operations) in paths {
            let real = path.split(separator: "/").map { $0.first == "{" ? "x" : String($0) }
            let methods = operations.objectValue?.keys ?? []
            for method in ["get", "post", "put", "patch", "delete"] {
                let response = try client.plain(
                    method.uppercased(), "/" + real.joined(separator: "/"))
                if methods.contains(method) {
                    #expect(![404, 405].contains(response.status), "\(method) \(path)")
                } else {
                    #expect(response.status == 405, "\(method) \(path)")
                    let allowed = response.header("allow") ?? ""
                    for method in methods { #expect(allowed.contains(method.uppercased())) }
                }
            }
        }
    }

    @Test func `every reference leads somewhere, and no operation id comes twice`() throws {
        let client = try SandboxClient()
        let document = try document(client)
        var references: [String] = []
        var operations: [String] = []
        func walk(_ value: JSONValue) {
            for element in value.arrayValue ?? [] { walk(element) }
            for (key, member) in value.objectValue ?? [:] {
                if key == "$ref", let target = member.stringValue { references.append(target) }
                if key == "operationId", let id = member.stringValue { operations.append(id) }
                walk(member)
            }
        }
        walk(document)
        #expect(Set(operations).count == operations.count)
        for reference in Set(references) {
            var place: JSONValue? = document
            for part in reference.split(separator: "/").dropFirst() { place = place?[String(part)] }
            #expect(place != nil, "\(reference)")
        }
    }
}
