internal import ConnectionEvents
internal import Crypto
internal import RelayCore

// Accounts of people who are signed in: their access tokens come from memory, and fresh ones from
// other threads. The loop never waits for them.

/// What the poll loop holds of a person besides the access token, which is the account's
/// credential.
struct PolledPerson {
    var times: BearerTimes
    /// Grows with each sign-in.
    var number: Int64
    /// Grows with each change of the session: answers to questions of before are void.
    var generation = 0
    /// Whether an answer is awaited.
    var isAsking = false
    /// Whether the API did not take the token that is there.
    var isRejected = false
    /// Whether the answer that is awaited was asked for after the API refused the token.
    var isAskingForAnother = false
    /// While the token serves, no fresh one is asked for before.
    var askAgainAt = Timestamp(milliseconds: 0)

    init(_ person: PersonTimes) {
        times = person.bearer
        number = person.number
    }
}

/// What came of asking for an account's access token.
struct BearerAnswer: Sendable {
    let account: AccountID
    let incarnation: Int64
    let generation: Int
    let result: Result<Bearer, BearerFailure>
}

extension PollLoop {
    /// Whether a walk of a person may begin now; if not, it begins when a fresh token is there.
    func hasBearer(_ slot: Int, due: Instant, now: Instant) -> Bool {
        guard let account = accounts[slot], let person = people[slot] else { return false }
        let wall = clock.wall
        if !person.isRejected, !account.credential.isEmpty, wall < person.times.usableUntil {
            if wall >= person.times.refreshAt, wall >= person.askAgainAt { askForBearer(slot) }
            return true
        }
        walks[slot] = ActiveWalk(
            walk: Walk(
                id: WalkID(start: wall, random: (0, 0)), limits: settings.limits, expected: nil),
            began: now, deadline: now + settings.walkTimeout, awaitsBearer: due)
        noteDue(slot, account, since: due)
        askForBearer(slot)
        return false
    }

    /// The API took an access token for nobody's: the next walk begins with another.
    func rejectBearer(_ slot: Int) {
        guard accounts[slot]?.isPerson == true else { return }
        people[slot]?.isRejected = true
    }

    /// A person's account got another credential, or another account's credential is a person's.
    func replacePerson(_ slot: Int, by change: RegisteredAccount) {
        let generation = (people[slot]?.generation ?? 0) + 1
        accounts[slot]?.isPerson = change.person != nil
        people[slot] = change.person.map { PolledPerson($0) }
        people[slot]?.generation = generation
    }

    /// The same person: signed in again, or refreshed by another process.
    func adjustPerson(_ slot: Int, to change: RegisteredAccount, now: Instant) {
        guard let account = accounts[slot], let person = people[slot], let new = change.person
        else { return }
        if new.number == person.number {
            guard new.bearer.refreshAt > person.times.refreshAt else { return }
            accounts[slot]?.credential = change.credential
            people[slot]?.times = new.bearer
            people[slot]?.isRejected = false
            return
        }
        drop(slot, now: now)
        accounts[slot]?.credential = change.credential
        replacePerson(slot, by: change)
        if account.isPaused { accounts[slot]?.isRenewed = true }
        // Who signs out is paused for it.
        guard !change.isPaused else { return }
        if !account.isPaused { schedule.hasten(slot, afresh: true, now: now) }
        log.note(.info, "register", "person signed in again", ["account": account.id.text])
    }

    /// What came of asking.
    func take(_ answer: BearerAnswer, now: Instant) {
        guard let slot = slots[answer.account], let account = accounts[slot],
            account.incarnation == answer.incarnation, let person = people[slot],
            person.generation == answer.generation
        else { return }
        people[slot]?.isAsking = false
        let due = walks[slot]?.awaitsBearer
        switch answer.result {
        case .success(let bearer):
            let isOfBefore = person.isRejected && !person.isAskingForAnother
            guard !isOfBefore || bearer.token != account.credential else {
                // Asked for before the API refused it.
                if due != nil { askForBearer(slot) }
                return
            }
            // Where the provider gives the refused token once more, the walk goes on with it: it is
            // for the API to say whether the account is refused.
            accounts[slot]?.credential = bearer.token
            people[slot]?.times = bearer.times
            people[slot]?.isRejected = false
            people[slot]?.askAgainAt = Timestamp(milliseconds: 0)
            guard let due, let renewed = accounts[slot] else { return }
            start(slot, renewed, due: due, now: now)
            // Its turn has passed: the schedule says when a place is free.
            schedule.wantsPage(slot, now: now)
        case .failure(let failure):
            guard due != nil else {
                people[slot]?.askAgainAt = askingAgain(person, after: failure)
                return
            }
            fail(slot, failure, now: now)
        }
    }

    /// A walk that has no token to begin with.
    private func fail(_ slot: Int, _ failure: BearerFailure, now: Instant) {
        switch failure.kind {
        case .unavailable:
            end(slot, WalkFailure(code: failure.code, reason: failure.reason), now: now)
        case .signInAgain:
            let refusal = WalkFailure(
                kind: .refused(status: 401, code: failure.code, requiredScope: nil),
                code: "refused", reason: failure.reason + ": sign in again")
            refuse(
                slot, status: 401, code: failure.code, scope: nil, failure: refusal, now: now)
        }
    }

    /// When to ask again while the token that is there still serves.
    private func askingAgain(_ person: PolledPerson, after failure: BearerFailure) -> Timestamp {
        switch failure.kind {
        // It is used to its end; then the walk asks once more, and hears of it.
        case .signInAgain: return person.times.usableUntil
        case .unavailable:
            let left = person.times.usableUntil.since(clock.wall)
            return clock.wall.adding(max(.seconds(1), min(.seconds(60), left / 4)))
        }
    }

    private func askForBearer(_ slot: Int) {
        guard let account = accounts[slot], let person = people[slot], !person.isAsking else {
            return
        }
        people[slot]?.isAsking = true
        people[slot]?.isAskingForAnother = person.isRejected
        let (id, incarnation, generation) = (account.id, account.incarnation, person.generation)
        let answer: @Sendable (Result<Bearer, BearerFailure>) -> Void = { [weak self] result in
            self?.post(
                .bearer(
                    BearerAnswer(
                        account: id, incarnation: incarnation, generation: generation,
                        result: result)))
        }
        guard let bearers else {
            return answer(
                .failure(
                    BearerFailure(
                        kind: .unavailable, code: "sign_in_off",
                        reason: "nobody gives tokens of people here")))
        }
        bearers.ask(
            for: id, rejected: person.isRejected ? account.credential : nil, answer)
    }
}
