"""The first five minutes of someone who has never seen it."""
import re
import signal
import subprocess
import threading
import time

import pytest

from relay import Relay, binary, wait_until


class Quickstart:
    """The command as a person starts it, its output line by line."""

    def __init__(self, folder, *options):
        self.lines = []
        self.process = subprocess.Popen([binary(), "quickstart", *options], cwd=folder,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        stdin=subprocess.DEVNULL, text=True)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)

    @property
    def text(self):
        return "".join(self.lines)

    def kcat(self):
        found = re.search(r"kcat .*", self.text)
        return found and found.group(0)


def test_it_tells_what_happens_and_stops_by_itself(program, tmp_path):
    begun = time.monotonic()
    shown = Quickstart(tmp_path, "--for", "25s")
    wait_until(shown.kcat, 20, "the line for kcat")
    line = shown.kcat()
    assert re.search(r"-b 127\.0\.0\.1:\d+", line) and "-t " in line
    for word in ("linked", "failing", "repaired"):
        wait_until(lambda word=word: word in shown.text, 25, f"a connection to be {word}")
    read = subprocess.run(["timeout", "5", "bash", "-c", line], capture_output=True, text=True)
    assert "live.traxstreaming.connection." in read.stdout, (line, read)
    assert shown.process.wait(40) == 0, shown.text
    assert 20 < time.monotonic() - begun < 45
    assert "sk_live_" not in shown.text, "a key on the screen"
    assert list(tmp_path.iterdir()) == [], "it leaves files where it was started"


def test_ctrl_c_stops_it_cleanly(program, tmp_path):
    shown = Quickstart(tmp_path)
    wait_until(shown.kcat, 20, "the line for kcat")
    wait_until(lambda: "linked" in shown.text, 25, "an event")
    shown.process.send_signal(signal.SIGINT)
    assert shown.process.wait(15) == 0, shown.text


def test_two_at_once_do_not_disturb_each_other(program, tmp_path):
    one, two = Quickstart(tmp_path, "--for", "8s"), Quickstart(tmp_path, "--for", "8s")
    assert one.process.wait(40) == 0, one.text
    assert two.process.wait(40) == 0, two.text


def test_an_embedded_broker_is_enough_to_run(tmp_path, trax, program):
    relay = Relay(tmp_path, trax, brokers="embedded")
    account = trax.account("a", rows=2)
    relay.config["sinks"].append({"log": {}})
    relay.enlist(account).start()
    account.wait_sealed()
    account.set("conn_00", status="expired")
    wait_until(lambda: relay.stdout.count("\n") == 1, 20, "a line")
    assert relay.http("/readyz")[0] == 200
    assert relay.stop() == 0
    assert relay.find_secrets() == []
    # Its topics are gone with it; the journal goes on.
    relay.start()
    account.set("conn_00", status="active")
    wait_until(lambda: relay.stdout.count("\n") == 1, 20, "a line")
    assert relay.stop() == 0
