"""What a team's consumer sees: topics read with `read_committed` by a client that shares no code
with the relay (kafka-python, not librdkafka)."""
import json
import logging
import os
import time
from dataclasses import dataclass, field

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import (ACL, ACLFilter, ACLOperation, ACLPermissionType,
                         ACLResourcePatternType, ConfigResource, ConfigResourceType, NewTopic,
                         ResourcePattern, ResourcePatternFilter, ResourceType)
from kafka.errors import KafkaError

# The client speaks of every broker that a test kills; that is no news here.
logging.getLogger("kafka").setLevel(logging.CRITICAL)


def murmur2(data):
    """Kafka's own hash of a key, as its Java client has it."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = (0x9747B28C ^ len(data)) & mask
    whole = len(data) & ~3
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i:i + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = (h * m & mask) ^ k
    rest = data[whole:]
    if rest:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15


def partition_of(key, partitions):
    return (murmur2(key) & 0x7FFFFFFF) % partitions


@dataclass
class Record:
    """One record as the broker handed it out, with its value decoded."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: str
    raw: bytes
    headers: dict = field(default_factory=dict)

    @property
    def value(self):
        return None if self.raw is None else json.loads(self.raw)

    @property
    def data(self):
        return self.value["data"]

    @property
    def type(self):
        return self.value["type"].removeprefix("live.traxstreaming.")

    @property
    def account(self):
        return self.data["account"]


class Topic:
    """A topic read from its beginning, as far as it goes; everything read is kept."""

    def __init__(self, brokers, name, security=None, isolation="read_committed"):
        self.brokers, self.name = brokers, name
        self.security, self.isolation = security or {}, isolation
        self.records = []
        self.partitions = 0
        self._consumer = None
        self._over = False

    def read(self, within=0.2):
        """Takes what is there; waits at most `within` seconds for the first of it."""
        consumer = self._open()
        if consumer is None:
            time.sleep(min(within, 0.1))
            return self.records
        try:
            batches = consumer.poll(timeout_ms=int(within * 1000), max_records=5000)
        except KafkaError:
            return self.records
        for batch in batches.values():
            for each in batch:
                key = None if each.key is None else each.key.decode()
                headers = {}
                for name, value in each.headers:
                    assert name not in headers, f"header {name} twice in {self.name}"
                    headers[name] = None if value is None else value.decode()
                self.records.append(Record(each.topic, each.partition, each.offset,
                                           each.timestamp, key, each.value, headers))
        return self.records

    def wait(self, condition, within=30, what=None):
        """Reads until `condition(records)` is true or gives something; fails by name otherwise."""
        end = time.monotonic() + within
        while True:
            found = condition(self.records)
            if found:
                return found
            if time.monotonic() > end:
                raise AssertionError(f"{self.name}: waited {within} s for {what or 'a condition'};"
                                     f" it holds {len(self.records)}: {self.summary()}")
            self.read(min(0.2, max(0.02, end - time.monotonic())))

    def read_to_end(self, within=30):
        """Reads up to the last stable offset of every partition as of now."""
        if self._over:
            return self.records
        end = time.monotonic() + within
        consumer = self._open()
        while consumer is None:
            if time.monotonic() > end:
                return self.records
            self.read()
            consumer = self._open()
        parts = list(consumer.assignment())
        while True:
            try:
                ends = consumer.end_offsets(parts)
                if all(consumer.position(part) >= ends[part] for part in parts):
                    return self.records
            except KafkaError:
                pass
            assert time.monotonic() < end, f"{self.name}: cannot be read to its end"
            self.read(0.1)

    def finish(self):
        """The last reading, before its broker goes."""
        self.read_to_end()
        self.close()
        self._over = True

    def of(self, account):
        """The records of one account, in the order of its partition."""
        return [each for each in self.records
                if each.key == account or (each.key or "").startswith(account + "/")]

    def summary(self, limit=30):
        shown = []
        for each in self.records[-limit:]:
            if each.raw is None:
                shown.append(f"{each.key}=null")
            elif "data" in each.value:
                shown.append(f"{each.account}#{each.data.get('sequence')}:{each.type}"
                             f":{each.value.get('subject')}")
            else:
                shown.append(f"{each.key}")
        return shown

    def close(self):
        if self._consumer:
            self._consumer.close()
            self._consumer = None

    def _open(self):
        if self._consumer:
            return self._consumer
        try:
            consumer = KafkaConsumer(
                bootstrap_servers=self.brokers.split(","), isolation_level=self.isolation,
                group_id=None, enable_auto_commit=False, auto_offset_reset="earliest",
                allow_auto_create_topics=False, metadata_max_age_ms=1000,
                reconnect_backoff_ms=50, reconnect_backoff_max_ms=500, request_timeout_ms=5000,
                fetch_max_wait_ms=100, api_version=(2, 6), metrics_enabled=False,
                **self.security)
            parts = consumer.partitions_for_topic(self.name)
        except KafkaError:
            return None
        if not parts:
            consumer.close()
            return None
        self.partitions = len(parts)
        consumer.assign([TopicPartition(self.name, part) for part in sorted(parts)])
        self._consumer = consumer
        return consumer


class Admin:
    """Topics and their settings, seen and made from outside."""

    def __init__(self, brokers, security=None):
        self.brokers = brokers
        self._admin = KafkaAdminClient(bootstrap_servers=brokers.split(","),
                                       request_timeout_ms=10000, **(security or {}))

    def create(self, name, partitions=1, replicas=1, **settings):
        configs = {key.replace("_", "."): str(value) for key, value in settings.items()}
        self._admin.create_topics([NewTopic(name=name, num_partitions=partitions,
                                            replication_factor=replicas, topic_configs=configs)])

    def create_on(self, name, node, partitions=1):
        """A topic whose only copy is on one node: without that node it has no leader."""
        places = {partition: [node] for partition in range(partitions)}
        self._admin.create_topics([NewTopic(name=name, replica_assignments=places)])

    def alter(self, name, **settings):
        """Changes settings of a topic; those that are not named fall back to the broker's."""
        configs = {key.replace("_", "."): str(value) for key, value in settings.items()}
        kept = {key: value for key, value in self.settings(name).items()
                if key == "cleanup.policy"}
        self._admin.alter_configs(
            [ConfigResource(ConfigResourceType.TOPIC, name, configs={**kept, **configs})])

    def grant(self, user, operation, kind, name, allow=True):
        """Gives a user a right on a topic or transactional id, or refuses it, which goes first."""
        self._admin.create_acls([self._rule(user, operation, kind, name, allow, ACL)])

    def withdraw(self, user, operation, kind, name, allow=False):
        """Takes back what `grant` said."""
        self._admin.delete_acls([self._rule(user, operation, kind, name, allow, ACLFilter)])

    @staticmethod
    def _rule(user, operation, kind, name, allow, rule):
        pattern = ResourcePattern if rule is ACL else ResourcePatternFilter
        return rule(
            principal=f"User:{user}", host="*", operation=ACLOperation[operation],
            permission_type=ACLPermissionType.ALLOW if allow else ACLPermissionType.DENY,
            **{"resource_pattern": pattern(ResourceType[kind], name,
                                           ACLResourcePatternType.LITERAL)})

    def delete(self, name):
        self._admin.delete_topics([name])

    def names(self):
        return set(self._admin.list_topics())

    def partitions(self, name):
        return len(self._described(name))

    def leaders(self, name):
        """The nodes that lead its partitions; -1 for none. Empty when a node did not answer."""
        try:
            described = self._described(name)
        except KafkaError:
            return set()
        return {each.get("leader_id", each.get("leader")) for each in described}

    def _described(self, name):
        found = self._admin.describe_topics([name])
        topics = found if isinstance(found, list) else list(found.values())
        return topics[0]["partitions"]

    def settings(self, name):
        resource = ConfigResource(ConfigResourceType.TOPIC, name)
        described = self._admin.describe_configs([resource], config_filter="all")
        return {key: each["value"] for key, each in described["topic"][name].items()}

    def close(self):
        self._admin.close()


def no_transaction_in(brokers, *topics):
    """Whether none is open or still being ended there: a committed reader sees to the very end."""
    ends = []
    for isolation in ("read_committed", "read_uncommitted"):
        consumer = KafkaConsumer(bootstrap_servers=brokers, isolation_level=isolation)
        try:
            places = [TopicPartition(topic, partition) for topic in topics
                      for partition in consumer.partitions_for_topic(topic) or ()]
            ends.append(consumer.end_offsets(places))
        finally:
            consumer.close()
    return ends[0] == ends[1]


def produce(brokers, topic, records):
    """Writes (key, value) pairs: what another program might have left in a topic."""
    producer = KafkaProducer(bootstrap_servers=brokers.split(","))
    try:
        for key, value in records:
            producer.send(topic, key=key.encode(),
                          value=None if value is None else value.encode()).get(10)
    finally:
        producer.close()


def shared_brokers():
    return os.environ["KAFKA_TEST_BROKERS"]
