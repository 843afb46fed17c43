"""A wrong pipeline is told all its faults at once, each with file, line and column; 78."""
import re

import pytest

from relay import Plain, run_binary, to_yaml

WRONG = """\
version: 1
name: wrong
source:
  baseUrl: http://127.0.0.1:1
  accounts: accounts.csv
  budget: fast
  pageLimit: 0
  interval: { fastest: 2s, slowest: 1x }
  limits: { pages: many, body: 4MB }
detection:
  otherStatus: maybe
  brake: { share: 1.5 }
  removal: { confirmations: 0 }
journal:
  sqlite: relay.db
  retentoin: 7d
kafka:
  brokers: 127.0.0.1:9
  delivery: sometimes
  properties: { transactional.id: mine }
sinks:
  - kafka: { topik: a }
  - webhoook: { name: push }
  - state: { topic: s, when: { types: [failing] } }
  - kafka: { topic: t, when: { types: [exploded] } }
http:
  listen: 0.0.0.0:7080
colour: red
"""

SAID = {4: "baseURL", 6: "budget", 7: "pageLimit", 8: "slowest", 9: "pages", 11: "otherStatus",
        12: "share", 13: "confirmations", 16: "retentoin", 19: "exactly-once",
        20: "transactional.id", 22: "topic", 23: "webhoook", 24: "when", 25: "types", 27: "token",
        28: "colour"}


def tried(folder, text, name="pipeline.yaml", environment=None, command="check"):
    (folder / "accounts.csv").write_text("account,credential\na,sk_live_a\n")
    path = folder / name
    path.write_text(text)
    options = ["--offline"] if command == "check" else []
    code, out, err = run_binary(command, path, *options, within=30, environment=environment,
                                folder=folder)
    places = [(int(line), int(column)) for line, column
              in re.findall(re.escape(name) + r":(\d+):(\d+)", err)]
    return code, out, err, places


@pytest.mark.parametrize("command", ["check", "run"])
def test_all_faults_are_told_at_once_each_at_its_place(program, tmp_path, command):
    code, out, err, places = tried(tmp_path, WRONG, command=command)
    assert code == 78 and out == ""
    told = {line for line, _ in places}
    assert set(SAID) <= told, f"untold: {sorted(set(SAID) - told)}\n{err}"
    assert told <= set(SAID), f"told without a fault: {sorted(told - set(SAID))}\n{err}"
    lines = WRONG.splitlines()
    for line, column in places:
        assert 1 <= column <= len(lines[line - 1]) + 1
    for line, word in SAID.items():
        said = [each for each in err.splitlines() if f"pipeline.yaml:{line}:" in each]
        assert any(word in each for each in said), f"line {line} does not say {word}: {said}"
    assert not list(tmp_path.glob("relay.*")), "a wrong pipeline left files behind"


@pytest.mark.parametrize("brake", [
    {}, {"share": 1, "removalsAfter": "never"}, {"atLeast": 1, "failuresAfter": Plain("0s")}])
def test_a_brake_is_false_or_a_mapping(program, tmp_path, brake):
    code, _, err, _ = tried(tmp_path, good(detection={"brake": brake}))
    assert code == 0, err
    code, _, err, places = tried(tmp_path, good(detection={"brake": True}))
    assert code == 78 and places, err


def good(**change):
    base = {"version": 1, "name": "good",
            "source": {"baseURL": "http://127.0.0.1:1", "accounts": "accounts.csv"},
            "detection": {"brake": False},
            "journal": {"sqlite": "relay.db"},
            "kafka": {"brokers": "127.0.0.1:9"},
            "sinks": [{"kafka": {"topic": "a"}}], "http": {"listen": "127.0.0.1:0"}}
    for key, value in change.items():
        base[key] = {**base.get(key, {}), **value} if isinstance(value, dict) else value
    return to_yaml(base)


def test_a_right_pipeline_is_taken(program, tmp_path):
    code, out, err, _ = tried(tmp_path, good())
    assert code == 0, err
    assert not list(tmp_path.glob("relay.*")), "check creates nothing"


@pytest.mark.parametrize("change", [
    {"source": {"interval": {"fastest": Plain("2m"), "slowest": Plain("1m")}}},
    {"source": {"baseURL": "http://api.example.com"}},
    {"source": {"baseURL": "ftp://127.0.0.1"}},
    {"source": {"baseURL": Plain("${NOBODY_SET_THIS}")}},
    {"source": {"baseURL": 5}},
    {"source": {"pageLimit": 201}},
    {"source": {"requestTimeout": 10}},
    {"source": {"budget": Plain("0/s")}},
    {"source": {"accounts": "not-there.csv"}},
    {"source": {"kafka": {"topic": "t", "group": "g"}}},
    {"name": ""},
    {"version": 2},
    {"sinks": [{"kafka": {"topic": "a"}}, {"kafka": {"topic": "a"}}]},
    {"sinks": [{"kafka": {"topic": "bad topic!"}}]},
    {"sinks": [{"kafka": {"topic": "a", "format": "avro"}}]},
    {"sinks": [{"kafka": {"topic": "a"}, "log": {}}]},
    {"kafka": {"properties": {"acks": "1"}}},
    {"kafka": {"properties": {"enable.idempotence": False}}},
    {"kafka": {"properties": {"partitioner": "random"}}},
    {"kafka": {"properties": {"isolation.level": "read_uncommitted"}}},
    {"kafka": {"properties": {"bootstrap.servers": "x:1"}}},
    {"kafka": {"properties": {"sasl.password": "in clear"}}},
    {"http": {"token": "in-clear"}},
    {"detection": {"healthy": ["active"], "failing": ["active"]}},
], ids=lambda change: str(change)[:60])
def test_each_fault_alone_is_78_at_a_line(program, tmp_path, change):
    code, out, err, places = tried(tmp_path, good(**change))
    assert code == 78, (code, out, err)
    assert "Error: " in err and (places or "not-there.csv" in err), err


def test_what_is_no_yaml_is_told_at_its_place(program, tmp_path):
    code, _, err, places = tried(tmp_path, "version: 1\nname: [a\nsource: }\n")
    assert code == 78 and places, err
    code, _, err, places = tried(tmp_path, "version: 1\nname: a\nname: b\n")
    assert code == 78 and (3, 1) in places, err


def test_a_pipeline_that_is_not_there_is_78(program, tmp_path):
    code, _, err = run_binary("check", tmp_path / "none.yaml")
    assert code == 78 and "none.yaml" in err and err.startswith("Error: ")


def test_the_environment_fills_in(program, tmp_path):
    text = good(source={"baseURL": Plain("${BASE:-http://127.0.0.1:1}/v1"),
                        "budget": Plain("${RATE:-7/s}")})
    assert tried(tmp_path, text)[0] == 0
    code, _, err, _ = tried(tmp_path, text, environment={"RATE": "lots"})
    assert code == 78 and "budget" in err
    assert tried(tmp_path, text, environment={"BASE": "https://api.example.com"})[0] == 0


def test_accounts_and_pipeline_faults_come_together(program, tmp_path):
    path = tmp_path / "pipeline.yaml"
    path.write_text(good(source={"colour": 1}))
    (tmp_path / "accounts.csv").write_text("account,credential\na b,sk_live_a\nc,sk_live_c\n"
                                           "c,sk_live_d\n")
    code, _, err = run_binary("check", "--offline", path, folder=tmp_path)
    assert code == 78
    assert "colour" in err and "accounts.csv:2" in err and "accounts.csv:4" in err, err
