import RelayCore
import RelayConfiguration
import RelayJournal
import Testing

@testable import RelayCommands

@Suite struct ExitCodeTests {
    @Test func `the codes are the contract's`() {
        #expect(ExitCode.ok.rawValue == 0)
        #expect(ExitCode.failure.rawValue == 1)
        #expect(ExitCode.usage.rawValue == 64)
        #expect(ExitCode.unavailable.rawValue == 69)
        #expect(ExitCode.configuration.rawValue == 78)
        #expect(ExitCode.interrupted.rawValue == 130)
        #expect(ExitCode.terminated.rawValue == 143)
    }

    @Test func `a journal that cannot be used or is locked is configuration, else a failure`() {
        for (kind, code): (JournalFailure.Kind, ExitCode) in [
            (.unusable, .configuration), (.locked, .configuration), (.busy, .failure),
            (.full, .failure), (.failed, .failure),
        ] {
            let error = CommandError(JournalFailure(kind: kind, code: "x", reason: "why"))
            #expect(error.code == code)
            #expect(error.message == "why")
        }
    }

    @Test func `what ends delivery for good has its code`() {
        for (kind, code): (PublishFailure.Kind, ExitCode) in [
            (.misconfigured, .configuration), (.unavailable, .unavailable),
            (.takenOver, .failure), (.gone, .failure), (.again, .failure), (.reopen, .failure),
        ] {
            #expect(CommandError(PublishFailure(kind: kind, code: "x", reason: "y")).code == code)
        }
    }

    @Test func `problems of a configuration are told one a line, with their places`() {
        let one = ConfigurationProblem(file: "p.yaml", line: 3, column: 5, message: "is odd")
        let other = ConfigurationProblem(file: "p.yaml", line: 1, column: 2, message: "is wrong")
        #expect(CommandError(ConfigurationError(.invalid, [one])).message == "p.yaml:3:5: is odd")
        let both = CommandError(ConfigurationError(.invalid, [one, other]))
        #expect(both.code == .configuration)
        #expect(
            both.message == """
                2 problems in the configuration:
                  p.yaml:1:2: is wrong
                  p.yaml:3:5: is odd
                """)
    }
}
