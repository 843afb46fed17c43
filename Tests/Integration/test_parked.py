"""Records that a topic will not take are parked; their neighbours, their state and the other sinks
go on (F51)."""
import json

from judge import Judge, latest
from relay import wait_until


def small_topic(relay, admin, suffix, limit, **settings):
    """A topic that takes no batch of more than so many bytes."""
    admin.create(f"{relay.name}.{suffix}", 3, max_message_bytes=limit, **settings)


def parked(relay):
    code, out, err = relay.command("parked", "list", "--json")
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()]


def parked_metric(relay, suffix):
    found = relay.metrics()["trax_relay_parked_records"]
    return next(value for labels, value in found.items() if f"{relay.name}.{suffix}\"" in labels)


def test_a_record_too_large_is_parked_and_its_neighbours_flow(make_relay, trax, admin):
    accounts = [trax.account(f"acct_{index}", rows=2) for index in range(8)]
    relay = make_relay(sinks=[])
    name = relay.name
    relay.config["sinks"] = [{"kafka": {"topic": f"{name}.events"}},
                             {"kafka": {"topic": f"{name}.small"}},
                             {"state": {"topic": f"{name}.state"}}]
    small_topic(relay, admin, "small", 6000)
    relay.judged = False
    relay.enlist(*accounts).start()
    for account in accounts:
        account.wait_sealed()
    for account in accounts:
        account.set("conn_00", status="expired")
    a = accounts[3]
    a.put("big", note="x" * 7000)
    relay.events.wait(lambda r: len(r) == 9, what="nine events")
    for account in accounts:
        account.set("conn_00", status="active")
    relay.events.wait(lambda r: len(r) == 17, what="seventeen events")
    small = relay.topic("small")
    small.wait(lambda r: len(r) == 16, 60, "all but one")
    whole = {each.value["id"]: each for each in relay.events.records}
    big = next(each for each in whole.values() if each.value.get("subject") == "big")
    assert {each.value["id"] for each in small.records} == set(whole) - {big.value["id"]}
    Judge().read(relay.events.records, relay.events.partitions)
    for account in accounts:
        order = [each.data["sequence"] for each in small.of(account.name)]
        assert order == sorted(order)
    relay.state.wait(lambda r: "acct_3/big" in latest(r), what="the state of the big row")

    found, = parked(relay)
    assert found["sink"] == f"{name}.small" and found["account"] == "acct_3"
    assert found["event"] == big.value["id"] and found["code"] == "MSG_SIZE_TOO_LARGE"
    assert found["type"] == "connection.linked" and found["bytes"] == len(big.raw)
    code, out, err = relay.command("events", "--parked", "--json")
    assert code == 0 and [json.loads(x)["id"] for x in out.splitlines()] == [big.value["id"]]
    wait_until(lambda: parked_metric(relay, "small") == 1, 5, "the metric")
    assert parked_metric(relay, "events") == 0
    assert relay.http("/readyz")[0] == 200
    assert "record parked" in relay.log

    # Killed and started again: nothing twice, still parked.
    relay.kill()
    relay.start()
    a.set("conn_01", status="expired")
    small.wait(lambda r: len(r) == 17, 30, "the next event")
    assert len(parked(relay)) == 1

    # Refused once more; then the topic takes it.
    code, out, err = relay.command("parked", "retry", big.value["id"])
    assert code == 1 and "refused again" in out, (out, err)
    assert len(parked(relay)) == 1
    admin.alter(f"{name}.small", max_message_bytes=100000)
    code, out, err = relay.command("parked", "retry", "all")
    assert (code, out) == (0, f"{found['record']}: sent\n"), (out, err)
    again = small.wait(lambda r: r[17:], 10, "the parked one")[0]
    assert again.raw == big.raw and again.key == big.key
    assert set(again.headers) - set(big.headers) == {"trax-replay"}
    assert parked(relay) == []
    wait_until(lambda: parked_metric(relay, "small") == 0, 5, "the metric")
    code, out, err = relay.command("parked", "retry", "7")
    assert code == 1 and "there is no parked record 7" in err
    a.set("conn_01", status="active")
    small.wait(lambda r: len(r) == 19, 20, "the next event")
    relay.events.wait(lambda r: len(r) == 19, 20, "the next event")


def test_a_state_record_too_large_is_parked_and_sent_again_as_it_is_by_then(
        make_relay, trax, admin):
    account = trax.account("a", rows=2)
    relay = make_relay()
    small_topic(relay, admin, "state", 3000, cleanup_policy="compact")
    relay.enlist(account).start()
    account.wait_sealed()
    account.put("big", note="x" * 4000)
    account.wait_sealed(1)
    account.set("conn_00", status="expired")
    relay.events.wait(lambda r: len(r) == 2, what="two events")
    relay.state.wait(lambda r: latest(r).get("a/conn_00", {}).get("standing") == "failing", 30,
                     "the neighbour's state")
    found, = wait_until(lambda: parked(relay), 20, "a parked record")
    assert (found["key"], found["event"]) == ("a/big", None)
    account.set("big", status="expired")
    relay.events.wait(lambda r: len(r) == 3, what="three events")
    wait_until(lambda: parked(relay) and parked(relay)[0]["position"] != found["position"], 20,
               "the newer record in its place")
    assert len(parked(relay)) == 1
    assert relay.stop() == 0
    code, out, err = relay.command("parked", "retry", "all")
    assert code == 0 and "no relay runs" in out
    admin.alter(f"{relay.name}.state", max_message_bytes=100000)
    relay.start()
    relay.state.wait(lambda r: latest(r).get("a/big", {}).get("standing") == "failing", 30,
                     "the state of the big row")
    wait_until(lambda: parked(relay) == [], 10, "nothing parked")


def test_a_filling_parks_what_the_topic_refuses_and_dropping_is_for_good(make_relay, trax, admin):
    account = trax.account("a", rows=3)
    relay = make_relay(sinks=[])
    relay.config["sinks"] = [{"kafka": {"topic": f"{relay.name}.events"}}]
    relay.enlist(account).start()
    account.put("big", note="x" * 4000)
    relay.events.wait(lambda r: len(r) == 1, what="an event")
    assert relay.stop() == 0
    small_topic(relay, admin, "state", 3000, cleanup_policy="compact")
    relay.config["sinks"].append({"state": {"topic": f"{relay.name}.state"}})
    relay.start()
    relay.state.wait(lambda r: len(latest(r)) == 3, 30, "all rows but the big one")
    found, = wait_until(lambda: parked(relay), 20, "a parked record")
    assert found["key"] == "a/big"
    code, out, err = relay.command("parked", "drop", found["record"])
    assert (code, out) == (0, f"{found['record']}: dropped\n"), err
    assert parked(relay) == []
    account.set("conn_00", status="expired")
    relay.state.wait(lambda r: latest(r)["a/conn_00"]["standing"] == "failing", 20, "it goes on")
