import Testing
import Threading

@Suite struct LockTests {
    @Test func `increments of several threads are all counted`() {
        let count = Lock(0)
        let threads = (0..<4).map { index in
            OSThread(name: "count-\(index)") {
                for _ in 0..<1000 { count.withLock { $0 += 1 } }
            }
        }
        for thread in threads { #expect(thread.join()) }
        #expect(count.withLock { $0 } == 4000)
    }

    @Test func `a waiter is woken by a signal and takes the value`() {
        let box = Lock<Int?>(nil)
        let thread = OSThread(name: "signal") { box.signal { $0 = 7 } }
        let taken = box.wait(timeout: .seconds(20)) { value in
            defer { value = nil }
            return value
        }
        #expect(taken == 7)
        #expect(thread.join(timeout: .seconds(20)))
    }

    @Test func `a wait gives up when its time is over`() {
        let never = Lock<Int?>(nil)
        #expect(never.wait(timeout: .milliseconds(20)) { $0 } == nil)
        #expect(never.wait(timeout: .zero) { $0 } == nil)
    }

    @Test func `a join that runs out of time says so and can be repeated`() {
        let go = Lock(false)
        let thread = OSThread(name: "a-name-longer-than-linux-takes") {
            _ = go.wait { $0 ? true : nil }
        }
        #expect(!thread.join(timeout: .milliseconds(10)))
        #expect(!thread.isFinished)
        go.signal { $0 = true }
        #expect(thread.join(timeout: .seconds(20)))
        #expect(thread.join())
        #expect(thread.isFinished)
    }
}
