"""What stands over a restart: beliefs, sequences, epochs, places, confirmations; changed rules; one
walk at a time with --once; the lock; and a clean end (F18 to F28, F50)."""
import signal

import pytest

import faults
from judge import expected_state, instant, latest
from relay import Plain, wait_until
from stage import row, shown
from topics import Topic, produce, shared_brokers


def truth(relay, *accounts):
    wanted = {}
    for account in accounts:
        wanted |= expected_state(account, relay.config.get("detection"))
    relay.state.wait(lambda records: {key: shown(value["connection"]) for key, value
                                      in latest(records).items()} == wanted, what=str(wanted))


def start(relay, *accounts):
    """Runs it and waits until it believes what the API holds."""
    relay.enlist(*accounts).start()
    truth(relay, *accounts)
    return relay


def events(relay, count, within=30):
    return relay.events.wait(lambda r: r if len(r) >= count else None, within, f"{count} events")


@pytest.mark.parametrize("how", ["term", "int", "kill"])
def test_a_restart_goes_on_where_it_was(make_relay, trax, how):
    account = trax.account("a", rows=4)
    relay = start(make_relay(), account)
    account.set("conn_00", status="expired")
    first = events(relay, 1)[0]
    truth(relay, account)
    if how == "kill":
        relay.kill()
    else:
        relay.signal(signal.SIGTERM if how == "term" else signal.SIGINT)
        assert relay.wait_exit(15) == 0
    last = account.sealed_walls[-1]
    account.set("conn_00", status="active").set("conn_01", platform="kick").put("conn_09")
    account.remove("conn_03")
    relay.start()
    told = events(relay, 5)[1:]
    assert [each.type for each in told] == [
        "connection.repaired", "connection.status_changed", "connection.linked",
        "connection.unlinked"]
    for each in told:
        assert each.data["epoch"] == first.data["epoch"]
        after = instant(each.data["changedBetween"]["after"]).timestamp()
        assert after <= last + 0.01, "the window must reach back to before the restart"
        if how != "kill":
            assert after > last - 3, "a clean stop stores when it saw the list last"
    truth(relay, account)
    account.wait_sealed(2)
    assert len(relay.events.read_to_end()) == 5


def test_what_was_journalled_and_not_delivered_is_delivered_once(make_relay, trax):
    account = trax.account("a", rows=2)
    relay = start(make_relay(), account)
    for status in ("expired", "active") * 5:
        account.set("conn_00", status=status)
        account.wait_sealed(1)
        relay.kill()
        relay.start(ready=False)
    account.set("conn_00", status="revoked")
    truth(relay, account)
    told = relay.events.read_to_end()
    assert told[-1].data["connection"]["status"] == "revoked"


def test_a_clean_end_delivers_what_it_has(make_relay, trax):
    account = trax.account("a", rows=100)
    relay = start(make_relay(), account)
    with trax.changed:
        for id in list(account.rows):
            account.set(id, status="expired")
    account.wait_sealed(1)
    assert relay.stop() == 0
    assert len(relay.events.read_to_end()) == 100


@pytest.mark.parametrize("number,code", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_second_signal_ends_it_at_once(make_relay, trax, number, code):
    account = trax.account("a", rows=1)
    relay = start(make_relay(), account)
    assert relay.stop() == 0
    relay.config["kafka"]["brokers"] = "127.0.0.1:9"
    relay.start(ready=False)
    account.wait_sealed(1)
    account.set("conn_00", status="expired")
    account.wait_sealed(2)
    relay.signal(number)
    wait_until(lambda: trax_is_quiet(account), 10, "the polling to end", step=0.6)
    assert relay.process.poll() is None, "it has ten seconds to deliver"
    relay.signal(number)
    assert relay.wait_exit(5) in (code, -number)
    relay.judged = False


def trax_is_quiet(account, seen={}):
    before = seen.get(id(account))
    seen[id(account)] = len(account.requests)
    return before == len(account.requests)


def test_a_lock_keeps_a_second_run_out(make_relay, trax):
    account = trax.account("a", rows=1)
    relay = start(make_relay(), account)
    from relay import run_binary
    code, _, err = run_binary("run", relay.pipeline, within=20)
    assert code == 78 and err.count("Error: ") == 1, err
    account.wait_sealed(2)


def test_changed_rules_are_applied_at_the_next_start_without_a_walk(make_relay, trax):
    account = trax.account("a", rows=1)
    account.put("conn_01", status="asleep").put("conn_02", status="pending")
    account.put("conn_03", status="expired")
    relay = start(make_relay(), account)
    assert relay.stop() == 0
    relay.past = [dict(relay.config["detection"])]
    relay.config["detection"] |= {"healthy": ["active", "asleep"], "failing": ["pending"],
                                  "pending": ["linking"], "otherStatus": "unrecognised"}
    trax.refuse_connections()
    relay.start(ready=False)
    told = events(relay, 3)
    assert [(each.value["subject"], each.data["connection"]["health"],
             each.data["previous"]["health"]) for each in told] == [
        ("conn_01", "healthy", "failing"), ("conn_02", "failing", "pending"),
        ("conn_03", "unrecognised", "failing")]
    for each in told:
        assert each.type == "connection.status_changed" and each.data["kind"] == "resync"
        assert each.data["changed"] == ["health"] and each.data["userActionable"] is False
        assert each.value["time"] == each.data["decidedAt"]
    assert [each.data["statusRecognised"] for each in told] == [True, True, False]
    truth(relay, account)
    state = latest(relay.state.records)
    assert [state[f"a/conn_{n:02}"]["standing"] for n in range(4)] == \
        ["healthy", "healthy", "failing", "failing"]
    assert state["a/conn_01"]["sequence"] == told[0].data["sequence"]
    trax.listen_again()
    # What the rules set silently is what later changes are measured by.
    account.set("conn_01", status="pending").set("conn_03", status="active")
    later = events(relay, 5, within=60)[3:]
    assert [each.type for each in later] == ["connection.failing", "connection.repaired"]
    assert relay.stop() == 0
    relay.start()
    account.wait_sealed(2)
    assert len(relay.events.read_to_end()) == 5, "the same rules again are no change"


def test_once_says_how_many_sealed(make_relay, trax):
    good, bad = trax.account("good", rows=2), trax.account("bad", rows=2)
    relay = make_relay().enlist(good, bad)

    def once():
        relay.start("--once", ready=False)
        return relay.wait_exit(40)
    assert once() == 0
    assert len(relay.state.read_to_end()) == 4
    bad.plan(faults.answer(500))
    good.set("conn_00", status="expired")
    assert once() == 1
    assert [each.type for each in relay.events.read_to_end()] == ["connection.failing"]
    good.plan(faults.answer(500))
    assert once() == 69
    good.heal()
    bad.heal()
    trax.refuse_connections()
    assert once() == 69
    trax.listen_again()
    assert once() == 0
    for account in (good, bad):
        assert len([r for r in account.requests if not r.fault]) <= 5
    assert len(relay.events.read_to_end()) == 1


def test_once_counts_confirmations_and_refusals_in_the_journal(make_relay, trax):
    account, other = trax.account("a", rows=3), trax.account("b", rows=1)
    relay = make_relay(detection={"removal": {"confirmations": 3}}).enlist(account, other)

    def once():
        before = len(account.requests)
        relay.start("--once", ready=False)
        code = relay.wait_exit(40)
        assert len(account.requests) == before + 1, "one walk of every account"
        return code
    assert once() == 0
    account.remove("conn_01")
    assert once() == 0 and once() == 0
    assert relay.events.read_to_end() == []
    assert once() == 0
    assert [each.type for each in relay.events.read_to_end()] == ["connection.unlinked"]
    account.plan(faults.refused())
    assert once() == 1
    assert len(relay.events.read_to_end()) == 1
    assert once() == 1
    assert [each.type for each in relay.events.read_to_end()][1:] == ["account.blind"]
    account.heal()
    assert once() == 0
    assert [each.type for each in relay.events.read_to_end()][2:] == ["account.restored"]


def test_once_with_no_broker_is_69(make_relay, trax):
    account = trax.account("a", rows=1)
    relay = make_relay(brokers="127.0.0.1:9").enlist(account)
    relay.start("--once", ready=False)
    assert relay.wait_exit(60) == 69


def test_a_wrong_key_file_is_78_and_nothing_is_overwritten(make_relay, trax):
    account = trax.account("a", rows=1)
    relay = start(make_relay(), account)
    assert relay.stop() == 0
    key = relay.folder / "relay.key"
    assert key.stat().st_mode & 0o777 == 0o600
    good = key.read_bytes()
    # A key of its own making, from another relay.
    other = make_relay().enlist(account).start()
    assert other.stop() == 0
    wrong = (other.folder / "relay.key").read_bytes()
    key.write_bytes(wrong)
    assert wrong != good
    relay.start(ready=False)
    assert relay.wait_exit() == 78 and "Error: " in relay.log
    key.write_bytes(good)
    relay.start()
    account.wait_sealed()


def test_another_relay_under_the_same_name_is_turned_away_and_disturbs_nothing(make_relay, trax):
    account = trax.account("a", rows=1)
    relay = start(make_relay(), account)
    account.set("conn_00", status="expired")
    events(relay, 1)
    trax.was_left = True
    # One that has lived under a name of its own; an empty one would pass for a lost journal.
    other = start(make_relay(), account)
    assert other.stop() == 0
    for key in ("name", "sinks"):
        other.config[key] = relay.config[key]
    other.start(ready=False)
    assert other.wait_exit(40) == 78 and "Error: " in other.log
    account.set("conn_00", status="active")
    events(relay, 2, within=60)
    assert relay.process.poll() is None, relay.log[-2000:]


def test_a_new_event_sink_starts_at_the_head_and_a_new_state_sink_is_filled(
        make_relay, trax, admin):
    account = trax.account("a", rows=2)
    relay = start(make_relay(), account)
    account.set("conn_00", status="expired")
    events(relay, 1)
    assert relay.stop() == 0
    admin.create(f"{relay.name}.state2", 2, cleanup_policy="compact")
    stale = f"{relay.name}.state2"
    produce(shared_brokers(), stale, [("a/long-gone", '{"old": true}'),
                                      ("stranger/x", '{"mine": false}')])
    relay.config["sinks"] += [{"kafka": {"topic": f"{relay.name}.late"}},
                              {"state": {"topic": stale}}]
    relay.start()
    second = Topic(shared_brokers(), stale)
    relay.topics["state2"] = second
    second.wait(lambda records: set(latest(records)) == {
        "a/conn_00", "a/conn_01", "stranger/x"}, what="all rows and the tombstone")
    account.set("conn_00", status="active")
    events(relay, 2)
    late = relay.topic("late")
    late.wait(lambda records: records)
    assert [each.data["sequence"] for each in late.read_to_end()] == [2]


def test_the_progress_record_moves_with_the_events(make_relay, trax):
    account = trax.account("a", rows=1)
    relay = start(make_relay(), account)
    account.set("conn_00", status="expired")
    told = events(relay, 1)[0]
    progress = Topic(shared_brokers(), f"{relay.name}.progress")
    progress.wait(lambda records: f"{relay.name}.events" in latest(records))
    progress.read_to_end()
    record = latest(progress.records)[f"{relay.name}.events"]
    assert told.value["id"] in str(record), record
    progress.close()
    # A removed sink's progress is forgotten by the next transaction.
    assert relay.stop() == 0
    relay.config["sinks"] = relay.config["sinks"][1:]
    relay.start()
    account.set("conn_00", status="active")
    after = Topic(shared_brokers(), f"{relay.name}.progress")
    after.wait(lambda records: f"{relay.name}.events" not in latest(records) and records,
               what="the removed sink's progress to go")
    after.close()


def test_rows_published_before_a_restart_are_previous_after_it(make_relay, trax):
    account = trax.account("a", rows=1)
    account.set("conn_00", grantedScopes=None)
    relay = make_relay(source={"interval": {"slowest": Plain("400ms")}}).enlist(account).start()
    relay.state.wait(lambda records: records)
    assert relay.stop() == 0
    account.set("conn_00", grantedScopes=["q"])
    relay.start()
    # The first known set is taken silently, and stands in the next `previous`.
    account.wait_sealed(2)
    account.set("conn_00", grantedScopes=["q", "r"])
    told = events(relay, 1)[0]
    assert shown(told.data["previous"]) == row("conn_00", scopes=("q",))
    assert told.data["scopes"] == {"added": ["r"], "removed": []}
