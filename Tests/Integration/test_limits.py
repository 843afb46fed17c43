"""What happens at each limit (docs/LIMITS.md): old events go when every sink has them, a journal at
its size or on a full disk believes nothing until there is room, and nothing is lost by it."""
import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import time

import pytest

from relay import Plain, wait_until
from test_restart import events, start, truth


def sample(relay, name, labels=""):
    return relay.metrics().get(f"trax_relay_{name}", {}).get(labels)


def reasons(relay):
    found = json.loads(relay.http("/readyz")[1])["reasons"]
    return {each["code"]: each["message"] for each in found}


def stalled(relay, word, within=30):
    """Waits until it says that the journal takes nothing, and why."""
    return wait_until(lambda: word in reasons(relay).get("journal_stalled", ""), within,
                      f"readiness to name {word}; last: {relay.pages[-1:]}")


def toggle(account, count):
    """Breaks and repairs a row so many times, each seen by a walk."""
    for index in range(count):
        account.set("conn_00", status=("expired", "active")[index % 2])
        account.wait_sealed(1)


def test_old_events_go_when_every_sink_has_them(make_relay, trax):
    account = trax.account("a", rows=2)
    relay = start(make_relay(journal={"retention": Plain("1s")}), account)
    toggle(account, 6)
    events(relay, 6)
    # The newest entry stays: its id and time tell this journal's history.
    wait_until(lambda: sample(relay, "journal_entries") == 1, 20, "the old entries to go")
    assert sample(relay, "journal_pruned_entries_total") == 7
    assert sample(relay, "journal_prunable_entries") == 0
    stored = relay.command("events", "--json")[1].splitlines()
    assert [json.loads(each)["data"]["sequence"] for each in stored] == [6]
    relay.kill()
    relay.start()
    toggle(account, 2)
    assert [each.data["sequence"] for each in events(relay, 8)] == list(range(1, 9))


def test_what_a_sink_lacks_stays_however_old(make_relay, trax):
    account = trax.account("a", rows=2)
    relay = start(make_relay(journal={"retention": Plain("1s")}), account)
    assert relay.stop() == 0
    there = relay.config["kafka"]["brokers"]
    relay.config["kafka"]["brokers"] = "127.0.0.1:9"
    relay.start()
    toggle(account, 4)
    time.sleep(3)
    assert len(relay.command("events", "--json")[1].splitlines()) == 4
    assert sample(relay, "journal_oldest_event_age_seconds") > 2
    relay.kill()
    relay.config["kafka"]["brokers"] = there
    relay.start()
    events(relay, 4)
    wait_until(lambda: sample(relay, "journal_entries") == 1, 20, "the old entries to go")


def test_a_sink_that_is_gone_from_the_pipeline_keeps_nothing_back(make_relay, trax):
    account = trax.account("a", rows=2)
    relay = start(make_relay(journal={"retention": Plain("1s")}), account)
    assert relay.stop() == 0
    sinks = relay.config["sinks"]
    relay.config["sinks"] = sinks[:1]
    relay.start()
    toggle(account, 4)
    events(relay, 4)
    wait_until(lambda: sample(relay, "journal_entries") == 1, 20, "the old entries to go")
    assert relay.stop() == 0
    # Put back, the state sink is filled: it missed events that are gone.
    relay.config["sinks"] = sinks
    account.set("conn_01", platform="kick")
    relay.start()
    truth(relay, account)
    assert len(events(relay, 5)) == 5


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 16 MiB, where the system lets us mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)],
                          capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no tmpfs may be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder):
    """Takes all that is free; gives the file."""
    path = folder / "filler"
    for size in (65536, 1):
        with open(path, "ab", buffering=0) as out, contextlib.suppress(OSError):
            while out.write(b"x" * size):
                pass
    assert os.statvfs(folder).f_bavail == 0
    return path


def on(folder, **change):
    return {"sqlite": str(folder / "relay.db"), "keyFile": "relay.key", **change}


def test_a_full_disk_believes_nothing_and_goes_on_by_itself(make_relay, trax, small_disk):
    account = trax.account("a", rows=3)
    relay = start(make_relay(journal=on(small_disk)), account)
    toggle(account, 2)
    events(relay, 2)
    filler = fill(small_disk)
    stalled(relay, "disk")
    last = time.time()
    account.set("conn_00", status="expired")
    account.wait_sealed(3)
    assert relay.process.poll() is None
    assert len(relay.events.read_to_end()) == 2
    assert sample(relay, "journal_writable") == 0
    assert sample(relay, "walks_total", '{outcome="journal"}') >= 1
    filler.unlink()
    told = events(relay, 3)[2]
    assert told.data["connection"]["status"] == "expired"
    assert json.loads(relay.http("/readyz")[1])["ready"], "ready again by itself"
    assert time.time() - last < 60
    truth(relay, account)


FAILING = """
#define _GNU_SOURCE
#include <errno.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
static int fails(int fd) {
    char link[64], name[4096];
    const char *word = getenv("FAILING_FILE");
    if (!word || access(word, F_OK)) return 0;
    strcpy(link, "/proc/self/fd/");
    char digits[16]; int n = 0; do digits[n++] = '0' + fd % 10; while (fd /= 10);
    char *end = link + strlen(link); while (n) *end++ = digits[--n]; *end = 0;
    ssize_t size = readlink(link, name, sizeof name - 1);
    if (size <= 0) return 0;
    name[size] = 0;
    if (!strstr(name, "relay.db")) return 0;
    errno = FAILING_ERRNO;
    return 1;
}
#define WRITE(NAME, OFFSET) \
    ssize_t NAME(int fd, const void *bytes, size_t count, OFFSET at) { \
        static ssize_t (*real)(int, const void *, size_t, OFFSET); \
        if (!real) real = dlsym(RTLD_NEXT, #NAME); \
        return fails(fd) ? -1 : real(fd, bytes, count, at); }
WRITE(pwrite, off_t)
WRITE(pwrite64, off64_t)
#define SYNC(NAME) \
    int NAME(int fd) { \
        static int (*real)(int); \
        if (!real) real = dlsym(RTLD_NEXT, #NAME); \
        return fails(fd) ? -1 : real(fd); }
SYNC(fsync)
SYNC(fdatasync)
"""


@pytest.mark.parametrize("error", ["EIO", "EROFS"])
def test_a_disk_that_fails_or_turns_read_only_is_told_and_gone_on_from(
        make_relay, trax, tmp_path, error):
    """Each write and sync of the journal's files fails, for as long as a file is there."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if not compiler:
        pytest.skip("no C compiler is here")
    (tmp_path / "failing.c").write_text(FAILING)
    library, switch = tmp_path / "failing.so", tmp_path / "failing"
    subprocess.run([compiler, "-shared", "-fPIC", f"-DFAILING_ERRNO={error}", "-o", library,
                    tmp_path / "failing.c", "-ldl"], check=True)
    account = trax.account("a", rows=3)
    relay = make_relay()
    relay.environment.update(LD_PRELOAD=str(library), FAILING_FILE=str(switch))
    start(relay, account)
    toggle(account, 2)
    events(relay, 2)
    switch.touch()
    account.set("conn_00", status="expired")
    stalled(relay, "relay.db")
    account.wait_sealed(2)
    assert relay.process.poll() is None, "it waits for the disk"
    assert len(relay.events.read_to_end()) == 2
    assert sample(relay, "journal_writable") == 0
    switch.unlink()
    told = events(relay, 3)[2]
    assert told.data["connection"]["status"] == "expired"
    wait_until(lambda: json.loads(relay.http("/readyz")[1])["ready"], 20, "readiness by itself")
    truth(relay, account)
    assert relay.command("journal", "check")[0] == 0


@pytest.mark.parametrize("how", ["kill", "term"])
def test_a_disk_that_fills_up_under_change_loses_nothing(make_relay, trax, small_disk, how):
    accounts = [trax.account(name, rows=5) for name in "abc"]
    relay = start(make_relay(journal=on(small_disk, retention=Plain("2s"))), *accounts)
    for index in range(3):
        filler = fill(small_disk)
        for account in accounts:
            for row in list(account.rows):
                account.set(row, status=("expired", "active")[index % 2])
        accounts[0].wait_sealed(2)
        if how == "kill":
            relay.kill()
        elif relay.process.poll() is None:
            relay.signal(signal.SIGTERM)
            assert relay.wait_exit(15) == 0
        # With no room at all it starts, or says why it cannot.
        relay.start(ready=False)
        time.sleep(1)
        filler.unlink()
        if relay.process.poll() is not None:
            assert relay.process.returncode in (1, 78), relay.log
            relay.start()
        truth(relay, *accounts)
    assert len(relay.events.read_to_end()) == 45


def test_at_its_size_the_journal_stops_and_goes_on_when_old_events_go(make_relay, trax):
    account = trax.account("a")
    with trax.changed:
        for index in range(60):
            account.put(f"conn_{index:02}", note="x" * 7000)
    relay = start(make_relay(
        journal={"maxSize": Plain("16MiB"), "retention": Plain("25s")}), account)
    status = "active"
    end = time.monotonic() + 60
    while not reasons(relay).get("journal_stalled"):
        assert time.monotonic() < end, "it never came to its limit"
        status = "expired" if status == "active" else "active"
        with trax.changed:
            for row in list(account.rows):
                account.set(row, status=status)
        account.wait_sealed(1)
    stalled(relay, "maxSize")
    size = sum((relay.folder / name).stat().st_size for name in ("relay.db", "relay.db-wal"))
    assert size <= 16 << 20
    # By itself, once the oldest are past their retention.
    wait_until(lambda: not reasons(relay), 60, "room again")
    truth(relay, account)
    size = sum((relay.folder / name).stat().st_size for name in ("relay.db", "relay.db-wal"))
    assert size <= 16 << 20


def digest(relay):
    """The journal's bytes: what a refused start must not touch."""
    return {name: hashlib.sha256((relay.folder / name).read_bytes()).hexdigest()
            for name in ("relay.db", "relay.key")}


def cut(path):
    with open(path, "r+b") as out:
        out.truncate(path.stat().st_size // 2)


def flip(path):
    content = bytearray(path.read_bytes())
    for page in range(4096, len(content), 4096):
        content[page] ^= 0x10
    path.write_bytes(content)


def empty(path):
    path.write_bytes(b"")


def replace(path):
    path.write_bytes(b"this was a journal once " * 1000)


@pytest.mark.parametrize("damage", [cut, flip, empty, replace])
def test_a_damaged_journal_is_told_and_left_to_the_byte(make_relay, trax, damage):
    account = trax.account("a", rows=20)
    relay = start(make_relay(), account)
    account.set("conn_00", status="expired")
    events(relay, 1)
    assert relay.stop() == 0
    backup = (relay.folder / "relay.db").read_bytes()
    assert relay.command("journal", "check")[0] == 0
    damage(relay.folder / "relay.db")
    before = digest(relay)
    relay.start(ready=False)
    assert relay.wait_exit() == 78
    assert "Nothing was changed" in relay.log and "relay.db" in relay.log
    code, out, err = relay.command("journal", "check")
    assert code == 1 and "WRONG" in out, out + err
    assert digest(relay) == before
    (relay.folder / "relay.db").write_bytes(backup)
    relay.start()
    account.set("conn_01", status="expired")
    assert [each.data["sequence"] for each in events(relay, 2)] == [1, 2]


def test_a_journal_exchanged_under_a_running_relay_ends_it(make_relay, trax):
    account = trax.account("a", rows=2)
    relay = start(make_relay(), account)
    (relay.folder / "relay.db").rename(relay.folder / "away.db")
    assert relay.wait_exit(20) == 78
    assert "taken away or exchanged" in relay.log
    (relay.folder / "away.db").rename(relay.folder / "relay.db")
    relay.start()
    truth(relay, account)


def test_a_journal_damaged_under_a_running_relay_ends_it_and_is_left_as_it_is(make_relay, trax):
    account = trax.account("a", rows=2)
    relay = start(make_relay(), account)
    path = relay.folder / "relay.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        root, size = database.execute("SELECT rootpage, (SELECT page_size FROM pragma_page_size)"
                                      " FROM sqlite_schema WHERE name = 'entries'").fetchone()
        # What another process commits has the relay read its pages anew.
        database.execute("UPDATE counters SET value = value WHERE name = 'register'")
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with open(path, "r+b", buffering=0) as file:
            file.seek((root - 1) * size)
            file.write(b"\xff" * size)
        database.execute("UPDATE counters SET value = value WHERE name = 'register'")
        database.commit()
        damaged = path.read_bytes()
        account.set("conn_00", status="expired")
        assert relay.wait_exit(30) == 78
        assert "is damaged" in relay.log and "Nothing was changed" in relay.log
        start_of = (root - 1) * size
        assert path.read_bytes()[start_of:start_of + size] == damaged[start_of:start_of + size]
    assert relay.command("journal", "check")[0] == 1
    relay.start(ready=False)
    assert relay.wait_exit() == 78


def test_the_key_is_rotated_while_the_relay_is_stopped(make_relay, trax):
    accounts = [trax.account(name, rows=2) for name in "abc"]
    relay = start(make_relay(), *accounts)
    code, _, err = relay.command("journal", "rotate-key")
    assert code == 78 and "another relay" in err
    assert relay.stop() == 0
    old = (relay.folder / "relay.key").read_text()
    code, out, err = relay.command("journal", "rotate-key")
    assert code == 0 and "3 credentials" in out, err
    assert (relay.folder / "relay.key").read_text() != old
    relay.secrets.add(old.strip())
    (relay.folder / "relay.key.old").rename(relay.folder / "given.old.key")
    assert relay.command("journal", "check")[0] == 0
    del relay.config["source"]["accounts"]
    relay.start()
    accounts[0].wait_sealed(2)


def test_check_tells_a_taken_port_a_lost_journal_and_reads_three_accounts(make_relay, trax):
    accounts = [trax.account(name, rows=2) for name in "abcde"]
    relay = start(make_relay(), *accounts)
    assert relay.stop() == 0
    code, out, err = relay.command("check", relay.pipeline, pipeline=False)
    assert code == 0, err
    assert out.count("can be read") == 3 and "credentials of 2 more" in out
    assert "is free" in out and "has everything up to position" in out
    with socket.create_server(("127.0.0.1", relay.port)):
        code, _, err = relay.command("check", relay.pipeline, pipeline=False)
    assert code == 78 and "Another program listens" in err
    for path in relay.folder.glob("relay.db*"):
        path.unlink()
    code, out, err = relay.command("check", relay.pipeline, pipeline=False)
    assert code == 0 and "it was lost" in out, out + err


def test_a_list_of_twenty_thousand_rows_stays_within_bounded_memory(make_relay, trax):
    account = trax.account("a")
    with trax.changed:
        for index in range(20_000):
            account.put(f"conn_{index:05}", note="x" * 500)
    relay = make_relay(source={"walkTimeout": Plain("60s"), "requestTimeout": Plain("20s"),
                               "interval": {"fastest": Plain("5s"), "slowest": Plain("10s")}})
    relay.enlist(account).start()
    wait_until(lambda: sample(relay, "journal_entries") == 20_000, 120, "the baseline")
    assert peak(relay) < 1 << 30, f"{peak(relay) >> 20} MiB"


def peak(relay):
    """The most memory that the process has had, in bytes."""
    status = pathlib.Path(f"/proc/{relay.process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024
