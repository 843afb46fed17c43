"""Topics and sinks: filters and their header, at-least-once, the log, what must fit, what is made,
a record that the broker will not take, and safe channels to the broker (F46 to F52)."""
import contextlib
import json

import pytest
from kafka.errors import TopicAlreadyExistsError

import kafka_node
from judge import Judge, latest
from relay import wait_until
from topics import Topic, shared_brokers


def test_a_filtered_topic_gets_what_it_asked_for_and_the_number_before(make_relay, trax):
    a, b = trax.account("a", rows=2), trax.account("b", rows=2)
    relay = make_relay(sinks=[])
    name = relay.name
    relay.config["sinks"] = [
        {"kafka": {"topic": f"{name}.events"}},
        {"kafka": {"topic": f"{name}.alerts",
                   "when": {"types": ["failing", "connection.repaired"]}}},
        {"kafka": {"topic": f"{name}.kick", "when": {"platforms": ["kick"]}}},
        {"kafka": {"topic": f"{name}.b", "when": {"accounts": ["b"], "kinds": ["change"]}}},
        {"kafka": {"topic": f"{name}.accounts", "when": {"types": ["account.*"]}}},
    ]
    relay.enlist(a, b).start()
    for account in (a, b):
        account.wait_sealed()
        account.put("conn_05", "kick")
        account.wait_sealed(2)
        account.set("conn_00", status="expired").set("conn_05", grantedScopes=["z"])
        account.wait_sealed(2)
        account.set("conn_00", status="active")
    all = relay.events.wait(lambda r: r if len(r) == 8 else None, what="eight events")
    del relay.register["b"]
    relay.hup()
    relay.events.wait(lambda r: len(r) == 9, what="account.removed")
    wanted = {
        "alerts": lambda e: e.type in ("connection.failing", "connection.repaired"),
        "kick": lambda e: e.type.startswith("connection.")
        and e.data["connection"]["platform"] == "kick",
        "b": lambda e: e.account == "b",
        "accounts": lambda e: e.type.startswith("account."),
    }
    all = relay.events.records
    for suffix, keep in wanted.items():
        ids = {each.value["id"] for each in all if keep(each)}
        topic = relay.topic(suffix)
        topic.wait(lambda r, ids=ids: len(r) >= len(ids), what=f"{suffix}: {len(ids)}")
        assert {each.value["id"] for each in topic.read_to_end()} == ids, suffix
        Judge(unfiltered=False).read(topic.records, topic.partitions)
        whole = {each.value["id"]: each.raw for each in all}
        assert all_equal(topic.records, whole), "the same event differs between topics"


def all_equal(records, whole):
    return all(each.raw == whole[each.value["id"]] for each in records)


def test_at_least_once_delivers_in_order_and_goes_on_after_a_kill(make_relay, trax):
    account = trax.account("a", rows=2)
    relay = make_relay(kafka={"delivery": "at-least-once"}).enlist(account).start()
    relay.judged = False
    relay.state.wait(lambda r: len(r) == 2)
    for turn in range(6):
        status = "expired" if turn % 2 == 0 else "active"
        account.set("conn_00", status=status)
        relay.state.wait(lambda r, status=status: latest(r)["a/conn_00"]["connection"]["status"]
                         == status, what=status)
        relay.kill()
        relay.start()
    relay.events.wait(lambda r: len({e.value["id"] for e in r}) >= 6, what="six events")
    first = {}
    for each in relay.events.records:
        first.setdefault(each.value["id"], each)
    Judge().read(list(first.values()), relay.events.partitions)
    assert latest(relay.state.read_to_end())["a/conn_00"]["connection"]["status"] == "active"


def test_the_log_sink_has_standard_output_to_itself(make_relay, trax):
    account = trax.account("a", rows=2)
    relay = make_relay(sinks=[])
    relay.config["sinks"] = [{"log": {}}, {"kafka": {"topic": f"{relay.name}.events"}}]
    relay.enlist(account).start()
    account.wait_sealed()
    account.set("conn_00", status="expired").put("new")
    relay.events.wait(lambda r: len(r) == 2)
    wait_until(lambda: relay.stdout.count("\n") == 2, 10, "two lines")
    assert relay.stop() == 0
    lines = relay.stdout.splitlines()
    assert [json.loads(line) for line in lines] == [e.value for e in relay.events.records]
    assert relay.log, "the relay's own log is on standard error"


def test_a_log_sink_alone_needs_no_kafka(make_relay, trax):
    account = trax.account("a", rows=1)
    relay = make_relay(sinks=[{"log": {}}], kafka=None).enlist(account).start()
    account.wait_sealed()
    account.set("conn_00", status="expired")
    wait_until(lambda: relay.stdout.count("\n") == 1, 20, "a line")
    relay.kill()
    relay.start()
    account.set("conn_00", status="active")
    wait_until(lambda: relay.stdout.count("\n") >= 1, 20, "a line")
    assert json.loads(relay.stdout.splitlines()[-1])["data"]["sequence"] == 2


def test_topics_are_made_as_the_contract_says(make_relay, trax, admin):
    account = trax.account("a", rows=1)
    relay = make_relay(kafka={"createTopics": {"partitions": 5}}).enlist(account).start()
    relay.state.wait(lambda r: r)
    account.set("conn_00", status="expired")
    relay.events.wait(lambda r: r)
    assert admin.partitions(f"{relay.name}.events") == 5
    assert admin.settings(f"{relay.name}.events")["cleanup.policy"] == "delete"
    for suffix in ("state", "progress"):
        assert admin.settings(f"{relay.name}.{suffix}")["cleanup.policy"] == "compact"


@pytest.mark.parametrize("suffix,policy", [("events", "compact"), ("state", "delete"),
                                           ("state", "compact,delete"), ("progress", "delete")])
def test_a_topic_that_does_not_fit_is_78(make_relay, trax, admin, suffix, policy):
    account = trax.account("a", rows=1)
    relay = make_relay().enlist(account)
    admin.create(f"{relay.name}.{suffix}", 2, cleanup_policy=policy)
    relay.start(ready=False)
    assert relay.wait_exit(40) == 78
    assert f"{relay.name}.{suffix}" in relay.log and "cleanup.policy" in relay.log
    assert account.sealed == 0 or not relay.events.records


def test_topics_that_may_not_be_made_and_are_missing_are_78(make_relay, trax, admin):
    account = trax.account("a", rows=1)
    relay = make_relay(kafka={"createTopics": False}).enlist(account)
    relay.start(ready=False)
    assert relay.wait_exit(40) == 78
    for suffix in ("events", "state"):
        assert f"{relay.name}.{suffix}" in relay.log


def test_another_number_of_partitions_is_only_noted(make_relay, trax, admin):
    account = trax.account("a", rows=1)
    relay = make_relay().enlist(account)
    admin.create(f"{relay.name}.events", 7)
    relay.start()
    account.wait_sealed()
    account.set("conn_00", status="expired")
    relay.events.wait(lambda r: r)
    assert relay.events.partitions == 7


@pytest.mark.needs_kafka("certificates and passwords")
def test_certificates_and_a_password_by_properties(make_relay, trax, tmp_path):
    cluster = kafka_node.Cluster(tmp_path / "tls", tls=True, sasl=("relay", "pass-canary-7")).up()
    try:
        relay = make_relay(brokers=cluster.bootstrap, kafka={
            "properties": {**cluster.properties, "sasl.password": "env:KAFKA_PASSWORD"}})
        relay.environment["KAFKA_PASSWORD"] = "pass-canary-7"
        relay.secrets.add("pass-canary-7")
        keys = cluster.folder / "tls"
        relay.security = {
            "security_protocol": "SASL_SSL", "ssl_cafile": str(keys / "ca.crt"),
            "ssl_certfile": str(keys / "client.crt"), "ssl_keyfile": str(keys / "client.key"),
            "sasl_mechanism": "PLAIN", "sasl_plain_username": "relay",
            "sasl_plain_password": "pass-canary-7"}
        account = trax.account("a", rows=1)
        relay.enlist(account).start()
        account.wait_sealed()
        account.set("conn_00", status="expired")
        relay.events.wait(lambda r: r)
        code, out, err = relay.command("check", relay.pipeline, pipeline=False)
        assert code == 0, (out, err)
        relay.environment["KAFKA_PASSWORD"] = "wrong-canary"
        code, out, err = relay.command("check", relay.pipeline, pipeline=False)
        assert code in (69, 78) and "Error: " in err
        assert relay.close() == 0
        relay.state.read()
        for topic in relay.topics.values():
            topic.finish()
    finally:
        cluster.down()


def test_a_topic_deleted_under_it_is_written_again_once_it_exists(make_relay, trax, admin):
    account = trax.account("a", rows=1)
    relay = make_relay().enlist(account).start()
    relay.judged = False
    account.wait_sealed()
    account.set("conn_00", status="expired")
    relay.events.wait(lambda r: r)
    relay.events.close()
    admin.delete(f"{relay.name}.events")
    wait_until(lambda: f"{relay.name}.events" not in admin.names(), 20, "the topic to go")
    account.set("conn_00", status="active")
    account.wait_sealed(2)
    assert relay.process.poll() is None
    # The relay, which may make topics, may be first.
    with contextlib.suppress(TopicAlreadyExistsError):
        admin.create(f"{relay.name}.events", 3)
    again = Topic(shared_brokers(), f"{relay.name}.events")
    again.wait(lambda r: any(e.type == "connection.repaired" for e in r), 60, "the next event")
    again.close()
    del relay.topics["events"]
