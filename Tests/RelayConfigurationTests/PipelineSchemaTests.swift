import JSON
import RelayConfiguration
import Testing

@Suite struct PipelineSchemaTests {
    @Test func `the schema names every key with its range, default and meaning`() throws {
        let schema = Pipeline.schema
        #expect(schema["$schema"] == "https://json-schema.org/draft/2020-12/schema")
        #expect(schema["additionalProperties"] == false)
        let limit = try #require(schema["properties"]?["source"]?["properties"]?["pageLimit"])
        #expect(limit["default"] == 200)
        #expect(
            limit["anyOf"] == [
                ["type": "integer", "minimum": 1, "maximum": 200],
                ["$ref": "#/$defs/fromEnvironment"],
            ])
        let kafka = try #require(schema["properties"]?["kafka"]?["properties"])
        #expect(kafka["createTopics"]?["anyOf"]?.arrayValue?.first == ["const": false])
        #expect(kafka["delivery"]?["default"] == "exactly-once")
        let sinks = schema["properties"]?["sinks"]?["items"]?["oneOf"]?.arrayValue
        #expect(sinks?.map { $0["required"] } == [["kafka"], ["state"], ["log"]])
        let topic = sinks?.first?["properties"]?["kafka"]
        #expect(topic?["required"] == ["topic"])
    }

    @Test func `every object of the schema refuses keys that it does not name`() {
        func objects(in value: JSONValue) -> [JSONValue] {
            let inner = (value.arrayValue ?? []) + (value.objectValue.map { $0.map(\.value) } ?? [])
            return (value["type"] != nil && value["properties"] != nil ? [value] : [])
                + inner.flatMap(objects)
        }
        let found = objects(in: Pipeline.schema)
        #expect(found.count > 15)
        for object in found { #expect(object["additionalProperties"] == false) }
    }

    @Test func `the table of the documentation has a row for every key`() {
        let table = Pipeline.markdownTable
        #expect(table.hasPrefix("| key | default | values | meaning |\n|---|---|---|---|\n"))
        #expect(
            table.contains(
                "\n| `source.pageLimit` | `200` | 1 to 200 | Rows asked for in one page. |\n"))
        #expect(table.contains("\n| `sinks[].kafka.topic` | required |"))
        #expect(table.contains("\n| `sinks[].log.when.types` |  |"))
        #expect(table.contains("\n| `http.token` |  | `env:NAME` or `file:PATH` |"))
        #expect(
            table.split(separator: "\n").allSatisfy {
                $0.hasPrefix("| ") || $0 == "|---|---|---|---|"
            })
    }
}
