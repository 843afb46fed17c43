"""SCRAM on Kafka 4: a librdkafka that repeats its nonce is told with the remedy; a newer one logs
in."""
import pathlib

import pytest

import kafka_node
from relay import wait_until

pytestmark = pytest.mark.needs_kafka("SCRAM")


@pytest.fixture(scope="module")
def scram(tmp_path_factory):
    cluster = kafka_node.Cluster(tmp_path_factory.mktemp("scram"), sasl=("relay", "scram-pw-1"),
                                 mechanism="SCRAM-SHA-256").up()
    yield cluster
    cluster.down()


@pytest.fixture
def make_scram(make_relay, scram):
    def make(password="scram-pw-1"):
        relay = make_relay(brokers=scram.bootstrap, kafka={"properties": {
            **scram.properties, "sasl.password": "env:RELAY_PW"}})
        relay.environment["RELAY_PW"] = password
        relay.secrets.add(password)
        relay.security = scram.client()
        return relay
    return make


def libraries():
    """The librdkafka of the system, and the one inside a PyPI wheel: (folder or None, version)."""
    confluent_kafka = pytest.importorskip("confluent_kafka")
    libs = pathlib.Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
    return next(libs.glob("librdkafka*.so*")), confluent_kafka.libversion()[0]


def version_in(text):
    return tuple(map(int, text.split("librdkafka ")[1].split(")")[0].split(".")[:3]))


def test_a_library_too_old_for_scram_is_told_with_the_remedy(make_scram, trax):
    account = trax.account("a", rows=1)
    relay = make_scram().enlist(account).write()
    code, out, err = relay.command("check", relay.pipeline, pipeline=False)
    if version_in(out + err) >= (2, 6, 1):
        pytest.skip("the librdkafka here can use SCRAM")
    told = " ".join(err.split())
    assert code == 69, (out, err)
    assert "cannot use SCRAM with Kafka 4" in told
    assert "put librdkafka 2.6.1 or newer in front of it with LD_LIBRARY_PATH" in told
    relay.start(ready=False)
    wait_until(lambda: "cannot use SCRAM with Kafka 4" in relay.log, 60, "the reason in the log")
    assert relay.process.poll() is None, "it waits for somebody to mend it"
    status, text = relay.http("/readyz")
    assert status == 503, text


def test_a_newer_library_logs_in_and_a_wrong_password_is_told_as_such(
        make_scram, trax, tmp_path):
    library, version = libraries()
    folder = tmp_path / "librdkafka"
    folder.mkdir()
    (folder / "librdkafka.so.1").symlink_to(library)
    account = trax.account("a", rows=1)
    relay = make_scram()
    relay.environment["LD_LIBRARY_PATH"] = str(folder)
    relay.enlist(account).start()
    account.wait_sealed()
    account.set("conn_00", status="expired")
    relay.events.wait(lambda r: len(r) == 1, 30, "an event")
    code, out, err = relay.command("check", relay.pipeline, pipeline=False)
    assert code == 0 and f"librdkafka {version}" in out, (out, err)
    relay.environment["RELAY_PW"] = "wrong-pw-2"
    code, out, err = relay.command("check", relay.pipeline, pipeline=False)
    assert code == 69 and "Check the sasl.* and ssl.* entries" in " ".join(err.split()), err
    assert "SCRAM with Kafka 4" not in err
