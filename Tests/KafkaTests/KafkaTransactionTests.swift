import Kafka
import Testing

// The mock answers every transactional request, but neither fences nor hides what was aborted.
@Suite struct KafkaTransactionMockTests {
    private func producer(_ mock: Mock) throws -> KafkaProducer {
        let producer = try KafkaProducer(
            mock.configuration.setting("transactional.id", unique("id")))
        try producer.initTransactions(timeout: .seconds(20))
        return producer
    }

    @Test func `committed transactions report their records, again and again`() throws {
        let mock = try Mock()
        let topic = try mock.topic()
        let producer = try producer(mock)
        #expect(producer.isTransactional)
        for round in 0..<5 {
            try producer.begin()
            for token in 0..<3 {
                try producer.produce(
                    topic: topic, key: nil, value: bytes("\(round)"), token: token)
            }
            try producer.commit(timeout: .seconds(20))
            #expect(producer.poll().map(\.token).sorted() == [0, 1, 2])
        }
        #expect(try contents(of: topic, mock.configuration).count == 15)
    }

    @Test func `a coordinator that hangs up is asked again within the commit`() throws {
        let mock = try Mock()
        let topic = try mock.topic()
        let producer = try producer(mock)
        try producer.begin()
        try producer.produce(topic: topic, key: nil, value: [1])
        try mock.cluster.push([-195, 14, 16], for: .endTransaction)
        try producer.commit(timeout: .seconds(30))
    }

    @Test func `a commit out of time is retriable, and the same call goes on`() throws {
        let mock = try Mock()
        let topic = try mock.topic()
        let producer = try producer(mock)
        try producer.begin()
        try producer.produce(topic: topic, key: nil, value: [1])
        try mock.cluster.setDelay(.seconds(2), ofBroker: 1)
        let error = #expect(throws: KafkaError.self) {
            try producer.commit(timeout: .milliseconds(500))
        }
        #expect(error?.isRetriable == true && error?.isFatal == false)
        try mock.cluster.setDelay(.zero, ofBroker: 1)
        #expect(
            eventually {
                do { try producer.commit(timeout: .seconds(5)) } catch { return false }
                return true
            })
    }

    @Test func `a record that is refused asks for an abort, and the next transaction works`() throws
    {
        let mock = try Mock()
        let topic = try mock.topic()
        let producer = try producer(mock)
        try producer.begin()
        try mock.cluster.push([10], for: .produce)
        try producer.produce(topic: topic, key: nil, value: [1], token: 9)
        let error = #expect(throws: KafkaError.self) { try producer.commit(timeout: .seconds(20)) }
        #expect(error?.requiresAbort == true)
        #expect(producer.poll().first { $0.token == 9 }?.error?.kind == .messageTooLarge)
        try producer.abort(timeout: .seconds(20))
        #expect(
            eventually {
                do {
                    try producer.begin()
                    try producer.produce(topic: topic, key: nil, value: [2])
                    try producer.commit(timeout: .seconds(20))
                    return true
                } catch {
                    try? producer.abort(timeout: .seconds(20))
                    return false
                }
            })
    }

    @Test(arguments: [47, 90] as [Int32])
    func `an epoch that is over is fenced, fatal, and stays so`(number: Int32) throws {
        let mock = try Mock()
        let topic = try mock.topic()
        let producer = try producer(mock)
        try producer.begin()
        try producer.produce(topic: topic, key: nil, value: [1])
        try mock.cluster.push([number], for: .endTransaction)
        let error = #expect(throws: KafkaError.self) { try producer.commit(timeout: .seconds(20)) }
        #expect(error?.kind == .fenced)
        #expect(error?.isFatal == true)
        #expect(producer.fatalError?.kind == .fenced)
        let later = #expect(throws: KafkaError.self) { try producer.begin() }
        #expect(later?.isFatal == true && later?.kind == .fenced)
        #expect(producer.close())
    }

    @Test func `a transactional id that we may not use is unauthorized`() throws {
        let mock = try Mock()
        let producer = try KafkaProducer(
            mock.configuration.setting("transactional.id", unique("id")))
        try mock.cluster.push([53], for: .initProducerID)
        let error = #expect(throws: KafkaError.self) {
            try producer.initTransactions(timeout: .seconds(20))
        }
        #expect(error?.kind == .unauthorized)
        #expect(error?.isFatal == true)
    }

    @Test func `without a broker the wait for an epoch ends, and says why`() throws {
        let producer = try KafkaProducer(
            KafkaConfiguration(bootstrap: "127.0.0.1:1").setting("transactional.id", "x"))
        let error = #expect(throws: KafkaError.self) {
            try producer.initTransactions(timeout: .milliseconds(800))
        }
        #expect(error?.isRetriable == true)
        #expect(error?.kind == .unreachable)
        #expect(error?.reason.contains("127.0.0.1:1") == true)
        #expect(producer.close())
    }
}
