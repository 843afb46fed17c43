"""A TRaX API of our own making, by the vendor's pages alone: accounts, keys, rows, pages, and
faults that are exact to the byte. It records what it was asked, so that a test can hold the relay
to its budget, to `Retry-After` and to one walk at a time."""
import base64
import json
import secrets
import select
import socket
import struct
import threading
import time
import urllib.parse
from dataclasses import dataclass, field

REASONS = {200: "OK", 204: "No Content", 301: "Moved Permanently", 302: "Found",
           307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request",
           401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 429: "Too Many Requests",
           500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable"}


@dataclass
class Request:
    """One request as it arrived; `at` and `done` on the monotonic clock, `wall` on the other."""

    at: float
    wall: float
    method: str
    path: str
    query: dict
    headers: dict
    account: str | None
    page: int = 0
    fault: str | None = None
    done: float | None = None

    @property
    def id(self):
        return self.headers.get("x-request-id")


class Gone(Exception):
    """The client closed its side, or the test is over."""


class Wire:
    """The socket of one connection, as a fault sees it.

    What was sent last is held back until something follows it or the answer is booked: a client
    that has the whole answer may ask again at once, and must not meet books that still call it
    asking."""

    def __init__(self, connection, over):
        self.connection, self.over = connection, over
        self.keep = True
        self.held = b""

    def send(self, data):
        self.flush()
        self.held = data

    def flush(self):
        data, self.held = self.held, b""
        try:
            self.connection.sendall(data)
        except OSError:
            raise Gone from None

    def sleep(self, seconds):
        """Waits, but not for a client that has left."""
        self.flush()
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self.over.is_set():
                raise Gone
            readable, _, _ = select.select([self.connection], [], [], min(left, 0.05))
            if readable:
                try:
                    if not self.connection.recv(1, socket.MSG_PEEK):
                        raise Gone
                except OSError:
                    raise Gone from None
                self.over.wait(min(left, 0.05))

    def reset(self):
        """Ends the connection with RST instead of FIN."""
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        raise Gone

    def close(self):
        raise Gone


def reply(status, body=b"", headers=(), request_id=None, content_type="application/json"):
    """The bytes of an HTTP/1.1 answer with a true Content-Length."""
    lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Other')}"]
    if content_type and status != 204:
        lines.append(f"Content-Type: {content_type}")
    lines += [f"{name}: {value}" for name, value in headers]
    if request_id:
        lines.append(f"X-Request-Id: {request_id}")
    if status != 204:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def envelope(code, message, request_id, scope=None):
    error = {"code": code, "message": message, "requestId": request_id}
    if scope:
        error["requiredScope"] = scope
    return json.dumps({"error": error}).encode()


@dataclass
class Planned:
    """A fault that waits for its requests."""

    fault: object
    page: int | None
    times: int | None


class Account:
    """One account behind the API: its key, its rows in the order of their ids, its faults."""

    def __init__(self, server, name, key):
        self.server, self.name, self.key = server, name, key
        self.rows = {}
        self.planned = []
        self.sealed = 0          # whole walks served without a fault
        self.last_sealed_start = 0.0
        self.sealed_walls = []   # when the first request of each of them came, wall clock
        self.requests = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.walk_start = self.walk_wall = None
        self.changed_wall = time.time()

    def put(self, id, platform="youtube", status="active", scopes=("a", "b"), **others):
        """Sets a whole row; a field given as `...` is left out."""
        row = {"id": id, "platform": platform, "status": status,
               "grantedScopes": list(scopes) if isinstance(scopes, tuple) else scopes, **others}
        with self.server.changed:
            self.rows[id] = {k: v for k, v in row.items() if v is not ...}
            self.changed_wall = time.time()
        return self

    def set(self, id, **fields):
        """Changes fields of a row that is there."""
        with self.server.changed:
            row = {**self.rows[id], **fields}
            self.rows[id] = {k: v for k, v in row.items() if v is not ...}
            self.changed_wall = time.time()
        return self

    def remove(self, *ids):
        with self.server.changed:
            for id in ids:
                del self.rows[id]
            self.changed_wall = time.time()
        return self

    def replace(self, rows):
        with self.server.changed:
            self.rows = rows
            self.changed_wall = time.time()
        return self

    def rekey(self, key=None):
        """Revokes the key and gives another one."""
        with self.server.changed:
            self.key = key or new_key()
        return self.key

    def plan(self, fault, times=None, page=None):
        """The next `times` requests (of that page, from 0) meet the fault; by default all do."""
        with self.server.changed:
            self.planned.append(Planned(fault, page, times))
        return self

    def heal(self):
        with self.server.changed:
            self.planned.clear()
        return self

    def met(self, fault=None):
        """How many requests met a fault (of that name)."""
        with self.server.changed:
            return sum(1 for each in self.requests
                       if each.fault and fault in (None, each.fault))

    def wait_sealed(self, count=1, within=30):
        """Waits for whole walks that began after this call."""
        since = time.monotonic()
        with self.server.changed:
            base, done = self.sealed, 0
            end = since + within
            while True:
                if self.sealed > base:
                    if self.last_sealed_start >= since:
                        done += self.sealed - base
                    base = self.sealed
                if done >= count:
                    return self
                if not self.server.changed.wait(max(0, end - time.monotonic())):
                    if time.monotonic() >= end:
                        raise AssertionError(f"{self.name}: {done} of {count} walks in {within} s;"
                                             f" {len(self.requests)} requests so far")

    def wait_met(self, count=1, within=30):
        """Waits until that many requests met a fault."""
        self.server.wait(lambda: sum(1 for r in self.requests if r.fault and r.done) >= count,
                         within, f"{self.name} to meet {count} faults")
        return self

    def wait_requests(self, count, within=30):
        self.server.wait(lambda: len(self.requests) >= count, within,
                         f"{self.name} to be asked {count} times")
        return self


def new_key():
    return "sk_live_canary" + secrets.token_hex(16)


class FakeTrax:
    """The API on a loopback port; every account is made by the test."""

    def __init__(self, page_size=200):
        self.page_size = page_size
        self.changed = threading.Condition()
        self.accounts = {}
        self.requests = []
        self.strangers = []      # requests with a key that nobody has
        self.keys_given = set()
        self.was_left = False    # a relay was killed, perhaps in the middle of a request
        self.over = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.open = set()
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def account(self, name, key=None, rows=0):
        """An account with `rows` healthy rows conn_00, conn_01, …"""
        made = Account(self, name, key or new_key())
        with self.changed:
            self.accounts[name] = made
            self.keys_given.add(made.key)
        for index in range(rows):
            made.put(f"conn_{index:02}")
        return made

    def wait(self, condition, within=30, what="a condition"):
        with self.changed:
            if not self.changed.wait_for(condition, within):
                raise AssertionError(f"waited {within} s for {what}")

    def all_keys(self):
        with self.changed:
            return self.keys_given | {each.key for each in self.accounts.values()}

    def refuse_connections(self):
        """The host is there and nothing listens; the port stays ours."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self._drop()

    def listen_again(self):
        self.listener.listen(512)
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def close(self):
        self.over.set()
        self.listener.close()
        self._drop()

    # The rest is how.

    def _drop(self):
        with self.changed:
            for connection in list(self.open):
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def _accept(self, listener):
        while not self.over.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with self.changed:
            self.open.add(connection)
        wire = Wire(connection, self.over)
        stream = connection.makefile("rb")
        try:
            while wire.keep and not self.over.is_set():
                request = self._read(stream)
                if request is None:
                    return
                self._answer(wire, request)
        except (Gone, OSError, ValueError):
            pass
        finally:
            with self.changed:
                self.open.discard(connection)
            stream.close()
            connection.close()

    def _read(self, stream):
        start = stream.readline(65537)
        if not start.strip():
            return None
        method, target, _ = start.decode("latin-1").split()
        headers = {}
        while (line := stream.readline(65537).decode("latin-1").strip()):
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        stream.read(int(headers.get("content-length", 0)))
        url = urllib.parse.urlsplit(target)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        return Request(time.monotonic(), time.time(), method, url.path, query, headers, None)

    def _answer(self, wire, request):
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        with self.changed:
            self.requests.append(request)
            account = next((a for a in self.accounts.values() if a.key == key), None)
            fault = None
            if account:
                request.account = account.name
                request.page = cursor_page(request.query.get("cursor"))
                account.requests.append(request)
                account.in_flight += 1
                account.most_in_flight = max(account.most_in_flight, account.in_flight)
                fault = self._fault_for(account, request)
            else:
                self.strangers.append(request)
            normal = self._normal(account, request)
        try:
            if fault:
                fault(wire, request, normal)
            else:
                wire.send(normal[0] if normal[1] is None else reply(
                    200, json.dumps(normal[1]).encode(), request_id=normal[2]))
        finally:
            with self.changed:
                request.done = time.monotonic()
                if account:
                    account.in_flight -= 1
                    self._count(account, request, normal[1])
                self.changed.notify_all()
            wire.flush()

    def _fault_for(self, account, request):
        for planned in account.planned:
            if planned.page is not None and planned.page != request.page:
                continue
            if planned.times is not None:
                if planned.times == 0:
                    continue
                planned.times -= 1
            request.fault = getattr(planned.fault, "__name__", str(planned.fault))
            return planned.fault
        return None

    def _count(self, account, request, page):
        if request.page == 0:
            account.walk_start, account.walk_wall = request.at, request.wall
        if request.fault or page is None:
            account.walk_start = None
        elif account.walk_start is not None and "nextCursor" not in page:
            account.sealed += 1
            account.last_sealed_start = account.walk_start
            account.sealed_walls.append(account.walk_wall)

    def _normal(self, account, request):
        """(bytes of an error or None, the page as an object or None, the request id)."""
        id = request.headers.get("x-request-id") or "req_" + secrets.token_hex(8)

        def error(status, code, message):
            return reply(status, envelope(code, message, id), request_id=id), None, id

        if request.path == "/v1/health":
            return reply(200, b'{"status":"ok"}', request_id=id), None, id
        if account is None:
            return error(401, "invalid_key", "The key is unknown, revoked or expired.")
        if request.path != "/v1/connections" or request.method != "GET":
            return error(404, "not_found", "There is nothing here.")
        try:
            limit = min(200, int(request.query.get("limit", 50)))
            after = cursor_id(request.query.get("cursor"))
        except ValueError:
            return error(400, "invalid_request", "limit or cursor is malformed.")
        if limit < 1:
            return error(400, "invalid_request", "limit is malformed.")
        size = min(limit, self.page_size)
        ids = sorted(account.rows, key=lambda id: str(id).encode())
        ids = [id for id in ids if after is None or str(id).encode() > after.encode()]
        page = {"data": [dict(account.rows[id]) for id in ids[:size]]}
        if len(ids) > size:
            page["nextCursor"] = make_cursor(str(ids[size - 1]), request.page + 1)
        return None, page, id


def make_cursor(last, page):
    token = json.dumps([last, page]).encode()
    return base64.urlsafe_b64encode(token).decode().rstrip("=")


def _cursor(token):
    if not token:
        return None, 0
    padded = token + "=" * (-len(token) % 4)
    return json.loads(base64.urlsafe_b64decode(padded))


def cursor_id(token):
    return _cursor(token)[0]


def cursor_page(token):
    try:
        return int(_cursor(token)[1])
    except (ValueError, TypeError, IndexError, KeyError):
        return 0


@dataclass
class Trap:
    """A listener where no credential may ever arrive: the far end of a redirect."""

    arrived: list = field(default_factory=list)

    def __post_init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(1)
                try:
                    self.arrived.append(connection.recv(65536))
                    connection.sendall(reply(200, b'{"data":[]}'))
                except OSError:
                    pass

    def close(self):
        self.listener.close()
