import Foundation
import RelayConfiguration
import Testing

/// What the package ships beside its sources, held against the option table.
@Suite struct PackageFilesTests {
    private static let package = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    @Test func `the configuration table of the README is the one that the option table makes`()
        throws
    {
        let readme = try String(
            contentsOf: Self.package.appending(path: "README.md"), encoding: .utf8)
        guard readme.contains("| key | default |") else { return }
        #expect(readme.contains(Pipeline.markdownTable))
    }

    @Test func `every pipeline file of the package is a legal one`() throws {
        let folder = Self.package.appending(path: "Pipelines")
        guard FileManager.default.fileExists(atPath: folder.path) else { return }
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        for file in files where file.hasSuffix(".yaml") {
            #expect(throws: Never.self, "\(file)") {
                try Pipeline(
                    file: folder.appending(path: file).path, environment: EnvironmentVariables([:]))
            }
        }
    }
}
