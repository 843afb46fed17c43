"""A refused credential: the account goes blind and is restored, its connections say nothing; and
refusals of the whole fleet are no one's own fault (F39 to F41)."""
import time

import pytest

import faults
from judge import duration, instant
from relay import Plain, wait_until


@pytest.fixture(scope="module")
def stage(make_stage):
    return make_stage(accounts=20, rows=2).start()


def test_a_refused_credential_is_blind_once_and_restored_when_read_again(stage):
    account = stage.take()
    account.plan(faults.refused())
    account.wait_met(1)
    first = time.time()
    told = stage.expect(account, "account.blind")
    assert told.data["status"] == 401 and told.data["code"] == "invalid_key"
    assert "requiredScope" not in told.data and "subject" not in told.value
    since = instant(told.data["since"])
    assert abs(since.timestamp() - first) < 2
    assert account.met() >= 2, "one refusal is not enough"
    code, text, _ = stage.relay.command("explain", told.value["id"])
    assert code == 0 and text.count("request id ") >= 2, "what was refused can be quoted"
    account.wait_met(3, within=60)
    account.set("conn_00", status="expired")
    account.heal()
    restored, failing = stage.expect(account, "account.restored", "connection.failing", within=60)
    assert duration(restored.data["blindFor"]) == instant(restored.value["time"]) - since
    assert instant(failing.data["changedBetween"]["after"]) < since
    stage.settle(account)


def test_a_missing_scope_is_named(stage):
    account = stage.take()
    account.plan(faults.refused(403, "insufficient_scope", "connections:read"))
    told = stage.expect(account, "account.blind")
    assert told.data["status"] == 403 and told.data["code"] == "insufficient_scope"
    assert told.data["requiredScope"] == "connections:read"
    account.heal()
    stage.expect(account, "account.restored", within=60)


def test_the_latest_refusal_is_the_one_that_is_told(stage):
    account = stage.take()
    account.plan(faults.refused(403, "insufficient_scope", "connections:read"), times=1)
    account.plan(faults.refused(401, "invalid_key"))
    told = stage.expect(account, "account.blind")
    assert told.data["status"] == 401 and "requiredScope" not in told.data
    account.heal()
    stage.expect(account, "account.restored", within=60)


def test_a_single_refusal_between_good_walks_is_nothing(stage):
    account = stage.take()
    for _ in range(3):
        account.plan(faults.refused(), times=1)
        account.wait_sealed(2)
    stage.quiet(account)


def test_an_ordinary_failure_neither_counts_nor_resets_refusals(stage):
    account = stage.take()
    account.plan(faults.refused(), times=1)
    account.plan(faults.bare(401), times=1)
    account.plan(faults.refused())
    told = stage.expect(account, "account.blind", within=60)
    assert account.met("bare 401") == 1 and account.met("refused 401") >= 2
    first = next(each for each in account.requests if each.fault)
    assert abs(instant(told.data["since"]).timestamp() - first.wall) < 1
    account.heal()
    stage.expect(account, "account.restored", within=60)


def test_a_bare_401_is_never_blindness(stage):
    account = stage.take()
    account.plan(faults.bare(401), times=3)
    account.wait_met(3, within=60)
    account.heal()
    stage.quiet(account)


def test_an_unknown_code_in_the_envelope_is_a_refusal_still(stage):
    account = stage.take()
    account.plan(faults.refused(401, "key_asleep"))
    told = stage.expect(account, "account.blind")
    assert told.data["code"] == "key_asleep"
    account.heal()
    stage.expect(account, "account.restored", within=60)


def test_a_row_gone_while_blind_is_told_after_its_confirmation(stage):
    account = stage.take()
    account.plan(faults.refused())
    stage.expect(account, "account.blind")
    account.remove("conn_00")
    account.heal()
    restored, gone = stage.expect(account, "account.restored", "connection.unlinked", within=60)
    assert gone.value["subject"] == "conn_00"


def test_a_new_credential_is_tried_at_once_and_ends_blindness_by_a_sealed_walk(stage):
    account = stage.take()
    account.rekey()
    stage.expect(account, "account.blind")
    # By now it backs off; the new key must not wait for that.
    stage.relay.enlist(account)
    stage.relay.hup()
    stage.expect(account, "account.restored", within=5)
    stage.quiet(account)


def test_a_register_of_few_is_not_asked(make_stage):
    stage = make_stage(accounts=2, rows=1)
    stage.start()
    account, other = stage.take(), stage.take()
    account.plan(faults.refused())
    other.plan(faults.refused())
    stage.expect(account, "account.blind")
    stage.expect(other, "account.blind")
    account.heal()
    other.heal()
    stage.expect(account, "account.restored", within=60)
    stage.expect(other, "account.restored", within=60)


def test_when_half_the_fleet_is_refused_nobody_is_blind_and_readiness_says_so(make_stage):
    stage = make_stage(accounts=8, rows=1)
    stage.start()
    sick = [stage.take() for _ in range(7)]
    for account in stage.trax.accounts.values():
        stage.settle(account)
    # Of any five others that have answered since, four at least were refused.
    with stage.trax.changed:
        for account in sick:
            account.plan(faults.refused())
    for account in sick:
        account.wait_met(3, within=60)
    stage.relay.events.read(0.2)
    assert not stage.relay.events.records, stage.relay.events.summary()

    def refused():
        status, text = stage.relay.http("/readyz")
        return status == 503 and "refused" in text
    wait_until(refused, 20, "readiness to say that the fleet is refused")
    # All at once: each one's latest answer counts until its next walk.
    with stage.trax.changed:
        for account in sick[1:]:
            account.heal()
    told = stage.expect(sick[0], "account.blind", within=60)
    assert told.data["status"] == 401
    wait_until(lambda: stage.relay.http("/readyz")[0] == 200, 20, "readiness")
    sick[0].heal()
    stage.expect(sick[0], "account.restored", within=60)


def test_five_others_must_have_answered_since_the_first_refusal(make_stage):
    stage = make_stage(accounts=6, rows=1, source={"interval": {"slowest": Plain("1s")}})
    stage.start()
    account = stage.take()
    others = [each for each in stage.trax.accounts.values() if each is not account]
    for each in others:
        each.plan(faults.answer(500))
        each.wait_met(1)
    account.plan(faults.refused())
    account.wait_met(3, within=60)
    stage.relay.events.read(0.2)
    assert not stage.relay.events.records, "five others have not answered"
    for each in others:
        each.heal()
    stage.expect(account, "account.blind", within=60)
    account.heal()
    stage.expect(account, "account.restored", within=60)
