"""The relay under test as a process: its pipeline and accounts in a folder of their own, its
standard streams in files, its HTTP side, and a search for secrets in all it left behind."""
import contextlib
import csv
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
import uuid

from kafka_node import CHECKOUT, free_ports
from topics import Topic, shared_brokers


def binary():
    """The program under test: TRAX_RELAY_BIN, else what the last build left."""
    given = os.environ.get("TRAX_RELAY_BIN")
    if given:
        return given
    built = [CHECKOUT / ".build" / kind / "trax-relay" for kind in ("debug", "release")]
    there = [each for each in built if each.exists()]
    return str(max(there, key=lambda each: each.stat().st_mtime)) if there else str(built[0])


def wait_until(condition, within=20, what="a condition", step=0.02):
    """Asks again and again; gives what the condition gave, or fails by name."""
    end = time.monotonic() + within
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"waited {within} s for {what}")
        time.sleep(step)


def to_yaml(value, indent=0):
    """Block style, as a person would write it; scalars by JSON's rules, which YAML shares."""
    pad = "  " * indent
    if isinstance(value, dict) and value:
        lines = []
        for key, inner in value.items():
            if isinstance(inner, (dict, list)) and inner:
                lines.append(f"{pad}{key}:\n{to_yaml(inner, indent + 1)}")
            else:
                lines.append(f"{pad}{key}: {_scalar(inner)}\n")
        return "".join(lines)
    if isinstance(value, list) and value:
        return "".join(f"{pad}- {_flow(inner)}\n" for inner in value)
    return f"{pad}{_scalar(value)}\n"


def _flow(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k}: {_flow(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _scalar(value)


def _scalar(value):
    return value if isinstance(value, Plain) else json.dumps(value)


class Plain(str):
    """A YAML scalar written without quotes."""


def merged(base, change):
    """`change` laid over `base`; None takes a key away."""
    result = dict(base)
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result


QUICK = {"fastest": Plain("200ms"), "slowest": Plain("500ms")}


class Relay:
    """One pipeline and the processes that ran it."""

    def __init__(self, folder, trax, brokers=None, **change):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.trax = trax
        self.name = "t" + uuid.uuid4().hex[:10]
        self.brokers = brokers or shared_brokers()
        self.environment = {}
        self.port = free_ports(1)[0]
        self.config = merged({
            "version": 1,
            "name": self.name,
            "source": {
                "baseURL": trax.url if trax else "http://127.0.0.1:9",
                "accounts": "accounts.csv",
                "requestTimeout": Plain("2s"),
                "walkTimeout": Plain("4s"),
                "budget": Plain("500/s"),
                "perAccount": Plain("50/s"),
                "interval": QUICK,
            },
            "detection": {"brake": False},
            "journal": {"sqlite": "relay.db", "keyFile": "relay.key"},
            "kafka": {"brokers": self.brokers,
                      "createTopics": {"partitions": 3, "replicationFactor": 1}},
            "sinks": [{"kafka": {"topic": f"{self.name}.events"}},
                      {"state": {"topic": f"{self.name}.state"}}],
            "http": {"listen": f"127.0.0.1:{self.port}"},
        }, change)
        self.register = {}          # account id -> row of the accounts file
        self.process = None
        self.runs = 0
        self.expect_exit = 0        # at the end of a test that leaves it running
        self.pages = []             # everything that HTTP and other commands said
        self.secrets = set()
        self.topics = {}
        self.judged = True
        self.past = []              # detection rules of earlier runs, where they differ
        self.security = {}

    @property
    def pipeline(self):
        return self.folder / "pipeline.yaml"

    def topic(self, suffix):
        """The reader of one of this relay's own topics."""
        if suffix not in self.topics:
            self.topics[suffix] = Topic(self.brokers, f"{self.name}.{suffix}", self.security)
        return self.topics[suffix]

    def detections(self):
        """The rules that its runs had; a test that changes them between runs adds to `past`."""
        now = self.config.get("detection", {})
        return [{k: v for k, v in each.items() if k in ("healthy", "pending", "failing",
                                                         "otherStatus")}
                for each in [*self.past, now]]

    @property
    def events(self):
        return self.topic("events")

    @property
    def state(self):
        return self.topic("state")

    def enlist(self, *accounts, **labels):
        """Puts accounts of the API into the accounts file, with their keys as they are now."""
        for each in accounts:
            self.register[each.name] = {"account": each.name, "credential": each.key, **labels}
        return self

    def write(self):
        self.pipeline.write_text(to_yaml(self.config))
        columns = ["account", "credential"]
        for row in self.register.values():
            columns += [key for key in row if key not in columns]
        with open(self.folder / "accounts.csv", "w", newline="") as f:
            out = csv.DictWriter(f, columns, restval="")
            out.writeheader()
            out.writerows(self.register.values())
        return self

    def start(self, *options, write=True, ready=True):
        """Runs the pipeline; waits until it is ready unless told not to."""
        if write:
            self.write()
        self.runs += 1
        self.out = self.folder / f"stdout.{self.runs}"
        self.err = self.folder / f"stderr.{self.runs}"
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(
                [binary(), "run", str(self.pipeline), *options], stdout=out, stderr=err,
                stdin=subprocess.DEVNULL, env={**os.environ, **self.environment},
                start_new_session=True)
        if ready:
            self.wait_ready()
        return self

    def wait_ready(self, within=30):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError(f"the relay ended with {self.process.returncode}:\n{self.log}")
            return self.http("/readyz")[0] == 200
        wait_until(ready, within, f"{self.name} to be ready; last: {self.pages[-1:]}", step=0.05)
        return self

    def http(self, path, method="GET", body=None, headers=None):
        """(status, text); status 0 when nobody listens."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=body,
                                         method=method, headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                status, text = answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read().decode()
        except (OSError, urllib.error.URLError):
            return 0, ""
        self.pages.append(f"{path} {text}")
        return status, text

    def metrics(self):
        """name -> {labels as text -> value}."""
        status, text = self.http("/metrics")
        assert status == 200, f"/metrics said {status}"
        return parse_metrics(text)

    def signal(self, number):
        self.process.send_signal(number)
        return self

    def hup(self):
        self.write()
        return self.signal(signal.SIGHUP)

    def kill(self):
        if self.trax:
            # The API may still be at an answer that nobody waits for when the next run asks.
            self.trax.was_left = True
        if self.process and self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        return self

    def stop(self, within=15):
        """SIGTERM; the exit code."""
        self.signal(signal.SIGTERM)
        return self.wait_exit(within)

    def wait_exit(self, within=30):
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            log = self.log
            self.process.kill()
            self.process.wait(10)
            raise AssertionError(f"still running after {within} s:\n{log[-3000:]}") from None

    def command(self, *arguments, text=None, within=60, pipeline=True):
        """Runs another command beside it; (exit code, standard output, standard error)."""
        given = [str(each) for each in arguments]
        if pipeline:
            given += ["-c", str(self.pipeline)]
        done = run_binary(*given, text=text, within=within, environment=self.environment,
                          folder=self.folder)
        self.pages += [done[1], done[2]]
        return done

    @property
    def log(self):
        """What the last run wrote to standard error."""
        return self.err.read_text(errors="replace")

    def line_that_ends_a_transaction(self):
        """What the log told last to end a hanging transaction: the tool's arguments, or None."""
        told = re.findall(r"kafka-transactions\.sh (--bootstrap-server \S+ abort .*?"
                          r"--start-offset \d+)", " ".join(self.log.split()))
        return told[-1].split() if told else None

    @property
    def stdout(self):
        return self.out.read_text(errors="replace")

    def find_secrets(self):
        """Where a credential of the API stands in clear, of all that this relay left behind."""
        secrets = {key.encode() for key in
                   (self.trax.all_keys() if self.trax else set()) | self.secrets}
        own = {"accounts.csv", "relay.key", "pipeline.yaml"}
        places = {}
        for path in self.folder.rglob("*"):
            if path.is_file() and path.name not in own and not path.name.startswith("given."):
                places[str(path)] = path.read_bytes()
        places["pages and commands"] = "\n".join(self.pages).encode()
        for topic in self.topics.values():
            for each in topic.records:
                text = f"{each.key} {each.headers}".encode() + (each.raw or b"")
                places[f"{topic.name}@{each.partition}:{each.offset}"] = text
        return [place for place, data in places.items() if any(key in data for key in secrets)]

    def close(self):
        """Ends what runs; gives the exit code where a running relay was told to end."""
        code = None
        if self.process and self.process.poll() is None:
            with contextlib.suppress(AssertionError):
                self.metrics()
            code = self.stop()
        return code


def run_binary(*arguments, text=None, within=60, environment=None, folder=None):
    """(exit code, standard output, standard error) of one run of the program."""
    done = subprocess.run([binary(), *map(str, arguments)], input=text or "", text=True,
                          capture_output=True, timeout=within, cwd=folder,
                          env={**os.environ, **(environment or {})}, start_new_session=True)
    return done.returncode, done.stdout, done.stderr


def parse_metrics(text):
    """Prometheus text, strictly: HELP and TYPE once and before the samples, numbers, no doubles."""
    families, samples, current = {}, {}, None
    assert text.endswith("\n"), "the last line of /metrics has no end"
    for line in text.splitlines():
        if not line:
            continue
        if line.startswith("# "):
            _, kind, name, rest = (line.split(" ", 3) + [""])[:4]
            if kind == "TYPE":
                assert name not in families, f"TYPE of {name} twice"
                assert rest in ("counter", "gauge", "histogram", "summary"), line
                families[name] = rest
                current = name
            continue
        name = line.partition("{")[0].partition(" ")[0]
        labels = line[len(name):line.rindex("}") + 1] if "}" in line else ""
        value = line[len(name) + len(labels):].split()
        family = name
        for suffix in ("_bucket", "_sum", "_count"):
            if name.endswith(suffix) and name.removesuffix(suffix) in families:
                family = name.removesuffix(suffix)
        assert family in families, f"no TYPE before {line}"
        assert family == current, f"samples of {family} stand apart"
        assert labels not in samples.setdefault(name, {}), f"twice: {line}"
        samples[name][labels] = float(value[0])
    return samples
