"""How often the API is asked: budgets, `Retry-After`, one walk at a time, back-off, spreading
(F10, F11, F29 to F32, F34)."""
import email.utils
import time

import pytest

import faults
from relay import Plain, wait_until


def most_in(requests, window):
    """The largest number of requests that arrived within any `window` seconds."""
    times = sorted(each.at for each in requests)
    best, start = 0, 0
    for end, at in enumerate(times):
        while at - times[start] > window:
            start += 1
        best = max(best, end - start + 1)
    return best


def test_the_budget_bounds_all_accounts_together(make_relay, trax):
    relay = make_relay(source={"budget": Plain("20/s"), "interval": {
        "fastest": Plain("100ms"), "slowest": Plain("100ms")}})
    for index in range(40):
        relay.enlist(trax.account(f"a{index}", rows=1))
    relay.start(ready=False)
    trax.wait(lambda: len(trax.requests) >= 100, 30, "100 requests")
    # A second holds 20, and a bucket may have been full before.
    assert most_in(trax.requests, 1.0) <= 42
    assert most_in(trax.requests, 3.0) <= 82
    asked = {each.account for each in trax.requests}
    assert len(asked) == 40, "an account starves under a budget that does not suffice"


def test_a_credential_has_a_pace_of_its_own_and_pages_count(make_relay, trax):
    relay = make_relay(source={"perAccount": Plain("4/s"), "pageLimit": 2,
                               "walkTimeout": Plain("20s")})
    account = trax.account("a", rows=9)
    relay.enlist(account).start(ready=False)
    account.wait_requests(16)
    assert most_in(account.requests, 1.0) <= 9
    assert most_in(account.requests, 3.0) <= 17


@pytest.mark.parametrize("form", ["seconds", "date"])
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_obeyed(make_relay, trax, form, status):
    account = trax.account("a", rows=1)
    relay = make_relay().enlist(account).start()
    account.wait_sealed()
    until = int(time.time()) + 5
    value = "3" if form == "seconds" else email.utils.formatdate(until, usegmt=True)
    account.plan(faults.throttled(value, status), times=1)
    account.wait_met(1)
    met = next(each for each in account.requests if each.fault)
    account.wait_sealed(1)
    after = next(each for each in account.requests if each.at > met.done)
    if form == "date":
        assert after.wall >= until, f"asked again {until - after.wall:.2f} s too early"
    else:
        assert after.at - met.done >= 2.95, f"asked again after {after.at - met.done:.2f} s"
    assert after.at - met.done < 15
    wait_until(lambda: relay.http("/readyz")[0] == 200, 10, "readiness")


def test_an_account_that_is_told_to_wait_is_no_reason_to_be_unready(make_relay, trax):
    account = trax.account("a", rows=1)
    relay = make_relay().enlist(account).start()
    account.wait_sealed(2)
    account.plan(faults.throttled("6"), times=1)
    account.wait_met(1)
    end = time.monotonic() + 4.5
    while time.monotonic() < end:
        assert relay.http("/readyz")[0] == 200, relay.pages[-1]
        time.sleep(0.2)


def test_retry_after_of_nothing_waits_a_second_still(make_relay, trax):
    account = trax.account("a", rows=1)
    make_relay().enlist(account).start()
    account.wait_sealed()
    account.plan(faults.throttled("0"), times=1)
    account.wait_met(1)
    met = next(each for each in account.requests if each.fault)
    account.wait_sealed(1)
    after = next(each for each in account.requests if each.at > met.done)
    assert after.at - met.done >= 0.95


def test_failing_walks_back_off_and_do_not_slow_the_others(make_relay, trax):
    sick, well = trax.account("sick", rows=1), trax.account("well", rows=1)
    make_relay().enlist(sick, well).start()
    sick.wait_sealed()
    sick.plan(faults.answer(500))
    sick.wait_met(5, within=60)
    times = [each.at for each in sick.requests if each.fault]
    gaps = [b - a for a, b in zip(times, times[1:])]
    assert gaps[-1] > 2 * gaps[0], gaps
    assert gaps[-1] > 1.5, gaps
    seen = [each.at for each in well.requests if times[0] < each.at < times[-1]]
    assert len(seen) > (times[-1] - times[0]) / 1.5, "the healthy account waits for the sick one"
    sick.heal()
    sick.wait_sealed(2, within=60)


def test_no_account_that_answers_waits_longer_than_slowest(make_relay, trax):
    relay = make_relay(source={"interval": {"fastest": Plain("1s"), "slowest": Plain("1s")}})
    accounts = [trax.account(f"a{index:02}", rows=1) for index in range(20)]
    relay.enlist(*accounts).start()
    for account in accounts:
        account.wait_requests(10)
    with trax.changed:
        asked = {each.name: [one.at for one in each.requests] for each in accounts}
    # What it means to do; a loaded machine is late for all, a scheduler that forgets one for one.
    assert relay.metrics()["trax_relay_walk_cycle_seconds"][""] == 1
    counts = [len(times) for times in asked.values()]
    assert max(counts) - min(counts) <= 2, counts
    for name, times in asked.items():
        assert times[-1] - times[0] > 0.8 * (len(times) - 1), (name, times)


def test_an_interval_of_the_accounts_file_takes_the_place_of_slowest(make_relay, trax):
    # The budget lets the crowd be walked every six seconds, and the one every second.
    relay = make_relay(source={"budget": Plain("5/s"), "interval": {
        "fastest": Plain("500ms"), "slowest": Plain("60s")}})
    often = trax.account("often", rows=1)
    crowd = [trax.account(f"a{index:02}", rows=1) for index in range(30)]
    relay.enlist(*crowd)
    relay.enlist(often, interval="1s").start(ready=False)
    often.wait_requests(13, within=60)
    with trax.changed:
        counts = [len(each.requests) for each in crowd]
    assert max(counts) <= 5, counts


def test_a_slow_account_is_asked_once_at_a_time(make_relay, trax):
    account = trax.account("a", rows=1)
    relay = make_relay(source={"requestTimeout": Plain("5s"), "walkTimeout": Plain("10s")})
    relay.enlist(account).start()
    account.wait_sealed()
    account.plan(faults.slow(1.2), times=3)
    account.wait_met(3)
    account.set("conn_00", status="expired")
    relay.events.wait(lambda records: records)
    assert account.most_in_flight == 1


def test_a_request_and_a_walk_have_a_deadline(make_relay, trax):
    request, walk = trax.account("request", rows=1), trax.account("walk", rows=9)
    relay = make_relay(source={"requestTimeout": Plain("1s"), "walkTimeout": Plain("2s"),
                               "pageLimit": 1})
    relay.enlist(request, walk).start(ready=False)
    request.plan(faults.slow(20), times=1)
    walk.plan(faults.slow(0.5), times=9)
    request.wait_met(1)
    trax.wait(lambda: sum(1 for each in request.requests if each.fault and each.done) >= 1)
    met = next(each for each in request.requests if each.fault)
    assert 0.8 < met.done - met.at < 4, "the request had no deadline of a second"
    walk.heal()
    # The first try takes 4.5 s for nine pages: it must have been given up.
    walk.wait_sealed(1, within=30)
    firsts = [each for each in walk.requests if each.page == 0]
    assert len(firsts) >= 2


def test_the_pages_of_a_walk_are_no_more_than_the_limit(make_relay, trax):
    account = trax.account("a", rows=1)
    relay = make_relay(source={"limits": {"pages": 4}})
    relay.enlist(account).start()
    account.wait_sealed()
    account.plan(faults.endless(), times=8)
    account.wait_met(8)
    pages = [each.page for each in account.requests if each.fault]
    assert max(pages) <= 3, pages
    account.set("conn_00", status="expired")
    relay.events.wait(lambda records: records)


def test_rows_over_the_limit_fail_the_walk(make_relay, trax):
    account = trax.account("a", rows=5)
    relay = make_relay(source={"limits": {"rows": 6}})
    relay.enlist(account).start()
    account.wait_sealed()
    account.plan(faults.rows(lambda rows: [{"id": f"x{n}"} for n in range(7)]), times=2)
    account.wait_met(2)
    account.set("conn_00", status="expired")
    told = relay.events.wait(lambda records: records)
    assert [each.type for each in told] == ["connection.failing"]
