"""What goes wrong between a poller and its API, exact to the byte.

Each maker gives a function `(wire, request, normal)`; `normal` is what `FakeTrax._normal` gave.
"""
import gzip
import json

from fake_trax import envelope, make_cursor, reply


def _named(name, function):
    function.__name__ = name
    return function


def _page(normal):
    return normal[1] if normal[1] is not None else {"data": []}


def _good(normal):
    return reply(200, json.dumps(_page(normal)).encode(), request_id=normal[2])


def answer(status, body=b"", headers=(), content_type="application/json", name=None):
    def fault(wire, request, normal):
        wire.send(reply(status, body, headers, normal[2], content_type))
    return _named(name or f"status {status}", fault)


def refused(status=401, code="invalid_key", scope=None, headers=()):
    """The API's own no, in its envelope."""
    def fault(wire, request, normal):
        body = envelope(code, "The credential was refused.", normal[2], scope)
        wire.send(reply(status, body, headers, normal[2]))
    return _named(f"refused {status}", fault)


def bare(status):
    """A no from a proxy that does not know the envelope."""
    return answer(status, b"<html>denied</html>", content_type="text/html",
                  name=f"bare {status}")


def throttled(retry_after=None, status=429):
    headers = [] if retry_after is None else [("Retry-After", retry_after)]
    code = "rate_limited" if status == 429 else "unavailable"

    def fault(wire, request, normal):
        wire.send(reply(status, envelope(code, "Later.", normal[2]), headers, normal[2]))
    return _named(f"throttled {status}", fault)


def html():
    return answer(200, b"<html><body>Maintenance</body></html>", content_type="text/html",
                  name="html with 200")


def body(data, name="body"):
    """Any bytes with 200."""
    return answer(200, data if isinstance(data, bytes) else json.dumps(data).encode(), name=name)


def redirect(location, status=302):
    return answer(status, b"", [("Location", location)], name=f"redirect {status}")


def short_body():
    """Content-Length promises more than comes."""
    def fault(wire, request, normal):
        good = _good(normal)
        head, _, rest = good.partition(b"\r\n\r\n")
        length = len(rest)
        head = head.replace(f"Content-Length: {length}".encode(),
                            f"Content-Length: {length + 64}".encode())
        wire.send(head + b"\r\n\r\n" + rest)
        wire.close()
    return _named("short body", fault)


def cut_body():
    """The connection ends in the middle of a body of honest length."""
    def fault(wire, request, normal):
        good = _good(normal)
        wire.send(good[:-max(2, len(good) // 4)])
        wire.close()
    return _named("cut body", fault)


def cut_chunk(whole_first=False):
    """Chunked, and the last chunk never comes; the JSON before it may look whole."""
    def fault(wire, request, normal):
        data = json.dumps(_page(normal)).encode()
        wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\n")
        if whole_first:
            wire.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        else:
            wire.send(f"{len(data):x}\r\n".encode() + data[:len(data) // 2])
        wire.close()
    return _named("cut chunk", fault)


def chunked():
    """No fault at all: the same page in small chunks."""
    def fault(wire, request, normal):
        data = json.dumps(_page(normal)).encode()
        wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\n")
        for start in range(0, len(data), 7):
            part = data[start:start + 7]
            wire.send(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        wire.send(b"0\r\n\r\n")
    return _named("chunked", fault)


def compressed(data=None, cut=False):
    """The good page (or any bytes) by gzip, which the client must have asked for."""
    def fault(wire, request, normal):
        plain = data if data is not None else json.dumps(_page(normal)).encode()
        packed = gzip.compress(plain)
        if cut:
            packed = packed[:-9]
        headers = [("Content-Encoding", "gzip")]
        if "gzip" in request.headers.get("accept-encoding", ""):
            wire.send(reply(200, packed, headers, normal[2]))
        else:
            wire.send(reply(200, plain if not cut else b"{", request_id=normal[2]))
    return _named("compressed", fault)


def reset():
    """RST instead of an answer."""
    return _named("reset", lambda wire, request, normal: wire.reset())


def reset_in_body():
    def fault(wire, request, normal):
        good = _good(normal)
        wire.send(good[:-2])
        wire.sleep(0.02)
        wire.reset()
    return _named("reset in body", fault)


def silent_close():
    return _named("silent close", lambda wire, request, normal: wire.close())


def garbage():
    """Not HTTP."""
    def fault(wire, request, normal):
        wire.send(b"\x16\x03\x01 this is no answer\r\n\r\n")
        wire.close()
    return _named("garbage", fault)


def slow(seconds):
    """A good answer that comes after `seconds`."""
    def fault(wire, request, normal):
        wire.sleep(seconds)
        wire.send(_good(normal))
    return _named("slow", fault)


def drip(interval):
    """A good answer, one byte at a time."""
    def fault(wire, request, normal):
        for byte in _good(normal):
            wire.sleep(interval)
            wire.send(bytes([byte]))
    return _named("drip", fault)


def rows(change, name="rows"):
    """A good page whose rows went through `change`."""
    def fault(wire, request, normal):
        page = {**_page(normal)}
        page["data"] = change(page["data"])
        wire.send(reply(200, json.dumps(page).encode(), request_id=normal[2]))
    return _named(name, fault)


def page(change, name="page"):
    """A good page that went through `change` as a whole."""
    def fault(wire, request, normal):
        data = json.dumps(change({**_page(normal)})).encode()
        wire.send(reply(200, data, request_id=normal[2]))
    return _named(name, fault)


def cycling():
    """Two cursors that lead to one another for ever."""
    def fault(wire, request, normal):
        turn = "b" if request.query.get("cursor", "").startswith("a") else "a"
        data = {"data": [], "nextCursor": turn * 12}
        wire.send(reply(200, json.dumps(data).encode(), request_id=normal[2]))
    return _named("cycling cursor", fault)


def endless():
    """Always another page, always another cursor."""
    def fault(wire, request, normal):
        data = {"data": [], "nextCursor": make_cursor("", request.page + 1)}
        wire.send(reply(200, json.dumps(data).encode(), request_id=normal[2]))
    return _named("endless pages", fault)
