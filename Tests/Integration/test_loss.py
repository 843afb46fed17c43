"""A journal that is lost, restored, exchanged or doubled, and a cluster that is, under constant
change: who keeps (epoch, sequence) never sees history as news, a gap or a double (F21 to F25,
F28)."""
import os
import pathlib
import random
import sqlite3
import time

import pytest

import kafka_node
from chaos import Chaos, crowd, until_true
from judge import Judge, expected_state, latest
from relay import wait_until
from stage import shown
from topics import Topic


def lose(relay):
    """The journal file is gone, as with a disk."""
    for path in relay.folder.glob("relay.db*"):
        path.rename(relay.folder / f"given.{time.monotonic_ns()}.{path.name}")


def back_up(relay, name="given.backup"):
    """A copy as an operator takes it, of a running relay or a stopped one."""
    target = relay.folder / name
    target.unlink(missing_ok=True)
    source, copy = sqlite3.connect(relay.folder / "relay.db"), sqlite3.connect(target)
    source.backup(copy)
    source.close()
    copy.close()
    return target


def put_back(relay, backup):
    lose(relay)
    (relay.folder / "relay.db").write_bytes(backup.read_bytes())


def resynced(relay, accounts, count=1, within=60):
    """Waits until each account was resynced that often; gives the epochs in their order."""
    def there(records):
        found = {account.name: [] for account in accounts}
        for each in records:
            if each.type == "account.resynced":
                found[each.account].append((each.data["epoch"], each.data["reason"]))
        return found if all(len(each) >= count for each in found.values()) else None
    return relay.events.wait(there, within, f"{count} account.resynced of each account")


def verify(relay, chaos=None, topic=None):
    """What a consumer says that keeps (epoch, sequence) and the rows it was told last."""
    topic = topic or relay.events
    topic.read_to_end()
    Judge(remembers=True).read(topic.records, topic.partitions)
    epochs = {}
    for each in topic.records:
        first = each.account not in epochs
        if epochs.get(each.account) != each.data["epoch"] and not first:
            assert each.type == "account.resynced" and each.data["sequence"] == 1, each.value
        epochs[each.account] = each.data["epoch"]
        if chaos and each.type.startswith("connection.") and each.data["kind"] == "change":
            assert chaos.was_so(each), f"seed {chaos.seed}: never so: {each.value}"
    return topic.records


def live(make_relay, trax, **change):
    relay = make_relay(**change)
    accounts = crowd(relay, trax, 8)
    chaos = Chaos(trax, accounts, every=0.03)
    relay.start()
    until_true(relay, accounts)
    chaos.start()
    return relay, accounts, chaos


def settle(relay, accounts, chaos):
    chaos.stop()
    until_true(relay, accounts, within=90)
    return verify(relay, chaos)


def end(relay, how):
    if how == "kill":
        relay.kill()
    else:
        assert relay.stop() == 0


@pytest.mark.timeout(180)
@pytest.mark.parametrize("how", ["term", "kill"])
def test_a_journal_deleted_again_and_again(make_relay, trax, how):
    relay, accounts, chaos = live(make_relay, trax)
    for turn in range(3):
        time.sleep(1.5)
        end(relay, how)
        lose(relay)
        time.sleep(0.5)
        relay.start()
        found = resynced(relay, accounts, turn + 1)
        assert {each[-1][1] for each in found.values()} == {"loss"}
        begun = relay.log.split("the journal has begun anew")[-1]
        assert " runs pipeline=" in begun, "after it the relay says again that it runs"
    settle(relay, accounts, chaos)


@pytest.mark.timeout(180)
def test_commands_and_relay_share_the_journal_that_began_anew(make_relay, trax):
    relay, accounts, chaos = live(make_relay, trax)
    assert relay.stop() == 0
    lose(relay)
    relay.start()
    resynced(relay, accounts)
    # A command that took itself for the last one would delete the log under the relay.
    for _ in range(3):
        code, _, err = relay.command("accounts", "list")
        assert code == 0, err
    held = pathlib.Path(f"/proc/{relay.process.pid}/fd")
    names = [os.readlink(each) for each in held.iterdir() if each.exists() or each.is_symlink()]
    assert not [each for each in names if each.endswith("(deleted)")], names
    code, _, err = relay.command("accounts", "pause", accounts[0].name)
    assert code == 0, err
    wait_until(lambda: relay.metrics()["trax_relay_accounts"]['{state="paused"}'] == 1, 20,
               "the pause to be noticed")
    code, _, err = relay.command("accounts", "resume", accounts[0].name)
    assert code == 0, err
    settle(relay, accounts, chaos)


@pytest.mark.timeout(180)
def test_a_journal_restored_from_older_copies(make_relay, trax):
    relay, accounts, chaos = live(make_relay, trax)
    for turn in range(3):
        time.sleep(1)
        backup = back_up(relay)
        time.sleep(1.5)
        end(relay, "kill" if turn % 2 else "term")
        put_back(relay, backup)
        relay.start()
        found = resynced(relay, accounts, turn + 1)
        assert {each[-1][1] for each in found.values()} == {"restore"}
    settle(relay, accounts, chaos)


@pytest.mark.timeout(180)
def test_a_restored_journal_that_walked_before_the_broker_could_tell(make_relay, trax):
    relay, accounts, chaos = live(make_relay, trax)
    time.sleep(1)
    backup = back_up(relay)
    time.sleep(1)
    assert relay.stop() == 0
    put_back(relay, backup)
    relay.config["kafka"]["brokers"] = "127.0.0.1:9"
    relay.start(ready=False)
    for account in accounts:
        account.wait_sealed(4)
    time.sleep(1)
    relay.kill()
    relay.config["kafka"]["brokers"] = relay.brokers
    relay.start()
    resynced(relay, accounts)
    settle(relay, accounts, chaos)
    # What was decided in between belongs to no history that anybody was told.
    code, out, err = relay.command("events", "--json")
    assert code == 0, err
    told = {each.value["id"] for each in relay.events.records}
    listed = {line.split('"id":"')[1][:32] for line in out.splitlines() if line}
    assert listed <= told


@pytest.mark.timeout(240)
def test_killed_at_any_instant_of_a_renewal(make_relay, trax):
    relay, accounts, chaos = live(make_relay, trax)
    chance = random.Random(chaos.seed)
    time.sleep(1)
    assert relay.stop() == 0
    lose(relay)
    for turn in range(12):
        relay.start(ready=False)
        time.sleep(chance.uniform(0.05, 1.5))
        relay.kill()
    relay.start()
    found = resynced(relay, accounts)
    assert all(len(each) == 1 for each in found.values()), "renewed once, however often it died"
    settle(relay, accounts, chaos)


@pytest.mark.timeout(180)
def test_with_several_sinks_and_filters_each_says_so(make_relay, trax):
    relay = make_relay()
    name = relay.name
    relay.config["sinks"] += [
        {"kafka": {"topic": f"{name}.alerts", "when": {"types": ["failing", "repaired"]}}},
        {"kafka": {"topic": f"{name}.news", "when": {"types": ["account.resynced"]}}},
        {"state": {"topic": f"{name}.state2"}}, {"log": {}}]
    account = trax.account("a", rows=4)
    relay.enlist(account).start()
    until_true(relay, [account])
    account.set("conn_00", status="expired")
    relay.events.wait(lambda records: len(records) == 1)
    assert relay.stop() == 0
    lose(relay)
    account.set("conn_00", status="active").set("conn_01", status="revoked")
    account.remove("conn_03")
    relay.start()
    relay.events.wait(lambda records: len(records) == 5)
    told = relay.events.read_to_end()
    assert [each.type for each in told[1:]] == [
        "account.resynced", "connection.repaired", "connection.failing", "connection.unlinked"]
    assert [each.data["sequence"] for each in told[1:]] == [1, 2, 3, 4]
    assert told[2].data["previous"]["status"] == "expired"
    alerts = relay.topic("alerts")
    alerts.wait(lambda records: len(records) == 3)
    assert [each.headers["trax-previous"] for each in alerts.records] == ["0", "0", "2"]
    relay.topic("news").wait(lambda records: len(records) == 1)
    wanted = expected_state(account)
    second = relay.topic("state2")
    second.wait(lambda records: {k: shown(v["connection"]) for k, v in latest(records).items()}
                == wanted)
    until_true(relay, [account])
    epoch = told[1].data["epoch"]
    assert {each["epoch"] for each in latest(relay.state.read_to_end()).values()} == {epoch}
    lines = [line for line in relay.stdout.splitlines() if line]
    assert len(lines) == 4, "the log sink begins with account.resynced as well"


@pytest.mark.timeout(120)
def test_without_a_state_topic_a_quiet_baseline(make_relay, trax):
    relay = make_relay()
    relay.config["sinks"] = relay.config["sinks"][:1]
    account = trax.account("a", rows=3)
    relay.enlist(account).start()
    account.wait_sealed(2)
    account.set("conn_00", status="expired")
    relay.events.wait(lambda records: len(records) == 1)
    assert relay.stop() == 0
    lose(relay)
    account.set("conn_01", status="expired")
    account.remove("conn_02")
    relay.start()
    relay.events.wait(lambda records: len(records) == 2)
    account.wait_sealed(4)
    told = relay.events.read_to_end()
    assert [each.type for each in told] == ["connection.failing", "account.resynced"]
    account.set("conn_01", status="active")
    relay.events.wait(lambda records: len(records) == 3)
    assert relay.events.records[-1].type == "connection.repaired"


@pytest.mark.timeout(120)
def test_an_account_that_comes_back_to_the_register_later_goes_on_from_its_records(
        make_relay, trax):
    relay = make_relay()
    one, other = trax.account("a", rows=2), trax.account("b", rows=3)
    relay.enlist(one, other).start()
    until_true(relay, [one, other])
    assert relay.stop() == 0
    lose(relay)
    del relay.register["b"]
    relay.start()
    resynced(relay, [one])
    other.remove("conn_02")
    other.set("conn_00", status="expired")
    time.sleep(1)
    assert "b" not in {each.account for each in relay.events.read_to_end()}
    relay.enlist(other).hup()
    until_true(relay, [one, other])
    told = [each for each in verify(relay) if each.account == "b"]
    assert [each.type for each in told] == [
        "account.resynced", "connection.failing", "connection.unlinked"]


@pytest.mark.timeout(120)
def test_a_mass_of_rows_that_vanished_meanwhile_is_held(make_relay, trax):
    relay = make_relay(detection={"brake": {"share": 0.5, "atLeast": 5}})
    account = trax.account("a", rows=40)
    relay.enlist(account).start()
    until_true(relay, [account])
    assert relay.stop() == 0
    lose(relay)
    for id in list(account.rows):
        account.remove(id)
    relay.start()
    relay.events.wait(lambda records: "account.held" in [each.type for each in records])
    account.wait_sealed(4)
    assert [each.type for each in relay.events.read_to_end()] == [
        "account.resynced", "account.held"]
    assert len(latest(relay.state.read_to_end())) == 40


@pytest.mark.timeout(120)
def test_once_mends_a_lost_journal_and_goes_on(make_relay, trax):
    relay = make_relay()
    account = trax.account("a", rows=2)
    relay.enlist(account)
    relay.start("--once", ready=False)
    assert relay.wait_exit(40) == 0
    lose(relay)
    account.set("conn_00", status="expired")
    relay.start("--once", ready=False)
    assert relay.wait_exit(60) == 0, relay.log
    assert [each.type for each in verify(relay)] == ["account.resynced", "connection.failing"]


@pytest.mark.timeout(180)
def test_at_least_once_notices_the_same(make_relay, trax):
    relay, accounts, chaos = live(
        make_relay, trax, kafka={"delivery": "at-least-once"})
    relay.judged = False
    time.sleep(1)
    backup = back_up(relay)
    time.sleep(1)
    assert relay.stop() == 0
    put_back(relay, backup)
    relay.start()
    assert {each[-1][1] for each in resynced(relay, accounts).values()} == {"restore"}
    time.sleep(1)
    assert relay.stop() == 0
    lose(relay)
    relay.start()
    assert {each[-1][1] for each in resynced(relay, accounts, 2).values()} == {"loss"}
    chaos.stop()
    until_true(relay, accounts, within=90)
    # Every stop was clean: nothing came twice even so.
    verify(relay, chaos)


@pytest.mark.timeout(180)
def test_a_foreign_journal_is_78_and_takes_over_when_told_to(make_relay, trax):
    relay, accounts, chaos = live(make_relay, trax)
    time.sleep(1)
    assert relay.stop() == 0
    # A journal of another pipeline, that has believed and published elsewhere.
    other = make_relay()
    other.enlist(*accounts).start()
    until_true(other, accounts, within=2) if chaos.over.is_set() else time.sleep(2)
    assert other.stop() == 0
    backup = back_up(other)
    put_back(relay, backup)
    (relay.folder / "relay.key").write_bytes((other.folder / "relay.key").read_bytes())
    relay.start(ready=False)
    assert relay.wait_exit(40) == 78
    assert "--take-over" in relay.log
    before = len(relay.events.read_to_end())
    time.sleep(1)
    assert len(relay.events.read_to_end()) == before
    relay.start("--take-over")
    found = resynced(relay, accounts)
    assert {each[-1][1] for each in found.values()} == {"restore"}
    assert relay.stop() == 0
    relay.start()
    settle(relay, accounts, chaos)


@pytest.mark.timeout(180)
def test_two_relays_of_one_name_one_stays_and_one_says_so(make_relay, trax):
    relay, accounts, chaos = live(make_relay, trax)
    trax.was_left = True
    other = make_relay()
    for key in ("name", "sinks"):
        other.config[key] = relay.config[key]
    other.enlist(*accounts).start(ready=False)

    def one_ended():
        return [each for each in (relay, other) if each.process.poll() is not None]
    ended = wait_until(one_ended, 60, "one of the two to end")
    assert len(ended) == 1
    gone, stays = ended[0], other if ended[0] is relay else relay
    code = gone.process.returncode
    assert code in (1, 78), gone.log[-2000:]
    assert (f"another relay runs as {relay.config['name']}" if code == 1
            else "another journal") in gone.log
    # Started again, it is still told so, and disturbs nothing.
    gone.start(ready=False)
    assert gone.wait_exit(40) == 78
    time.sleep(1)
    assert stays.process.poll() is None, stays.log[-2000:]
    chaos.stop()
    until_true(relay, accounts, within=90)
    verify(relay, chaos)


@pytest.mark.timeout(180)
def test_two_new_relays_of_one_name_started_at_once(make_relay, trax):
    relay, other = make_relay(), make_relay()
    trax.was_left = True
    accounts = crowd(relay, trax, 8)
    chaos = Chaos(trax, accounts, every=0.03)
    for key in ("name", "sinks"):
        other.config[key] = relay.config[key]
    other.enlist(*accounts)
    chaos.start()
    both = (relay, other)
    for each in both:
        each.start(ready=False)
    wait_until(lambda: any(each.process.poll() is not None for each in both), 60, "one to end")
    time.sleep(2)
    left = [each for each in both if each.process.poll() is None]
    assert len(left) == 1, [each.log[-1500:] for each in both]
    gone = relay if left[0] is other else other
    assert gone.process.returncode in (1, 78), gone.log[-1500:]
    chaos.stop()
    until_true(relay, accounts, within=90)
    verify(relay)


@pytest.mark.timeout(180)
def test_two_relays_on_copies_of_one_journal(make_relay, trax):
    relay, accounts, chaos = live(make_relay, trax)
    trax.was_left = True
    other = make_relay()
    for key in ("name", "sinks"):
        other.config[key] = relay.config[key]
    (other.folder / "relay.db").write_bytes(back_up(relay).read_bytes())
    (other.folder / "relay.key").write_bytes((relay.folder / "relay.key").read_bytes())
    other.enlist(*accounts).start(ready=False)
    both = (relay, other)
    wait_until(lambda: any(each.process.poll() is not None for each in both), 60, "one to end")
    time.sleep(2)
    left = [each for each in both if each.process.poll() is None]
    assert len(left) == 1, [each.log[-1500:] for each in both]
    gone = relay if left[0] is other else other
    assert gone.process.returncode in (1, 78)
    chaos.stop()
    until_true(relay, accounts, within=90)
    verify(relay, chaos)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = kafka_node.Cluster(tmp_path_factory.mktemp("kafka")).up()
    yield cluster
    cluster.down()


@pytest.mark.needs_kafka("a second cluster")
@pytest.mark.timeout(240)
def test_the_cluster_exchanged_and_exchanged_back(make_relay, trax, cluster):
    relay, accounts, chaos = live(make_relay, trax)
    first, second = relay.brokers, cluster.bootstrap
    name = relay.name
    topics = {
        first: (relay.events, relay.state),
        second: (Topic(second, f"{name}.events"), Topic(second, f"{name}.state"))}
    for brokers in (second, first, second):
        time.sleep(1.5)
        assert relay.stop() == 0
        relay.config["kafka"]["brokers"] = brokers
        relay.start()
        time.sleep(1)
    chaos.stop()
    relay.topics["state"] = topics[second][1]
    until_true(relay, accounts, within=90)
    # On each cluster no number is missing or comes twice; the second begins where the first ended.
    ended = {}
    for each in topics[second][0].read_to_end():
        place = (each.data["epoch"], each.data["sequence"])
        if each.account in ended:
            assert place == (ended[each.account][0], ended[each.account][1] + 1), each.value
        ended[each.account] = place
    verify(relay, chaos, topics[first][0])
    for brokers in (first,):
        assert relay.stop() == 0
        relay.config["kafka"]["brokers"] = brokers
        relay.start()
        relay.topics["state"] = topics[first][1]
        until_true(relay, accounts, within=60)
    verify(relay, chaos, topics[first][0])
    relay.topics["events"], relay.topics["state"] = topics[first]
    for topic in topics[second]:
        topic.close()
