"""On a real broker: processes that share models are killed, and come and go; nothing is lost or repeated."""

from __future__ import annotations

import random
import signal
import time
from contextlib import ExitStack

import pytest

from tests.cluster import Cluster, events, spread
from tests.forked import ForkedProgram
from tests.sharing import by_partition, check_partitions, snapshots
from tests.test_crashes import deadly

LEARNING = ["--task", "binary", "--learner", "explicit", "--id", "id"]
#: A killed process is noticed soon.
SOON = [
    "-X",
    "session_timeout_ms=2000",
    "-X",
    "heartbeat_interval_ms=300",
    "-X",
    "transaction_timeout_ms=3000",
]

#: Where processes are killed at random, if at all.
MOMENTS = [
    "connectors.kafka.sink.TopicSink.write_predictions",
    "connectors.kafka.sink.TopicSink.write_records",
    "connectors.kafka.sink.TopicSink.commit",
    "connectors.kafka.share_store.ShareStore.keep",
    "connectors.kafka.share_reader.ShareReader.catch_up",
    "runtime.shared_session.SharedSession.load",
    "runtime.shared_session.SharedSession.feed",
]
#: Exit codes after SIGTERM: an orderly end, or one before the program could handle it.
ENDED = (143, -signal.SIGTERM)


def check(cluster: Cluster, source: str, output: str, share: str, partitions: int) -> None:
    """Each event is answered once, and each partition's model is that of the partition alone."""
    given = by_partition(cluster, source, partitions)
    ids = sorted(event["id"] for records in given.values() for event in records)
    assert sorted(row["id"] for row in cluster.rows(output)) == ids
    found = snapshots(cluster, share)
    assert {name: each.next for name, each in found.items()} == {
        f"{source}/{number}": len(records) for number, records in given.items()
    }
    check_partitions(cluster, share, source, given, *LEARNING)


@pytest.mark.parametrize(
    ("where", "call", "before"),
    [
        ("connectors.kafka.sink.TopicSink.write_predictions", 3, False),  # sent, and not committed
        ("connectors.kafka.sink.TopicSink.commit", 1, True),  # before the base is committed
        # There is a base, and nothing else.
        pytest.param("connectors.kafka.sink.TopicSink.commit", 1, False, marks=pytest.mark.slow),
        pytest.param("connectors.kafka.sink.TopicSink.commit", 6, True, marks=pytest.mark.slow),
        ("connectors.kafka.sink.TopicSink.commit", 10, False),  # answered, and in no model yet
        ("connectors.kafka.sink.TopicSink.write_records", 4, False),  # models are sent, and not committed
        ("runtime.shared_session.SharedSession.load", 2, False),
    ],
)
def test_killed_at_the_worst_moments(cluster: Cluster, where: str, call: int, before: bool) -> None:
    source, output, share = cluster.topic("in", 3), cluster.topic("out"), cluster.name("share")
    cluster.put(source, spread(events(1500), 3))
    arguments = [source, "--until-end", "--output-topic", output, "--share", share, *LEARNING]
    arguments += ["--checkpoint-every", "500", "-X", "max_poll_records=70", "-X", "group_instance_id=one"]
    with cluster.start(*arguments, script=deadly(where, call, before)) as process:
        assert process.wait(60) == -signal.SIGKILL, process.communicate()[1]
    cluster.attach(*arguments)
    check(cluster, source, output, share, 3)


def killed_at_random(cluster: Cluster, kills: int, seed: int) -> None:
    """Three processes on four partitions, which are killed somewhere, or leave, and are replaced."""
    rng = random.Random(seed)
    source, output, share = cluster.topic("in", 4), cluster.topic("out"), cluster.name("share")
    arguments = [source, "--output-topic", output, "--share", share, *LEARNING, *SOON]
    arguments += ["--checkpoint-every", "120", "--share-every", "0.2", "-X", "max_poll_records=40"]
    deaths = [deadly(rng.choice(MOMENTS), rng.randrange(1, 12), rng.random() < 0.5) for _ in range(kills)]
    alive: list[ForkedProgram] = []
    sent = left = 0
    with ExitStack() as stack:
        while left < kills or len(cluster.rows(output)) < sent:
            while len(alive) < 3:
                script = deaths.pop() if deaths else None
                alive.append(stack.enter_context(cluster.start(*arguments, script=script)))
            if left < kills:
                cluster.put(source, spread(events(60, seed=sent, first=sent), 4))
                sent += 60
            else:
                time.sleep(0.2)
            if rng.random() < 0.1:
                rng.choice(alive).send_signal(signal.SIGTERM)
            for process in [each for each in alive if each.poll() is not None]:
                assert process.returncode in (-signal.SIGKILL, *ENDED), process.communicate()[1]
                alive.remove(process)
                left += 1
        for process in alive:
            process.send_signal(signal.SIGTERM)
        for process in alive:
            said = process.communicate(timeout=30)[1]
            assert process.returncode in ENDED, said
    cluster.attach(*arguments, "--until-end")
    check(cluster, source, output, share, 4)


def test_killed_at_random(cluster: Cluster) -> None:
    killed_at_random(cluster, 3, seed=1)


@pytest.mark.slow
def test_killed_at_random_twenty_times(cluster: Cluster) -> None:
    killed_at_random(cluster, 20, seed=2)
