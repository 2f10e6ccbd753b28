"""The program attached to a real broker, killed while the broker is stopped and restarted."""

from __future__ import annotations

import random
import subprocess
from functools import partial
from pathlib import Path

from tests.broker import Broker
from tests.campaigns import repeat
from tests.cluster import Cluster, events, spread
from tests.test_crashes import check

TRIES = (
    "`attach` reads 20,000 events from 1 or 4 partitions and writes predictions to a topic; it is killed by "
    "SIGKILL at three random moments and started again, and the broker is stopped or killed in between"
)
PROMISE = (
    "each event has one prediction and no more; the model is that of learning the events in the order of the "
    "predictions, with one partition byte for byte that of the undisturbed run"
)
SHORT, LONG = 1, 40

_EVENTS, _KILLS = 20_000, 3


def run(tries: int, seed: int, folder: Path) -> None:
    broker = Broker(folder)
    broker.start()
    try:
        repeat(partial(_attempt, broker), tries, seed, folder)
    finally:
        broker.stop()


def _attempt(broker: Broker, rng: random.Random, folder: Path) -> None:
    cluster = Cluster(broker.address, folder, broker)
    partitions = rng.choice([1, 4])
    given = events(_EVENTS, rng.randrange(1000))
    source, output = cluster.topic("in", partitions), cluster.topic("out")
    cluster.put(source, spread(given, partitions))
    arguments = [source, "--until-end", "--id", "id", "--checkpoint-every", "2500"]
    attached = [*arguments, "--output-topic", output, "--model", "m"]
    for _ in range(_KILLS):
        if _ended_before_kill(rng, broker, cluster, attached):
            break
    cluster.attach(*attached)
    check(cluster, output, given)
    if partitions == 1:
        cluster.attach(*arguments, "--model", "undisturbed", group="another")
        assert (folder / "m").read_bytes() == (folder / "undisturbed").read_bytes()


def _ended_before_kill(rng: random.Random, broker: Broker, cluster: Cluster, arguments: list[str]) -> bool:
    """Kill the program at a random moment, unless it has read everything by then."""
    with cluster.start(*arguments) as process:
        try:
            process.wait(rng.uniform(0.8, 2.2))
        except subprocess.TimeoutExpired:
            pass
        else:
            return True
        if rng.random() < 0.4:
            broker.stop(hard=rng.random() < 0.5)
            broker.start()
        process.kill()
    return False
