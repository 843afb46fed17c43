"""The brake: what looks like a fault of the list is held, shown, and lost to nobody."""
import json

import pytest

from judge import latest
from relay import Plain, wait_until

BRAKE = {"share": 0.5, "atLeast": 5, "fleet": 0.5, "failuresAfter": Plain("1h"),
         "removalsAfter": Plain("24h")}


def told(relay, name):
    return [each.type for each in relay.events.records if each.key == name]


def wait_told(relay, name, *types, within=30):
    """Waits until the account's last events are these; gives their records."""
    def there(records):
        mine = [each for each in records if each.key == name]
        found = [each.type for each in mine[-len(types):]]
        return mine[-len(types):] if found == list(types) else None
    return relay.events.wait(there, within, f"{name} to end in {types}; has {told(relay, name)}")


def holds(relay):
    code, out, err = relay.command("holds", "list", "--json")
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()]


def open_holds(relay):
    return sum(relay.metrics()["trax_relay_open_holds"].values())


@pytest.fixture
def start(make_relay, trax):
    """A relay with a brake, and one account with so many rows."""
    def started(rows, **brake):
        account = trax.account("big", rows=rows)
        relay = make_relay(detection={"brake": {**BRAKE, **brake}})
        relay.enlist(account).start()
        relay.state.wait(lambda records: len(latest(records)) == rows, 30, "the baseline")
        return relay, account
    return started


def test_a_list_of_40_that_turns_empty_removes_nothing_and_shows_a_hold(start):
    relay, account = start(40)
    rows = dict(account.rows)
    account.replace({})
    held = wait_told(relay, "big", "account.held")[0].data
    assert held["reason"] == "share" and held["removals"] == 40 and held["failures"] == 0
    assert held["connections"] == sorted(rows) and held["kind"] == "change"
    account.wait_sealed(3)
    assert [each["id"] for each in holds(relay)] == [held["hold"]]
    code, out, _ = relay.command("holds", "show", held["hold"])
    assert code == 0 and "conn_39" in out and "(missing)" in out
    status, text = relay.http("/readyz")
    assert status == 200 and json.loads(text)["details"]["holds"] == 1
    assert open_holds(relay) == 1
    # It survives whatever ends the process.
    relay.kill().start(write=False)
    account.wait_sealed(2)
    assert open_holds(relay) == 1
    account.replace(rows)
    back = wait_told(relay, "big", "account.held", "account.released")[1].data
    assert back["hold"] == held["hold"]
    assert (back["recovered"], back["published"], back["discarded"]) == (40, 0, 0)
    assert holds(relay) == [] and open_holds(relay) == 0
    assert len(latest(relay.state.records)) == 40


def test_released_all_is_published_with_the_window_of_its_first_sight(start):
    relay, account = start(12)
    account.replace({})
    held = wait_told(relay, "big", "account.held")[0].data
    account.wait_sealed(2)
    code, out, err = relay.command("holds", "release", held["hold"])
    assert code == 0 and "released" in out, out + err
    told = wait_told(relay, "big", "account.released", *["connection.unlinked"] * 12)
    assert told[0].data["published"] == 12
    assert [each.value["subject"] for each in told[1:]] == [f"conn_{n:02}" for n in range(12)]
    assert all(each.value["time"] < held["decidedAt"] for each in told[1:])
    relay.state.wait(lambda records: not latest(records), 30, "twelve tombstones")
    assert relay.command("holds", "release", held["hold"])[0] == 1


def test_with_no_relay_running_the_first_order_stands_and_is_shown(start):
    relay, account = start(12)
    account.replace({})
    hold = wait_told(relay, "big", "account.held")[0].data["hold"]
    relay.stop()
    code, out, _ = relay.command("holds", "release", hold)
    assert code == 0 and "no relay runs" in out
    code, out, err = relay.command("holds", "discard", hold)
    assert code == 1 and not out and "ordered to be released already" in err, out + err
    assert [each["ordered"] for each in holds(relay)] == ["release"]
    assert "ordered    release" in relay.command("holds", "show", hold)[1]
    relay.start()
    told = wait_told(relay, "big", "account.held", "account.released",
                     *["connection.unlinked"] * 12)
    assert {each.data["kind"] for each in told} == {"change"}


def test_discarded_over_http_all_is_believed_as_resync(start):
    relay, account = start(12)
    for number in range(10):
        account.set(f"conn_{number:02}", status="expired")
    held = wait_told(relay, "big", "account.held", within=30)[0].data
    status, text = relay.http("/api/holds")
    page = json.loads(text)
    assert status == 200 and page["nextCursor"] is None
    wait_until(lambda: json.loads(relay.http("/api/holds")[1])["data"][0]["failures"] == 10,
               what="ten held failures")
    status, text = relay.http(f"/api/holds/{held['hold']}")
    assert status == 200 and json.loads(text)["changes"][0]["seen"]["status"] == "expired"
    path = f"/api/holds/{held['hold']}/discard"
    assert relay.http(path)[0] == 405
    for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
        status, text = relay.http(path, "POST", b"", headers)
        assert status == 403 and json.loads(text)["error"]["code"] == "forbidden"
    assert relay.http("/api/holds/h_none/release", "POST", b"")[0] == 404
    assert relay.http(path, "POST", b"")[0] == 202
    told = wait_told(relay, "big", "account.released", *["connection.failing"] * 10)
    assert told[0].data["discarded"] == 10
    assert {each.data["kind"] for each in told[1:]} == {"resync"}
    account.replace({key: {**row, "status": "active"} for key, row in account.rows.items()})
    wait_told(relay, "big", *["connection.repaired"] * 10)


def test_what_stays_true_is_published_by_itself(start):
    relay, account = start(8, failuresAfter=Plain("2s"), removalsAfter=Plain("3s"))
    account.remove("conn_00")
    wait_told(relay, "big", "connection.unlinked")
    for number in range(1, 8):
        account.set(f"conn_{number:02}", status="revoked")
    wait_told(relay, "big", "account.released", *["connection.failing"] * 7)
    account.replace({})
    wait_told(relay, "big", "account.held")
    wait_told(relay, "big", "account.released", *["connection.unlinked"] * 7)


def test_an_order_of_the_time_without_a_relay_is_carried_out_by_the_next_run(start):
    relay, account = start(10)
    account.replace({})
    held = wait_told(relay, "big", "account.held")[0].data
    assert relay.stop() == 0
    code, out, _ = relay.command("holds", "discard", "big")
    assert code == 0 and "next run" in out
    relay.start(write=False)
    told = wait_told(relay, "big", "account.released", *["connection.unlinked"] * 10)
    assert told[0].data == {**told[0].data, "hold": held["hold"], "discarded": 10}
    assert {each.data["kind"] for each in told[1:]} == {"resync"}


def test_thirty_small_lists_that_turn_empty_remove_nothing(make_relay, trax):
    accounts = [trax.account(f"small_{n:02}", rows=1 + n % 4) for n in range(30)]
    relay = make_relay(detection={"brake": BRAKE})
    relay.enlist(*accounts).start()
    for account in accounts:
        account.wait_sealed(1)
    rows = [dict(account.rows) for account in accounts]
    for account in accounts:
        account.replace({})
    for account in accounts:
        account.wait_sealed(4)
    relay.events.read(0.3)
    assert not [each for each in relay.events.records if each.type == "connection.unlinked"]
    wait_until(lambda: open_holds(relay) >= 25, what="holds of the fleet")
    assert {each["reason"] for each in holds(relay)} == {"fleet"}
    for account, before in zip(accounts, rows):
        account.replace(before)
    wait_until(lambda: open_holds(relay) == 0, what="all to be released")
    relay.events.read_to_end()
    assert {each.type for each in relay.events.records} == {"account.held", "account.released"}


def test_one_list_among_others_that_are_well_is_believed(make_relay, trax):
    accounts = [trax.account(f"small_{n:02}", rows=2) for n in range(8)]
    relay = make_relay(detection={"brake": BRAKE})
    relay.enlist(*accounts).start()
    for account in accounts:
        account.wait_sealed(1)
    accounts[3].replace({})
    wait_told(relay, "small_03", "connection.unlinked", "connection.unlinked")
    # A round of `--once` asks those of this round too.
    assert relay.stop() == 0
    accounts[4].remove("conn_00")
    for _ in range(2):
        relay.start("--once", write=False, ready=False)
        assert relay.wait_exit() == 0, relay.log
    wait_told(relay, "small_04", "connection.unlinked")


def test_a_new_key_with_another_accounts_list_changes_nothing_until_it_is_released(start, trax):
    relay, account = start(3)
    account.rekey()
    account.replace({})
    account.put("other_1").put("other_2", status="expired")
    relay.enlist(account).hup()
    held = wait_told(relay, "big", "account.held")[0].data
    assert held["reason"] == "wrongAccount" and held["connections"] == []
    assert (held["removals"], held["failures"]) == (0, 0)
    account.wait_sealed(3)
    code, _, err = relay.command("holds", "discard", held["hold"])
    assert code == 1 and "wrong account" in err
    assert relay.command("holds", "release", held["hold"])[0] == 0
    told = wait_told(relay, "big", "account.held", "account.released", "account.resynced")
    assert told[2].data["epoch"] > told[1].data["epoch"] and told[2].data["sequence"] == 1
    assert told[2].data["reason"] == "wrongAccount"
    relay.state.wait(lambda records: set(latest(records)) == {"big/other_1", "big/other_2"}, 30,
                     "the new list in the state topic")
    account.set("other_2", status="active")
    wait_told(relay, "big", "connection.repaired")
