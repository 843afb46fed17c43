"""The only broker killed, paused and away, at random instants and for long: polling and journaling
go on, delivery resumes by itself, exactly once and in order (F46, F48, F52)."""
import random
import signal
import time

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

import kafka_node
from chaos import Chaos, crowd, until_true, verify
from relay import wait_until

pytestmark = pytest.mark.needs_kafka("brokers are killed inside transactions")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = kafka_node.Cluster(tmp_path_factory.mktemp("kafka")).up()
    yield cluster
    cluster.down()


@pytest.mark.long
@pytest.mark.timeout(240)
def test_the_broker_killed_at_random_instants(make_relay, trax, cluster):
    relay = make_relay(brokers=cluster.bootstrap)
    accounts = crowd(relay, trax, 10)
    chaos = Chaos(trax, accounts, every=0.05)
    relay.start()
    until_true(relay, accounts)
    chaos.start()
    chance = random.Random(chaos.seed)
    for _ in range(4):
        time.sleep(chance.uniform(0.3, 2.5))
        cluster.kill()
        time.sleep(chance.uniform(0.0, 1.5))
        cluster.start()
    chaos.stop()
    until_true(relay, accounts, within=90)
    verify(relay, chaos, at_least=100)


@pytest.mark.long
@pytest.mark.timeout(240)
def test_relay_and_broker_killed_together(make_relay, trax, cluster):
    relay = make_relay(brokers=cluster.bootstrap)
    accounts = crowd(relay, trax, 10)
    chaos = Chaos(trax, accounts, every=0.05)
    relay.start()
    until_true(relay, accounts)
    chaos.start()
    chance = random.Random(chaos.seed)
    for turn in range(4):
        time.sleep(chance.uniform(0.3, 2.0))
        cluster.kill()
        relay.kill()
        if turn % 2:
            relay.start(ready=False)
            time.sleep(chance.uniform(0.1, 1.0))
            cluster.start()
        else:
            cluster.start()
            relay.start(ready=False)
    chaos.stop()
    until_true(relay, accounts, within=90)
    verify(relay, chaos, at_least=80)


def is_held_back(cluster, topic):
    """Whether a transaction is open somewhere in a topic."""
    ends = []
    for level in ("read_uncommitted", "read_committed"):
        consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap, isolation_level=level)
        places = [TopicPartition(topic, each) for each in consumer.partitions_for_topic(topic)]
        ends.append(consumer.end_offsets(places))
        consumer.close()
    return ends[0] != ends[1]


@pytest.mark.long
@pytest.mark.timeout(180)
def test_what_a_broker_forgot_to_abort_is_never_seen(make_relay, trax, cluster):
    """Kafka 4.4.0, killed with a transaction open that times out just as it starts again, often
    calls it ended and does not mark the partitions: readers wait, and the next commit of the same
    producer would commit what had been aborted."""
    relay = make_relay(brokers=cluster.bootstrap)
    account = trax.account("a", rows=2)
    relay.enlist(account).start()
    account.wait_sealed()
    account.set("conn_00", status="expired")
    relay.events.wait(lambda r: r)
    assert relay.stop() == 0
    topics = [f"{relay.name}.{each}" for each in ("events", "state", "progress")]
    for _ in range(4):
        stranger = KafkaProducer(bootstrap_servers=cluster.bootstrap,
                                 transactional_id=relay.name, transaction_timeout_ms=2000)
        stranger.init_transactions()
        stranger.begin_transaction()
        for topic in topics:
            stranger.send(topic, key=b"a", value=b"never committed").get(10)
        cluster.kill()
        stranger.close(timeout=0)
        time.sleep(2.5)
        cluster.start()
        time.sleep(4)
        if any(is_held_back(cluster, each) for each in topics):
            break
    relay.start()
    account.set("conn_00", status="active")
    told = relay.events.wait(lambda r: r if len(r) == 2 else None, 60, "the next event")
    assert [each.type for each in told] == ["connection.failing", "connection.repaired"]
    account.set("conn_01", status="expired")
    relay.events.wait(lambda r: len(r) == 3, 60, "another event")
    assert not any(is_held_back(cluster, each) for each in topics)


@pytest.mark.long
@pytest.mark.timeout(180)
def test_a_broker_asleep_past_the_transaction_timeout(make_relay, trax, cluster):
    relay = make_relay(brokers=cluster.bootstrap)
    accounts = crowd(relay, trax, 6)
    chaos = Chaos(trax, accounts, every=0.05)
    relay.start()
    until_true(relay, accounts)
    chaos.start()
    time.sleep(1)
    cluster.pause()
    time.sleep(20)
    cluster.resume()
    chaos.stop()
    until_true(relay, accounts, within=90)
    assert relay.process.poll() is None, relay.log[-2000:]
    verify(relay, chaos, at_least=50)


@pytest.mark.long
@pytest.mark.timeout(180)
def test_the_relay_asleep_past_the_transaction_timeout(make_relay, trax, cluster):
    relay = make_relay(brokers=cluster.bootstrap)
    accounts = crowd(relay, trax, 6)
    chaos = Chaos(trax, accounts, every=0.05)
    relay.start()
    until_true(relay, accounts)
    chaos.start()
    time.sleep(1)
    relay.signal(signal.SIGSTOP)
    time.sleep(18)
    relay.signal(signal.SIGCONT)
    chaos.stop()
    until_true(relay, accounts, within=90)
    assert relay.process.poll() is None, relay.log[-2000:]
    verify(relay, chaos, at_least=40)


@pytest.mark.timeout(150)
def test_a_broker_away_for_long_stops_only_the_delivery(make_relay, trax, cluster):
    relay = make_relay(brokers=cluster.bootstrap)
    account = trax.account("a", rows=3)
    relay.enlist(account).start()
    account.wait_sealed()
    relay.state.wait(lambda records: len(records) == 3)
    cluster.stop()
    for status in ("expired", "active", "revoked", "active", "error"):
        account.set("conn_00", status=status)
        account.wait_sealed(1)
    # Thirty seconds out of reach, and readiness says so; the journal takes all.
    wait_until(lambda: relay.http("/readyz")[0] == 503, 60, "readiness to fall")
    assert relay.http("/healthz")[0] == 200
    code, out, err = relay.command("events", "--json")
    assert code == 0 and len(out.splitlines()) == 5, (out, err)
    cluster.start()
    told = relay.events.wait(lambda r: r if len(r) == 5 else None, 60, "five events")
    assert [each.type.removeprefix("connection.") for each in told] == [
        "failing", "repaired", "failing", "repaired", "failing"]
    wait_until(lambda: relay.http("/readyz")[0] == 200, 30, "readiness to rise")


@pytest.mark.timeout(150)
def test_a_relay_that_starts_while_the_broker_is_away_waits_for_it(make_relay, trax, cluster):
    relay = make_relay(brokers=cluster.bootstrap)
    account = trax.account("a", rows=2)
    relay.enlist(account).start()
    relay.state.wait(lambda records: len(records) == 2)
    assert relay.stop() == 0
    account.set("conn_00", status="expired")
    cluster.stop()
    relay.start(ready=False)
    account.wait_sealed(2)
    cluster.start()
    told = relay.events.wait(lambda r: r, 60, "an event")
    assert [each.type for each in told] == ["connection.failing"]


@pytest.mark.timeout(120)
def test_a_term_while_the_broker_is_away_keeps_the_rest_in_the_journal(make_relay, trax, cluster):
    relay = make_relay(brokers=cluster.bootstrap)
    account = trax.account("a", rows=2)
    relay.enlist(account).start()
    relay.state.wait(lambda records: len(records) == 2)
    cluster.pause()
    try:
        account.set("conn_00", status="expired")
        account.wait_sealed(2)
        begun = time.monotonic()
        assert relay.stop(within=20) == 0
        assert time.monotonic() - begun < 16, "ten seconds to deliver, then the end"
        # A second signal ends it at once.
        relay.start(ready=False)
        account.wait_sealed(2)
        relay.signal(15)
        time.sleep(0.3)
        relay.signal(15)
        assert relay.wait_exit(5) in (143, -15)
    finally:
        cluster.resume()
    relay.start()
    told = relay.events.wait(lambda r: r, 40, "the event")
    assert [each.type for each in told] == ["connection.failing"]
