"""A transaction that its broker ended in some partitions and forgot in others.

Seen with Kafka 4.4.0, a single node killed while it was writing the ends of a transaction: once up
again it skips the partitions whose leader it does not know yet, and calls the rest done. What was
committed must not come again, what was not must come still, and readers must not wait for ever.

Here another producer of the relay's name writes what the relay was about to publish, and tells the
broker of some of the partitions only; a broker that does not verify them takes that."""
import contextlib
import json
import sqlite3

import pytest
from kafka import KafkaProducer, TopicPartition

import kafka_node
from judge import latest
from relay import wait_until
from test_broker import is_held_back
from topics import Topic, partition_of

pytestmark = pytest.mark.needs_kafka("transactions are torn")

PARTITIONS = 3


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = kafka_node.Cluster(
        tmp_path_factory.mktemp("kafka"),
        settings={"transaction.partition.verification.enable": "false"}).up()
    yield cluster
    cluster.down()


def entries(relay, after=0):
    """(position, account, event's body, its id, state key, state value) of the journal."""
    with contextlib.closing(sqlite3.connect(relay.folder / "relay.db")) as journal:
        return journal.execute(
            "SELECT position, account, body, event_id, state_key, state_value FROM entries"
            " WHERE position > ? ORDER BY position", (after,)).fetchall()


def publish_torn(relay, cluster, entries, forgotten):
    """Writes what the relay would, in one transaction whose end some partitions do not get."""
    progress = Topic(cluster.bootstrap, f"{relay.name}.progress").read_to_end()[-1]
    last = {**json.loads(progress.raw), "position": entries[-1][0], "eventID": entries[-1][3]}
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap, transactional_id=relay.name)
    producer.init_transactions()
    producer.begin_transaction()
    known = producer._transaction_manager._partitions_in_transaction

    def send(topic, key, value, headers=()):
        partition = partition_of(key.encode(), PARTITIONS) if topic != "progress" else 0
        place = TopicPartition(f"{relay.name}.{topic}", partition)
        if (topic, partition) in forgotten:
            known.add(place)
        producer.send(place.topic, value, key.encode(), partition=partition,
                      headers=list(headers)).get(20)

    for _, account, body, _, key, value in entries:
        if body:
            send("events", account, body, [("content-type", b"application/cloudevents+json")])
        send("state", key, value)
    for sink in ("events", "state"):
        send("progress", f"{relay.name}.{sink}", json.dumps(last).encode())
    producer.commit_transaction()
    producer.close()


ALL = {(topic, each) for topic in ("events", "state") for each in range(PARTITIONS)}

TORN = {
    "the progress and some events": {("progress", 0), ("events", 0), ("events", 2)},
    "the progress alone": {("progress", 0)},
    "some events alone": {("events", 1), ("events", 2)},
    "some events and states": {("events", 0), ("state", 0), ("state", 1)},
    "states alone": {("state", 2)},
    "everything but states": {("progress", 0)} | {each for each in ALL if each[0] == "events"},
    "everything but events": {("progress", 0)} | {each for each in ALL if each[0] == "state"},
    "everything but the progress": ALL,
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("forgotten", TORN.values(), ids=TORN.keys())
def test_what_a_broker_forgot_to_commit_comes_still_and_the_rest_not_twice(
        make_relay, trax, cluster, forgotten):
    relay = make_relay(brokers=cluster.bootstrap)
    accounts = [trax.account(f"a{index:02}", rows=2) for index in range(12)]
    relay.enlist(*accounts).start()
    for account in accounts:
        account.wait_sealed(1)
    for account in accounts:
        account.set("conn_00", status="expired")
    relay.events.wait(lambda records: len(records) == 12)
    assert relay.stop() == 0
    before = entries(relay)[-1][0]
    # With the broker out of reach it decides what it would publish next.
    relay.config["kafka"]["brokers"] = "127.0.0.1:9"
    relay.start(ready=False)
    for account in accounts:
        account.set("conn_01", status="revoked")
    wait_until(lambda: len(entries(relay, before)) == 12, 20, "the first change of each")
    for account in accounts:
        account.remove("conn_00")
    wait_until(lambda: len(entries(relay, before)) == 24, 20, "the second change of each")
    relay.kill()
    decided = entries(relay, before)
    # It is to be one that had heard its broker, and died while that committed what it published.
    with contextlib.closing(sqlite3.connect(relay.folder / "relay.db")) as journal, journal:
        journal.execute("DELETE FROM unheard")
    assert {partition_of(each[1].encode(), PARTITIONS) for each in decided} == {0, 1, 2}
    publish_torn(relay, cluster, decided, forgotten)
    topics = {f"{relay.name}.{topic}" for topic, _ in forgotten}
    assert {each for each in topics if is_held_back(cluster, each)} == topics, "it is not torn"
    relay.config["kafka"]["brokers"] = cluster.bootstrap
    relay.start()
    accounts[0].set("conn_01", status="active")
    told = relay.events.wait(lambda r: r if len(r) >= 37 else None, 60, "all that was decided")
    assert len({each.value["id"] for each in told}) == len(told) == 37
    states = relay.state.wait(
        lambda r: r if latest(r).get("a00/conn_01", {}).get("standing") == "healthy" else None,
        30, "the last state")
    assert set(latest(states)) == {f"{each.name}/conn_01" for each in accounts}
    assert not any(is_held_back(cluster, each) for each in topics)
    # Nor does the next start see any of it again.
    assert relay.stop() == 0
    relay.start()
    accounts[1].set("conn_01", status="active")
    told = relay.events.wait(lambda r: r if len(r) >= 38 else None, 60, "the next event")
    assert len(told) == 38
