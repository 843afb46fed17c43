"""What supporters use: why an event was published, events delivered again, a file for a report."""
import json
import os
import pathlib
import re
import signal
import subprocess

from relay import Plain, binary, wait_until


def exactly(count):
    """The records, once there are so many."""
    return lambda records: records if len(records) == count else None


def explained(relay, *words):
    code, out, err = relay.command("explain", *words, "--json")
    assert code == 0, err
    return json.loads(out)


def test_an_event_is_explained_beside_a_running_relay(make_relay, trax):
    account = trax.account("a", rows=3)
    relay = make_relay().enlist(account).start()
    relay.state.wait(exactly(3))
    account.set("conn_01", status="expired")
    told = relay.events.wait(lambda r: r)[0].data
    stored = json.loads(relay.command("events", "--json")[1])

    def delivered():
        found = explained(relay, stored["id"])
        return found if {each["arrival"] for each in found["sinks"]} == {"delivered"} else None
    found = wait_until(delivered, 20, "both sinks to have it")
    assert found["event"] == stored and stored["data"] == told
    evidence = found["evidence"]
    assert evidence["walk"]["id"] == told["walk"]
    assert evidence["walk"]["sealed"] == told["changedBetween"]["before"]
    assert evidence["before"]["shown"]["status"] == "active"
    assert evidence["after"]["status"] == "expired"
    pages = evidence["walk"]["pages"]
    assert len(pages) == 1 and pages[0]["status"] == 200 and pages[0]["requestId"]
    code, out, _ = relay.command("explain", stored["id"][:8])
    assert code == 0
    for part in (stored["id"], told["walk"], pages[0]["requestId"], "standing not failing",
                 f"{relay.name}.state: delivered"):
        assert part in out, out
    code, _, err = relay.command("explain", "0" * 32)
    assert code == 1 and "pruned" in err


def test_what_left_a_hold_says_so(make_relay, trax):
    account = trax.account("a", rows=10)
    brake = {"share": 0.5, "atLeast": 5, "fleet": 0.5, "failuresAfter": Plain("1h"),
             "removalsAfter": Plain("24h")}
    relay = make_relay(detection={"brake": brake}).enlist(account).start()
    relay.state.wait(exactly(10))
    account.replace({})
    held = relay.events.wait(lambda r: r)[0].data
    account.wait_sealed(2)
    code, _, err = relay.command("holds", "release", held["hold"])
    assert code == 0, err
    gone = relay.events.wait(exactly(12))[-1]
    found = explained(relay, "--position", json.loads(
        relay.command("events", "--json")[1].splitlines()[-1])["data"]["sequence"] + 10)
    assert found["evidence"]["hold"] == held["hold"]
    assert "held until now" in found["evidence"]["rule"]
    assert found["event"]["data"] == gone.data
    code, out, _ = relay.command("explain", "--position", found["position"])
    assert code == 0 and f"until now, in hold {held['hold']}" in out


def headers_of(record):
    return dict(record.headers)


def test_events_are_replayed_into_another_topic_beside_a_running_relay(make_relay, trax):
    account, other = trax.account("a", rows=3), trax.account("b", rows=1)
    relay = make_relay().enlist(account, other).start()
    relay.state.wait(exactly(4))
    account.set("conn_01", status="expired")
    other.set("conn_00", status="expired")
    relay.events.wait(exactly(2))
    account.set("conn_01", status="active")
    told = relay.events.wait(exactly(3))
    topic = f"{relay.name}.again"
    code, out, err = relay.command("replay", "--to", f"{relay.name}.events", "--since", "1h",
                                   "--into-topic", topic)
    assert code == 0, err
    assert out.startswith("replayed 3 events"), out
    again = relay.topic("again").wait(exactly(3))
    for name in ("a", "b"):
        assert ([each.raw for each in again if each.key == name]
                == [each.raw for each in told if each.key == name])
    marks = {headers_of(each)["trax-replay"] for each in again}
    assert len(marks) == 1 and marks.pop() in out
    for each in told:
        assert "trax-replay" not in headers_of(each)
    # What the relay does itself is as it was: no place moved, nothing doubled.
    account.set("conn_02", status="expired")
    assert len(relay.events.wait(exactly(4))) == 4
    code, out, err = relay.command("replay", "--to", f"{relay.name}.events", "--since", "1h",
                                   "-a", "b", "--into-topic", topic)
    assert code == 0 and out.startswith("replayed 1 event at"), (out, err)
    again = relay.topic("again").wait(exactly(4))
    assert [each.key for each in again].count("b") == 2
    code, _, err = relay.command("replay", "--to", f"{relay.name}.events", "--since", "1h",
                                 "--into-topic", f"{relay.name}.state")
    assert code == 64 and "topic of this pipeline" in err


def test_a_replay_makes_no_topic_where_it_must_not_and_takes_no_compacted_one(make_relay, trax):
    account = trax.account("a", rows=1)
    relay = make_relay().enlist(account).start()
    relay.state.wait(exactly(1))
    account.set("conn_00", status="expired")
    relay.events.wait(exactly(1))
    other = make_relay().enlist(trax.account("b", rows=1)).start()
    other.state.wait(exactly(1))
    code, _, err = relay.command("replay", "--to", f"{relay.name}.events", "--since", "1h",
                                 "--into-topic", f"{other.name}.state")
    assert code == 78 and "cleanup.policy" in err, err
    assert relay.stop() == 0
    relay.config["kafka"]["createTopics"] = False
    relay.write()
    code, _, err = relay.command("replay", "--to", f"{relay.name}.events", "--since", "1h",
                                 "--into-topic", f"{relay.name}.none")
    assert code == 78 and "does not exist" in err, err


def test_a_log_sink_whose_reader_left_ends_the_relay_with_a_reason(make_relay, trax):
    account = trax.account("a", rows=2)
    relay = make_relay(sinks=[{"log": {}}], kafka=None).enlist(account).write()
    relay.judged = False

    def run():
        return subprocess.Popen([binary(), "run", str(relay.pipeline)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True)
    with run() as first:
        account.wait_sealed(1)
        wait_until(lambda: relay.http("/readyz")[0] == 200)
        account.wait_sealed(1)
        account.set("conn_00", status="expired")
        line = json.loads(first.stdout.readline())
        assert line["data"]["sequence"] == 1
        first.stdout.close()
        account.set("conn_01", status="expired")
        assert first.wait(20) == 1
        said = first.stderr.read()
    assert "Error: nobody reads standard output" in said, said
    # What nobody read is there for the next reader.
    with run() as second:
        assert json.loads(second.stdout.readline())["data"]["sequence"] == 2
        second.terminate()
        assert second.wait(20) == 0


def test_a_bug_report_holds_what_helps_and_no_secret(make_relay, trax):
    """That no key of an account is in it, the end of every test looks for."""
    token = "canary-" + os.urandom(12).hex()
    account = trax.account("a", rows=2)
    relay = make_relay(http={"token": "env:CANARY_TOKEN"})
    relay.environment["CANARY_TOKEN"] = token
    relay.secrets.add(token)
    relay.enlist(account).start()
    relay.state.wait(exactly(2))
    code, out, err = relay.command("doctor")
    assert code == 0, err
    [report] = relay.folder.glob("trax-relay-doctor-*.txt")
    assert report.name in out and report.stat().st_mode & 0o777 == 0o600
    text = report.read_text()
    for part in ("exit code 0", "clock: ", "trax_relay_ready", '"ready"', "a relay runs on it",
                 "http.token: env:CANARY_TOKEN", f"place of {relay.name}.events"):
        assert part in text, (part, text)
    assert relay.stop() == 0
    pathlib.Path(relay.folder, "relay.db").write_bytes(b"")
    code, out, _ = relay.command("doctor", "-o", "-")
    assert code == 0 and "perhaps no relay runs" in out and "there is no journal" in out
    relay.judged = False


def test_a_replay_that_is_stopped_tells_how_to_go_on(make_relay, trax):
    account = trax.account("a", rows=6)
    relay = make_relay().enlist(account).start()
    relay.state.wait(exactly(6))
    for row in range(6):
        account.set(f"conn_0{row}", status="expired")
    relay.events.wait(exactly(6))
    command = [binary(), "replay", "-c", str(relay.pipeline), "--to", f"{relay.name}.events",
               "--into-topic", f"{relay.name}.again", "--rate", "1/s"]
    with subprocess.Popen([*command, "--since", "1h"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, start_new_session=True) as replay:
        relay.topic("again").wait(lambda records: len(records) >= 2)
        replay.send_signal(signal.SIGINT)
        assert replay.wait(20) == 1
        said = replay.stderr.read()
    after = re.search(r"stopped by a signal after (\d+) events? .*--after (\d+) in place", said)
    assert after, said
    done = int(after[1])
    assert 2 <= done < 6
    code, out, err = relay.command("replay", "--to", f"{relay.name}.events", "--into-topic",
                                   f"{relay.name}.again", "--after", after[2])
    assert code == 0 and out.startswith(f"replayed {6 - done} event"), (out, err)
    again = relay.topic("again").wait(exactly(6))
    assert [each.data["sequence"] for each in again] == [1, 2, 3, 4, 5, 6]
