"""One relay with many accounts, shared by the tests of a file: each test takes an account of its
own, changes it, and says what must come out. At the end nothing else may have come out."""
from fake_trax import FakeTrax
from judge import expected_state, instant, latest
from relay import Relay

ROWS = ("id", "platform", "status", "health", "grantedScopes")


def row(id="conn_00", platform="youtube", status="active", health="healthy", scopes=("a", "b")):
    """A row as an event shows it."""
    return {"id": id, "platform": platform, "status": status, "health": health,
            "grantedScopes": None if scopes is None else sorted(set(scopes))}


def shown(published):
    """The compared part of a published row."""
    return None if published is None else {key: published.get(key) for key in ROWS}


class Stage:
    """The fake API, a relay on it, and the accounts that tests take."""

    def __init__(self, folder, accounts=30, rows=3, page_size=200, **change):
        self.trax = FakeTrax(page_size)
        self.relay = Relay(folder, self.trax, **change)
        self.free = []
        self.counted = {}      # account -> how many events it must have had
        for index in range(accounts):
            self.free.append(self.add(f"acct_{index:02}", rows))

    def add(self, name, rows=0):
        """An account that is in the accounts file from the next writing on."""
        account = self.trax.account(name, rows=rows)
        self.relay.enlist(account)
        self.counted[name] = 0
        return account

    def start(self, *options):
        self.relay.start(*options)
        for account in self.trax.accounts.values():
            self.trax.wait(lambda account=account: account.sealed or account.planned, 60,
                           f"the first walk of {account.name}")
        return self

    def take(self):
        """An account that no other test has, once it has its baseline."""
        account = self.free.pop()
        self.settle(account)
        return account

    def settle(self, account):
        """Waits until the state topic holds what the API has: nothing is on its way any more."""
        wanted = expected_state(account, self.relay.config.get("detection"))
        mine = account.name + "/"

        def same(records):
            found = {key: shown(value["connection"]) for key, value in latest(records).items()
                     if key.startswith(mine)}
            return found == wanted
        self.relay.state.wait(same, 30, f"the truth about {account.name}: {wanted}")

    def expect(self, account, *types, within=30, ordered=True):
        """Waits for these events and no others of the account; gives the records."""
        had = self.counted[account.name]
        self.counted[account.name] = had + len(types)

        def there(records):
            mine = [each for each in records if each.key == account.name]
            return mine if len(mine) >= had + len(types) else None
        mine = self.relay.events.wait(there, within, f"{account.name} to tell {types}")[had:]
        found = [each.type for each in mine]
        assert found == list(types) if ordered else sorted(found) == sorted(types), found
        return mine[0] if len(types) == 1 else mine

    def change(self, account, *types, within=30):
        """As `expect`, and the window holds the instant at which the API changed last."""
        found = self.expect(account, *types, within=within)
        for record in found if isinstance(found, list) else [found]:
            self.window(account, record)
        return found

    def window(self, account, record):
        between = record.data["changedBetween"]
        before = instant(between["before"]).timestamp()
        after = instant(between["after"]).timestamp()
        at = account.changed_wall
        assert after - 0.002 <= at <= before + 0.002, \
            f"changed at {at}, told as between {after} and {before}"
        shown_old = [wall for wall in account.sealed_walls if wall <= at]
        assert after <= shown_old[-1] + 0.002, "the window begins after the walk that it means"

    def quiet(self, account, walks=2):
        """After so many whole walks there is still nothing new to tell."""
        account.wait_sealed(walks)
        self.relay.events.read(0.05)
        mine = [each for each in self.relay.events.records if each.key == account.name]
        assert len(mine) == self.counted[account.name], [each.type for each in mine]

    def close(self):
        """Nothing that no test expected may have been told."""
        if self.relay.process is None:
            return
        self.relay.events.read_to_end()
        for name, count in self.counted.items():
            mine = [each for each in self.relay.events.records if each.key == name]
            assert len(mine) == count, f"{name}: {[each.type for each in mine[count:]]} untold"
