internal import RelayCore

extension PublishFailure {
    /// Does something with the journal; where that fails, nothing can be delivered for now.
    static func journaling<Result>(
        _ body: () throws(JournalFailure) -> Result
    ) throws(PublishFailure) -> Result {
        do throws(JournalFailure) {
            return try body()
        } catch {
            throw PublishFailure(kind: .unavailable, code: error.code, reason: error.reason)
        }
    }
}
