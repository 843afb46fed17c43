"""The instruments of these tests, tested without the relay: an instrument that cannot fail proves
nothing."""
import copy
import http.client
import json
import time
import urllib.parse

import pytest

import faults
import kafka_node
from fake_trax import FakeTrax
from judge import Judge, duration, expected_state, judge_state, latest
from kafka import KafkaProducer
from relay import Relay, parse_metrics, to_yaml
from topics import Record, Topic, murmur2, partition_of, produce, shared_brokers


@pytest.fixture
def api():
    server = FakeTrax(page_size=2)
    yield server
    server.close()


def ask(api, key, cursor=None, limit=200):
    query = {"limit": limit} | ({"cursor": cursor} if cursor else {})
    connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=2)
    try:
        connection.request("GET", "/v1/connections?" + urllib.parse.urlencode(query),
                           headers={"Authorization": f"Bearer {key}", "X-Request-Id": "req_1"})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def walk(api, key):
    ids, cursor = [], None
    while True:
        page = json.loads(ask(api, key, cursor)[2])
        ids += [row["id"] for row in page["data"]]
        if "nextCursor" not in page:
            return ids
        cursor = page["nextCursor"]


def test_the_api_pages_in_the_order_of_ids_and_counts_whole_walks(api):
    account = api.account("a", rows=5)
    assert walk(api, account.key) == [f"conn_{n:02}" for n in range(5)]
    assert account.sealed == 1
    account.plan(faults.answer(500), times=1, page=1)
    with pytest.raises(ValueError):
        walk(api, account.key)
    assert account.sealed == 1 and account.met("status 500") == 1
    assert walk(api, account.key)
    assert account.sealed == 2


@pytest.mark.parametrize("fault", [None, faults.chunked(), faults.drip(0), faults.answer(500)])
def test_who_has_an_answer_is_no_longer_asking(api, fault):
    """With books that close after the answer has left, this fails within a few hundred turns."""
    account = api.account("a", rows=1)
    if fault:
        account.plan(fault)
    for _ in range(300):
        ask(api, account.key)
    assert account.most_in_flight == 1
    assert account.sealed == (0 if fault else 300)
    assert all(request.done for request in account.requests)


def test_the_api_knows_keys_envelopes_and_request_ids(api):
    status, headers, body = ask(api, "sk_live_nobody")
    assert status == 401 and headers["X-Request-Id"] == "req_1"
    error = json.loads(body)["error"]
    assert error["code"] == "invalid_key" and error["requestId"] == "req_1"
    account = api.account("a", rows=1)
    assert ask(api, account.key)[0] == 200
    assert ask(api, account.key, cursor="!!")[0] == 400
    assert ask(api, account.key, limit=0)[0] == 400
    old = account.key
    account.rekey()
    assert ask(api, old)[0] == 401 and old in api.all_keys()


@pytest.mark.parametrize("fault,status", [
    (faults.answer(503), 503), (faults.refused(), 401), (faults.bare(403), 403),
    (faults.html(), 200), (faults.throttled("3"), 429), (faults.redirect("http://x/"), 302),
    (faults.answer(404), 404), (faults.answer(204), 204), (faults.chunked(), 200),
    (faults.slow(0.05), 200), (faults.cycling(), 200), (faults.endless(), 200)])
def test_a_fault_with_an_answer_gives_it(api, fault, status):
    account = api.account("a", rows=1).plan(fault)
    assert ask(api, account.key)[0] == status
    assert account.met() == 1 and account.sealed == 0


@pytest.mark.parametrize("fault", [
    faults.short_body(), faults.cut_body(), faults.cut_chunk(), faults.cut_chunk(True),
    faults.reset(), faults.reset_in_body(), faults.silent_close(), faults.garbage(),
    faults.slow(5)], ids=lambda fault: fault.__name__)
def test_a_fault_of_the_wire_breaks_the_answer(api, fault):
    account = api.account("a", rows=1).plan(fault)
    with pytest.raises((OSError, http.client.HTTPException)):
        ask(api, account.key)
    api.wait(lambda: account.requests[0].done, 5)


def test_a_drip_is_slow_and_whole(api):
    account = api.account("a", rows=1).plan(faults.drip(0.001))
    assert json.loads(ask(api, account.key)[2])["data"][0]["id"] == "conn_00"
    api.wait(lambda: account.requests[0].done, 5)
    assert account.requests[0].done - account.requests[0].at > 0.1


def test_murmur2_is_the_one_of_kafka():
    # From Kafka's own UtilsTest.
    known = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536,
             b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971}
    for key, value in known.items():
        assert murmur2(key) == value & 0xFFFFFFFF


def test_a_topic_is_read_committed_and_complete(admin):
    name = f"instruments.{time.monotonic_ns()}"
    admin.create(name, 3, cleanup_policy="compact")
    assert admin.partitions(name) == 3 and admin.settings(name)["cleanup.policy"] == "compact"
    produce(shared_brokers(), name, [("a/1", "{}"), ("a/1", None), ("b/1", '{"x": 1}')])
    producer = KafkaProducer(bootstrap_servers=shared_brokers().split(","),
                             transactional_id=name)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(name, key=b"hidden", value=b"{}").get(10)
    producer.abort_transaction()
    producer.begin_transaction()
    producer.send(name, key=b"shown", value=b"{}").get(10)
    producer.commit_transaction()
    producer.close()
    topic = Topic(shared_brokers(), name)
    topic.read_to_end()
    assert sorted(each.key for each in topic.records) == ["a/1", "a/1", "b/1", "shown"]
    assert all(each.partition == partition_of(each.key.encode(), 3) for each in topic.records)
    assert latest(topic.records) == {"b/1": {"x": 1}, "shown": {}}
    topic.close()
    dirty = Topic(shared_brokers(), name, isolation="read_uncommitted")
    assert "hidden" in [each.key for each in dirty.read_to_end()]
    dirty.close()


@pytest.mark.needs_kafka("a broker is killed")
def test_a_cluster_is_killed_and_comes_back_with_its_files(tmp_path):
    cluster = kafka_node.Cluster(tmp_path / "k").up()
    try:
        produce_topic(cluster)
        cluster.kill()
        cluster.start()
        topic = Topic(cluster.bootstrap, "kept")
        topic.wait(lambda records: len(records) == 1)
        topic.close()
    finally:
        cluster.down()


def produce_topic(cluster):
    from topics import Admin
    admin = Admin(cluster.bootstrap)
    admin.create("kept", 1, flush_messages=1)
    admin.close()
    produce(cluster.bootstrap, "kept", [("k", "{}")])


def test_the_metrics_parser_reads_and_refuses():
    good = "# HELP a_total what\n# TYPE a_total counter\na_total{x=\"1\"} 2\na_total 3\n"
    assert parse_metrics(good) == {"a_total": {'{x="1"}': 2.0, "": 3.0}}
    for bad in ("a_total 1\n", good + "a_total 3\n", good + "# TYPE a_total counter\n",
                "# TYPE b widget\nb 1\n"):
        with pytest.raises(AssertionError):
            parse_metrics(bad)


def test_yaml_is_written_as_a_person_would():
    assert to_yaml({"a": {"b": 1, "c": [{"log": {}}, "x"]}, "d": []}) == \
        'a:\n  b: 1\n  c:\n    - { log: {  } }\n    - "x"\nd: []\n'


def test_a_secret_is_found_wherever_it_lies(tmp_path, api):
    account = api.account("a")
    relay = Relay(tmp_path, api, brokers="nowhere:1")
    relay.enlist(account).write()
    assert relay.find_secrets() == []
    (tmp_path / "relay.db-wal").write_bytes(b"\0\1" + account.key.encode() + b"\0")
    relay.pages.append(f"/metrics key={account.key}")
    assert len(relay.find_secrets()) == 2


GOOD = {
    "specversion": "1.0", "id": "b1946ac92492d2347c6235b4d2611184", "source": "/accounts/acct_7",
    "type": "live.traxstreaming.connection.failing", "subject": "conn_42",
    "time": "2026-11-30T12:00:00.123Z", "datacontenttype": "application/json",
    "dataschema": "https://traxstreaming.live/schemas/connection-event/1",
    "partitionkey": "acct_7", "sequence": "1796040000123-000000000001",
    "data": {
        "account": "acct_7", "kind": "change", "lane": "raw", "epoch": 1796040000123,
        "sequence": 1,
        "connection": {"id": "conn_42", "platform": "youtube", "status": "expired",
                       "health": "failing", "grantedScopes": ["a", "b"]},
        "previous": {"id": "conn_42", "platform": "youtube", "status": "active",
                     "health": "healthy", "grantedScopes": ["a", "b"]},
        "changed": ["status"],
        "changedBetween": {"after": "2026-11-30T11:59:30.000Z",
                           "before": "2026-11-30T12:00:00.123Z"},
        "decidedAt": "2026-11-30T12:00:00.131Z", "walk": "w_01J", "statusRecognised": True,
        "userActionable": True}}


def as_record(event, key=None, headers=None):
    key = key or event["partitionkey"]
    return Record("t", partition_of(key.encode(), 3), 0, 0, key, json.dumps(event).encode(),
                  headers or {"content-type": "application/cloudevents+json"})


def test_the_judge_takes_the_example_of_the_contract():
    Judge().read([as_record(GOOD)], 3)


@pytest.mark.parametrize("path,value", [
    ("id", "xyz"), ("source", "acct_7"), ("type", "live.traxstreaming.connection.linked"),
    ("subject", "conn_43"), ("time", "2026-11-30T12:00:00Z"), ("extra", 1),
    ("partitionkey", "acct_8"), ("sequence", "1796040000123-1"), ("data.kind", "news"),
    ("data.lane", "settled"), ("data.sequence", 2), ("data.changed", []),
    ("data.connection.health", "healthy"), ("data.connection.grantedScopes", ["b", "a"]),
    ("data.connection.status", "active"), ("data.changedBetween.after", None),
    ("data.changedBetween.after", "2026-11-30T12:00:01.000Z"), ("data.walk", None),
    ("data.statusRecognised", False), ("data.userActionable", False),
    ("data.failedFor", "PT1S"), ("data.scopes", {"added": [], "removed": []}),
    ("data.previous.id", "conn_1"), ("data.colour", "red"), ("data.decidedAt", "yesterday")])
def test_the_judge_refuses_what_differs_from_it(path, value):
    event = copy.deepcopy(GOOD)
    *folders, last = path.split(".")
    place = event
    for each in folders:
        place = place[each]
    place[last] = value
    with pytest.raises((AssertionError, KeyError, TypeError)):
        Judge().read([as_record(event, key="acct_7")], 3)


def test_the_judge_refuses_a_double_a_gap_a_stray_header_and_a_wrong_previous():
    with pytest.raises(AssertionError):
        Judge().read([as_record(GOOD), as_record(GOOD)], 3)
    with pytest.raises(AssertionError):
        Judge().read([as_record(GOOD, headers={"content-type": "application/json"})], 3)
    later = copy.deepcopy(GOOD)
    later["id"] = "0" * 32
    later["data"]["sequence"], later["sequence"] = 2, "1796040000123-000000000002"
    with pytest.raises(AssertionError, match="previous"):
        Judge().read([as_record(GOOD), as_record(later)], 3)


def test_the_judge_of_states_refuses_a_foreign_key_and_a_step_back():
    value = {"account": "a", "epoch": 2, "sequence": 3, "connection": {"id": "c/1"},
             "standing": None, "observedAt": "2026-11-30T12:00:00.123Z", "since": None}
    good = as_record({**value, "partitionkey": "a/c/1"})
    good.raw = json.dumps(value).encode()
    judge_state([good], 3)
    old = copy.copy(good)
    old.raw = json.dumps({**value, "sequence": 2}).encode()
    with pytest.raises(AssertionError):
        judge_state([good, old], 3)
    wrong = copy.copy(good)
    wrong.raw = json.dumps({**value, "account": "b"}).encode()
    with pytest.raises(AssertionError):
        judge_state([wrong], 3)


def test_durations_and_truth_are_read_as_the_contract_writes_them(api):
    assert duration("PT1M0.250S").total_seconds() == 60.25
    assert duration("P1DT2H").total_seconds() == 93600
    with pytest.raises(AssertionError):
        duration("PT")
    account = api.account("a").put(7, scopes=("b", "a", "a"), status=None)
    assert expected_state(account)["a/7"] == {
        "id": "7", "platform": "youtube", "status": None, "health": "unrecognised",
        "grantedScopes": ["a", "b"]}
