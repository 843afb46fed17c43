"""Kafka sinks with `format: binary`, read by the CloudEvents Kafka binding alone."""
import dataclasses
import json

from judge import Judge


def from_binary(record):
    """The record as it would be in structured mode, by section 3.2 of the Kafka binding alone."""
    assert record.headers["content-type"] == "application/json", record.headers
    event, own = {}, {}
    for name, value in record.headers.items():
        if name.startswith("ce_"):
            event[name.removeprefix("ce_")] = value
        elif name != "content-type":
            own[name] = value
    event["datacontenttype"] = record.headers["content-type"]
    event["data"] = json.loads(record.raw)
    own["content-type"] = "application/cloudevents+json"
    return dataclasses.replace(record, raw=json.dumps(event).encode(), headers=own)


def test_binary_events_are_the_structured_ones_with_their_attributes_as_headers(make_relay, trax):
    a, b = trax.account("a", rows=2), trax.account("b", rows=2)
    relay = make_relay(sinks=[])
    name = relay.name
    relay.config["sinks"] = [
        {"kafka": {"topic": f"{name}.events"}},
        {"kafka": {"topic": f"{name}.binary", "format": "binary"}},
        {"kafka": {"topic": f"{name}.alerts", "format": "binary",
                   "when": {"types": ["failing", "repaired"]}}},
    ]
    relay.judged = False
    relay.enlist(a, b).start()
    for account in (a, b):
        account.wait_sealed()
        account.put("größe/ü 1", "kick", scopes=("é",))
        account.set("conn_00", status="expired")
        account.wait_sealed(2)
        account.set("conn_00", status="active")
    relay.events.wait(lambda r: len(r) == 6, what="six events")
    del relay.register["b"]
    relay.hup()
    whole = relay.events.wait(lambda r: r if len(r) == 7 else None, what="account.removed")
    structured = {each.value["id"]: each for each in whole}
    for suffix, unfiltered, count in (("binary", True, 7), ("alerts", False, 4)):
        topic = relay.topic(suffix)
        topic.wait(lambda r, count=count: len(r) >= count, what=f"{suffix}: {count} records")
        read = [from_binary(each) for each in topic.read_to_end()]
        assert len(read) == count
        Judge(unfiltered=unfiltered).read(read, topic.partitions)
        for each in read:
            same = structured[each.value["id"]]
            assert each.value == same.value and each.key == same.key
            assert each.headers["traceparent"] == same.headers["traceparent"]
            assert set(each.headers) == {"content-type", "traceparent"} | (
                set() if unfiltered else {"trax-previous"})
        for each in topic.records:
            whole = structured[each.headers["ce_id"]].raw
            assert whole.endswith(b'"data":' + each.raw + b"}"), "the same bytes of data"
