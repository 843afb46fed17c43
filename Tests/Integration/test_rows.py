"""Rows as no page of the vendor promises them: what is tolerated, and how it is shown (F44)."""
import pytest

from judge import latest
from stage import row, shown


@pytest.fixture(scope="module")
def stage(make_stage):
    stage = make_stage(accounts=12, rows=1)
    numbers = stage.add("numbers")
    with stage.trax.changed:
        numbers.rows = {7: {"id": 7, "platform": "kick", "status": "active",
                            "grantedScopes": ["a"]}}
    bare = stage.add("bare")
    with stage.trax.changed:
        bare.rows = {"only-an-id": {"id": "only-an-id"}}
    return stage.start()


def test_an_integer_id_is_taken_as_its_text(stage):
    account = stage.trax.accounts["numbers"]
    stage.settle(account)
    account.set(7, status="expired")
    told = stage.change(account, "connection.failing")
    assert told.value["subject"] == "7" and told.data["connection"]["id"] == "7"
    stage.settle(account)


def test_a_row_of_nothing_but_an_id_is_unrecognised(stage):
    account = stage.trax.accounts["bare"]
    stage.settle(account)
    key = "bare/only-an-id"
    assert latest(stage.relay.state.records)[key]["standing"] is None
    account.set("only-an-id", status="active")
    told = stage.change(account, "connection.linked")
    assert told.data["previous"]["health"] == "unrecognised"
    assert told.data["previous"]["status"] is None and told.data["previous"]["platform"] is None
    assert told.data["changed"] == ["status"]


@pytest.mark.parametrize("status", [..., None, 5, ["active"], True],
                         ids=["absent", "null", "number", "list", "boolean"])
def test_a_status_that_is_no_string_is_null_and_unrecognised(stage, status):
    account = stage.take().set("conn_00", status=status)
    told = stage.change(account, "connection.status_changed")
    assert told.data["connection"]["status"] is None
    assert told.data["connection"]["health"] == "unrecognised"
    assert told.data["statusRecognised"] is False and told.data["changed"] == ["status"]
    account.set("conn_00", status="active")
    # It stood healthy all the while, so it is neither linked nor repaired.
    stage.change(account, "connection.status_changed")


def test_a_platform_that_is_no_string_is_null(stage):
    account = stage.take().set("conn_00", platform=12)
    told = stage.change(account, "connection.status_changed")
    assert told.data["connection"]["platform"] is None and told.data["changed"] == ["platform"]


def test_unknown_fields_are_carried_and_never_compared(stage):
    account = stage.take()
    account.set("conn_00", displayName="Ä \u2028\"x\"", nested={"a": [1, None, 2.5]})
    stage.quiet(account)
    account.set("conn_00", status="expired", counter=3)
    told = stage.change(account, "connection.failing")
    extra = told.data["connection"]["extra"]
    assert extra == {"displayName": "Ä \u2028\"x\"", "nested": {"a": [1, None, 2.5]}, "counter": 3}
    assert "extraOmitted" not in told.data["connection"]
    account.set("conn_00", counter=4)
    stage.quiet(account)


def test_too_much_of_the_unknown_is_left_out_and_said(stage):
    account = stage.take().set("conn_00", status="expired", blob="x" * 9000)
    told = stage.change(account, "connection.failing")
    assert told.data["connection"]["extraOmitted"] is True
    assert "extra" not in told.data["connection"]
    account.set("conn_00", status="active", blob="small")
    told = stage.change(account, "connection.repaired")
    assert told.data["connection"]["extra"] == {"blob": "small"}


def test_ids_of_any_text_make_keys_that_split_at_the_first_slash(stage):
    account = stage.take().put("a/b/ü 1", "kick")
    told = stage.change(account, "connection.linked")
    assert told.value["subject"] == "a/b/ü 1"
    assert shown(told.data["connection"]) == row("a/b/ü 1", "kick")
    stage.settle(account)


def test_an_id_of_512_bytes_is_taken(stage):
    account = stage.take().put("i" * 512)
    told = stage.change(account, "connection.linked")
    assert told.value["subject"] == "i" * 512


def test_scopes_and_statuses_of_any_text_pass_as_they_are(stage):
    account = stage.take()
    account.set("conn_00", status="état \\ \"x\" \u0001", grantedScopes=["\"", "é"])
    told = stage.change(account, "connection.failing")
    assert told.data["connection"]["status"] == "état \\ \"x\" \u0001"
    assert told.data["connection"]["grantedScopes"] == ["\"", "é"]
    stage.settle(account)
