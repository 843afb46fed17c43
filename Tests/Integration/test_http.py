"""The HTTP side: liveness, readiness with its reasons, metrics that a Prometheus takes."""
import json
import sqlite3
import urllib.error
import urllib.request

import pytest

import faults
from relay import wait_until


@pytest.fixture
def running(make_relay, trax):
    account = trax.account("acct_in_no_label", rows=2)
    relay = make_relay().enlist(account).start()
    relay.state.wait(lambda r: len(r) == 2)
    return relay, account


def becomes(relay, status, *words, within=20):
    def so():
        found, text = relay.http("/readyz")
        return found == status and all(word in text.lower() for word in words)
    wait_until(so, within, f"/readyz to be {status} with {words}; last {relay.pages[-1:]}", 0.1)


def test_it_lives_and_is_ready(running):
    relay, _ = running
    assert relay.http("/healthz")[0] == 200 and relay.http("/readyz")[0] == 200
    status, text = relay.http("/no/such/page")
    assert status == 404
    with pytest.raises(urllib.error.HTTPError) as refused:
        page = f"http://127.0.0.1:{relay.port}/healthz"
        urllib.request.urlopen(urllib.request.Request(page, method="DELETE"))
    assert refused.value.code == 405 and refused.value.headers["Allow"] == "GET, HEAD"
    assert json.load(refused.value)["error"]["code"] == "method_not_allowed"


def test_no_account_is_ready_too(make_relay, trax):
    relay = make_relay(source={"accounts": None}).start()
    assert relay.http("/readyz")[0] == 200


def test_an_api_that_never_answered_is_not_ready(make_relay, trax):
    account = trax.account("a", rows=1)
    relay = make_relay().enlist(account)
    trax.refuse_connections()
    relay.start(ready=False)
    becomes(relay, 503)
    assert relay.http("/healthz")[0] == 200
    trax.listen_again()
    becomes(relay, 200, within=40)


def test_no_sealed_walk_for_three_times_slowest_is_not_ready(running):
    relay, account = running
    account.plan(faults.answer(500))
    becomes(relay, 503, "walk")
    account.heal()
    becomes(relay, 200, within=60)


def test_a_paused_and_a_blind_account_are_no_reason(make_relay, trax):
    paused, blind, good = (trax.account(name, rows=1) for name in ("paused", "blind", "good"))
    relay = make_relay().enlist(good, blind).enlist(paused, paused="true").start()
    blind.plan(faults.refused())
    relay.events.wait(lambda r: r)
    del relay.register["good"]
    relay.hup()
    relay.events.wait(lambda r: any(e.type == "account.removed" for e in r))
    blind.wait_met(4, within=60)
    assert relay.http("/readyz")[0] == 200


def test_a_stalled_journal_is_not_ready_and_nothing_is_lost(running):
    relay, account = running
    blocker = sqlite3.connect(relay.folder / "relay.db", isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    account.set("conn_00", status="expired")
    becomes(relay, 503, "journal", within=60)
    assert relay.events.read() == []
    blocker.execute("ROLLBACK")
    blocker.close()
    relay.events.wait(lambda r: len(r) == 1, 60)
    becomes(relay, 200, within=40)


def test_metrics_are_what_prometheus_reads_and_name_no_account(running):
    relay, account = running
    account.set("conn_00", status="expired")
    relay.events.wait(lambda r: r)
    account.plan(faults.answer(500), times=2)
    account.plan(faults.refused(), times=1)
    account.wait_met(2, within=40)
    found = relay.metrics()
    text = relay.http("/metrics")[1]
    assert "acct_in_no_label" not in text and relay.trax.url not in text
    assert all(name.startswith(("trax_relay_", "process_")) for name in found), sorted(found)
    for word in ("walk", "event", "request", "journal"):
        assert any(word in name for name in found), f"nothing about {word}: {sorted(found)}"
    before = sum(sum(each.values()) for name, each in found.items() if name.endswith("_total"))
    account.heal().wait_sealed(3, within=60)
    after = relay.metrics()
    assert sum(sum(each.values()) for name, each in after.items()
               if name.endswith("_total")) > before
    assert all(len(labels) < 300 for each in after.values() for labels in each)


def test_anything_but_loopback_needs_a_token_and_the_open_pages_do_not(make_relay, trax):
    account = trax.account("a", rows=1)
    relay = make_relay().enlist(account)
    relay.environment["RELAY_TOKEN"] = "token-canary-9"
    relay.secrets.add("token-canary-9")
    relay.config["http"] = {"listen": f"0.0.0.0:{relay.port}", "token": "env:RELAY_TOKEN"}
    relay.start()
    for path in ("/healthz", "/readyz", "/metrics"):
        assert relay.http(path)[0] in (200, 503), path
