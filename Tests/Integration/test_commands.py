"""The commands: help, exit codes, and what each says beside a relay or without one."""
import json
import signal
import subprocess
import time
import urllib.request

import jsonschema
import pytest

import faults
from kafka_node import free_ports
from relay import Plain, binary, run_binary, wait_until
from topics import shared_brokers

COMMANDS = [["run"], ["check"], ["accounts"], ["accounts", "add"], ["accounts", "import"],
            ["accounts", "list"], ["accounts", "show"], ["accounts", "pause"],
            ["accounts", "resume"], ["accounts", "remove"], ["connections", "list"], ["poll"],
            ["events"], ["explain"], ["replay"], ["doctor"], ["sandbox"], ["quickstart"],
            ["schema"], ["schema", "event"], ["schema", "pipeline"]]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_help(program, words):
    code, out, err = run_binary(*words, "--help")
    assert code == 0 and err == ""
    assert " ".join(["trax-relay", *words]) in out, out


def test_the_program_lists_its_commands(program):
    code, out, _ = run_binary("--help")
    assert code == 0
    for words in COMMANDS:
        assert words[0] in out
    code, out, _ = run_binary("--version")
    assert code == 0 and out.strip()


@pytest.mark.parametrize("words,near", [
    (["rum"], "run"), (["run"], "PIPELINE"), (["run", "a.yaml", "--onec"], "--once"),
    (["accounts", "ad"], "add"), (["poll", "-c"], ""), (["schema", "events"], "event"),
    (["quickstart", "--for", "soon"], ""), ([], "")],
    ids=lambda each: " ".join(each) if isinstance(each, list) else each)
def test_wrong_usage_is_64_and_says_what_is_near(program, words, near):
    code, out, err = run_binary(*words)
    assert code == 64 and near in err
    assert "Error: " in err or not words


def test_commands_of_later_issues_are_unknown(program):
    for word in ("link", "login", "rehearse", "webhooks"):
        code, _, err = run_binary(word)
        assert code == 64, word


@pytest.fixture
def running(make_relay, trax):
    account = trax.account("a", rows=3)
    relay = make_relay().enlist(account).start()
    relay.state.wait(lambda r: len(r) == 3)
    return relay, account


def documents(text):
    """JSON from a command: one document, or one a line."""
    try:
        whole = json.loads(text)
        return whole if isinstance(whole, list) else [whole]
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


def test_connections_are_listed_live(running):
    relay, account = running
    account.set("conn_00", status="expired")
    code, out, err = relay.command("connections", "list", "--account", "a", "--json")
    assert code == 0, err
    found = documents(out)
    rows = found[0]["data"] if len(found) == 1 and "data" in found[0] else found
    assert {each["id"]: each["status"] for each in rows} == {
        "conn_00": "expired", "conn_01": "active", "conn_02": "active"}
    code, out, err = relay.command("connections", "list", "--account", "a")
    assert code == 0 and "conn_02" in out and "expired" in out
    relay.events.wait(lambda r: r)


def test_a_poll_tells_what_would_change_and_changes_nothing(make_relay, trax):
    account = trax.account("a", rows=3)
    relay = make_relay().enlist(account).start()
    relay.state.wait(lambda r: len(r) == 3)
    assert relay.stop() == 0
    code, out, err = relay.command("poll", "a")
    assert code == 0, err
    account.set("conn_01", status="expired")
    for _ in range(2):
        code, out, err = relay.command("poll", "a")
        assert code == 0 and "conn_01" in out and "failing" in out, (out, err)
    code, out, _ = relay.command("events", "--json")
    assert code == 0 and out.strip() in ("", "[]")
    relay.start()
    told = relay.events.wait(lambda r: r)
    assert len(told) == 1 and told[0].data["sequence"] == 1


def test_a_poll_says_why_it_cannot(running):
    relay, account = running
    code, _, err = relay.command("poll", "nobody")
    assert code == 1 and "nobody" in err and err.startswith("Error: ")
    account.plan(faults.answer(500))
    code, _, err = relay.command("poll", "a")
    assert code == 69 and "500" in err
    account.heal().plan(faults.refused())
    code, _, err = relay.command("poll", "a")
    assert code != 0 and "invalid_key" in err
    account.heal()
    relay.judged = False


def test_events_are_shown_from_the_journal(running):
    relay, account = running
    account.set("conn_00", status="expired")
    relay.events.wait(lambda r: len(r) == 1)
    account.set("conn_00", status="active").put("conn_05")
    told = relay.events.wait(lambda r: r if len(r) == 3 else None)
    code, out, err = relay.command("events", "--json")
    assert code == 0, err
    assert documents(out) == [each.value for each in told]
    code, out, _ = relay.command("events", "--json", "--type", "connection.repaired")
    assert [each["id"] for each in documents(out)] == [told[1].value["id"]]
    code, out, _ = relay.command("events", "--json", "--type", "failing", "--account", "a")
    assert [each["id"] for each in documents(out)] == [told[0].value["id"]]
    code, out, _ = relay.command("events", "--json", "--account", "nobody")
    assert out.strip() in ("", "[]")
    code, out, _ = relay.command("events", "--json", "--since", told[1].data["decidedAt"])
    assert [each["id"] for each in documents(out)] == [e.value["id"] for e in told[1:]]
    code, out, _ = relay.command("events", "--json", "--since", "1h")
    assert len(documents(out)) == 3
    code, out, _ = relay.command("events")
    assert code == 0 and "conn_00" in out and "repaired" in out


def test_events_follow(running):
    relay, account = running
    follower = subprocess.Popen(
        [binary(), "events", "--follow", "--json", "-c", str(relay.pipeline)],
        stdout=subprocess.PIPE, text=True)
    try:
        account.set("conn_00", status="expired")
        line = follower.stdout.readline()
        assert json.loads(line)["subject"] == "conn_00"
        account.set("conn_00", status="active")
        assert json.loads(follower.stdout.readline())["type"].endswith("repaired")
        follower.send_signal(signal.SIGINT)
        assert follower.wait(10) in (0, 130, -2)
    finally:
        follower.kill()


def test_check_proves_that_each_part_works(make_relay, trax, admin):
    account = trax.account("a", rows=1)
    relay = make_relay().enlist(account)
    relay.write()
    code, out, err = relay.command("check", relay.pipeline, pipeline=False)
    assert code == 0, (out, err)
    assert "librdkafka" in out + err
    assert not {name for name in admin.names() if name.startswith(relay.name)}, "it made topics"
    assert not list(relay.folder.glob("relay.*")), "it made files"
    relay.config["kafka"]["brokers"] = "127.0.0.1:9"
    relay.config["source"]["baseURL"] = "http://127.0.0.1:9"
    relay.write()
    code, out, err = relay.command("check", relay.pipeline, pipeline=False)
    assert code == 69 and (out + err).count("127.0.0.1:9") >= 2, "both, at once"
    assert "Error: " in err, "what is wrong belongs on standard error"
    code, out, err = relay.command("check", "--offline", relay.pipeline, pipeline=False)
    assert code == 0, err


def test_check_names_missing_credentials_wrong_topics_and_a_small_budget(make_relay, trax, admin):
    relay = make_relay(source={"budget": Plain("2/s"), "interval": {
        "fastest": Plain("1s"), "slowest": Plain("1s")}})
    for index in range(10):
        relay.enlist(trax.account(f"a{index}"))
    relay.register["a9"]["credential"] = "env:NOBODY_SET_THIS"
    relay.write()
    admin.create(f"{relay.name}.state", 1, cleanup_policy="delete")
    code, out, err = relay.command("check", relay.pipeline, pipeline=False)
    assert code == 78
    for word in ("NOBODY_SET_THIS", "budget", f"{relay.name}.state"):
        assert word in out + err, (word, out, err)
    assert "Error: " in err, "what is wrong belongs on standard error"


def test_check_counts_the_accounts_own_intervals_against_the_budget(make_relay, trax):
    relay = make_relay(source={"budget": Plain("2/s"), "interval": {
        "fastest": Plain("500ms"), "slowest": Plain("60s")}})
    for index in range(10):
        relay.enlist(trax.account(f"a{index}", rows=1))
    relay.write()
    code, out, err = relay.command("check", "--offline", relay.pipeline, pipeline=False)
    assert code == 0 and "suffices for 10 accounts in 1m" in out, (out, err)
    # One too many would take 2.1 requests a second.
    relay.register["a0"]["interval"] = "1s"
    relay.write()
    code, out, err = relay.command("check", "--offline", relay.pipeline, pipeline=False)
    assert code == 0 and "1 of them in their own interval" in out, (out, err)
    for index in range(4):
        relay.register[f"a{index}"]["interval"] = "1s"
    relay.register["a0"]["interval"] = "100ms"
    relay.write()
    code, out, err = relay.command("check", "--offline", relay.pipeline, pipeline=False)
    assert "1 account (a0) would be walked more often" in out, out
    assert code == 78 and "budget 2/s is too small" in err, (out, err)
    assert "4 of them within their own interval," in err, err


def test_check_says_which_credentials_the_api_refuses(make_relay, trax):
    relay = make_relay().enlist(trax.account("a", rows=1))
    trax.accounts["a"].rekey()
    relay.write()
    code, out, err = relay.command("check", relay.pipeline, pipeline=False)
    assert "a" in out + err and "invalid_key" in out + err


def test_the_schema_of_events_takes_real_events_and_no_others(running):
    relay, account = running
    code, out, err = run_binary("schema", "event")
    assert code == 0, err
    schema = json.loads(out)
    jsonschema.Draft202012Validator.check_schema(schema)
    account.set("conn_00", status="expired", note="x").set("conn_01", grantedScopes=[])
    account.put("conn_09").remove("conn_02")
    told = relay.events.wait(lambda r: r if len(r) == 4 else None)
    account.set("conn_00", status="active")
    account.plan(faults.refused(), times=3)
    told = relay.events.wait(lambda r: r if len(r) >= 6 else None, 60)
    for each in told:
        jsonschema.validate(each.value, schema)
    for path, value in (("type", 5), ("id", None), ("time", 1)):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**told[0].value, path: value}, schema)
    without = {k: v for k, v in told[0].value.items() if k != "data"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(without, schema)


def test_the_schema_of_pipelines_takes_a_right_one(make_relay):
    code, out, err = run_binary("schema", "pipeline")
    assert code == 0, err
    schema = json.loads(out)
    relay = make_relay()
    config = json.loads(json.dumps(relay.config))
    jsonschema.validate(config, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**config, "colour": "red"}, schema)


def test_the_sandbox_speaks_as_the_api_does(program, tmp_path):
    port = free_ports(1)[0]
    sandbox = subprocess.Popen([binary(), "sandbox", "--port", str(port)], cwd=tmp_path,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ask(path, headers=None):
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            return error.code, dict(error.headers), error.read()
        except OSError:
            return 0, {}, b""
    try:
        wait_until(lambda: ask("/v1/health")[0] == 200, 20, "the sandbox")
        status, headers, body = ask("/v1/connections", {"X-Request-Id": "req_mine"})
        assert status == 401 and headers["X-Request-Id"] == "req_mine"
        error = json.loads(body)["error"]
        assert error["code"] == "invalid_key" and error["requestId"] == "req_mine"
        assert error["message"]
        status, headers, body = ask("/v1/nothing")
        assert status in (401, 404) and json.loads(body)["error"]["code"]
        assert headers["X-Request-Id"].startswith("req_")
        sandbox.send_signal(signal.SIGINT)
        assert sandbox.wait(10) in (0, 130)
    finally:
        sandbox.kill()


def test_a_base_url_with_and_without_v1_is_the_same(make_relay, trax):
    account = trax.account("a", rows=1)
    relay = make_relay(source={"baseURL": trax.url + "/v1"}).enlist(account).start()
    account.wait_sealed()
    assert relay.stop() == 0
    relay.config["source"]["baseURL"] = trax.url + "/"
    relay.start()
    account.wait_sealed()
    assert {each.path for each in account.requests} == {"/v1/connections"}


def test_an_import_of_many_and_their_first_round(make_relay, trax):
    relay = make_relay(source={"budget": Plain("2000/s"), "interval": {
        "fastest": Plain("5s"), "slowest": Plain("10s")}})
    accounts = [trax.account(f"a{index:04}", rows=1) for index in range(600)]
    begun = time.monotonic()
    relay.enlist(*accounts).start()
    relay.state.wait(lambda r: len(r) == 600, 60, "600 baselines")
    assert time.monotonic() - begun < 60
    assert shared_brokers()
