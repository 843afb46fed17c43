import Foundation

/// A folder for one test, gone with it.
final class Folder {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "sqlite-tests-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func file(_ name: String) -> String { path + "/" + name }
}
