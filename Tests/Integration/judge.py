"""The contract as a judge: what must hold for every record of every topic, whatever the story."""
import re
from datetime import datetime, timedelta

from topics import partition_of

STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
DURATION = re.compile(
    r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d+))?S)?)?")
ENVELOPE = {"specversion", "id", "source", "type", "time", "datacontenttype", "dataschema",
            "partitionkey", "sequence", "data"}
CONNECTION_TYPES = {"connection." + each for each in (
    "baseline", "linked", "repaired", "failing", "status_changed", "scopes_changed", "unlinked")}
ACCOUNT_TYPES = {"account." + each for each in (
    "blind", "restored", "held", "released", "removed", "resynced")}
ACCOUNT_FIELDS = {"blind": {"status", "code", "since"}, "restored": {"blindFor"}, "removed": set(),
                  "resynced": {"reason"},
                  "held": {"hold", "reason", "removals", "failures", "connections"},
                  "released": {"hold", "recovered", "published", "discarded"}}
CONNECTION_DATA = {"account", "kind", "lane", "epoch", "sequence", "connection", "previous",
                   "changed", "decidedAt", "statusRecognised", "userActionable"}
OPTIONAL_DATA = {"changedBetween", "walk", "scopes", "failedFor", "possibleReplacementOf"}
ROW = {"id", "platform", "status", "health", "grantedScopes"}

DETECTION = {"healthy": ["active"], "pending": ["pending", "connecting", "linking"],
             "failing": ["expired", "revoked", "disconnected", "error", "reauth_required"],
             "otherStatus": "failing"}


def instant(text):
    assert STAMP.fullmatch(text), f"no RFC 3339 instant with milliseconds in UTC: {text!r}"
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def duration(text):
    found = DURATION.fullmatch(text)
    assert found and text not in ("P", "PT"), f"no ISO 8601 duration: {text!r}"
    days, hours, minutes, seconds, part = found.groups()
    return timedelta(days=int(days or 0), hours=int(hours or 0), minutes=int(minutes or 0),
                     seconds=int(seconds or 0), milliseconds=int((part or "0").ljust(3, "0")[:3]))


def health_of(status, detection=None):
    rules = {**DETECTION, **(detection or {})}
    if not isinstance(status, str):
        return "unrecognised"
    for health in ("healthy", "pending", "failing"):
        if status in rules[health]:
            return health
    return rules["otherStatus"]


def same_row(one, other):
    """Whether two published rows agree in what is compared and judged."""
    if one is None or other is None:
        return one is other
    return all(one.get(key) == other.get(key) for key in ROW)


class Judge:
    """Reads one event topic in order and holds each record to the contract.

    `unfiltered` topics see every number; with `detections` (the pipelines' rules over time) health
    is judged only where all agree. With `remembers` beliefs are read back after a loss, so that the
    new epoch goes on from what was told last.
    """

    def __init__(self, unfiltered=True, detections=None, remembers=False):
        self.unfiltered = unfiltered
        self.remembers = remembers
        self.detections = detections or [{}]
        self.last = {}       # account -> (epoch, sequence)
        self.rows = {}       # (account, connection) -> last published row
        self.standing = {}   # the same -> "healthy", "failing" or None
        self.failed_at = {}  # the same -> time of the event that made it failing
        self.ids = {}        # event id -> where it was seen
        self.blind = {}      # account -> time

    def read(self, records, partitions):
        for record in records:
            try:
                self.one(record, partitions)
            except AssertionError as error:
                raise AssertionError(f"{record.topic}@{record.partition}:{record.offset} "
                                     f"{error}\n{(record.raw or b'').decode()}") from None
        return self

    def one(self, record, partitions):
        assert record.raw is not None, "an event without a value"
        event = record.value
        data = event["data"]
        account = data["account"]
        self.envelope(record, event, data, partitions)
        self.order(record, event, data)
        if record.type in CONNECTION_TYPES:
            self.connection(record, event, data, (account, event["subject"]))
        else:
            self.account(record, event, data)

    def envelope(self, record, event, data, partitions):
        known = record.type in CONNECTION_TYPES
        assert known or record.type in ACCOUNT_TYPES, f"unknown type {event['type']}"
        assert event["type"] == "live.traxstreaming." + record.type
        wanted = ENVELOPE | ({"subject"} if known else set())
        assert set(event) - {"traceparent"} == wanted, f"envelope {sorted(set(event) ^ wanted)}"
        assert event["specversion"] == "1.0"
        assert re.fullmatch(r"[0-9a-f]{32}", event["id"]), event["id"]
        assert event["source"] == "/accounts/" + data["account"]
        assert event["datacontenttype"] == "application/json"
        assert event["dataschema"] == "https://traxstreaming.live/schemas/connection-event/1"
        assert event["partitionkey"] == data["account"] == record.key
        assert event["sequence"] == f"{data['epoch']}-{data['sequence']:012}"
        assert record.partition == partition_of(record.key.encode(), partitions), "wrong partition"
        assert record.headers.get("content-type") == "application/cloudevents+json"
        assert set(record.headers) <= {"content-type", "trax-previous", "traceparent"}, \
            record.headers
        assert event["id"] not in self.ids, f"id seen before at {self.ids[event['id']]}"
        self.ids[event["id"]] = (record.partition, record.offset)
        assert data["kind"] in ("change", "baseline", "resync")
        assert data["lane"] == "raw"
        assert instant(event["time"]) <= instant(data["decidedAt"]), "decided before it was so"

    def order(self, record, event, data):
        account, place = data["account"], (data["epoch"], data["sequence"])
        epoch, number = self.last.get(account, (0, 0))
        assert isinstance(place[0], int) and isinstance(place[1], int)
        assert place[0] >= epoch, f"epoch went back from {epoch}"
        before = number if place[0] == epoch else 0
        if self.unfiltered:
            assert place[1] == before + 1, f"sequence {place[1]} after {before}"
            assert "trax-previous" not in record.headers or \
                record.headers["trax-previous"] == str(before)
        else:
            assert place[1] > before, f"sequence {place[1]} after {before}"
            assert record.headers.get("trax-previous") == str(before), record.headers
        if self.remembers and record.type == "account.resynced":
            # Since when a row fails is known only as far as the state record says so.
            self.failed_at = {k: v for k, v in self.failed_at.items() if k[0] != account}
        elif place[0] != epoch:
            for key in [key for key in self.rows if key[0] == account]:
                del self.rows[key]
            self.standing = {k: v for k, v in self.standing.items() if k[0] != account}
        self.last[account] = place

    def connection(self, record, event, data, key):
        assert CONNECTION_DATA <= set(data), f"missing {CONNECTION_DATA - set(data)}"
        assert set(data) <= CONNECTION_DATA | OPTIONAL_DATA, set(data) - CONNECTION_DATA
        now, before = data["connection"], data["previous"]
        for row in filter(None, (now, before)):
            self.row(row, key[1])
        if data["kind"] != "resync":
            assert re.fullmatch(r"w_\w+", data["walk"]), data["walk"]
            between = data["changedBetween"]
            assert set(between) == {"after", "before"}
            assert between["before"] == event["time"]
            if between["after"] is not None:
                assert instant(between["after"]) <= instant(between["before"])
            else:
                assert record.type == "connection.baseline", "no window"
        rules = [{**DETECTION, **each} for each in self.detections]
        listed = {now["status"] in r["healthy"] + r["pending"] + r["failing"] for r in rules}
        assert data["statusRecognised"] in listed
        actionable = record.type == "connection.failing" and data["kind"] == "change" and \
            any(now["status"] in r["failing"] for r in rules)
        if len(rules) == 1:
            assert data["userActionable"] == actionable
        if self.unfiltered:
            self.follows(record, now, before, key)
        self.says(record, event, data, now, before, key)
        self.believe(record, event, now, key)

    def row(self, row, id):
        assert ROW - {"grantedScopes"} <= set(row) <= ROW | {"extra", "extraOmitted"}, set(row)
        assert row["id"] == id
        assert row["health"] in {health_of(row["status"], each) for each in self.detections}, row
        scopes = row.get("grantedScopes")
        if scopes is not None:
            assert scopes == sorted(set(scopes), key=lambda text: text.encode()), scopes

    def follows(self, record, now, before, key):
        """`previous` is the row as last published, and the type follows from the two."""
        last = self.rows.get(key)
        if last is not None and last.get("grantedScopes") is None and before:
            last = {**last, "grantedScopes": before.get("grantedScopes")}
        if key in self.rows:
            assert same_row(before, last), f"previous is not what was published: {last}"
            standing = self.standing[key]
        else:
            standing = before["health"] if before else None
            standing = standing if standing in ("healthy", "failing") else None
        if record.data["kind"] == "change":
            wanted = expected_type(record.type, now, before, standing)
            assert record.type == wanted, f"should be {wanted}; it stood {standing}"

    def says(self, record, event, data, now, before, key):
        changed = [name for name in ("platform", "status", "grantedScopes")
                   if before and now.get(name) != before.get(name)]
        if record.type in ("connection.unlinked", "connection.baseline"):
            changed = []
        elif data["kind"] == "resync" and "walk" not in data:
            changed = ["health"]
        assert data["changed"] == changed, f"changed should be {changed}"
        if "grantedScopes" in changed:
            new, old = set(now["grantedScopes"]), set(before["grantedScopes"])
            assert data["scopes"] == {"added": sorted(new - old), "removed": sorted(old - new)}
        else:
            assert "scopes" not in data
        assert ("failedFor" in data) == (record.type == "connection.repaired")
        if "failedFor" in data:
            failed = duration(data["failedFor"])
            assert failed >= timedelta()
            if key in self.failed_at:
                since = instant(self.failed_at[key])
                assert failed == max(timedelta(), instant(event["time"]) - since), data["failedFor"]
        if record.type == "connection.unlinked":
            assert same_row(now, before), "unlinked shows the row as last published, twice"
        replaced = data.get("possibleReplacementOf")
        if replaced is not None:
            assert 0 < len(replaced) <= 16
            assert replaced == sorted(replaced, key=lambda id: id.encode())
            assert key[1] not in replaced

    def believe(self, record, event, now, key):
        if record.type == "connection.unlinked":
            self.rows[key], self.standing[key] = None, None
            self.failed_at.pop(key, None)
            return
        old = self.standing.get(key)
        self.rows[key] = now
        self.standing.setdefault(key, None)
        if now["health"] in ("healthy", "failing"):
            self.standing[key] = now["health"]
        elif record.data["previous"] and old is None:
            before = record.data["previous"]["health"]
            self.standing[key] = before if before in ("healthy", "failing") else None
        if self.standing[key] == "failing" and record.type in (
                "connection.failing", "connection.baseline"):
            self.failed_at[key] = event["time"]

    def account(self, record, event, data):
        kind = record.type.removeprefix("account.")
        wanted = {"account", "epoch", "kind", "lane", "sequence", "decidedAt"}
        optional = {"requiredScope"} if kind == "blind" else set()
        if kind in ACCOUNT_FIELDS:
            wanted |= ACCOUNT_FIELDS[kind]
            assert set(data) - optional == wanted, f"data {sorted(set(data) ^ wanted)}"
        assert event["time"] == data["decidedAt"]
        assert data["kind"] == ("resync" if kind == "resynced" else "change")
        if kind == "blind":
            assert data["account"] not in self.blind, "blind twice"
            self.blind[data["account"]] = data["since"]
            assert instant(data["since"]) <= instant(data["decidedAt"])
        elif kind == "restored":
            since = instant(self.blind.pop(data["account"]))
            assert duration(data["blindFor"]) == instant(event["time"]) - since, data["blindFor"]
        elif kind == "resynced":
            assert data["reason"] in ("loss", "restore", "wrongAccount"), data["reason"]
            # Whether the key is refused is found out anew, and told anew.
            self.blind.pop(data["account"], None)
        elif kind == "removed":
            self.blind.pop(data["account"], None)


def expected_type(given, now, before, standing):
    """The first rule of the contract's table that fits."""
    if given == "connection.unlinked":
        return given
    if now["health"] == "healthy" and standing is None:
        return "connection.linked"
    if now["health"] == "healthy" and standing == "failing":
        return "connection.repaired"
    if now["health"] == "failing" and standing != "failing":
        return "connection.failing"
    if before is None or any(now[key] != before[key] for key in ("platform", "status", "health")):
        return "connection.status_changed"
    return "connection.scopes_changed"


def latest(records):
    """What a compacted topic comes to: key -> value, without the keys that have none."""
    found = {}
    for each in records:
        found[each.key] = each.value
    return {key: value for key, value in found.items() if value is not None}


def judge_state(records, partitions):
    """Holds each record of a state topic to the contract, by itself and in order."""
    heads = {}
    for each in records:
        account, slash, id = each.key.partition("/")
        assert slash and each.partition == partition_of(each.key.encode(), partitions), each
        if each.raw is None:
            continue
        value = each.value
        assert set(value) == {"account", "epoch", "sequence", "connection", "standing",
                              "observedAt", "since"}, value
        assert (value["account"], value["connection"]["id"]) == (account, id)
        assert value["standing"] in ("healthy", "failing", None)
        instant(value["observedAt"])
        if value["since"] is not None:
            instant(value["since"])
        place = (value["epoch"], value["sequence"])
        assert place >= heads.get(each.key, (0, 0)), f"{each.key} went back"
        heads[each.key] = place


def expected_state(account, detection=None):
    """key -> the row as the state topic must hold it, for the rows that the API has now."""
    found = {}
    for row in account.rows.values():
        status = row.get("status") if isinstance(row.get("status"), str) else None
        platform = row.get("platform") if isinstance(row.get("platform"), str) else None
        scopes = row.get("grantedScopes")
        known = isinstance(scopes, list) and all(isinstance(each, str) for each in scopes)
        found[f"{account.name}/{row['id']}"] = {
            "id": str(row["id"]), "platform": platform, "status": status,
            "health": health_of(status, detection),
            "grantedScopes": sorted(set(scopes)) if known else None}
    return found
