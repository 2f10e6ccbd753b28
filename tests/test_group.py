"""On a real broker: several processes in one group, and several for one model."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewPartitions

from tests.cluster import Cluster, Record, events, last, lines, spread, until
from tests.forked import ForkedProgram


def keyed(records: list[dict[str, Any]], partitions: int, first: int = 0) -> list[Record]:
    """Distribute records over the partitions in turn."""
    return [Record(json.dumps(record).encode(), (first + i) % partitions) for i, record in enumerate(records)]


@pytest.mark.parametrize(
    ("strategy", "sent"),
    [
        ("cooperative-sticky", True),
        ("range", False),
        pytest.param("range", True, marks=pytest.mark.slow),
        pytest.param("cooperative-sticky", False, marks=pytest.mark.slow),
    ],
)
def test_partitions_change_hands_and_each_event_is_learned_once(
    cluster: Cluster, strategy: str, sent: bool
) -> None:
    given = events(2400)
    source, output = cluster.topic("in", 4), cluster.topic("out")
    arguments = ["--id", "id", "-X", f"partition_assignment_strategy={strategy}", "--checkpoint-every", "150"]
    arguments += ["--output-topic", output] if sent else []

    def learned(model: str) -> int:
        return int(cluster.kept(model)["events"]) if (cluster.folder / model).exists() else 0

    def start(model: str) -> ForkedProgram:
        where = [] if sent else ["--predictions", f"{model}.jsonl"]
        return cluster.start(source, "--model", model, *where, *arguments)

    cluster.put(source, keyed(given[:800], 4))
    with start("first") as first:
        until(lambda: learned("first") >= 750, first)
        with start("second") as second:
            # It writes its model as soon as partitions are assigned to it, in mid-stream.
            for begin in range(800, 1200, 40):
                cluster.put(source, keyed(given[begin : begin + 40], 4, begin))
            until(lambda: (cluster.folder / "second").exists(), second)
            cluster.put(source, keyed(given[1200:1600], 4))
            until(lambda: learned("second") >= 1, second)
            first.send_signal(signal.SIGTERM)
            assert first.wait(10) == 143, first.communicate()[1]
            # It has left the group: nothing waits for its session to expire.
            cluster.put(source, keyed(given[1600:], 4))
            until(lambda: learned("second") + learned("first") >= 2250, second, 20)
            second.send_signal(signal.SIGTERM)
            assert second.wait(10) == 143, second.communicate()[1]
    cluster.attach(
        source,
        "--model",
        "first",
        "--until-end",
        *arguments,
        *([] if sent else ["--predictions", "last.jsonl"]),
    )
    if sent:
        ids = [row["id"] for row in cluster.rows(output)]
    else:
        files = ("first.jsonl", "second.jsonl", "last.jsonl")
        ids = [
            json.loads(line)["id"] for f in files for line in (cluster.folder / f).read_text().splitlines()
        ]
    assert sorted(ids) == list(range(2400))
    assert learned("first") + learned("second") == 2400


@pytest.mark.parametrize("sent", [True, False])
def test_of_two_processes_for_one_model_the_older_gives_way(cluster: Cluster, sent: bool) -> None:
    given = events(1200)
    source, output = cluster.topic("in", 2), cluster.topic("out")
    cluster.put(source, spread(given[:600], 2))
    arguments = [source, "--model", "m", "--id", "id", "--checkpoint-every", "100"]
    arguments += ["--output-topic", output] if sent else []
    arguments += ["-X", "heartbeat_interval_ms=300"]
    with cluster.start(*arguments) as older:
        until(lambda: (cluster.folder / "m").exists() and cluster.kept("m")["events"] >= 600, older)
        with cluster.start(*arguments) as newer:
            said = older.communicate(timeout=30)[1]
            cluster.put(source, spread(given[600:], 2))
            assert older.returncode == 1, said
            assert "another process has taken over this model" in said.splitlines()[-1]
            until(lambda: cluster.kept("m")["events"] >= 1200, newer)
            newer.send_signal(signal.SIGTERM)
            assert newer.wait(10) == 143, newer.communicate()[1]
    assert cluster.kept("m")["events"] == 1200
    if sent:
        rows = cluster.rows(output)
        assert [row["n"] for row in rows] == list(range(1, 1201))
        cluster.learn(lines([given[row["id"]] for row in rows]), "--id", "id")
        assert cluster.state("m") == cluster.state("reference.karma")


def test_a_name_of_ones_own_is_kept_a_place(cluster: Cluster) -> None:
    source = cluster.topic("in", 2)
    cluster.put(source, spread(events(50), 2))
    name = "-Xgroup_instance_id=worker-7"
    for _ in range(2):
        cluster.attach(source, "--model", "m", "--until-end", name)
    assert cluster.members("group") == ["worker-7"]
    cluster.attach(source, "--model", "other", "--until-end", group="another")
    assert cluster.members("another") == []


def test_a_busy_model_does_not_starve_the_heartbeat(cluster: Cluster) -> None:
    # Without a budget each event costs more than the previous one: the session would expire
    # several times if heartbeats waited for the learner.
    source, given = cluster.topic("in"), events(6000)
    cluster.put(source, spread(given, 1))
    short = [
        "-X",
        "session_timeout_ms=1500",
        "-X",
        "heartbeat_interval_ms=400",
        "-X",
        "max_poll_records=6000",
    ]
    said = cluster.attach(source, "--until-end", "--model", "m", "--gamma", "3", "--budget", "0", *short)
    assert "retrying" not in said
    cluster.learn(lines(given), "--gamma", "3", "--budget", "0")
    assert cluster.state("m") == cluster.state("reference.karma")


@pytest.mark.parametrize("start", ["earliest", "latest"])
def test_partitions_that_are_added_under_a_running_process(cluster: Cluster, start: str) -> None:
    given, source, output = events(80), cluster.topic("in"), cluster.topic("out")
    learner = ["--learner", "explicit", "--task", "binary"]
    arguments = [source, "--output-topic", output, "--model", "m", "--id", "id", *learner, "--from", start]
    if start == "latest":
        # Records from before the process are skipped, unlike those of a new partition.
        cluster.put(source, spread(events(5), 1))
    with cluster.start(*arguments, "-X", "metadata_max_age_ms=200") as process:
        until(lambda: (cluster.folder / "m").exists(), process)
        cluster.put(source, spread(given[:40], 1))
        until(lambda: len(cluster.rows(output)) == 40, process)
        admin = KafkaAdminClient(bootstrap_servers=cluster.address)
        admin.create_partitions({source: NewPartitions(3)})
        admin.close()
        cluster.put(source, [Record(line, 2) for line in lines(given[40:])])
        until(lambda: len(cluster.rows(output)) == 80, process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 143
    assert cluster.rows(output) == cluster.learn(lines(given), "--id", "id", *learner)


def test_who_gets_a_quiet_partition_leaves_out_nothing_that_came_meanwhile(cluster: Cluster) -> None:
    source, output, given = cluster.topic("in", 2), cluster.topic("out"), events(30)
    cluster.put(source, spread(events(20), 2))
    arguments = [source, "--output-topic", output, "--id", "id", "--from", "latest", "--task", "binary"]
    with cluster.start(*arguments, "--model", "first") as process:
        until(lambda: (cluster.folder / "first").exists(), process)
        cluster.put(source, [Record(line, 0) for line in lines(given[:20])])
        until(lambda: len(cluster.rows(output)) == 20, process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 143
    cluster.put(source, [Record(line, 1) for line in lines(given[20:])])
    cluster.attach(*arguments, "--model", "second", "--until-end")
    assert [row["id"] for row in cluster.rows(output)] == list(range(30))
    assert cluster.kept("second")["events"] == 10


def test_another_group_or_member_does_not_write_the_same_model(cluster: Cluster) -> None:
    source = cluster.topic("in")
    with cluster.start(source, "--model", "m") as process:
        until((cluster.folder / "m").exists, process)
        arguments = [source, "--model", "m", "--until-end"]
        said = cluster.attach(*arguments, code=1, group="another")
        assert last(said) == (
            f"streamkarma: m is in use by group {cluster.name('group')}; wait until it ends, or give another "
            "--model"
        )
        cluster.attach(*arguments, "-X", "group_instance_id=other", code=1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 143
    cluster.attach(*arguments, group="another")
