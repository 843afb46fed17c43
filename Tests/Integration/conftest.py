"""Fixtures: one broker for all tests that leave it whole, an API and relays for each test, and the
judgement that no test can forget: no secret anywhere, every event by the contract, exit code 0."""
import atexit
import contextlib
import os
import pathlib
import re
import signal
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
pytest.register_assert_rewrite("chaos", "judge", "relay", "stage", "topics")

import kafka_node  # noqa: E402
from fake_trax import FakeTrax, Trap  # noqa: E402
from judge import Judge, judge_state  # noqa: E402
from relay import Relay, binary  # noqa: E402
from stage import Stage  # noqa: E402
from topics import Admin, shared_brokers  # noqa: E402


def pytest_configure(config):
    """The broker for all: the one of KAFKA_TEST_BROKERS, else one that lives as long as the run."""
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    if not os.environ.get("KAFKA_TEST_BROKERS"):
        folder = tempfile.mkdtemp(prefix="trax-relay-kafka-")
        cluster = kafka_node.Cluster(folder).up()
        atexit.register(cluster.down)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        os.environ["KAFKA_TEST_BROKERS"] = cluster.bootstrap


def pytest_collection_modifyitems(items):
    """The longest files first, for they bound the time; out with what a stand-in cannot carry."""
    long = ["test_broker.py", "test_crashes.py", "test_faults.py", "test_restart.py"]
    items.sort(key=lambda item: long.index(item.path.name) if item.path.name in long else 99)
    if kafka_node.is_apache():
        return
    for item in items:
        for mark in item.iter_markers("needs_kafka"):
            why = mark.args[0] if mark.args else "it"
            item.add_marker(pytest.mark.skip(reason=f"needs Apache Kafka: {why}"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """With a failure comes what the relays of the test logged last."""
    report = yield
    if report.failed:
        for relay in relays_of(item):
            with contextlib.suppress(OSError, AttributeError):
                report.sections.append((f"log of {relay.name}", relay.log[-6000:]))
    return report


def relays_of(item):
    """The relays that a test made or shares with its file."""
    for value in getattr(item, "funcargs", {}).values():
        if isinstance(value, Relay):
            yield value
        elif isinstance(value, Stage):
            yield value.relay
        yield from getattr(value, "made", [])


@pytest.fixture(scope="session")
def program():
    """The path of the binary; a test that wants one fails where there is none."""
    path = binary()
    assert os.access(path, os.X_OK), f"no program at {path}: swift build, or set TRAX_RELAY_BIN"
    return path


@pytest.fixture
def trax():
    server = FakeTrax()
    yield server
    server.close()
    check_api(server)


def check_api(server):
    """What must hold for every request that an API of ours was asked."""
    for account in server.accounts.values():
        at_once = account.most_in_flight
        assert at_once <= 1 or server.was_left, f"{account.name}: {at_once} requests at once"
    for request in server.requests:
        agent = request.headers.get("user-agent", "")
        assert re.match(r"trax-relay/\d+\.\d+", agent), f"User-Agent: {agent}"
        assert request.id or request.path != "/v1/connections", "no X-Request-Id"
        assert request.path in ("/v1/connections", "/v1/health", "/v1/openapi.json"), request.path
    ids = [request.id for request in server.requests if request.id]
    assert len(ids) == len(set(ids)), "an X-Request-Id twice"


@pytest.fixture
def trap():
    listener = Trap()
    yield listener
    listener.close()


@pytest.fixture
def make_relay(tmp_path, trax, program):
    """Makes relays of this test's API; at its end each is stopped and judged."""
    made = []

    def make(brokers=None, **change):
        relay = Relay(tmp_path / f"relay{len(made)}", trax, brokers, **change)
        made.append(relay)
        return relay

    make.made = made
    yield make
    problems = []
    for relay in made:
        try:
            finish(relay)
        except AssertionError as error:
            problems.append(str(error))
        finally:
            if relay.process and relay.process.poll() is None:
                relay.process.kill()
            for topic in relay.topics.values():
                topic.close()
    assert not problems, "\n".join(problems)


def finish(relay):
    """Stops a relay and holds all it published to the contract."""
    code = relay.close()
    for topic in relay.topics.values():
        topic.read_to_end()
    found = relay.find_secrets()
    assert not found, f"a credential in clear in {found[:5]}"
    assert code in (None, relay.expect_exit), f"exit {code} at SIGTERM:\n{relay.log[-3000:]}"
    if relay.judged:
        for suffix, topic in relay.topics.items():
            if suffix == "events":
                reads_back = any("state" in sink for sink in relay.config["sinks"])
                Judge(detections=relay.detections(), remembers=reads_back).read(
                    topic.records, topic.partitions)
            elif suffix == "state":
                judge_state(topic.records, topic.partitions)


@pytest.fixture
def relay(make_relay):
    return make_relay()


@pytest.fixture(scope="session")
def admin():
    made = Admin(shared_brokers())
    yield made
    made.close()




@pytest.fixture(scope="module")
def make_stage(tmp_path_factory, program):
    """Makes stages for the tests of a file; at its end each is stopped and judged."""
    made = []

    def make(**change):
        stage = Stage(tmp_path_factory.mktemp("stage"), **change)
        made.append(stage)
        return stage

    yield make
    problems = []
    for stage in made:
        for step in (stage.close, lambda: finish(stage.relay), lambda: check_api(stage.trax)):
            try:
                step()
            except AssertionError as error:
                problems.append(str(error))
        if stage.relay.process and stage.relay.process.poll() is None:
            stage.relay.process.kill()
        stage.trax.close()
    assert not problems, "\n".join(problems)
