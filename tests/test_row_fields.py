"""On a real broker: rows with the position of their record, and topics that are scored as they are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kafka import KafkaAdminClient

from tests.cluster import Cluster, Record, events, lines
from tests.conftest import Program

POSITION = ("topic", "partition", "offset")


def predict(cluster: Cluster, *given: str) -> list[dict[str, Any]]:
    """The rows that the model m predicts."""
    printed = cluster.run("predict", "m", *given, "--no-drift", stdout=True)
    return [json.loads(line) for line in printed.splitlines()]


def groups(cluster: Cluster) -> set[str]:
    """All groups that the broker knows."""
    admin = KafkaAdminClient(bootstrap_servers=cluster.address)
    found = {group["group_id"] for group in admin.list_groups()}
    admin.close()
    return found


def test_rows_say_which_record_they_answer_if_they_are_to(cluster: Cluster) -> None:
    given = events(60)
    source, output, plain = cluster.topic("in", 2), cluster.topic("out"), cluster.topic("plain")
    cluster.put(source, [Record(line, i % 2) for i, line in enumerate(lines(given))])
    arguments = [source, "--until-end", "--id", "id", "--task", "binary"]
    cluster.attach(*arguments, "--model", "m", "--output-topic", plain)
    cluster.attach(*arguments, "--model", "n", "--output-topic", output, "--row-position", group="other")
    assert not any(set(row) & {*POSITION, "headers"} for row in cluster.rows(plain))
    rows = cluster.rows(output)
    assert [list(row)[-3:] for row in rows] == [list(POSITION)] * 60
    found = {row["id"]: tuple(row[name] for name in POSITION) for row in rows}
    assert found == {i: (source, i % 2, i // 2) for i in range(60)}
    scored = cluster.topic("scored")
    more = ["--no-learn", "--model", "m", "--until-end"]
    cluster.attach(source, *more, "--output-topic", scored, group="scorers")
    assert {row["id"]: tuple(row[name] for name in POSITION) for row in cluster.rows(scored)} == found
    said = cluster.attach(source, *more, "--no-row-position", "--predictions", "-", group="x", stdout=True)
    assert not any(set(json.loads(row)) & set(POSITION) for row in said.splitlines())


def test_headers_are_repeated_as_they_are(cluster: Cluster) -> None:
    source = cluster.topic("in")
    headers = [("site", b"north"), ("trace", b"\xff\x00"), ("site", "süd".encode()), ("score", b"7")]
    cluster.put(source, [Record(b'{"a": 1, "y": 1}', headers=headers), Record(b'{"a": 2, "y": 0}')])
    asked = [each for name in ("site", "trace", "score", "none") for each in ("--row-header", name)]
    printed = cluster.attach(source, "--until-end", "--predictions", "-", *asked, stdout=True)
    rows = [json.loads(row) for row in printed.splitlines()]
    nothing = dict.fromkeys(("site", "trace", "score", "none"))
    assert [row["headers"] for row in rows] == [
        {**nothing, "site": "süd", "trace": {"base64": "/wA="}, "score": "7"},
        nothing,
    ]
    # A header named like a field does not replace it; a first event has no score yet.
    assert "score" not in rows[0]


def test_predict_reads_a_topic_as_it_stands_and_leaves_no_trace(cluster: Cluster) -> None:
    given, source = events(900, seed=4), cluster.topic("in", 2)
    cluster.learn(lines(events(300)), "--id", "id", model="m")
    records = [Record(line, i % 2, b"k", [("h", b"1")], 10_000 + i) for i, line in enumerate(lines(given))]
    cluster.put(source, [Record(None, key=b"k", timestamp_ms=1), *records, Record(b"no json")])
    topic = [source, "--brokers", cluster.address]
    before = groups(cluster)
    rows = predict(cluster, *topic, "--row-header", "h", "--summary", "s.json", "--dead-letters", "dead")
    (cluster.folder / "given").write_bytes(b"\n".join(lines(given)))
    expected = predict(cluster, "given")
    offsets = [i // 2 + (i % 2 == 0) for i in range(900)]
    for i, row in enumerate(expected):
        row |= {"topic": source, "partition": i % 2, "offset": offsets[i], "headers": {"h": "1"}}
    assert rows == expected
    summary = json.loads((cluster.folder / "s.json").read_text())
    assert (summary["events"], summary["rejected"], summary["kafka"]) == (
        900,
        1,
        {"lost": {}, "tombstones": 1},
    )
    [letter] = [json.loads(line) for line in (cluster.folder / "dead").read_text().splitlines()]
    assert (letter["partition"], letter["offset"], letter["record"]) == (0, 451, "no json")
    assert groups(cluster) == before
    # Keys and headers can be attributes there too, as for a model trained with them.
    beside = ["--with-header", "h", "--with-timestamp", "at"]
    cluster.attach(source, "--until-end", "--model", "k", "--id", "id", *beside)
    scored = cluster.run("predict", "k", *topic, *beside, stdout=True).splitlines()
    assert json.loads(scored[0])["observed"] == rows[0]["observed"] + 2
    assert "there is no topic nowhere" in cluster.run("predict", "m", "nowhere", *topic[1:], code=1)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["--no-learn"], "--no-learn needs --model"),
        (["--no-learn", "--model", "m", "--regret", "zero"], "--regret has no meaning with --no-learn"),
        (["--no-learn", "--model", "m", "--regret", "none"], "--regret has no meaning with --no-learn"),
        (["--no-learn", "--model", "m", "--pending", "7"], "--pending has no meaning with --no-learn"),
        (["--no-learn", "--model", "m", "--label-topic", "t"], "--label-topic has no meaning with"),
        (["--no-learn", "--model", "m", "--share", "t"], "--share has no meaning with --no-learn"),
        (["--no-learn", "--model", "m", "--base", "m"], "--base has no meaning with --no-learn"),
        (["--no-learn", "--model", "m", "--refit", "trees"], "--refit has no meaning with --no-learn"),
        (["--no-learn", "--model", "m", "--carry", "off"], "--carry has no meaning with --no-learn"),
        (["--no-learn", "--model", "m", "--no-scale"], "--scale has no meaning with --no-learn"),
        (["--no-learn", "--model", "m", "--checkpoint-every", "9"], "--checkpoint-every has no meaning"),
    ],
)
def test_what_means_nothing_to_scoring_is_refused(streamkarma: Program, given: list[str], why: str) -> None:
    streamkarma("learn", "--model", "m", records=events(5))
    done = streamkarma("attach", "t", "--brokers", "127.0.0.1:1", "--group", "g", *given)
    assert done.code == 2
    assert done.stderr.startswith(f"streamkarma: {why}")
    assert done.stderr.count("\n") == 1


def test_only_records_of_topics_have_headers_and_positions(streamkarma: Program) -> None:
    streamkarma("learn", "--model", "m", records=events(5))
    for option in (["--row-position"], ["--row-header", "h"], ["--with-key", "k"]):
        done = streamkarma("predict", "m", *option, records=events(5))
        assert done.code == 2
        assert "applies to records of a topic and needs --brokers" in done.stderr
