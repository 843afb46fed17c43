"""`kill -9` of the relay and of one broker of three at random instants under constant change: who
reads committed records sees each event once, in order, without a gap; and the end is the truth
(F18 to F20, F26, F47)."""
import pathlib
import random
import time

import pytest

import kafka_node
from chaos import Chaos, crowd, until_true, verify

pytestmark = pytest.mark.needs_kafka("brokers and relays are killed inside transactions")


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    cluster = kafka_node.Cluster(tmp_path_factory.mktemp("three"), nodes=3).up()
    yield cluster
    cluster.down()


@pytest.mark.long
@pytest.mark.timeout(240)
def test_the_relay_killed_at_random_instants(make_relay, trax):
    relay = make_relay()
    accounts = crowd(relay, trax)
    chaos = Chaos(trax, accounts)
    relay.start()
    until_true(relay, accounts)
    chaos.start()
    chance = random.Random(chaos.seed)
    for _ in range(40):
        relay.kill()
        relay.start(ready=False)
        time.sleep(chance.uniform(0.05, 2.0))
    chaos.stop()
    until_true(relay, accounts)
    verify(relay, chaos, at_least=300)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_three_nodes_one_of_them_killed_again_and_again(make_relay, trax, three):
    relay = make_relay(brokers=three.bootstrap, kafka={"createTopics": {
        "partitions": 3, "replicationFactor": -1}})
    accounts = crowd(relay, trax, 10)
    chaos = Chaos(trax, accounts, every=0.05)
    relay.start()
    until_true(relay, accounts)
    chaos.start()
    chance = random.Random(chaos.seed)
    for _ in range(5):
        node = chance.choice(three.ids)
        three.kill(node)
        time.sleep(chance.uniform(0.2, 2.5))
        if chance.random() < 0.5:
            relay.kill()
            relay.start(ready=False)
        three.start(node)
        time.sleep(chance.uniform(0.5, 1.5))
    chaos.stop()
    until_true(relay, accounts, within=90)
    verify(relay, chaos, at_least=150)


@pytest.fixture
def newer_library(tmp_path):
    """The librdkafka inside a PyPI wheel, under the name that the relay loads."""
    confluent_kafka = pytest.importorskip("confluent_kafka")
    libs = pathlib.Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
    folder = tmp_path / "librdkafka"
    folder.mkdir()
    (folder / "librdkafka.so.1").symlink_to(next(libs.glob("librdkafka*.so*")))
    return folder, confluent_kafka.libversion()[0]


@pytest.mark.timeout(180)
def test_a_newer_librdkafka_carries_the_same(make_relay, trax, newer_library):
    folder, version = newer_library
    relay = make_relay()
    relay.environment["LD_LIBRARY_PATH"] = str(folder)
    accounts = crowd(relay, trax, 6)
    chaos = Chaos(trax, accounts)
    relay.start()
    code, out, err = relay.command("check", relay.pipeline, pipeline=False)
    assert f"librdkafka {version}" in out + err, (out, err)
    until_true(relay, accounts)
    chaos.start()
    chance = random.Random(chaos.seed)
    for _ in range(8):
        relay.kill()
        relay.start(ready=False)
        time.sleep(chance.uniform(0.05, 1.5))
    chaos.stop()
    until_true(relay, accounts)
    verify(relay, chaos, at_least=50)
