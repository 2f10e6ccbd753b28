"""On a real broker: killed at any moment, nothing is lost, learned twice or sent twice."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from itertools import groupby

import pytest
from kafka import TopicPartition

from streamkarma.connectors.kafka._private import TopicConsumer
from streamkarma.connectors.kafka.consumer import READING
from streamkarma.connectors.kafka.journal import OffsetRange
from streamkarma.connectors.kafka.replay import read_ranges
from tests.broker import Broker
from tests.cluster import Cluster, Record, events, lines, spread, until

#: Kills the program before or after a given call of a method, and makes it commit at every
#: opportunity.
SCRIPT = """
import os, signal
from {module} import {cls}
from streamkarma.connectors.kafka import offsets
offsets.COMMIT_SECONDS = offsets.QUIET_SECONDS = 0.0
original, left = {cls}.{method}, {call}
def deadly(*args, **kwargs):
    global left
    left -= 1
    if left == 0 and {before}:
        os.kill(os.getpid(), signal.SIGKILL)
    result = original(*args, **kwargs)
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return result
{cls}.{method} = deadly
from streamkarma.cli import main
main()
"""


def deadly(where: str, call: int, before: bool) -> str:
    """The script that dies at a call of ``module.Class.method``."""
    module, cls, method = where.rsplit(".", 2)
    return SCRIPT.format(module=f"streamkarma.{module}", cls=cls, method=method, call=call, before=before)


def check(cluster: Cluster, output: str, given: list[dict[str, object]]) -> None:
    """Check that each prediction exists once, and that the model is that of learning in their order."""
    rows = cluster.rows(output)
    numbers, expected = [row["n"] for row in rows], list(range(1, len(given) + 1))
    if numbers != expected:
        # Were they never sent, or is it the broker that does not show them?
        every = [json.loads(record.value)["n"] for record in cluster.get(output, 1, "read_uncommitted")]
        missing, unseen = ([n for n in expected if n not in some] for some in (set(numbers), set(every)))
        log = "" if cluster.broker is None else cluster.broker.log()[-5000:]
        pytest.fail(f"{len(numbers)} seen, missing {missing}, never sent {unseen}; the broker said: {log}")
    assert sorted(row["id"] for row in rows) == list(range(len(given)))
    assert cluster.learn(lines([given[row["id"]] for row in rows]), "--id", "id") == rows
    assert cluster.state("m") == cluster.state("reference.karma")


@pytest.mark.parametrize(
    ("where", "call", "before"),
    [
        ("connectors.kafka.sink.TopicSink.write_predictions", 3, False),  # sent, but not committed
        ("connectors.kafka.sink.TopicSink.commit", 1, False),  # the first transaction, no model learned yet
        pytest.param("connectors.kafka.sink.TopicSink.commit", 5, True, marks=pytest.mark.slow),
        ("connectors.kafka.sink.TopicSink.commit", 9, False),  # several transactions past the model
        ("runtime.session.Session.save", 3, True),  # committed, but not saved
        pytest.param("runtime.session.Session.save", 3, False, marks=pytest.mark.slow),
    ],
)
def test_killed_at_the_worst_moments(cluster: Cluster, where: str, call: int, before: bool) -> None:
    given = events(2000)
    source, output = cluster.topic("in", 3), cluster.topic("out")
    cluster.put(source, spread(given, 3))
    arguments = [source, "--until-end", "--output-topic", output, "--model", "m", "--id", "id"]
    arguments += ["--checkpoint-every", "600", "-X", "max_poll_records=70"]
    with cluster.start(*arguments, script=deadly(where, call, before)) as process:
        assert process.wait(60) == -signal.SIGKILL
    cluster.attach(*arguments)
    check(cluster, output, given)


#: Answered records are read again without every other one, as if those had been compacted away.
COMPACTED = """
from streamkarma.connectors.kafka import replay
original = replay.read_ranges
def holey(*arguments):
    for partition, records in original(*arguments):
        if left := [record for record in records if record.offset % 2]:
            yield partition, left
replay.read_ranges = holey
from streamkarma.cli import main
main()
"""


def test_answered_records_that_were_compacted_away_are_counted_as_lost(cluster: Cluster) -> None:
    source, output = cluster.topic("in", 2), cluster.topic("out")
    cluster.put(source, spread(events(900), 2))
    arguments = [source, "--until-end", "--output-topic", output, "--model", "m", "--checkpoint-every", "200"]
    arguments += ["--summary", "s", "-X", "max_poll_records=70"]
    with cluster.start(*arguments, script=deadly("runtime.session.Session.save", 3, True)) as process:
        assert process.wait(60) == -signal.SIGKILL
    answered = len(cluster.rows(output)) - cluster.kept("m")["events"]
    with cluster.start(*arguments, script=COMPACTED) as process:
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 0, said
    summary = json.loads((cluster.folder / "s").read_text())
    lost = summary["kafka"]["lost"]
    assert sum(lost.values()) == answered - summary["kafka"]["replayed"] > 0
    for place, count in lost.items():
        assert f"topic {source}, partition {place[-1]}: {count} records that were answered but are" in said
    # No number is assigned twice.
    assert [row["n"] for row in cluster.rows(output)] == list(range(1, 901))
    assert cluster.kept("m")["events"] == 900


def test_killed_while_rows_are_explained(cluster: Cluster) -> None:
    """What the second run sends is, to the byte, what the first one would have sent."""
    given = events(500)
    source, output, undisturbed = cluster.topic("in"), cluster.topic("out"), cluster.topic("undisturbed")
    cluster.put(source, spread(given, 1))
    arguments = [source, "--until-end", "--id", "id", "--explain", "3", "-X", "max_poll_records=40"]
    own = ["--output-topic", output, "--model", "m", "--checkpoint-every", "150"]
    for where, call in (
        ("connectors.kafka.sink.TopicSink.commit", 5),
        ("connectors.kafka.sink.TopicSink.write_predictions", 3),
    ):
        with cluster.start(*arguments, *own, script=deadly(where, call, False)) as process:
            assert process.wait(60) == -signal.SIGKILL, process.communicate()[1]
    cluster.attach(*arguments, *own)
    cluster.attach(*arguments, "--output-topic", undisturbed, "--model", "other", group="other")
    sent = [record.value for record in cluster.get(output)]
    assert sent == [record.value for record in cluster.get(undisturbed)]
    assert cluster.learn(lines(given), "--id", "id", "--explain", "3") == cluster.rows(output)
    assert cluster.state("m") == cluster.state("reference.karma")


#: Fails to write the third block, as if the disk were full, and commits nothing by itself.
FAILING = """
from streamkarma.connectors.kafka import offsets
from streamkarma.connectors.kafka.sink import TopicSink
from streamkarma.errors import OutputError
offsets.COMMIT_SECONDS = offsets.QUIET_SECONDS = 60.0
original, left = TopicSink.write_predictions, 3
def failing(*arguments):
    global left
    left -= 1
    if left == 0:
        raise OutputError("the disk is full")
    original(*arguments)
TopicSink.write_predictions = failing
from streamkarma.cli import main
main()
"""


def test_a_run_that_fails_commits_nothing_on_its_way_out(cluster: Cluster) -> None:
    given = events(2000)
    source, output = cluster.topic("in", 2), cluster.topic("out")
    cluster.put(source, spread(given, 2))
    arguments = [source, "--until-end", "--output-topic", output, "--model", "m", "--id", "id"]
    arguments += ["-X", "max_poll_records=100"]
    cluster.attach(*arguments, "--max-events", "150")
    with cluster.start(*arguments, script=FAILING) as process:
        assert process.communicate(timeout=60)[1].endswith("streamkarma: the disk is full\n")
    # The first block always ends in a checkpoint; the second one is undone.
    assert cluster.kept("m")["events"] == 250
    cluster.attach(*arguments)
    check(cluster, output, given)


def test_an_option_that_turns_out_wrong_half_way_through_a_block(cluster: Cluster) -> None:
    source, output, given = cluster.topic("in"), cluster.topic("out"), events(50)
    for number, event in enumerate(given):
        event["y"] = 0 if number < 30 else number / 2
    cluster.put(source, given)
    arguments = [source, "--until-end", "--output-topic", output, "--id", "id"]
    said = cluster.attach(*arguments, "--model", "wrong", "--positive", "1", code=2)
    assert said.splitlines()[-1].endswith("for which --positive has no meaning; leave it out, or give --task")
    cluster.attach(*arguments, "--model", "m")
    check(cluster, output, given)


def test_killed_while_learning_again(cluster: Cluster) -> None:
    given = events(1500)
    source, output = cluster.topic("in", 2), cluster.topic("out")
    cluster.put(source, spread(given, 2))
    arguments = [source, "--until-end", "--output-topic", output, "--model", "m", "--id", "id"]
    arguments += ["-X", "max_poll_records=50"]
    for where, call in (
        ("connectors.kafka.sink.TopicSink.commit", 12),
        ("runtime.run.Run._replay", 4),
        ("connectors.kafka.offsets.Offsets.save", 1),
        ("connectors.kafka.sink.TopicSink.commit", 1),
    ):
        with cluster.start(*arguments, script=deadly(where, call, False)) as process:
            assert process.wait(60) == -signal.SIGKILL, process.communicate()[1]
    said = cluster.attach(*arguments)
    assert "learned again" not in said
    check(cluster, output, given)


@pytest.mark.parametrize("explain", [[], pytest.param(["--explain", "2"], marks=pytest.mark.slow)])
def test_killed_while_events_wait_for_labels(cluster: Cluster, explain: list[str]) -> None:
    given = events(600)
    source, labels, output = cluster.topic("in", 2), cluster.topic("labels"), cluster.topic("out")
    arguments = [source, "--label-topic", labels, "--output-topic", output, "--model", "m", "--id", "id"]
    # Fewer places than events, so that what is dropped depends on the order of everything before.
    arguments += ["--pending", "400", "--until-end", "-X", "max_poll_records=40", *explain]
    unlabelled = [{name: value for name, value in event.items() if name != "y"} for event in given]
    told = [{"id": event["id"], "y": event["y"]} for event in given]
    random.Random(3).shuffle(told)
    for topic, records in ((source, spread(unlabelled, 2)), (labels, spread(told, 1))):
        cluster.put(topic, records)
        with cluster.start(
            *arguments, script=deadly("connectors.kafka.sink.TopicSink.commit", 6, False)
        ) as process:
            assert process.wait(60) == -signal.SIGKILL, process.communicate()[1]
        cluster.attach(*arguments)
    rows = cluster.rows(output)
    assert [row["n"] for row in rows] == list(range(1, 1001))
    again = [
        {"id": row["id"], "y": row["target"]} if "target" in row else unlabelled[row["id"]] for row in rows
    ]
    assert cluster.learn(lines(again), "--id", "id", "--pending", "400", *explain) == rows
    assert all(("contributions" in row) == bool(explain) for row in rows)
    assert cluster.state("m") == cluster.state("reference.karma")


def test_killed_without_a_topic_to_answer_to(cluster: Cluster) -> None:
    given = events(2000)
    source = cluster.topic("in")
    cluster.put(source, spread(given, 1))
    arguments = [source, "--until-end", "--model", "m", "--checkpoint-every", "300"]
    arguments += ["-X", "max_poll_records=70"]
    for call, before in ((3, True), (2, False)):
        script = deadly("runtime.session.Session.save", call, before)
        with cluster.start(*arguments, script=script) as process:
            assert process.wait(60) == -signal.SIGKILL
    cluster.attach(*arguments)
    cluster.attach(source, "--until-end", "--model", "undisturbed", group="other")
    # Not only the model: the files are the same to the last byte.
    assert (cluster.folder / "m").read_bytes() == (cluster.folder / "undisturbed").read_bytes()


def test_an_older_model_file_is_brought_up_to_what_was_answered(cluster: Cluster) -> None:
    given = events(900)
    source, output = cluster.topic("in", 2), cluster.topic("out")
    cluster.put(source, spread(given, 2))
    arguments = [source, "--output-topic", output, "--model", "m", "--id", "id"]
    cluster.attach(*arguments, "--max-events", "300")
    backup = (cluster.folder / "m").read_bytes()
    for _ in range(2):
        cluster.attach(*arguments, "--max-events", "150")
    (cluster.folder / "m").write_bytes(backup)
    said = cluster.attach(*arguments, "--until-end")
    assert "m is older than the predictions that were sent: 300 records are learned again" in said
    assert sorted(row["id"] for row in cluster.rows(output)) == list(range(900))
    assert cluster.kept("m")["events"] == 900


@pytest.mark.parametrize("hard", [pytest.param(False, marks=pytest.mark.slow), True])
def test_the_broker_goes_and_comes_back_under_a_running_process(
    cluster: Cluster, own_broker: Broker, hard: bool
) -> None:
    given = events(6000)
    source, output = cluster.topic("in", 2), cluster.topic("out")
    cluster.put(source, spread(given[:3000], 2))
    arguments = [source, "--output-topic", output, "--model", "m", "--id", "id", "--checkpoint-every", "500"]
    with cluster.start(*arguments) as process:
        until(lambda: (cluster.folder / "m").exists() and cluster.kept("m")["events"] > 0, process)
        own_broker.stop(hard)
        own_broker.start()
        cluster.put(source, spread(given[3000:], 2))
        until(lambda: cluster.kept("m")["events"] >= 5500, process)
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=10)[1]
        assert process.returncode == 143, said
    cluster.attach(*arguments, "--until-end")
    check(cluster, output, given)


def test_a_transaction_that_took_too_long_is_done_again(cluster: Cluster) -> None:
    given = events(600)
    source, output = cluster.topic("in", 2), cluster.topic("out")
    cluster.put(source, spread(given, 2))
    arguments = [source, "--until-end", "--output-topic", output, "--model", "m", "--id", "id"]
    # To the brokers, this looks like a machine that went to sleep.
    sleepy = """
import time
from streamkarma.connectors.kafka.sink import TopicSink
original = TopicSink.commit
def commit(self, *arguments):
    TopicSink.commit = original
    time.sleep(4)
    original(self, *arguments)
TopicSink.commit = commit
from streamkarma.cli import main
main()
"""
    with cluster.start(*arguments, "-X", "transaction_timeout_ms=1000", script=sleepy) as process:
        said = process.communicate(timeout=60)[1]
        assert process.returncode == 0, said
    assert "a transaction took too long; retrying from the last commit" in said
    check(cluster, output, given)


LOSING_A_BATCH = """
import sys
from types import SimpleNamespace
import numpy as np
from kafka import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError
from streamkarma.connectors.kafka._private import BulkProducer
from streamkarma.connectors.kafka.sink import TopicSink
from streamkarma.connectors.rows import Rows
address, output, name = sys.argv[1:]
producer = BulkProducer(bootstrap_servers=address, transactional_id=name,
                        request_timeout_ms=500, delivery_timeout_ms=600)
producer.init_transactions()
place, group = TopicPartition(output, 0), ConsumerGroupMetadata(name)
sink = TopicSink(producer, output, None)
sink.records = [SimpleNamespace(key=None)]
for number in (1, 2):
    sink.write_predictions(Rows({"n": np.array([number])}), [0])
    producer.flush()
    print("sent", number, flush=True)
    input()
try:
    sink.commit(({place: OffsetAndMetadata(2, "", -1)}, group))
except KafkaError as error:
    print(type(error).__name__)
"""


def test_a_transaction_that_lost_a_batch_is_not_committed(cluster: Cluster, own_broker: Broker) -> None:
    output = cluster.topic("out")
    arguments = [cluster.address, output, cluster.name("sender")]
    with subprocess.Popen([sys.executable, "-c", LOSING_A_BATCH, *arguments], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "sent 1\n"
        own_broker.stop(hard=False)
        process.stdin.write("\n")
        process.stdin.flush()
        # The batch has timed out, and its producer continues.
        assert process.stdout.readline() == "sent 2\n"
        own_broker.start()
        assert process.communicate("\n", timeout=60)[0] == "KafkaTimeoutError\n"
    assert cluster.get(output) == []


def test_a_partition_that_waited_while_another_was_read_to_its_end_is_read_again(cluster: Cluster) -> None:
    """kafka-python alone does not go on with the first partition, and the replay would never end."""
    source = cluster.topic("in", 2)
    cluster.put(source, [Record(b"%d" % t, t % 2) for t in range(2600)])
    one, two = (TopicPartition(source, number) for number in range(2))
    todo = [OffsetRange(one, 0, 600), OffsetRange(two, 0, 1300), OffsetRange(one, 600, 1300)]
    reader = TopicConsumer(bootstrap_servers=cluster.address, **READING)
    asked = iter(range(100))
    parts = list(read_ranges(reader, todo, lambda *lost: None, lambda: next(asked) == 99))
    reader.close()
    assert [tp for tp, _ in groupby(tp for tp, _ in parts)] == [one, two, one]
    assert sum(len(records) for _, records in parts) == 2600
