internal import JSON

/// How a CloudEvent lies in a Kafka record.
///
/// CloudEvents Kafka protocol binding 1.0, section 3: the record's `content-type` says which.
public enum EventFormat: String, Hashable, Sendable, CaseIterable {
    /// Everything in the value, one JSON object: `application/cloudevents+json`.
    case structured
    /// The value is `data` alone, the attributes are headers `ce_*`: `application/json`.
    case binary
}

/// An event's record in binary mode.
struct BinaryEvent {
    /// The attributes as headers, `content-type` first.
    let headers: [OutboundMessage.Header]
    /// The `data` object.
    let value: [UInt8]

    /// Takes a structured event apart; nil where the bytes are none.
    ///
    /// Every attribute becomes a header, whatever it is called, but `datacontenttype`, which is the
    /// record's `content-type`. Values are UTF-8 as they are: the binding escapes nothing.
    init?(structured: [UInt8]) {
        let json: JSONValue
        do throws(JSONError) {
            json = try JSONValue(parsing: structured)
        } catch { return nil }
        guard let event = json.objectValue, let data = event["data"] else { return nil }
        let type = event["datacontenttype"]?.stringValue ?? "application/json"
        var headers = [OutboundMessage.Header("content-type", type)]
        for (name, value) in event where name != "data" && name != "datacontenttype" {
            headers.append(.init("ce_\(name)", value.stringValue ?? value.text))
        }
        self.headers = headers
        self.value = data.serialized()
    }
}
