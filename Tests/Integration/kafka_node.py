"""Brokers for the tests: Apache Kafka where there is one, else noida-db from PyPI.

Apache Kafka is looked for in KAFKA_HOME (a distribution, or a folder with `libs` and
`releases.json`), then in `../shared/kafka` beside the checkout. Loopback only, KRaft, Java 17.

    kafka_node.py up FOLDER      starts one node, prints its address
    kafka_node.py down FOLDER    ends it and removes the folder
"""
import base64
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]

# What costs a test time and no client can observe; all else is as Kafka has it.
QUICK = {
    "offsets.topic.num.partitions": 8,
    "transaction.state.log.num.partitions": 8,
    "group.initial.rebalance.delay.ms": 0,
    "auto.create.topics.enable": "false",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
    "log.cleaner.backoff.ms": 500,
    "log.cleaner.dedupe.buffer.size": 4194304,
    "log.initial.task.delay.ms": 1000,
    "broker.heartbeat.interval.ms": 500,
    "broker.session.timeout.ms": 3000,
}


def distribution():
    """The class path of the Apache Kafka that is there, or None."""
    places = [os.environ.get("KAFKA_HOME"), CHECKOUT.parent / "shared" / "kafka"]
    for place in filter(None, places):
        libs = pathlib.Path(place) / "libs"
        listed = pathlib.Path(place) / "releases.json"
        if listed.is_file():
            releases = json.loads(listed.read_text())
            wanted = os.environ.get("KAFKA_RELEASE") or next(iter(releases))
            return ":".join(str(libs / name) for name in releases[wanted])
        if any(libs.glob("kafka_*.jar")):
            return f"{libs}/*"
    if os.environ.get("KAFKA_HOME"):
        sys.exit(f"Error: KAFKA_HOME={os.environ['KAFKA_HOME']} has no libs/kafka_*.jar")
    return None


def is_apache():
    """Whether the brokers here are Apache Kafka, which alone carries kills, three nodes and TLS."""
    return distribution() is not None


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    try:
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()


class Cluster:
    """One node or several in a folder; `up` once, then any node is killed, paused and started."""

    def __init__(self, folder, nodes=1, tls=False, sasl=None, settings=None, users=None,
                 mechanism="PLAIN"):
        """`sasl` is (user, password); `tls` means certificates on both sides.

        With `users` (name -> password) there are rules: the first user may do all, these nothing
        that is not granted.
        """
        self.folder = pathlib.Path(folder)
        self.tls, self.sasl, self.settings = tls, sasl, settings or {}
        self.users, self.mechanism = users or {}, mechanism
        self.ids = list(range(1, nodes + 1))
        ports = free_ports(2 * nodes)
        self.ports = dict(zip(self.ids, ports[:nodes]))
        self.controllers = dict(zip(self.ids, ports[nodes:]))
        self.processes = {}
        self.host = "localhost" if tls else "127.0.0.1"

    @property
    def bootstrap(self):
        return ",".join(f"{self.host}:{port}" for port in self.ports.values())

    @property
    def properties(self):
        """What a librdkafka client needs beyond the address."""
        found = {}
        if self.tls or self.sasl:
            found["security.protocol"] = self._protocol()
        if self.tls:
            keys = self.folder / "tls"
            found["ssl.ca.location"] = str(keys / "ca.crt")
            found["ssl.certificate.location"] = str(keys / "client.crt")
            found["ssl.key.location"] = str(keys / "client.key")
        if self.sasl:
            found["sasl.mechanism"] = self.mechanism
            found["sasl.username"] = self.sasl[0]
        return found

    def client(self, user=None):
        """What a kafka-python client needs beyond the address, as that user or the first."""
        name, password = (user, self.users[user]) if user else self.sasl
        return {"security_protocol": self._protocol(), "sasl_mechanism": self.mechanism,
                "sasl_plain_username": name, "sasl_plain_password": password}

    def up(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        if is_apache():
            if self.tls:
                self._certificates()
            self._format()
        self.start()
        return self

    def start(self, node=None):
        chosen = [node] if node else self.ids
        for each in chosen:
            running = self.processes.get(each)
            if running and running.poll() is None:
                continue
            with open(self.folder / f"{each}.log", "ab") as log:
                self.processes[each] = subprocess.Popen(
                    self._command(each), stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                    start_new_session=True)
        for each in chosen:
            self._wait_listening(each)

    def kill(self, node=None):
        self._signal(node, signal.SIGKILL, wait=True)

    def stop(self, node=None):
        self._signal(node, signal.SIGTERM, wait=True)

    def pause(self, node=None):
        self._signal(node, signal.SIGSTOP, wait=False)

    def resume(self, node=None):
        self._signal(node, signal.SIGCONT, wait=False)

    def tool(self, name, *arguments):
        """Runs one of Kafka's own tools; what it said."""
        done = subprocess.run(self._java(f"org.apache.kafka.tools.{name}", *arguments),
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stdout}{done.stderr}")
        return done.stdout

    def down(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    # The rest is how.

    def _signal(self, node, number, wait):
        chosen = [self.processes[each] for each in ([node] if node else self.ids)
                  if each in self.processes]
        for process in chosen:
            if process.poll() is None:
                process.send_signal(number)
        if wait:
            for process in chosen:
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait(30)

    def _wait_listening(self, node):
        end = time.monotonic() + 60
        while True:
            if self.processes[node].poll() is not None:
                tail = (self.folder / f"{node}.log").read_text(errors="replace")[-3000:]
                raise RuntimeError(f"broker {node} did not start:\n{tail}")
            try:
                socket.create_connection(("127.0.0.1", self.ports[node]), 0.5).close()
                return
            except OSError:
                if time.monotonic() > end:
                    raise RuntimeError(f"broker {node} does not listen") from None
                time.sleep(0.05)

    def _command(self, node):
        if not is_apache():
            return [_noida(), "start", "--only", "kafka", "--kafka-port", str(self.ports[node]),
                    "--data-dir", str(self.folder / "data")]
        return self._java("kafka.Kafka", str(self.folder / f"{node}.properties"), heap=256)

    def _java(self, main, *arguments, heap=96):
        return ["java", f"-Xmx{heap}m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                "-XX:-UsePerfData", "-Xshare:auto", "-Djava.net.preferIPv4Stack=true",
                "-Dlog4j2.disable.jmx=true", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-cp", distribution(), main, *arguments]

    def _protocol(self):
        return ("SASL_" if self.sasl else "") + ("SSL" if self.tls else "PLAINTEXT")

    def _format(self):
        identity = "A" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")[1:]
        for node in self.ids:
            lines = [f"{key}={value}\n" for key, value in self._server(node).items()]
            path = self.folder / f"{node}.properties"
            path.write_text("".join(lines))
            accounts = [*([self.sasl] if self.sasl else []), *self.users.items()]
            scram = [part for user, password in accounts if self.mechanism != "PLAIN"
                     for part in ("--add-scram",
                                  f"{self.mechanism}=[name={user},password={password}]")]
            done = subprocess.run(
                self._java("kafka.tools.StorageTool", "format", "-t", identity, "-c", str(path),
                           *scram),
                capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"format of {node} failed: {done.stdout}{done.stderr}")

    def _server(self, node):
        copies = min(3, len(self.ids))
        name = "listener.name.broker."
        voters = ",".join(f"{n}@127.0.0.1:{port}" for n, port in self.controllers.items())
        server = {
            "process.roles": "broker,controller",
            "node.id": node,
            "controller.quorum.voters": voters,
            "controller.listener.names": "CONTROLLER",
            "listeners": f"BROKER://127.0.0.1:{self.ports[node]},"
                         f"CONTROLLER://127.0.0.1:{self.controllers[node]}",
            "advertised.listeners": f"BROKER://{self.host}:{self.ports[node]}",
            "listener.security.protocol.map":
                f"BROKER:{self._protocol()},CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "BROKER",
            "log.dirs": self.folder / str(node),
            "offsets.topic.replication.factor": copies,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": max(1, copies - 1),
            "min.insync.replicas": max(1, copies - 1),
            "default.replication.factor": copies,
            **QUICK,
        }
        if self.tls:
            keys = self.folder / "tls"
            server |= {
                name + "ssl.keystore.type": "PEM",
                name + "ssl.keystore.location": keys / "server.pem",
                name + "ssl.truststore.type": "PEM",
                name + "ssl.truststore.location": keys / "ca.crt",
                name + "ssl.client.auth": "required",
            }
        if self.sasl:
            user, password = self.sasl
            plain = self.mechanism == "PLAIN"
            module = "plain.PlainLoginModule" if plain else "scram.ScramLoginModule"
            known = "".join(f' user_{each}="{word}"' for each, word in
                            [self.sasl, *self.users.items()]) if plain else ""
            server |= {
                "sasl.enabled.mechanisms": self.mechanism,
                "sasl.mechanism.inter.broker.protocol": self.mechanism,
                f"{name}{self.mechanism.lower()}.sasl.jaas.config":
                    f"org.apache.kafka.common.security.{module} required "
                    f'username="{user}" password="{password}"{known};',
            }
        if self.users:  # the controllers speak to each other unnamed
            server |= {
                "authorizer.class.name":
                    "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "super.users": f"User:{self.sasl[0]};User:ANONYMOUS",
            }
        return {**server, **self.settings}

    def _certificates(self):
        keys = self.folder / "tls"
        keys.mkdir(exist_ok=True)

        def ssl(*arguments):
            subprocess.run(["openssl", *arguments], cwd=keys, check=True, capture_output=True)

        ssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.crt",
            "-days", "30", "-subj", "/CN=test CA")
        (keys / "san.cnf").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        for who, name in (("server", "localhost"), ("client", "relay")):
            ssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{who}.key",
                "-out", f"{who}.csr", "-subj", f"/CN={name}")
            ssl("x509", "-req", "-in", f"{who}.csr", "-CA", "ca.crt", "-CAkey", "ca.key",
                "-CAcreateserial", "-days", "30", "-extfile", "san.cnf", "-out", f"{who}.crt")
            pair = (keys / f"{who}.key").read_text() + (keys / f"{who}.crt").read_text()
            (keys / f"{who}.pem").write_text(pair)


def _noida():
    """The stand-in's own program: its Python wrapper would swallow signals."""
    try:
        import noida_db
    except ImportError:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "noida-db==0.2.3"],
                       check=True, stdout=sys.stderr)
        import noida_db
    return str(pathlib.Path(noida_db.__file__).parent / "noida-db")


def main(command, folder):
    folder = pathlib.Path(folder)
    if command == "up":
        cluster = Cluster(folder).up()
        (folder / "pid").write_text(str(cluster.processes[1].pid))
        print(cluster.bootstrap)
    elif command == "down" and (folder / "pid").exists():
        try:
            os.kill(int((folder / "pid").read_text()), signal.SIGKILL)
        except ProcessLookupError:
            pass
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("up", "down"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
