"""Files written beside the topics: after a crash they, too, hold each row once."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.cluster import Cluster, Record, events, lines, spread
from tests.test_crashes import deadly


@pytest.mark.parametrize(
    ("where", "call", "topics"),
    [
        ("runtime.session.Session.save", 3, False),
        ("connectors.kafka.sink.TopicSink.commit", 7, True),  # committed, but not in the model
        ("connectors.kafka.sink.TopicSink.write_predictions", 9, True),  # sent and written, but not committed
    ],
)
def test_killed_with_files(cluster: Cluster, where: str, call: int, topics: bool) -> None:
    given = events(1000)
    source = cluster.topic("in")
    cluster.put(source, spread(given[:500], 1))
    cluster.put(source, [Record(value) for value in (b"no", b"[1]", b"{")])
    cluster.put(source, spread(given[500:], 1))
    arguments = [source, "--until-end", "--model", "m", "--id", "id", "--checkpoint-every", "300"]
    arguments += ["-X", "max_poll_records=70", "--predictions", "p", "--dead-letters", "d"]
    if topics:
        arguments += ["--output-topic", cluster.topic("out")]
    with cluster.start(*arguments, script=deadly(where, call, True)) as process:
        assert process.wait(60) == -signal.SIGKILL, process.communicate()[1]
    cluster.attach(*arguments)
    rows = [json.loads(line) for line in (cluster.folder / "p").read_bytes().splitlines()]
    assert rows == cluster.learn(lines(given), "--id", "id")
    letters = [json.loads(line) for line in (cluster.folder / "d").read_bytes().splitlines()]
    assert [letter["offset"] for letter in letters] == [500, 501, 502]
    if topics:
        assert cluster.rows(arguments[-1]) == rows
    assert cluster.state("m") == cluster.state("reference.karma")


def test_one_file_for_two_purposes(cluster: Cluster, tmp_path: Path) -> None:
    said = cluster.attach("any", "--model", "m", "--predictions", "./m", code=2)
    assert said == "streamkarma: --model and --predictions are the same file, ./m; name another one\n"
    assert not (tmp_path / "m").exists()


def test_a_full_disk_ends_the_run_at_once_and_what_was_sent_does_not_count(cluster: Cluster) -> None:
    source, output = cluster.topic("in"), cluster.topic("out")
    cluster.put(source, events(3000))
    arguments = [source, "--until-end", "--model", "m", "--output-topic", output]
    said = cluster.attach(*arguments, "--predictions", "/dev/full", code=1)
    assert said == "streamkarma: cannot write /dev/full: No space left on device\n"
    # Readers need not wait until the brokers abort the transaction.
    assert cluster.get(output) == []
    cluster.put(output, [Record(b"{}")])
    assert len(cluster.get(output)) == 1
