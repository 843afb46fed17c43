import ConnectionEvents
import RelayCore
import Testing

@Suite struct ReconciliationTests {
    private static let event = EventID("a")

    private func progress(
        journal: String = "mine", position: Int64 = 10, published: EventID? = event,
        instance: String = "i"
    ) -> Progress {
        Progress(
            journal: JournalID(journal), position: JournalPosition(position), eventID: published,
            epoch: 1, instance: instance)
    }

    private func known(
        there: EventID? = event, head: Int64 = 20, place: Int64 = 8, isEmpty: Bool = false,
        start: Int64? = nil, tail: Int64 = 1, told: Int64? = nil, answered: Progress? = nil
    ) -> Reconciliation.Known {
        Reconciliation.Known(
            journal: JournalID("mine"), head: JournalPosition(head), tail: JournalPosition(tail),
            isEmpty: isEmpty, place: JournalPosition(place),
            start: start.map { JournalPosition($0) },
            told: told.map { JournalPosition($0) }, eventThere: there, answered: answered)
    }

    private func decide(
        _ progress: Progress?, _ known: Reconciliation.Known
    ) -> Reconciliation {
        Reconciliation.decide(progress: progress, known: known)
    }

    private func resume(_ place: Int64) -> Reconciliation { .resume(JournalPosition(place)) }

    private func claim(_ place: Int64) -> Reconciliation { .claim(JournalPosition(place)) }

    @Test func `nothing remembered: start at the place in the journal`() {
        #expect(decide(nil, known(there: nil)) == resume(8))
        #expect(decide(nil, known(there: nil, isEmpty: true)) == resume(8))
    }

    @Test func `the same journal with the event there: after the further of both places`() {
        #expect(decide(progress(), known()) == resume(10))
        #expect(decide(progress(), known(place: 12)) == resume(12))
        #expect(decide(progress(position: 20), known()) == resume(20), "at the head")
    }

    @Test func `the event there was pruned since: the same`() {
        #expect(decide(progress(), known(there: nil, tail: 15)) == resume(10))
        #expect(decide(progress(), known(there: nil, tail: 21)) == resume(10))
    }

    @Test func `a state record alone stands at the place, here as there`() {
        #expect(decide(progress(published: nil), known(there: nil)) == resume(10))
        #expect(
            decide(progress(position: 0, published: nil), known(there: nil, place: 0))
                == resume(0))
    }

    @Test func `further than the journal's head, or another event there: restored`() {
        #expect(decide(progress(position: 21), known(there: nil)) == .restored)
        #expect(decide(progress(), known(there: EventID("b"))) == .restored)
        #expect(decide(progress(published: nil), known()) == .restored, "an event, and none there")
        #expect(
            decide(progress(), known(there: nil, tail: 10)) == .restored,
            "none where there was an event, though nothing was pruned")
    }

    @Test func `another journal: lost when this one is empty, else foreign`() {
        let other = progress(journal: "other")
        #expect(
            decide(other, known(there: nil, head: 0, place: 0, isEmpty: true, start: 0))
                == .lost)
        #expect(decide(other, known()) == .foreign)
        #expect(decide(other, known(start: 10)) == .foreign)
    }

    @Test func `a renewed journal answers the very record that it was renewed for, and no other`() {
        let before = progress(journal: "other")
        let known = known(there: nil, answered: before)
        #expect(decide(before, known) == claim(8))
        #expect(
            decide(progress(journal: "other", instance: "another"), known) == claim(8),
            "whoever wrote it")
        #expect(
            decide(progress(journal: "other", position: 11), known) == .foreign,
            "the other journal has gone on")
        #expect(decide(progress(), self.known(answered: before)) == resume(10), "it has published")
        // Even one without account or entry: it was renewed, and is not lost.
        let empty = self.known(there: nil, head: 0, place: 0, isEmpty: true, answered: before)
        #expect(decide(before, empty) == claim(0))
    }

    @Test func `a new sink does not go on where one of its name once ended`() {
        #expect(decide(progress(), known(place: 20, start: 20)) == claim(20))
        #expect(decide(progress(), known(place: 10, start: 10)) == resume(10))
        #expect(decide(progress(), known(place: 8, start: 8)) == resume(10), "its first life")
    }

    @Test func `a cluster of before goes on where it was left, not where another one is`() {
        #expect(decide(progress(), known(place: 15, told: 14)) == resume(10))
        #expect(
            decide(progress(), known(place: 15, told: 10)) == resume(15), "nothing for it since")
        #expect(
            decide(progress(), known(place: 15, start: 8, told: 14)) == resume(10),
            "nor where it was new when the process began")
        #expect(decide(progress(), known(place: 15, start: 12, told: 14)) == claim(12))
        #expect(decide(nil, known(place: 15, told: 14)) == resume(15), "a new cluster")
    }

    @Test func `of several sinks the gravest counts`() {
        let (a, b, c) = (SinkName("a"), SinkName("b"), SinkName("c"))
        let told = [a: progress(journal: "other")]
        #expect(Misfit([a: resume(1), b: claim(2)], progress: told) == nil)
        #expect(
            Misfit([a: .lost, b: .restored, c: resume(1)], progress: told)
                == Misfit(cause: .restored, sink: b, progress: told))
        #expect(
            Misfit([c: .foreign, b: .foreign, a: .restored], progress: told)
                == Misfit(cause: .foreign, sink: b, progress: told))
        #expect(Misfit([a: .lost], progress: told)?.reason == .loss)
        #expect(Misfit([a: .foreign], progress: told)?.reason == .restore)
    }
}
