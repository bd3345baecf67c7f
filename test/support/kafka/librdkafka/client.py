"""A client of Kafka by librdkafka, beside which Sluice is measured, and by which tests write and read.

    client.py consume|produce|transact|read|describe OPTIONS

OPTIONS is a JSON object. What comes of it is printed, one JSON object a line; orders are lines of the standard input. A
client ends in order with the order `end`, and at once where its standard input ends: its parent is gone.
"""

import json
import os
import queue
import sys
import threading
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient


def say(kind, **facts):
    sys.stdout.write(json.dumps({"kind": kind, **facts}) + "\n")


def now():
    return int(time.time() * 1000)


def orders():
    """The lines of the standard input, without waiting for them."""
    found = queue.SimpleQueue()

    def follow():
        for line in sys.stdin:
            found.put(line.split())
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    return found


def next_of(found):
    try:
        return found.get_nowait()
    except queue.Empty:
        return None


def consume(options):
    """Reads topics as a member of a group, and prints each record once it has it."""
    given = orders()
    consumer = Consumer(
        {"enable.auto.commit": options["commits"], "auto.offset.reset": "earliest", **options["properties"]},
        error_cb=lambda error: say("error", text=str(error)),
    )

    consumer.subscribe(options["topics"])
    known = None
    while True:
        order = next_of(given)
        if order is not None and order[0] == "end":
            consumer.close()
            return
        if order is not None and order[0] == "password":
            consumer.set_sasl_credentials(options["properties"]["sasl.username"], order[1])
        found = consumer.consume(500, 0.1)
        at = now()
        for message in found:
            if message.error() is not None:
                say("error", text=str(message.error()))
                continue
            value = json.loads(message.value())
            say("record", partition=message.partition(), offset=message.offset(), id=value["id"], at=at)
        held = sorted([part.topic, part.partition] for part in consumer.assignment())
        if held != known:
            say("assigned", partitions=[partition for _topic, partition in held])
            known = held
        sys.stdout.flush()


def produce(options):
    """Writes so many messages a second, in turn to each partition, until `end`; prints what came of each."""
    given = orders()
    producer = Producer({"linger.ms": 5, "topic.metadata.refresh.interval.ms": 1000, **options["properties"]}, error_cb=lambda error: None)
    partitions, rate, padding = options["partitions"], options["perSecond"], "x" * options.get("padding", 0)

    def told(message_id, partition):
        def tell(error, message):
            if error is None:
                say("acked", id=message_id, partition=partition, offset=message.offset(), at=now())
            else:
                say("failed", id=message_id, partition=partition, text=str(error))

        return tell

    message_id, due = options.get("first", 0), time.monotonic()
    while True:
        order = next_of(given)
        if order is not None and order[0] == "end":
            break
        if order is not None and order[0] == "partitions":
            partitions = int(order[1])
        if order is not None and order[0] == "rate":
            rate = float(order[1])
        while rate > 0 and due <= time.monotonic():
            value = json.dumps({"id": message_id, "padding": padding})
            partition = message_id % partitions
            try:
                producer.produce(options["topic"], value, partition=partition, on_delivery=told(message_id, partition))
            except BufferError:
                # Nothing of it was written: it is asked for again.
                break
            except KafkaException as failure:
                # A partition that was added a moment ago is not known yet.
                if failure.args[0].code() != KafkaError._UNKNOWN_PARTITION:
                    raise
                break
            message_id, due = message_id + 1, due + 1 / rate
        if rate == 0:
            due = time.monotonic()
        producer.poll(0.02)
        sys.stdout.flush()
    producer.flush(options["patience"])
    say("ended", produced=message_id, unknown=len(producer))


def transact(options):
    """Writes messages in one transaction, and waits for the order `commit` or `abort`."""
    given = orders()
    producer = Producer({**options["properties"], "transactional.id": options["name"]})
    producer.init_transactions(30)
    producer.begin_transaction()
    for message_id in range(options["first"], options["first"] + options["count"]):
        value = json.dumps({"id": message_id, "padding": ""})
        producer.produce(options["topic"], value, partition=message_id % options["partitions"])
    producer.flush(30)
    say("written")
    sys.stdout.flush()
    order = given.get()
    if order[0] == "commit":
        producer.commit_transaction(30)
    else:
        producer.abort_transaction(30)
    say("ended", produced=options["count"], unknown=0)


def read(options):
    """Prints all records that a topic has now, without those of aborted transactions."""
    consumer = Consumer({"group.id": "none", "enable.auto.commit": False, "enable.partition.eof": True, **options["properties"]})
    topic = options["topic"]
    parts = consumer.list_topics(topic, 30).topics[topic].partitions
    consumer.assign([TopicPartition(topic, part, OFFSET_BEGINNING) for part in parts])
    left = set(parts)
    until = time.monotonic() + options["patience"]
    while left:
        if time.monotonic() > until:
            say("error", text=f"partitions {sorted(left)} were not read to their ends")
            break
        for message in consumer.consume(1000, 0.5):
            error = message.error()
            if error is None:
                say("record", partition=message.partition(), offset=message.offset(), id=json.loads(message.value())["id"], at=0)
            elif error.code() == KafkaError._PARTITION_EOF:
                left.discard(message.partition())
    consumer.close()
    if not left:
        say("ended", produced=0, unknown=0)


def describe(options):
    """Prints what a coordinator says of a group: its type, its state and its members."""
    admin = AdminClient(options["properties"])
    found = admin.describe_consumer_groups([options["group"]], request_timeout=10)[options["group"]].result()
    members = [
        {"client": member.client_id, "partitions": [part.partition for part in member.assignment.topic_partitions]}
        for member in found.members
    ]
    say("group", type=found.type.name, state=found.state.name, members=members)


try:
    modes = {"consume": consume, "produce": produce, "transact": transact, "read": read, "describe": describe}
    modes[sys.argv[1]](json.loads(sys.argv[2]))
finally:
    sys.stdout.flush()
