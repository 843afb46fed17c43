internal import JSON

/// The JSON object of a control request, read member by member with exact errors.
struct ControlBody {
    let object: JSONObject

    /// An empty body counts as an empty object.
    init(_ bytes: [UInt8]) throws(SandboxError) {
        guard !bytes.isEmpty else {
            object = [:]
            return
        }
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: bytes)
        } catch {
            throw SandboxError(.invalid, "The body is \(error).")
        }
        guard let object = value.objectValue else {
            throw SandboxError(.invalid, "The body must be a JSON object.")
        }
        self.object = object
    }

    /// Takes an object that is part of another.
    init(_ object: JSONObject) { self.object = object }

    /// Refuses members that the request does not have.
    func allow(_ names: String...) throws(SandboxError) {
        for key in object.keys where !names.contains(key) {
            throw SandboxError(
                .invalid, "Unknown member \"\(key)\". Known: \(names.joined(separator: ", ")).")
        }
    }

    func string(_ name: String) throws(SandboxError) -> String {
        guard let value = try optionalString(name) else {
            throw SandboxError(.invalid, "\"\(name)\" is missing.")
        }
        return value
    }

    func optionalString(_ name: String) throws(SandboxError) -> String? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let text = value.stringValue else {
            throw SandboxError(.invalid, "\"\(name)\" must be a string.")
        }
        return text
    }

    /// A string, or a number taken as its text.
    func optionalText(_ name: String) throws(SandboxError) -> String? {
        if let number = object[name]?.numberValue { return number.text }
        return try optionalString(name)
    }

    func optionalInteger(_ name: String) throws(SandboxError) -> Int? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let number = value.integerValue, let integer = Int(exactly: number) else {
            throw SandboxError(.invalid, "\"\(name)\" must be a whole number.")
        }
        return integer
    }

    func optionalNumber(_ name: String) throws(SandboxError) -> Double? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let number = value.numberValue?.double, number.isFinite else {
            throw SandboxError(.invalid, "\"\(name)\" must be a number.")
        }
        return number
    }

    func optionalBool(_ name: String) throws(SandboxError) -> Bool? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let flag = value.boolValue else {
            throw SandboxError(.invalid, "\"\(name)\" must be true or false.")
        }
        return flag
    }

    func optionalObject(_ name: String) throws(SandboxError) -> ControlBody? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let object = value.objectValue else {
            throw SandboxError(.invalid, "\"\(name)\" must be an object.")
        }
        return ControlBody(object)
    }

    func optionalStrings(_ name: String) throws(SandboxError) -> [String]? {
        guard let value = object[name], !value.isNull else { return nil }
        let strings = value.arrayValue?.compactMap(\.stringValue)
        guard let strings, strings.count == value.arrayValue?.count else {
            throw SandboxError(.invalid, "\"\(name)\" must be an array of strings.")
        }
        return strings
    }
}
