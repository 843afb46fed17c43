"""The register: the accounts file at start and on SIGHUP, commands beside a running relay, removal
and return, pause, credentials by name."""
import json

import pytest

from judge import latest
from relay import run_binary, wait_until
from stage import shown


def listed(relay):
    code, out, err = relay.command("accounts", "list")
    assert code == 0, err
    return out


@pytest.fixture(scope="module")
def stage(make_stage):
    return make_stage(accounts=16, rows=2).start()


def drop(stage, account):
    del stage.relay.register[account.name]
    stage.relay.hup()


def test_a_new_line_in_the_file_is_a_new_account_with_a_quiet_baseline(stage):
    account = stage.add("newcomer", 2)
    stage.relay.hup()
    account.wait_sealed()
    stage.settle(account)
    stage.quiet(account)
    account.set("conn_00", status="expired")
    told = stage.change(account, "connection.failing")
    assert told.data["sequence"] == 1


def test_an_account_gone_from_the_file_is_removed_with_tombstones(stage):
    account = stage.take()
    account.set("conn_00", status="expired")
    before = stage.change(account, "connection.failing")
    drop(stage, account)
    told = stage.expect(account, "account.removed")
    assert told.data["sequence"] == before.data["sequence"] + 1
    assert told.data["epoch"] == before.data["epoch"]
    stage.relay.state.wait(lambda records: not any(
        key.startswith(account.name + "/") for key in latest(records)), what="tombstones")
    asked = len(account.requests)
    next(iter(stage.trax.accounts.values())).wait_sealed(3)
    assert len(account.requests) <= asked + 1, "a removed account is still asked"


def test_an_account_added_again_has_a_new_epoch_and_a_baseline(stage):
    account = stage.take()
    account.set("conn_00", status="expired")
    first = stage.change(account, "connection.failing")
    drop(stage, account)
    stage.expect(account, "account.removed")
    account.set("conn_00", status="active").put("conn_05")
    stage.relay.enlist(account).hup()
    account.wait_sealed(2)
    stage.settle(account)
    stage.quiet(account)
    account.remove("conn_01")
    told = stage.change(account, "connection.unlinked")
    assert told.data["epoch"] > first.data["epoch"] and told.data["sequence"] == 1


def test_a_paused_account_is_not_asked_and_goes_on_where_it_was(stage):
    account = stage.take()
    code, _, err = stage.relay.command("accounts", "pause", account.name)
    assert code == 0, err
    other = next(each for each in stage.trax.accounts.values() if each.name == "acct_00")
    other.wait_sealed(4)
    asked = len(account.requests)
    account.set("conn_00", status="expired")
    other.wait_sealed(4)
    assert len(account.requests) == asked
    # The file says nothing about it: the command stands over a reload.
    stage.relay.hup()
    other.wait_sealed(3)
    assert len(account.requests) == asked
    assert stage.relay.command("accounts", "resume", account.name)[0] == 0
    stage.change(account, "connection.failing", within=8)


def test_the_file_pauses_too(stage):
    account = stage.take()
    stage.relay.register[account.name]["paused"] = "true"
    stage.relay.hup()
    other = stage.trax.accounts["acct_00"]
    other.wait_sealed(4)
    asked = len(account.requests)
    other.wait_sealed(4)
    assert len(account.requests) == asked
    stage.relay.register[account.name]["paused"] = "false"
    stage.relay.hup()
    account.wait_sealed()
    stage.quiet(account)


def test_an_account_added_by_command_is_noticed_and_outlives_the_file(stage):
    account = stage.trax.account("by-command", rows=2)
    stage.counted["by-command"] = 0
    code, out, err = stage.relay.command("accounts", "add", "by-command", text=account.key + "\n")
    assert code == 0, err
    account.wait_sealed(1, within=10)
    stage.settle(account)
    stage.relay.hup()
    account.wait_sealed(2)
    stage.quiet(account)
    assert "by-command" in listed(stage.relay)
    code, out, err = stage.relay.command("accounts", "remove", "by-command")
    assert code == 0, err
    stage.expect(account, "account.removed")
    assert "by-command" not in listed(stage.relay)


def test_a_key_file_is_read_and_a_key_in_an_argument_is_refused(stage):
    account = stage.trax.account("by-file", rows=1)
    stage.counted["by-file"] = 0
    path = stage.relay.folder / "given.key"
    path.write_text(account.key + "\n")
    code, _, err = stage.relay.command("accounts", "add", "by-file", "--key-file", path)
    assert code == 0, err
    account.wait_sealed(1, within=10)
    code, _, err = run_binary("accounts", "add", "other", "given-key", "-c", stage.relay.pipeline)
    assert code == 64, err


def test_show_and_list_tell_what_is_known_without_the_secret(stage):
    account = stage.take()
    code, out, err = stage.relay.command("accounts", "show", account.name)
    assert code == 0 and account.name in out, err
    assert account.name in listed(stage.relay)
    code, _, err = stage.relay.command("accounts", "show", "nobody")
    assert code == 1 and err.startswith("Error: ") and "nobody" in err


def test_an_id_that_is_taken_or_malformed_is_refused(stage):
    account = stage.trax.accounts["acct_00"]
    code, _, err = stage.relay.command("accounts", "add", "acct_00", text="sk_live_other\n")
    assert code != 0 and "acct_00" in err
    code, _, err = stage.relay.command("accounts", "add", "a b", text="sk_live_other\n")
    assert code != 0 and err.startswith("Error: ")
    code, _, err = stage.relay.command("accounts", "add", "second", text=account.key + "\n")
    assert code != 0 and "acct_00" in err, "one credential under two ids"


def test_a_bad_file_on_hup_changes_nothing_and_is_told_everywhere(stage):
    account = stage.trax.accounts["acct_00"]
    relay = stage.relay
    relay.write()
    good = (relay.folder / "accounts.csv").read_text()
    bad = good + f"acct_00,sk_live_again,\nbad id,sk_live_x,\ntwin,{account.key},\n"
    (relay.folder / "accounts.csv").write_text(bad)
    relay.signal(1)
    wait_until(lambda: relay.http("/readyz")[0] == 503, 10, "readiness to fall")
    assert "accounts" in relay.http("/readyz")[1]
    lines = good.count("\n")
    for number in (lines + 1, lines + 2, lines + 3):
        assert f"{number}" in relay.log
    account.wait_sealed(2)
    assert "twin" not in listed(relay)
    relay.hup()
    wait_until(lambda: relay.http("/readyz")[0] == 200, 10, "readiness to rise")


def test_a_file_that_would_remove_half_is_refused(stage):
    relay = stage.relay
    kept = dict(relay.register)
    for name in list(relay.register)[: len(kept) * 2 // 3]:
        del relay.register[name]
    relay.hup()
    wait_until(lambda: relay.http("/readyz")[0] == 503, 10, "readiness to fall")
    stage.trax.accounts["acct_00"].wait_sealed(2)
    code, _, err = relay.command("accounts", "import", relay.folder / "accounts.csv")
    assert code != 0 and "--force" in err
    relay.register = kept
    relay.hup()
    wait_until(lambda: relay.http("/readyz")[0] == 200, 10, "readiness to rise")


def test_an_import_with_force_removes_as_told(make_stage):
    stage = make_stage(accounts=8, rows=1, source={"accounts": None})
    relay = stage.relay
    relay.write()
    code, _, err = relay.command("accounts", "import", relay.folder / "accounts.csv")
    assert code == 0, err
    stage.start()
    gone = [stage.take() for _ in range(6)]
    for account in gone:
        del relay.register[account.name]
    relay.write()
    code, _, err = relay.command("accounts", "import", relay.folder / "accounts.csv")
    assert code != 0 and "--force" in err
    code, _, err = relay.command("accounts", "import", "--force", relay.folder / "accounts.csv")
    assert code == 0, err
    for account in gone:
        stage.expect(account, "account.removed")


def test_json_lines_and_credentials_by_name(make_relay, trax):
    plain, env, file = (trax.account(name, rows=1) for name in ("plain", "env", "file"))
    relay = make_relay(source={"accounts": "given.jsonl"})
    relay.write()
    (relay.folder / "given.file.key").write_text(file.key + "\n")
    relay.environment["KEY_OF_ENV"] = env.key
    (relay.folder / "given.jsonl").write_text("".join(json.dumps(each) + "\n" for each in (
        {"account": "plain", "apiKey": plain.key},
        {"account": "env", "apiKey": "env:KEY_OF_ENV"},
        {"account": "file", "apiKey": "file:given.file.key"})))
    relay.start()
    for account in (plain, env, file):
        account.wait_sealed()
    new = file.rekey()
    (relay.folder / "given.file.key").write_text(new + "\n")
    relay.hup()
    file.wait_sealed()
    assert not relay.events.records


def test_csv_knows_columns_by_name_and_keeps_labels(make_relay, trax):
    account = trax.account("a", rows=1)
    relay = make_relay()
    relay.write()
    (relay.folder / "accounts.csv").write_text(
        f'team,credential,"account",paused,interval\n"x, y",{account.key},a,,300ms\n')
    relay.start(write=False)
    account.wait_sealed(2)
    code, out, err = relay.command("accounts", "show", "a")
    assert code == 0 and "x, y" in out, err


def test_a_wrong_file_at_start_names_all_its_lines_and_is_78(make_relay, trax):
    account = trax.account("a", rows=1)
    relay = make_relay()
    relay.write()
    (relay.folder / "accounts.csv").write_text(
        f"account,credential,interval,paused\na,{account.key},,\nb c,sk_live_1,,\n"
        f"a,sk_live_2,,\nd,{account.key},,\ne,env:NOT_THERE_AT_ALL,,\nf,sk_live_3,soon,\n")
    relay.start(write=False, ready=False)
    assert relay.wait_exit() == 78
    for line in (3, 4, 5, 7):
        assert f":{line}" in relay.log or f"line {line}" in relay.log, (line, relay.log)
    assert "2" in relay.log and account.requests == []
    relay.judged = False


def test_a_changed_credential_of_the_same_account_goes_on(stage):
    account = stage.take()
    account.rekey()
    stage.relay.enlist(account).hup()
    account.wait_sealed(2)
    stage.quiet(account)
    account.set("conn_00", status="expired")
    told = stage.change(account, "connection.failing")
    assert shown(told.data["previous"])["status"] == "active" and told.data["sequence"] == 1
