import Kafka
import Testing

@Suite struct KafkaConfigurationTests {
    @Test func `an unknown property is refused by name, with what librdkafka says`() {
        let error = #expect(throws: KafkaError.self) {
            _ = try KafkaProducer(
                KafkaConfiguration(bootstrap: "127.0.0.1:1").setting("linger.sm", "5"))
        }
        #expect(error?.kind == .configuration)
        #expect(error?.property == "linger.sm")
        #expect(error?.reason.contains("linger.sm: No such configuration property") == true)
    }

    @Test func `every refused property is told at once`() {
        var configuration = KafkaConfiguration(bootstrap: "127.0.0.1:1")
        configuration.set("linger.ms", "soon")
        configuration.set("client.id", "relay")
        configuration.set("no.such", "1")
        #expect(configuration.refusals().map(\.property) == ["linger.ms", "no.such"])
    }

    @Test func `the value of a secret stands in no description, dump or error`() {
        var configuration = KafkaConfiguration(bootstrap: "127.0.0.1:1")
        configuration.set("sasl.password", "hunter2")
        configuration.set("enable.ssl.certificate.verification", "hunter3", isSecret: true)
        var dumped = ""
        dump(configuration, to: &dumped)
        dump(configuration.properties, to: &dumped)
        let errors = configuration.refusals().map { String(reflecting: $0) }
        let all = "\(configuration) \(configuration.properties) \(dumped) \(errors)"
        #expect(!all.contains("hunter"))
        #expect(configuration["sasl.password"] == nil)
        #expect("\(configuration)".contains("sasl.password=[redacted]"))
        #expect(errors.count == 1)
    }

    @Test func `properties that contradict each other make no client, again and again`() {
        let configuration = KafkaConfiguration(bootstrap: "127.0.0.1:1").setting("acks", "1")
        for _ in 0..<50 {
            let error = #expect(throws: KafkaError.self) { _ = try KafkaProducer(configuration) }
            #expect(error?.kind == .configuration)
        }
    }

    @Test func `a later value wins, and what the wrapper promises cannot be set away`() throws {
        var configuration = KafkaConfiguration(bootstrap: "127.0.0.1:1")
        configuration.set("client.id", "a")
        configuration.set("client.id", "b")
        #expect(configuration["client.id"] == "b")
        configuration.set("enable.idempotence", "false")
        configuration.set("acks", "1")
        // With idempotence forced on, one acknowledgement is a contradiction.
        #expect(throws: KafkaError.self) { _ = try KafkaProducer(configuration) }
    }

    @Test func `the library tells its version`() {
        #expect(KafkaLibrary.version.split(separator: ".").count >= 3)
        #expect(KafkaLibrary.number >= 0x0200_0000)
        #expect(KafkaLibrary.hasWorkingSCRAM == (KafkaLibrary.number >= 0x0206_0100))
    }
}
