"""Every kind of fault: no false event while it lasts, nothing removed, nothing believed; and the
next real change after it is seen. All faults at once, each on an account of its own (F1, F2, F5,
F6, F7, F12, F41)."""
import json
import time

import pytest

import faults
from fake_trax import Trap, make_cursor
from relay import Plain
from stage import Stage

LONG = "x" * 1025


def bad(row):
    return faults.rows(lambda rows: [*rows, row], f"row {json.dumps(row)[:30]}")


def rewritten(**fields):
    return faults.rows(lambda rows: [{**rows[0], **fields}, *rows[1:]], f"field {list(fields)}")


# Each empties or bends the list in a way that must change no belief.
FAULTS = {
    "500": faults.answer(500, b'{"data":[]}'),
    "502": faults.answer(502, b"<html>bad gateway</html>", content_type="text/html"),
    "503": faults.answer(503, b'{"data":[]}'),
    "404": faults.answer(404, b'{"data":[]}'),
    "204": faults.answer(204),
    "304": faults.answer(304),
    "400": faults.answer(400, b'{"data":[]}'),
    "401 without envelope": faults.bare(401),
    "403 without envelope": faults.bare(403),
    "401 with a list": faults.answer(401, b'{"data":[]}'),
    "429 without Retry-After": faults.throttled(),
    "429 with seconds": faults.throttled("1"),
    "429 with a strange Retry-After": faults.throttled("soon"),
    "503 with Retry-After": faults.throttled("1", 503),
    "html with 200": faults.html(),
    "empty body": faults.body(b""),
    "null": faults.body(b"null"),
    "a list at the top": faults.body(b"[]"),
    "no data": faults.body({"items": []}),
    "data null": faults.body({"data": None}),
    "data an object": faults.body({"data": {}}),
    "an envelope with 200": faults.body({"error": {"code": "x", "message": "", "requestId": ""}}),
    "half a document": faults.body(b'{"data":['),
    "two documents": faults.body(b'{"data":[]}{"data":[]}'),
    "bad utf-8": faults.body(b'{"data":[],"x":"\xff\xfe"}'),
    "deep nesting": faults.body(b'{"data":' + b"[" * 5000 + b"]" * 5000 + b"}"),
    "too large": faults.body(b'{"data":[],"x":"' + b"y" * 5_000_000 + b'"}'),
    "too large once it is unpacked": faults.compressed(
        b'{"data":[],"x":"' + b"y" * 5_000_000 + b'"}'),
    "compressed and cut": faults.compressed(cut=True),
    "short body": faults.short_body(),
    "cut body": faults.cut_body(),
    "cut chunk": faults.cut_chunk(),
    "cut after the last whole chunk": faults.cut_chunk(whole_first=True),
    "reset": faults.reset(),
    "reset in the body": faults.reset_in_body(),
    "silent close": faults.silent_close(),
    "garbage": faults.garbage(),
    "too slow": faults.slow(30),
    "drip": faults.drip(0.3),
    "row without id": bad({"platform": "youtube", "status": "active"}),
    "row with id null": bad({"id": None, "status": "active"}),
    "row with id object": bad({"id": {"a": 1}, "status": "active"}),
    "row with id empty": bad({"id": "", "status": "active"}),
    "row with id float": bad({"id": 1.5, "status": "active"}),
    "row with id boolean": bad({"id": True, "status": "active"}),
    "row with id too long": bad({"id": "i" * 513, "status": "active"}),
    "row that is a string": bad("conn_77"),
    "row that is null": bad(None),
    "an id twice": faults.rows(lambda rows: [*rows, {**rows[0], "status": "expired"}], "twice"),
    "status too long": rewritten(status=LONG),
    "platform too long": rewritten(platform=LONG),
    "scope too long": rewritten(grantedScopes=[LONG]),
    "cycling cursor": faults.cycling(),
    "a cursor to itself": faults.page(lambda page: {"data": [], "nextCursor": "same"}),
    "endless pages": faults.endless(),
    "cursor a number": faults.page(lambda page: {"data": [], "nextCursor": 5}),
    "cursor an object": faults.page(lambda page: {"data": [], "nextCursor": {}}),
}

# The second page of two is the one that fails.
SECOND = {
    "second page 500": faults.answer(500),
    "second page html": faults.html(),
    "second page reset": faults.reset(),
    "second page cut": faults.cut_body(),
    "second page 401 without envelope": faults.bare(401),
    "second page 204": faults.answer(204),
    "second page repeats the first": faults.page(
        lambda page: {"data": [{"id": "conn_00", "status": "active"}]}),
}

REDIRECTS = [301, 302, 303, 307, 308]

# No fault: each of these is a whole list in another form.
LEGAL = {
    "nextCursor null": faults.page(lambda page: {**page, "nextCursor": None}),
    "nextCursor empty": faults.page(lambda page: {**page, "nextCursor": ""}),
    "other fields beside data": faults.page(lambda page: {"total": 3, **page, "x": [{}]}),
    "chunked": faults.chunked(),
    "compressed": faults.compressed(),
    "another order of rows": faults.rows(lambda rows: rows[::-1]),
    "an empty page, then the rest": faults.page(
        lambda page: {"data": [], "nextCursor": make_cursor("", 1)}),
}


class Faulty(Stage):
    """The stage, and how far each account came through its fault."""

    def meet(self, name, fault, times=2, page=None):
        account = self.trax.accounts[name]
        account.plan(fault, times=times, page=page)
        return account


@pytest.fixture(scope="module")
def stage(tmp_path_factory, program):
    import conftest
    trap = Trap()
    stage = Faulty(tmp_path_factory.mktemp("faults"), accounts=0, source={
        "requestTimeout": Plain("1s"), "walkTimeout": Plain("2s"), "limits": {"pages": 5},
        "interval": {"fastest": Plain("200ms"), "slowest": Plain("400ms")}})
    stage.trap = trap
    for name in FAULTS:
        stage.add(label(name), 3)
    for name in SECOND:
        stage.add(label(name), 250)
    for status in REDIRECTS:
        stage.add(f"redirect_{status}", 3)
    for name in LEGAL:
        stage.add(label(name), 3)
    stage.start()
    for account in stage.trax.accounts.values():
        stage.settle(account)
    for name, fault in FAULTS.items():
        stage.meet(label(name), fault)
    for name, fault in SECOND.items():
        stage.meet(label(name), fault, page=1)
    for status in REDIRECTS:
        stage.meet(f"redirect_{status}", faults.redirect(trap.url + "/v1/connections", status))
    for name, fault in LEGAL.items():
        stage.meet(label(name), fault, times=None, page=0)
    yield stage
    problems = []
    for step in (stage.close, lambda: conftest.finish(stage.relay)):
        try:
            step()
        except AssertionError as error:
            problems.append(str(error))
    stage.relay.process.kill()
    stage.trax.close()
    trap.close()
    assert not problems, "\n".join(problems)
    assert trap.arrived == [], "a redirect was followed"


def label(name):
    return "".join(c if c.isalnum() else "_" for c in name)


def outlive(stage, account, times=2, whole=True):
    """The fault has been met, told nothing, and what really changes next is told at once.

    A list of several pages may change between two of them, so that two walks tell it.
    """
    account.wait_met(times, within=40)
    stage.relay.events.read(0.05)
    assert not stage.relay.events.of(account.name)
    with stage.trax.changed:
        account.set("conn_01", status="expired")
        account.remove("conn_02")
        account.put("new_00", "kick")
    told = stage.expect(account, "connection.failing", "connection.linked",
                        "connection.unlinked", within=40, ordered=whole)
    assert {each.value["subject"] for each in told} == {"conn_01", "new_00", "conn_02"}
    stage.settle(account)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_tells_nothing_and_hides_nothing(stage, name):
    outlive(stage, stage.trax.accounts[label(name)])


@pytest.mark.parametrize("name", SECOND)
def test_a_failing_second_page_tells_nothing_of_the_first(stage, name):
    outlive(stage, stage.trax.accounts[label(name)], whole=False)


@pytest.mark.parametrize("status", REDIRECTS)
def test_a_redirect_is_not_followed(stage, status):
    outlive(stage, stage.trax.accounts[f"redirect_{status}"])


@pytest.mark.parametrize("name", LEGAL)
def test_another_form_of_a_whole_list_is_a_whole_list(stage, name):
    account = stage.trax.accounts[label(name)]
    account.wait_met(3)
    stage.relay.events.read(0.05)
    assert not stage.relay.events.of(account.name)
    account.set("conn_01", status="expired")
    stage.expect(account, "connection.failing")


def test_change_under_a_long_fault_is_told_once_with_the_whole_window(make_stage):
    stage = make_stage(accounts=2)
    stage.start()
    account, other = stage.take(), stage.take()
    account.plan(faults.answer(500))
    last = account.sealed_walls[-1]
    account.wait_met(2)
    account.set("conn_00", status="expired")
    account.wait_met(3)
    account.heal()
    told = stage.change(account, "connection.failing", within=60)
    from judge import instant
    after = instant(told.data["changedBetween"]["after"]).timestamp()
    assert after <= last + 0.1 and time.time() - after > 1
    stage.quiet(other)
