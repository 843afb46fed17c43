internal import CRdkafka

extension KafkaError {
    /// Takes over an `rd_kafka_error_t` and frees it; nil for the null pointer, which is success.
    ///
    /// The only place where such an object becomes a Swift error, so none is leaked.
    init?(consuming error: OpaquePointer?) {
        guard let error = unsafe error else { return nil }
        defer { unsafe rd_kafka_error_destroy(error) }
        unsafe self.init(
            code: String(cString: rd_kafka_error_name(error)),
            number: rd_kafka_error_code(error).rawValue,
            reason: String(cString: rd_kafka_error_string(error)),
            isRetriable: rd_kafka_error_is_retriable(error) != 0,
            isFatal: rd_kafka_error_is_fatal(error) != 0,
            requiresAbort: rd_kafka_error_txn_requires_abort(error) != 0)
    }

    /// An error from its bare number; nil for 0, which is success.
    ///
    /// - Parameter reason: what the broker or librdkafka said beyond the number's own text.
    init?(number: Int32, reason: String? = nil) {
        guard number != 0 else { return nil }
        let code = rd_kafka_resp_err_t(number)
        unsafe self.init(
            code: String(cString: rd_kafka_err2name(code)), number: number,
            reason: reason ?? String(cString: rd_kafka_err2str(code)))
    }

    /// The error that made a handle fatal, if any: what `_FATAL` of a later call stands for.
    init?(fatalOf client: OpaquePointer) {
        let (number, reason) = unsafe withReason { text, room in
            unsafe rd_kafka_fatal_error(client, text, room).rawValue
        }
        guard number != 0 else { return nil }
        unsafe self.init(
            code: String(cString: rd_kafka_err2name(rd_kafka_resp_err_t(number))), number: number,
            reason: reason, isFatal: true)
    }
}

/// Calls C that writes a reason of at most 511 bytes, and gives that reason.
func withReason<Result>(_ call: (UnsafeMutablePointer<CChar>, Int) -> Result) -> (Result, String) {
    let room = 512
    return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: room) { buffer in
        unsafe buffer.initialize(repeating: 0)
        guard let base = buffer.baseAddress else { preconditionFailure("no stack") }
        let result = unsafe call(base, room)
        return unsafe (result, String(cString: base))
    }
}
