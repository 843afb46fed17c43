"""Constant change, and the proof afterwards that what was told is what happened."""
import random
import threading
import time
from collections import defaultdict

from judge import Judge, expected_state, instant, latest
from stage import shown

STATUSES = ["active", "active", "active", "expired", "revoked", "pending", "asleep"]
SCOPES = [("a",), ("a", "b"), ("b", "c"), ()]


def crowd(relay, trax, count=20):
    accounts = [trax.account(f"acct_{index:02}") for index in range(count)]
    relay.enlist(*accounts)
    return accounts


class Chaos:
    """Changes rows of accounts at random from one seed, and remembers every state they had."""

    def __init__(self, trax, accounts, rows=4, every=0.02, seed=None):
        self.seed = seed if seed is not None else random.randrange(1 << 30)
        self.random = random.Random(self.seed)
        self.trax, self.accounts, self.every = trax, accounts, every
        self.history = defaultdict(list)   # (account, id) -> [(wall, row or None)]
        self.over = threading.Event()
        for account in accounts:
            for index in range(rows):
                account.put(f"conn_{index:02}")
                self._remember(account, f"conn_{index:02}")
        self.thread = threading.Thread(target=self._run, daemon=True)

    def start(self):
        self.thread.start()
        return self

    def stop(self):
        """No more changes: what the API holds now is the truth."""
        self.over.set()
        self.thread.join()

    def _run(self):
        while not self.over.wait(self.every):
            account = self.random.choice(self.accounts)
            id = f"conn_{self.random.randrange(6):02}"
            with self.trax.changed:
                if id in account.rows and self.random.random() < 0.12:
                    account.remove(id)
                else:
                    account.put(id, self.random.choice(["youtube", "youtube", "kick"]),
                                self.random.choice(STATUSES), self.random.choice(SCOPES))
                self._remember(account, id)

    def _remember(self, account, id):
        row = account.rows.get(id)
        self.history[account.name, id].append((time.time(), dict(row) if row else None))

    def was_so(self, record):
        """Whether the API ever held what the event shows within the window that it names."""
        data = record.data
        between = data["changedBetween"]
        after = instant(between["after"]).timestamp() - 0.005
        before = instant(between["before"]).timestamp() + 0.005
        told = None if record.type == "connection.unlinked" else data["connection"]
        states = self.history[data["account"], data["connection"]["id"]]
        ends = [wall for wall, _ in states[1:]] + [float("inf")]
        for (start, row), end in zip(states, ends):
            if start <= before and end >= after and _same(row, told):
                return True
        return told is None and not states


def _same(row, told):
    if row is None or told is None:
        return row is told
    return (row["status"], row["platform"], sorted(set(row["grantedScopes"]))) == \
        (told["status"], told["platform"], told["grantedScopes"])


def until_true(relay, accounts, within=60):
    """Waits until the state topic holds exactly what the API has."""
    wanted = {}
    for account in accounts:
        wanted |= expected_state(account)

    def same(records):
        found = {key: shown(value["connection"]) for key, value in latest(records).items()}
        return found == wanted
    relay.state.wait(same, within, "the state topic to equal the truth")


def verify(relay, chaos, at_least):
    """Exactly once, in order, without a gap, and nothing that was not so."""
    relay.events.read_to_end()
    records = relay.events.records
    assert len(records) >= at_least, f"only {len(records)} events: nothing was proved"
    Judge().read(records, relay.events.partitions)
    epochs = {}
    for each in records:
        assert epochs.setdefault(each.account, each.data["epoch"]) == each.data["epoch"], \
            f"{each.account} has a second epoch"
        assert chaos.was_so(each), f"seed {chaos.seed}: never so: {each.value}"
