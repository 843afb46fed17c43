internal import RelayCore
internal import YAML

extension Pipeline {
    /// The most bytes of a pipeline file: 4 MiB.
    static let sizeLimit = YAMLDocument.sizeLimit

    /// Reads and checks a pipeline file.
    ///
    /// - Parameter file: its path, which also stands in messages.
    /// - Throws: `ConfigurationError` with every problem of the file at once.
    public init(
        file: String, environment: EnvironmentVariables = .process
    ) throws(ConfigurationError) {
        self.init(try Self.settings(file: file, environment: environment), file: file)
    }

    /// Checks the text of a pipeline file.
    ///
    /// - Parameter file: what to call it in messages; relative paths are seen from its folder.
    /// - Throws: `ConfigurationError` with every problem of the text at once.
    public init(
        parsing bytes: [UInt8], file: String, environment: EnvironmentVariables = .process
    ) throws(ConfigurationError) {
        self.init(
            try Self.settings(parsing: bytes, file: file, environment: environment), file: file)
    }

    /// Every key's value, of a file without a problem.
    static func settings(
        file: String, environment: EnvironmentVariables
    ) throws(ConfigurationError) -> Settings {
        let bytes: [UInt8]
        do throws(FileFailure) {
            bytes = try Files.contents(of: file, limit: Self.sizeLimit)
        } catch {
            let message = "cannot be read: \(error.reason)"
            throw ConfigurationError(
                .unreadable, [ConfigurationProblem(file: file, message: message)])
        }
        return try settings(parsing: bytes, file: file, environment: environment)
    }

    private static func settings(
        parsing bytes: [UInt8], file: String, environment: EnvironmentVariables
    ) throws(ConfigurationError) -> Settings {
        let document: YAMLDocument
        do throws(YAMLError) {
            document = try YAMLDocument(parsing: bytes)
        } catch {
            throw ConfigurationError(
                .invalid, [Self.place(error.position, in: file).problem(error.reason)])
        }
        var reader = OptionReader(file: file, environment: environment)
        for problem in document.problems { reader.refuse(problem.position, problem.reason) }
        let start = YAMLPosition(line: 1, column: 1)
        let root = document.root ?? YAMLNode(emptyMappingAt: start)
        let settings = reader.section(root, OptionTable.pipeline, path: "")
        Consistency.check(settings, &reader)
        guard reader.problems.isEmpty else {
            throw ConfigurationError(
                .invalid, reader.problems, readable: ReadableParts(settings, file: file))
        }
        return settings
    }

    static func place(_ position: YAMLPosition, in file: String) -> Place {
        Place(file: file, line: position.line, column: position.column)
    }

    /// What is wrong with the secrets that the pipeline names: variables that are not set, files
    /// that cannot be read.
    ///
    /// Apart from reading the pipeline, because commands that need no secret should not want one.
    public func secretProblems(
        _ environment: EnvironmentVariables = .process
    ) -> [ConfigurationProblem] {
        secretReferences.flatMap { reference in
            do throws(ConfigurationError) {
                _ = try reference.resolve(environment)
                return [ConfigurationProblem]()
            } catch {
                return error.problems
            }
        }
    }

    /// Where the secrets are that the pipeline names.
    var secretReferences: [SecretReference] {
        var references: [SecretReference] = []
        for property in kafka.properties {
            if case .secret(let reference) = property.value { references.append(reference) }
        }
        if let token = http.token { references.append(token) }
        return references
    }

    /// What could be read for checks that go beyond the file.
    public var readableParts: ReadableParts {
        ReadableParts(
            accountsFile: source.accounts, accountsPlace: places["source.accounts"],
            properties: kafka.properties, signIn: source.signIn)
    }
}

/// What could be read of a pipeline file, perhaps in spite of its problems.
///
/// For a caller that wants to tell the problems of all parts at once.
public struct ReadableParts: Hashable, Sendable {
    /// The accounts file that it names; nil where it names none.
    public let accountsFile: String?
    /// Where it names it.
    public let accountsPlace: Place?
    /// The properties for librdkafka that passed so far.
    public let properties: [KafkaProperty]
    /// Where people sign in; nil where it names nowhere, or not rightly.
    public let signIn: Pipeline.SignIn?
}

extension ReadableParts {
    init(_ settings: Settings, file: String) {
        let source = settings.section("source")
        accountsFile = source?.text("accounts").map { Files.resolve($0, besides: file) }
        accountsPlace = source?.places["accounts"].map { Pipeline.place($0, in: file) }
        properties = settings.section("kafka")?.properties("properties") ?? []
        let section = source?.section("signIn")
        if let issuer = section?.text("issuer").flatMap(Issuer.init),
            let client = section?.text("clientID")
        {
            signIn = Pipeline.SignIn(issuer: issuer, clientID: client)
        } else {
            signIn = nil
        }
    }
}
