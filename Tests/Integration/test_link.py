"""Linking from outside: the command, the relay's own links, and the attempt on events, against the
sandbox."""
import hashlib
import html.parser
import http.cookiejar
import json
import os
import signal
import sqlite3
import subprocess
import time
import urllib.parse
import urllib.request

import pytest

from relay import Plain, Relay, binary, wait_until
from sandbox import Sandbox
from test_signin import People

pytestmark = pytest.mark.timeout(180)


class Api:
    """The sandbox as `Relay` wants an API."""

    def __init__(self, sandbox):
        self.url, self.sandbox, self.was_left, self.keys = sandbox.url, sandbox, False, set()

    def all_keys(self):
        return self.keys


class Account:
    def __init__(self, api, name, **body):
        made = api.sandbox.control("POST", "/accounts", {"account": name, **body})
        self.name, self.key = name, made["apiKey"]
        api.keys.add(self.key)


@pytest.fixture
def sandbox(program, tmp_path):
    made = Sandbox(program, tmp_path)
    made.control("PUT", "/rate", {"perSecond": 1000, "burst": 1000})
    yield made
    made.close()


@pytest.fixture
def people(sandbox, tmp_path):
    relay = People(tmp_path / "people", sandbox)
    yield relay
    assert relay.close() in (None, 0), relay.log[-3000:]
    assert relay.find_tokens() == []


@pytest.fixture
def api(sandbox):
    return Api(sandbox)


@pytest.fixture
def make(tmp_path, api):
    """Relays with a log sink alone; at the end none may have left a key behind."""
    made = []

    def make(*accounts, **change):
        relay = Relay(tmp_path / f"relay{len(made)}", api, brokers="127.0.0.1:9", **{
            "sinks": [{"log": Plain("{}")}], "kafka": None, **change})
        made.append(relay)
        return relay.enlist(*accounts).write()

    yield make
    for relay in made:
        assert relay.close() in (None, 0), relay.log[-3000:]
        assert relay.find_secrets() == []


def attempt_of(state):
    return hashlib.sha256(state.encode()).hexdigest()[:32]


def events(relay, **wanted):
    """What the log sink printed, by type, subject or attempt."""
    found = []
    for line in relay.stdout.splitlines():
        event = json.loads(line)
        facts = {"type": event["type"].removeprefix("live.traxstreaming."),
                 "subject": event.get("subject"), "attempt": event["data"].get("attempt")}
        if all(facts[key] == value for key, value in wanted.items()):
            found.append(event)
    return found


def settle(relay, sandbox, walks=2):
    """Waits until the relay has read the list so many times more."""
    def asked():
        return sandbox.control("GET", "/stats")["answers"].get("200", 0)
    goal = asked() + walks
    wait_until(lambda: asked() >= goal, what="walks")


class Link:
    """`trax-relay link` as a process."""

    def __init__(self, relay, *words):
        self.process = subprocess.Popen(
            [binary(), "link", *words, "-c", str(relay.pipeline)], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**os.environ, **relay.environment})
        self.first = self.process.stdout.readline()
        self.url = json.loads(self.first)["authorizationUrl"] if "--json" in words else self.first
        self.url = self.url.strip()
        query = urllib.parse.urlsplit(self.url).query
        self.state = urllib.parse.parse_qs(query).get("state", [""])[0]
        self.attempt = attempt_of(self.state)

    def end(self, within=30):
        out, err = self.process.communicate(timeout=within)
        self.out, self.err = self.first + out, err
        return self.process.returncode


def decide(sandbox, state, decision="allow", **body):
    return sandbox.control("POST", f"/links/{state}", {"decision": decision, **body})


def ask(relay, **body):
    return relay.http("/api/links", "POST", json.dumps(body).encode())


def watch_ends(relay, watch, outcome):
    def ended():
        status, text = relay.http(f"/api/links/{watch}")
        assert status == 200, text
        return json.loads(text)["outcome"] and json.loads(text)
    found = wait_until(ended, what=f"watch {watch} to end")
    assert found["outcome"] == outcome, found
    return found


def test_a_link_is_reported_by_the_list_and_its_event_names_the_attempt(make, api, sandbox):
    relay = make(Account(api, "a")).start()
    link = Link(relay, "youtube", "-a", "a", "--wait", "30s")
    made = decide(sandbox, link.state, scopes=["youtube", "youtube.readonly"])["connected"]
    assert link.end() == 0, link.err
    assert link.out.splitlines()[1] == (
        f"linked: {made} on youtube, active. Granted: youtube youtube.readonly.")
    assert "missing: youtube.force-ssl" in link.err and link.attempt in link.err
    assert link.state not in link.err
    event = wait_until(lambda: events(relay, type="connection.linked", subject=made))[0]
    assert event["data"]["attempt"] == link.attempt
    code, out, _ = relay.command("explain", event["id"])
    assert code == 0 and link.attempt in out
    status, text = relay.http("/api/links")
    assert [row["outcome"] for row in json.loads(text)["data"]] == ["linked"]
    # What comes later has nothing to do with the attempt.
    sandbox.control("POST", f"/accounts/a/connections/{made}/break")
    event = wait_until(lambda: events(relay, type="connection.failing", subject=made))[0]
    assert "attempt" not in event["data"]


def test_a_link_right_after_the_account_was_added_has_its_event(make, api, sandbox):
    relay = make(Account(api, "a")).start()
    wait_until(lambda: relay.metrics()["trax_relay_first_round_left_accounts"][""] == 0)
    new = Account(api, "new")
    code, _, err = relay.command("accounts", "add", "new", text=new.key + "\n")
    assert code == 0, err
    link = Link(relay, "kick", "-a", "new", "--wait", "30s")
    made = decide(sandbox, link.state)["connected"]
    assert link.end() == 0, link.err
    assert "no relay has read" not in link.err
    event = wait_until(lambda: events(relay, subject=made))[0]
    assert event["type"].endswith(".linked") and event["data"]["attempt"] == link.attempt


@pytest.mark.parametrize("row_state", [False, True])
def test_a_command_that_gave_up_is_not_in_the_way_of_the_next(make, api, sandbox, row_state):
    sandbox.control("PUT", "/linking", {"rowState": row_state})
    relay = make(Account(api, "a")).start()
    denied = Link(relay, "kick", "-a", "a", "--wait", "1s")
    decide(sandbox, denied.state, "deny")
    assert denied.end() == 1 and "nothing watches for it any more" in denied.err
    for number in (signal.SIGTERM, signal.SIGINT):
        ended = Link(relay, "kick", "-a", "a", "--wait", "30s")
        ended.process.send_signal(number)
        assert ended.end() == 128 + number
    rows = json.loads(relay.http("/api/links")[1])["data"]
    assert [row["outcome"] for row in rows] == ["abandoned"] * 3
    if row_state:
        # Denied is spent; an attempt that was only left alone is not.
        late = decide(sandbox, ended.state, person="late")["connected"]
        event = wait_until(lambda: events(relay, subject=late))[0]
        assert "attempt" not in event["data"]
    again = Link(relay, "kick", "-a", "a", "--wait", "30s")
    made = decide(sandbox, again.state, person="other")["connected"]
    assert again.end() == 0, again.err
    event = wait_until(lambda: events(relay, subject=made))[0]
    assert event["data"]["attempt"] == again.attempt
    rule = "the row's own state" if row_state else "the one attempt that was open"
    assert rule in relay.command("explain", event["id"])[1]


def test_an_account_that_is_removed_ends_the_command(make, api, sandbox):
    relay = make(Account(api, "a"), Account(api, "b")).start()
    wait_until(lambda: relay.metrics()["trax_relay_first_round_left_accounts"][""] == 0)
    new = Account(api, "new")
    assert relay.command("accounts", "add", "new", text=new.key + "\n")[0] == 0
    link = Link(relay, "kick", "-a", "new", "--wait", "5m")
    assert relay.command("accounts", "remove", "new")[0] == 0
    assert link.end() == 1
    assert "new was removed from the register" in link.err


def test_a_link_that_is_denied_is_abandoned(make, api, sandbox):
    relay = make(Account(api, "a")).start()
    link = Link(relay, "kick", "-a", "a", "--wait", "3s")
    assert decide(sandbox, link.state, "deny") == {"error": "access_denied"}
    assert link.end() == 1
    assert "abandoned" in link.err


def test_a_repair_keeps_the_id_and_a_second_row_is_warned_of(make, api, sandbox):
    relay = make(Account(api, "a")).start()
    wait_until(lambda: relay.metrics()["trax_relay_first_round_left_accounts"][""] == 0)
    row = sandbox.control("POST", "/accounts/a/connections",
                          {"platform": "kick", "status": "expired"})["id"]
    wait_until(lambda: events(relay, subject=row))
    second = Link(relay, "kick", "-a", "a", "--wait", "0s")
    assert second.end() == 0
    assert f"--reconnect {row} -c {relay.pipeline}" in second.err
    line = next(part for part in second.err.splitlines() if "to repair it instead" in part)
    words = line.split(": ", 1)[1].split()[2:]
    link = Link(relay, *words[:-2], "--wait", "30s", "--json")
    assert decide(sandbox, link.state)["connected"] == row
    assert link.end() == 0, link.err
    told = json.loads(link.out.splitlines()[1])
    assert told["outcome"] == "repaired" and told["connection"]["id"] == row
    event = wait_until(lambda: events(relay, type="connection.repaired", subject=row))[0]
    assert event["data"]["attempt"] == link.attempt
    rows = json.loads(sandbox.call("GET", "/v1/connections", key=api.keys.copy().pop())[2])
    assert [each["id"] for each in rows["data"]] == [row]


def test_without_the_rows_state_the_platform_tells_where_one_attempt_is_open(make, api, sandbox):
    sandbox.control("PUT", "/linking", {"rowState": False})
    relay = make(Account(api, "a")).start()
    status, text = ask(relay, account="a", platform="kick")
    assert status == 200, text
    asked = json.loads(text)
    assert set(asked) >= {"authorizationUrl", "state", "watch"}
    made = decide(sandbox, asked["state"])["connected"]
    found = watch_ends(relay, asked["watch"], "linked")
    assert found["connection"] == made and found["attempt"] == attempt_of(asked["state"])
    event = wait_until(lambda: events(relay, subject=made))[0]
    assert event["data"]["attempt"] == attempt_of(asked["state"])
    _, out, _ = relay.command("explain", event["id"])
    assert "the one attempt that was open" in out

    # Two are open, and nothing tells them apart: nobody is named, and the command says so.
    other = json.loads(ask(relay, account="a", platform="twitch")[1])
    link = Link(relay, "twitch", "-a", "a", "--wait", "30s")
    made = decide(sandbox, link.state)["connected"]
    assert link.end() == 1
    assert "does not tell which of them made" in link.err
    event = wait_until(lambda: events(relay, subject=made))[0]
    assert "attempt" not in event["data"]
    watch_ends(relay, other["watch"], "ambiguous")


def test_two_attempts_are_told_apart_by_the_rows_state(make, api, sandbox):
    relay = make(Account(api, "a")).start()
    first = json.loads(ask(relay, account="a", platform="kick")[1])
    second = Link(relay, "kick", "-a", "a", "--wait", "30s")
    made = decide(sandbox, second.state)["connected"]
    assert second.end() == 0, second.err
    assert wait_until(lambda: events(relay, subject=made))[0]["data"]["attempt"] == second.attempt
    made = decide(sandbox, first["state"], person="another")["connected"]
    watch_ends(relay, first["watch"], "linked")
    event = wait_until(lambda: events(relay, subject=made))[0]
    assert event["data"]["attempt"] == attempt_of(first["state"])


def test_after_a_request_the_account_is_polled_fast(make, api, sandbox):
    # A hundred accounts at ten requests a second: each has its turn every ten seconds.
    fleet = [Account(api, f"f{number}") for number in range(99)]
    relay = make(Account(api, "a"), *fleet, source={"budget": Plain("10/s"), "interval": {
        "fastest": Plain("200ms"), "slowest": Plain("1h")}}).start()
    wait_until(lambda: relay.metrics()["trax_relay_first_round_left_accounts"][""] == 0, 40)
    asked = json.loads(ask(relay, account="a", platform="kick")[1])
    wait_until(lambda: relay.metrics()["trax_relay_link_watches"][""] == 1)
    for _ in range(2):
        made = decide(sandbox, asked["state"])["connected"]
        began = time.monotonic()
        wait_until(lambda: events(relay, subject=made))
        assert time.monotonic() - began < 4
        watch_ends(relay, asked["watch"], "linked")
        asked = json.loads(ask(relay, account="a", platform="kick")[1])
    metrics = relay.metrics()
    assert metrics["trax_relay_links_total"]['{outcome="linked"}'] == 2
    assert len(events(relay, type="connection.linked")) == 2


def test_a_watch_survives_the_relay_that_was_killed(make, api, sandbox):
    relay = make(Account(api, "a"), source={
        "interval": {"fastest": Plain("200ms"), "slowest": Plain("1h")}}).start()
    wait_until(lambda: sandbox.control("GET", "/stats")["answers"].get("200", 0) >= 1)
    asked = json.loads(ask(relay, account="a", platform="kick")[1])
    settle(relay, sandbox)
    relay.signal(signal.SIGKILL)
    relay.process.wait(10)
    relay.start()
    made = decide(sandbox, asked["state"])["connected"]
    watch_ends(relay, asked["watch"], "linked")
    assert events(relay, subject=made)[0]["data"]["attempt"] == attempt_of(asked["state"])


def test_a_watch_ends_with_the_attempts_time(make, api, sandbox):
    relay = make(Account(api, "a")).start()
    asked = json.loads(ask(relay, account="a", platform="kick")[1])
    with sqlite3.connect(relay.folder / "relay.db", timeout=10) as journal:
        journal.execute("UPDATE link_watches SET expires_at = opened_at + 1")
    journal.close()
    watch_ends(relay, asked["watch"], "abandoned")


def test_what_cannot_be_linked_is_refused_with_the_apis_own_code(make, api, sandbox):
    paused = Account(api, "paused")
    relay = make(Account(api, "a"), Account(api, "reader", scopes=["connections:read"]))
    relay.enlist(paused, paused="true").start()

    def error(status, **body):
        found, text = ask(relay, **body)
        assert found == status, text
        return json.loads(text)["error"]

    assert error(404, account="nobody", platform="kick")["code"] == "not_found"
    assert error(409, account="paused", platform="kick")["code"] == "paused"
    assert error(400, account="a", platform="trovo")["code"] == "invalid_request"
    assert error(400, account="a", platform="kick",
                 returnTo="https://account.traxstreaming.live.evil.example/")["requestId"]
    assert error(404, account="a", platform="kick", reconnectConnectionId="x")["code"] \
        == "not_found"
    refused = error(403, account="reader", platform="kick")
    assert refused["code"] == "insufficient_scope"
    assert refused["requiredScope"] == "connections:write"
    sandbox.control("PUT", "/writes", {"enabled": False})
    assert error(503, account="a", platform="kick")["code"] == "write_disabled"
    assert json.loads(relay.http("/api/links")[1])["data"] == []


def test_an_account_may_have_sixteen_open(make, api, sandbox):
    relay = make(Account(api, "a")).start()
    for _ in range(16):
        assert ask(relay, account="a", platform="kick")[0] == 200
    status, text = ask(relay, account="a", platform="kick")
    assert (status, json.loads(text)["error"]["code"]) == (409, "too_many_links")
    link = Link(relay, "kick", "-a", "a", "--wait", "20s")
    decide(sandbox, link.state)
    assert link.end() == 0, link.err
    assert "does not watch" in link.err


class Forms(html.parser.HTMLParser):
    """The first form of a page: where it goes and what it would send."""

    def __init__(self, text):
        super().__init__()
        self.action, self.fields = None, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "form" and self.action is None:
            self.action = given["action"]
        elif tag == "input" and "name" in given:
            self.fields.append((given["name"], given.get("value", "")))


def test_with_the_consent_screen_as_a_person_sees_it(make, api, sandbox):
    relay = make(Account(api, "a")).start()
    link = Link(relay, "kick", "-a", "a", "--wait", "30s")
    jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    browser = urllib.request.build_opener(jar)
    browser.addheaders = [("Accept", "text/html"), ("User-Agent", "Mozilla/5.0 Firefox/140.0")]

    def send(page, *more):
        form = Forms(page)
        data = urllib.parse.urlencode([*form.fields, *more]).encode()
        place = urllib.parse.urljoin(sandbox.url, form.action)
        return browser.open(place, data, timeout=20)

    page = browser.open(link.url, timeout=20).read().decode()
    assert "Sign in to Kick" in page
    consent = send(page).read().decode()
    last = send(consent, ("decision", "allow"))
    assert last.url == f"{sandbox.url}/oauth/return?connected=kick"
    assert link.end() == 0, link.err
    assert link.out.splitlines()[1].startswith("linked: ")


def test_the_address_is_opened_in_a_browser_when_asked(make, api, sandbox, tmp_path):
    relay = make(Account(api, "a")).start()
    folder = tmp_path / "bin"
    folder.mkdir()
    opener = folder / "xdg-open"
    opener.write_text(f"#!/bin/sh\nprintf %s \"$1\" > {tmp_path}/opened.part\n"
                      f"mv {tmp_path}/opened.part {tmp_path}/opened\n")
    opener.chmod(0o755)
    relay.environment["PATH"] = f"{folder}:{os.environ['PATH']}"
    link = Link(relay, "kick", "-a", "a", "--wait", "0s", "--open")
    assert link.end() == 0
    wait_until(lambda: (tmp_path / "opened").exists())
    assert (tmp_path / "opened").read_text() == link.url


def test_a_person_who_is_signed_in_links_with_their_token_and_the_next(people):
    people.person("ann")
    assert people.login("ann", "--account", "ann")[0] == 0
    people.start()
    wait_until(lambda: people.metrics()["trax_relay_first_round_left_accounts"][""] == 0)
    link = Link(people, "kick", "-a", "ann", "--wait", "30s")
    # No token of before is good any more: both the relay and the command have to get another.
    people.sandbox.control("POST", "/identity/renew")
    made = decide(people.sandbox, link.state)["connected"]
    assert link.end() == 0, link.err
    event = wait_until(lambda: events(people, subject=made), 30)[0]
    assert event["data"]["attempt"] == link.attempt
    people.sandbox.control("POST", "/identity/renew")
    status, text = ask(people, account="ann", platform="twitch")
    assert status == 200, text
    asked = json.loads(text)
    decide(people.sandbox, asked["state"])
    watch_ends(people, asked["watch"], "linked")
