"""People who sign in: login by a client that plays the browser, polling through many tokens, a
provider that goes away, sessions that end, kill -9 between two tokens, two processes at once."""
import concurrent.futures
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

from relay import Plain, Relay, binary, wait_until
from sandbox import Sandbox

CLIENT = "trax-relay"


@pytest.fixture
def sandbox(program, tmp_path):
    made = Sandbox(program, tmp_path)
    yield made
    made.close()


@pytest.fixture
def people(sandbox, tmp_path):
    """A relay of the sandbox, and at its end the search for tokens in all it left behind."""
    relay = People(tmp_path / "relay", sandbox)
    yield relay
    code = relay.close()
    found = relay.find_tokens()
    assert not found, f"a token in clear in {found[:5]}"
    assert code in (None, 0), f"exit {code}:\n{relay.log[-3000:]}"


class People(Relay):
    """A relay whose accounts are people of the sandbox."""

    def __init__(self, folder, sandbox):
        super().__init__(
            folder, None, brokers="none",
            source={"baseURL": sandbox.url, "accounts": None,
                    "signIn": {"issuer": sandbox.url, "clientID": CLIENT},
                    "interval": {"fastest": Plain("100ms"), "slowest": Plain("300ms")}},
            kafka=None, sinks=[{"log": {}}])
        self.sandbox = sandbox
        self.write()

    def identity(self, **change):
        self.sandbox.control("PUT", "/identity", change)

    def person(self, name, rows=1):
        self.sandbox.control("POST", "/accounts", {"account": name, "connections": rows})
        return self.sandbox.control("GET", f"/accounts/{name}")

    def login(self, name, *options, decision="allow"):
        """Runs `login`, plays the browser; exit code, standard output, standard error.

        Its token lives long enough to ask with it who signed in, on a slow machine, too.
        """
        life = self.sandbox.control("GET", "/identity")["accessSeconds"]
        self.identity(accessSeconds=max(life, 6))
        try:
            return self.sign_in(name, options, decision)
        finally:
            self.identity(accessSeconds=life)

    def sign_in(self, name, options, decision):
        process = subprocess.Popen(
            [binary(), "login", "-c", str(self.pipeline), *options], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True)
        for line in process.stdout:
            if line.startswith("  http"):
                self.page = visit(line.strip(), name, decision)
                break
        out, err = process.communicate(timeout=30)
        self.pages += [out, err]
        return process.returncode, out, err

    def enter(self, name):
        """A person with a row comes, signs in beside the relay, and is read."""
        self.person(name)
        self.start()
        assert self.login(name)[0] == 0
        self.wait_sealed()

    def told(self, kind=None):
        """The events on standard output, in all runs."""
        events = []
        for path in sorted(self.folder.glob("stdout.*"), key=lambda each: each.stat().st_mtime):
            events += [json.loads(line) for line in path.read_text().splitlines() if line]
        short = [each | {"type": each["type"].removeprefix("live.traxstreaming.")}
                 for each in events]
        return [each for each in short if kind in (None, each["type"])]

    def outcomes(self, family="trax_relay_token_refreshes_total"):
        return {re.search('outcome="([^"]+)"', labels)[1]: value
                for labels, value in self.metrics().get(family, {}).items()}

    def sealed(self):
        walks = self.outcomes("trax_relay_walks_total")
        return walks.get("sealed", 0) + walks.get("unchanged", 0)

    def wait_sealed(self, more=2, within=20):
        """Waits for walks that are sealed from now on."""
        before = self.sealed()
        wait_until(lambda: self.sealed() >= before + more, within, "sealed walks")

    def find_tokens(self):
        """JSON Web Tokens, and the part of refresh tokens that outlives their rotation."""
        canaries = [b"eyJhbGci"] + [each.encode() for each in self.secrets]
        places = {str(path): path.read_bytes() for path in self.folder.rglob("*")
                  if path.is_file() and not path.name.startswith(("given.", "accounts."))}
        places["pages and commands"] = "\n".join(self.pages).encode()
        return [place for place, data in places.items() if any(each in data for each in canaries)]


def visit(url, account, decision="allow"):
    """A browser that signs in; the last page's status and text."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with browser.open(url, timeout=20) as answer:
        page = answer.read().decode()
    ticket = re.search(r'name="ticket" value="([^"]+)"', page)[1]
    form = urllib.parse.urlencode({"ticket": ticket, "account": account, "decision": decision})
    place = urllib.parse.urljoin(url, "/ui/login")
    try:
        with browser.open(place, form.encode(), timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with contextlib.closing(error):
            return error.code, error.read().decode()


def test_a_person_signs_in_beside_the_relay_and_is_polled_through_many_tokens(people):
    people.identity(accessSeconds=3)
    row = people.person("ada")["connections"][0]["id"]
    people.start()
    code, out, err = people.login("ada")
    assert (code, err) == (0, "")
    assert "ada: added: Owner of ada" in out
    assert people.page[0] == 200 and "Signed in" in people.page[1]
    assert "<script" not in people.page[1]
    wait_until(lambda: people.outcomes().get("refreshed", 0) >= 4, 30, "four refreshed tokens")
    people.sandbox.control("POST", f"/accounts/ada/connections/{row}/break")
    wait_until(lambda: people.told("connection.failing"), 10, "the failing connection")
    assert set(people.outcomes()) <= {"refreshed", "reused"}, "nothing went wrong"
    assert people.told("account.blind") == []
    assert "ada" in people.command("accounts", "list")[1]
    assert f"person at {people.sandbox.url}" in people.command("accounts", "list")[1]
    code, out, _ = people.command("whoami", "--json")
    told = json.loads(out)
    assert code == 0 and told["subject"] == "ada" and told["name"] == "Owner of ada"
    assert people.command("poll", "ada")[0] == 0
    assert people.command("connections", "list", "--account", "ada")[0] == 0
    assert people.command("check", str(people.pipeline), pipeline=False)[0] == 0


def test_signing_out_ends_the_session_and_signing_in_takes_the_account_up_again(people):
    people.person("ada")
    people.start()
    code, _, err = people.login("ada", "--account", "streamer")
    assert code == 0, err
    people.wait_sealed()
    code, out, err = people.command("logout")
    assert code == 0, err
    assert people.sandbox.control("GET", "/identity")["sessions"] == 0
    assert "paused" in people.command("accounts", "list")[1]
    code, _, err = people.command("whoami", "--account", "streamer")
    assert code == 1 and "login --account streamer" in err
    code, out, _ = people.login("ada")
    assert code == 0 and "streamer: signed in again" in out
    people.wait_sealed()
    assert people.told("account.blind") == []
    assert people.command("logout", "--remove")[0] == 0
    wait_until(lambda: people.told("account.removed"), 10, "the removal")


def test_a_session_that_is_being_ended_is_no_news_of_its_account(people):
    people.enter("ada")
    people.identity(endDelay=1500)
    assert people.command("logout")[0] == 0
    assert people.told("account.blind") == []
    assert people.outcomes("trax_relay_walks_total").get("refused", 0) == 0
    assert "cannot be read" not in people.log
    people.identity(endDelay=0)
    assert people.login("ada")[0] == 0
    people.wait_sealed()
    assert people.told("account.blind") == []


def test_signing_out_while_the_provider_is_away_changes_nothing(people):
    people.enter("ada")
    people.sandbox.process.send_signal(signal.SIGSTOP)
    code, _, err = people.command("logout")
    people.sandbox.process.send_signal(signal.SIGCONT)
    assert code == 69 and "Nothing was changed" in err
    assert "paused" not in people.command("accounts", "list")[1]
    people.wait_sealed()
    assert people.told("account.blind") == []


def test_signing_out_works_though_the_provider_has_another_signing_key_by_now(people):
    people.person("ada")
    assert people.login("ada")[0] == 0
    people.sandbox.control("POST", "/identity/renew")
    code, out, err = people.command("logout")
    assert code == 0 and "signed out" in out, err
    code, _, err = people.command("poll", "ada")
    assert code == 1 and "login --account ada" in err


def test_a_login_takes_no_account_that_only_has_the_persons_name(people):
    key = people.sandbox.control("POST", "/accounts", {"account": "other"})["apiKey"]
    people.person("ada")
    people.secrets.add(key)
    assert people.command("accounts", "add", "ada", text=key)[0] == 0
    sessions = people.sandbox.control("GET", "/identity")["sessions"]
    code, _, err = people.login("ada")
    assert code == 64 and "--account" in err
    assert "person" not in people.command("accounts", "list")[1]
    assert people.sandbox.control("GET", "/identity")["sessions"] == sessions, "nobody keeps it"
    code, _, err = people.login("ada", "--account", "streamer")
    assert code == 0, err


def test_check_asks_the_provider(people):
    code, out, err = people.command("check", people.pipeline, pipeline=False)
    assert "sign-in: " in out, err
    people.config["source"]["signIn"]["issuer"] = "http://127.0.0.1:1"
    people.write()
    code, out, err = people.command("check", people.pipeline, pipeline=False)
    assert code == 69 and f"{people.pipeline}:" in err and "sign-in: " in err


def test_saying_no_and_waiting_in_vain_are_told(people):
    people.person("ada")
    code, _, err = people.login("ada", decision="deny")
    assert code == 1 and "cancelled" in err
    assert "Not signed in" in people.page[1]
    started = time.monotonic()
    code, _, err = people.command("login", "--wait", "500ms")
    assert code == 1 and "nobody signed in" in err and time.monotonic() - started < 20
    assert people.command("accounts", "list")[1].count("\n") <= 1


def test_a_provider_that_is_away_is_never_sign_in_again(people):
    people.identity(accessSeconds=4)
    people.enter("ada")
    people.identity(tokenStatus=503)
    wait_until(lambda: people.outcomes("trax_relay_walks_total").get("sign_in_unavailable", 0) >= 3,
               30, "walks without a token")
    assert "gives no tokens" in people.log
    people.identity(tokenStatus=429)
    time.sleep(1)
    people.identity(tokenStatus=0)
    people.wait_sealed(within=40)
    assert people.told("account.blind") == []
    assert people.outcomes("trax_relay_walks_total").get("refused", 0) == 0


def test_a_session_that_ended_is_blindness_until_somebody_signs_in_again(people):
    people.identity(accessSeconds=3)
    people.enter("ada")
    people.sandbox.control("DELETE", "/accounts/ada/tokens")
    told = wait_until(lambda: people.told("account.blind"), 40, "blindness")[0]["data"]
    assert (told["status"], told["code"]) == (401, "invalid_grant")
    code, _, err = people.command("poll", "ada")
    assert code == 1 and "Sign in again: trax-relay login --account ada" in err
    code, out, _ = people.login("ada")
    assert code == 0 and "ada: signed in again" in out
    wait_until(lambda: people.told("account.restored"), 20, "sight again")
    people.wait_sealed()
    assert people.told("account.held") == [], "the same person is no other credential"


def test_the_accounts_file_does_not_undo_what_was_refreshed(people):
    people.identity(accessSeconds=3)
    people.person("ada")
    grant = people.sandbox.control("POST", "/accounts/ada/tokens", {})
    people.secrets.add(grant["refresh_token"].split(".")[0])
    people.config["source"]["accounts"] = "accounts.jsonl"
    lines = people.folder / "accounts.jsonl"
    lines.write_text(json.dumps(
        {"account": "ada", "oidc": {"refreshToken": grant["refresh_token"]}}) + "\n")
    people.start()
    wait_until(lambda: people.outcomes().get("refreshed", 0) >= 3, 30, "refreshed tokens")
    people.hup()
    wait_until(lambda: people.log.count("accounts and secrets reloaded"), 10, "the reload")
    people.wait_sealed(6)
    assert "unchanged=1" in people.log.splitlines()[-1] or "changed=0" in people.log
    assert "new credential" not in people.log
    # Another session's token is a new credential, of the same rows.
    other = people.sandbox.control("POST", "/accounts/ada/tokens", {})
    people.secrets.add(other["refresh_token"].split(".")[0])
    lines.write_text(json.dumps(
        {"account": "ada", "oidc": {"refreshToken": other["refresh_token"]}}) + "\n")
    people.hup()
    wait_until(lambda: "new credential" in people.log, 10, "the new credential")
    people.wait_sealed(6)
    assert people.told("account.blind") == []
    assert people.stop() == 0
    code, _, err = people.command("run", str(people.pipeline), "--once", pipeline=False)
    assert code == 0, err


def test_kill_minus_nine_between_two_tokens_loses_nobody(people):
    """The relay names each exchange, so that an answer that was lost is given once more."""
    people.identity(accessSeconds=3)
    names = [f"p{number}" for number in range(6)]
    for name in names:
        people.person(name)
        assert people.login(name)[0] == 0
    chance = random.Random(7)
    for _ in range(16):
        people.start(write=False, ready=False)
        time.sleep(0.3 + chance.random() * 1.2)
        people.kill()
    people.start(write=False)
    for _ in range(3):
        people.wait_sealed(len(names) * 2, within=60)
    assert people.sandbox.control("GET", "/identity")["sessions"] == len(names)
    assert people.told("account.blind") == []
    listed = people.command("accounts", "list")[1]
    assert all(name in listed for name in names)


def lose_an_answer(people):
    """Kills the relay after the provider has exchanged the token and before the relay knows."""
    people.identity(tokenDelay=5000)
    asked = people.sandbox.control("GET", "/identity")["tokenRequests"]
    people.start(write=False, ready=False)
    wait_until(lambda: people.sandbox.control("GET", "/identity")["tokenRequests"] > asked, 30,
               "a refresh", step=0.005)
    people.kill()
    people.identity(tokenDelay=0)


@pytest.mark.parametrize("manner", [{}, {"takesRepeats": False, "reuseLeeway": 60}])
def test_an_answer_that_was_lost_costs_nothing_where_the_provider_takes_a_repeat(people, manner):
    people.identity(accessSeconds=3, **manner)
    people.person("ada")
    assert people.login("ada")[0] == 0
    for _ in range(3):
        lose_an_answer(people)
    people.start(write=False)
    people.wait_sealed(20)
    assert people.sandbox.control("GET", "/identity")["sessions"] == 1
    assert people.told("account.blind") == []


def test_an_answer_that_was_lost_with_a_strict_provider_ends_in_blindness_and_no_earlier(people):
    people.identity(accessSeconds=15, takesRepeats=False, accessOutlives=True)
    people.person("ada")
    assert people.login("ada")[0] == 0
    lose_an_answer(people)
    people.start(write=False)
    people.wait_sealed()
    wait_until(lambda: people.outcomes().get("sign_in_again", 0) > 0, 10, "the refusal")
    people.wait_sealed(1)
    assert people.told("account.blind") == [], "the access token still serves"
    told = wait_until(lambda: people.told("account.blind"), 40, "blindness")[0]["data"]
    assert told["code"] == "invalid_grant"
    assert "ada" in people.command("accounts", "list")[1]
    assert people.login("ada")[0] == 0
    wait_until(lambda: people.told("account.restored"), 20, "sight again")


def test_relay_and_commands_refresh_together_without_using_a_token_twice(people):
    """The provider is strict: a refresh token that comes twice would end the session."""
    people.identity(accessSeconds=3)
    people.enter("ada")
    wait_until(lambda: people.outcomes().get("refreshed", 0) >= 1, 30, "tokens that live shortly")

    def poll(_):
        return people.command("poll", "ada")

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for code, _, err in pool.map(poll, range(80)):
            assert code == 0, err
    people.wait_sealed()
    assert people.sandbox.control("GET", "/identity")["sessions"] == 1
    assert people.told("account.blind") == []


def test_a_foreign_callback_ends_nothing(people):
    people.person("ada")
    process = subprocess.Popen(
        [binary(), "login", "-c", str(people.pipeline)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True)
    url = next(line for line in process.stdout if line.startswith("  http")).strip()
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)
    redirect = query["redirect_uri"][0]
    for suffix in ("", "?code=x&state=y", "?error=access_denied", "?state=%0d%0aX: y&code=1"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(redirect + suffix.replace(" ", "%20"), timeout=10)
        with contextlib.closing(refused.value) as page:
            text = page.read().decode()
        assert refused.value.code == 400 and "<script" not in text
    assert process.poll() is None
    assert visit(url, "ada")[0] == 200
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    assert os.path.exists(people.folder / "relay.db")
