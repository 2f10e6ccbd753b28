"""On a real broker: what is read, learned and answered while nothing goes wrong."""

from __future__ import annotations

import json
import re
import signal
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import KafkaConsumer

from streamkarma._engine import decode_records
from streamkarma.cli import cli
from streamkarma.connectors.base import DeadLetter
from streamkarma.connectors.kafka._private import BulkProducer, TopicConsumer
from streamkarma.connectors.kafka.records import NO_METADATA
from streamkarma.connectors.kafka.records import records_of as kafka_records
from streamkarma.connectors.kafka.sink import TopicSink
from streamkarma.runtime.plan import Plan
from streamkarma.spark.partitions import records_of as spark_records
from tests.cluster import Cluster, Record, events, last, lines, spread, until
from tests.conftest import Program


@pytest.mark.parametrize("workers", ["1", "3"])
def test_a_topic_is_learned_as_a_pipe_is(cluster: Cluster, workers: str) -> None:
    given = events(1500)
    source, output = cluster.topic("in"), cluster.topic("out")
    cluster.put(source, given)
    arguments = [source, "--until-end", "--output-topic", output, "--model", "m", "--workers", workers]
    assert "task: binary" in cluster.attach(*arguments, "--id", "id")
    expected = cluster.learn(lines(given), "--id", "id")
    assert cluster.rows(output) == expected
    assert cluster.state("m") == cluster.state("reference.karma")
    assert cluster.kept("m")["kafka"] == {source: {"0": 1500}}


def test_the_engine_decodes_what_is_read(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """As kafka-python does, which would do it itself if its parts had other names."""
    source, decoded = cluster.topic("in"), []
    given = [Record(b"1", 0, b"k", [("h", b"v")], 1_700_000_000_000), Record(None, 0, b"k"), Record(b"", 0)]
    cluster.put(source, given)

    def decode(*arguments: Any) -> Any:
        decoded.append(decode_records(*arguments))
        return decoded[-1]

    monkeypatch.setattr("streamkarma.connectors.kafka._private.decode_records", decode)
    read = []
    for kind in (TopicConsumer, KafkaConsumer):
        consumer = kind(
            source, bootstrap_servers=cluster.address, auto_offset_reset="earliest", group_id=None
        )
        records = [next(consumer) for _ in given]
        read.append([each[: each._fields.index("checksum")] for each in records])
        consumer.close()
    assert read[0] == read[1]
    assert sum(len(each.values) for each in decoded) == len(given)


def test_stopping_and_going_on_is_never_having_stopped(cluster: Cluster) -> None:
    given = events(900)
    source, output = cluster.topic("in"), cluster.topic("out")
    cluster.put(source, given)
    for number in ("100", "1", "333"):
        cluster.attach(source, "--max-events", number, "--output-topic", output, "--model", "m")
    assert cluster.kept("m")["kafka"] == {source: {"0": 434}}
    # The group's offsets differ; those in the model take precedence.
    cluster.attach(source, "--until-end", "--model", "m", "--output-topic", output, group="another")
    assert cluster.rows(output) == cluster.learn(lines(given))
    assert cluster.state("m") == cluster.state("reference.karma")


def test_predictions_on_stdout(cluster: Cluster) -> None:
    given = events(40)
    source = cluster.topic("in")
    cluster.put(source, given)
    printed = cluster.attach(source, "--until-end", "--predictions", "-", stdout=True)
    assert [json.loads(line) for line in printed.splitlines()] == cluster.learn(lines(given))


@pytest.mark.parametrize("sent", ["topic", "stdout"])
def test_rows_have_the_contributions_that_those_of_a_pipe_have(cluster: Cluster, sent: str) -> None:
    given = events(300)
    source, output = cluster.topic("in"), cluster.topic("out")
    cluster.put(source, given)
    where = ["--output-topic", output] if sent == "topic" else ["--predictions", "-"]
    printed = cluster.attach(source, "--until-end", "--explain", "2", *where, stdout=sent == "stdout")
    rows = cluster.rows(output) if sent == "topic" else [json.loads(line) for line in printed.splitlines()]
    assert rows == cluster.learn(lines(given), "--explain", "2")
    assert all(len(row["contributions"]) <= 2 for row in rows)
    assert any(len(row["contributions"]) == 2 for row in rows)


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        ([], "-"),
        (["--output-topic", "o"], None),
        (["--output-topic", "o", "--predictions", "-"], "-"),
        (["--output-topic", "o", "--predictions", "f"], "f"),
        (["--output-topic", "o", "--no-predictions"], None),
        (["--no-predictions"], None),
        (["--dead-letter-topic", "d"], "-"),
    ],
)
def test_predictions_go_to_a_topic_or_to_stdout_and_to_both_only_if_asked(
    monkeypatch: pytest.MonkeyPatch, given: list[str], printed: str | None
) -> None:
    plans: list[Plan] = []
    made = SimpleNamespace(execute=lambda: 0)
    monkeypatch.setattr("streamkarma.runtime.run.Run", lambda plan, source: plans.append(plan) or made)
    with pytest.raises(SystemExit):
        cli.main(["attach", "t", "--brokers", "b", "--group", "g", *given], standalone_mode=False)
    assert plans[0].predictions == printed


def test_what_is_not_kept_is_said(cluster: Cluster) -> None:
    source, output = cluster.topic("in"), cluster.topic("out")
    cluster.put(source, [Record(b"no json"), Record(b'{"a": 1, "y": 1}')])
    said = cluster.attach(source, "--until-end", "--output-topic", output, "--learner", "explicit")
    assert said.startswith("no --model: what is learned is lost at the end")
    assert "offset 0: not JSON" in last(said)
    assert last(said).endswith("(--dead-letter-topic keeps them all)")
    assert len(cluster.get(output)) == 1


def test_regret_on_a_topic_goes_on_where_it_was(cluster: Cluster) -> None:
    given, source = events(700), cluster.topic("in")
    cluster.put(source, given)
    more = ("--model", "m", "--regret", "zero", "--regret-memory", "300", "--ignore", "id")
    cluster.attach(source, "--max-events", "450", *more)
    cluster.attach(source, "--until-end", "--summary", "s.json", *more)
    row = json.loads((cluster.folder / "s.json").read_text())["regret"]["zero"]
    assert row["events"] == 700
    assert not row["exact"]
    cluster.learn(lines(given), *more[2:], "--ignore", "id", "--summary", "t.json")
    assert json.loads((cluster.folder / "t.json").read_text())["regret"]["zero"]["regret"] == row["regret"]


def test_several_topics_and_partitions_are_learned_in_the_order_of_n(cluster: Cluster) -> None:
    given = events(2000)
    first, second = cluster.topic("first", 3), cluster.topic("second", 2)
    output = cluster.topic("out")
    cluster.put(first, spread(given[:1200], 3))
    cluster.put(second, spread(given[1200:], 2))
    cluster.attach(first, second, "--until-end", "--output-topic", output, "--id", "id", "--model", "m")
    rows = cluster.rows(output)
    assert [row["n"] for row in rows] == list(range(1, 2001))
    ordered = [given[row["id"]] for row in rows]
    assert sorted(row["id"] for row in rows) == list(range(2000))
    assert cluster.learn(lines(ordered), "--id", "id") == rows
    assert cluster.state("m") == cluster.state("reference.karma")


def test_a_pattern_means_no_topic_that_is_written_to(cluster: Cluster) -> None:
    for name in ("p-one", "p-two"):
        cluster.put(cluster.topic(name), events(30, seed=len(name)))
    output = cluster.topic("p-out")
    cluster.attach(f"p-.*{cluster.name('')}", "--until-end", "--output-topic", output)
    assert len(cluster.rows(output)) == 60
    cluster.attach(f"p-.*{cluster.name('')}", "--until-end", "--output-topic", output, group="again")
    assert len(cluster.rows(output)) == 120
    # Flags begin the user's pattern, which is only a part of the one that is used.
    cluster.attach(f"(?i)P-.*{cluster.name('')}", "--until-end", "--output-topic", output, group="flags")
    assert len(cluster.rows(output)) == 180


def test_from_latest_skips_what_is_there_and_nothing_else(cluster: Cluster) -> None:
    source, given = cluster.topic("in"), events(60)
    cluster.put(source, given[:40])
    arguments = [source, "--from", "latest", "--model", "m"]
    cluster.attach(*arguments, "--until-end")
    assert cluster.kept("m")["kafka"] == {source: {"0": 40}}
    cluster.put(source, given[40:])
    cluster.attach(*arguments, "--until-end")
    cluster.learn(lines(given[40:]))
    assert cluster.state("m") == cluster.state("reference.karma")


def test_key_headers_and_time_can_be_attributes(cluster: Cluster) -> None:
    source, output = cluster.topic("in"), cluster.topic("out")
    headers = [("temp", b"21.5"), ("site", b"north"), ("else", b"\xff")]
    cluster.put(
        source,
        [
            Record(b'{"a": 1, "y": true}', key=b"k7", headers=headers, timestamp_ms=1_700_000_000_500),
            Record(b'{"a": 1, "y": false}', timestamp_ms=0),
            # A producer without timestamps sends -1.
            Record(b'{"a": 1, "y": false}', key=b"k8", timestamp_ms=-1),
            Record(b'{"a": 1, "key": 2}', key=b"twice"),
            Record(b'{"a": 1}', key=b"\xff\xfe"),
        ],
    )
    beside = [
        "--with-key",
        "key",
        "--with-timestamp",
        "at",
        "--with-header",
        "temp",
        "--with-header",
        "site=where",
    ]
    said = cluster.attach(
        source, "--until-end", "--model", "m", "--output-topic", output, "--id", "key", *beside,
        "--dead-letters", "dead",
    )  # fmt: skip
    # The key is the id, so it is not an attribute; and it is sent with the prediction.
    assert [(r.key, json.loads(r.value).get("id")) for r in cluster.get(output)] == [
        (b"k7", "k7"),
        (None, None),
        (b"k8", "k8"),
    ]
    assert [row["observed"] for row in cluster.rows(output)] == [4, 2, 1]
    header, _ = cluster.state("m")
    entries = {tuple(entry) for entry in header["entries"]}
    # Timestamps count as times in milliseconds since 1970, except for a record from the seventies.
    assert {name for name, _ in entries} == {"a", "at", "temp", "where"}
    assert {("at", "hour 22"), ("at", None)} <= entries
    dead = [json.loads(line) for line in (cluster.folder / "dead").read_text().splitlines()]
    assert [(d["offset"], d["error"]) for d in dead] == [
        (3, "'key' is both in the record and in its metadata"),
        (4, "the key is not UTF-8"),
    ]
    assert "rejected" in said


def test_bad_records_go_to_a_topic_as_they_were(cluster: Cluster) -> None:
    source, output, dead = cluster.topic("in"), cluster.topic("out"), cluster.topic("dead")
    bad = [b"no json", b"", b"\xff\xfe", b"[1]", b'{"a": 1e999}', b'{"a": "%s"}' % (b"x" * 2000)]
    good = [b'{"a": 1, "y": 0}', b'{"a": 2, "y": 1}']
    own = [("trace", b"\x00\xff"), ("reason", b"theirs"), ("empty", b""), ("trace", b"again")]
    cluster.put(source, [Record(v, key=b"k\xff", headers=own) for v in [good[0], *bad, good[1]]])
    said = cluster.attach(
        source, "--until-end", "--output-topic", output, "--dead-letter-topic", dead, "--model", "m",
        "--max-record-bytes", "1000",
    )  # fmt: skip
    assert [row["n"] for row in cluster.rows(output)] == [1, 2]
    letters = cluster.get(dead)
    assert [letter.value for letter in letters] == bad
    assert {letter.key for letter in letters} == {b"k\xff"}
    assert all(list(letter.headers[:4]) == own for letter in letters)
    heads = [dict(letter.headers) for letter in letters]
    assert [h["offset"] for h in heads] == [str(i).encode() for i in range(1, 7)]
    assert {(h["topic"], h["partition"]) for h in heads} == {(source.encode(), b"0")}
    assert [h["reason"].decode().partition(":")[0] for h in heads] == [
        "not JSON",
        "empty",
        "not JSON",
        "expected an object, not an array",
        "the record contains an infinite number",
        "longer than the limit; see --max-record-bytes",
    ]
    assert f"first rejected: topic {source}, partition 0, offset 1: not JSON" in last(said)
    assert last(said).endswith(f"(all of them are in topic {dead})")
    # Once is enough: they are not sent again.
    cluster.attach(
        source, "--until-end", "--dead-letter-topic", dead, "--output-topic", output, "--model", "m"
    )
    assert len(cluster.get(dead)) == len(bad)


def test_a_byte_order_mark_is_no_part_of_a_record() -> None:
    values = [b"\xef\xbb\xbf" + content for content in (b'{"a": 1}', b"", b" ")]
    polled: Any = [SimpleNamespace(topic="t", partition=0, offset=i, value=v) for i, v in enumerate(values)]
    of_kafka = kafka_records(polled, NO_METADATA, labels_only=False, limit=8)
    of_spark = spark_records("t", 0, list(enumerate(values)), 8)
    for records in (of_kafka, of_spark):
        assert list(records.values) == [b'{"a": 1}', b"", b" "]
        assert records.refused == {1: "empty", 2: "empty"}


@pytest.mark.parametrize("sent", ["topic", "file"])
def test_tombstones_are_counted_and_nothing_else(cluster: Cluster, sent: str) -> None:
    given = events(30)
    source, output, dead = cluster.topic("in"), cluster.topic("out"), cluster.topic("dead")
    labels = cluster.topic("labels")
    filled = [Record(line, key=b"k") for line in lines(given)]
    tombstone = Record(None, key=b"\xff\xfe")
    cluster.put(source, [tombstone, *filled[:20], tombstone, tombstone, *filled[20:], tombstone])
    cluster.put(labels, [tombstone])
    left = 5
    where = ["--dead-letters", "dead.jsonl"]
    if sent == "topic":
        where = ["--output-topic", output, "--dead-letter-topic", dead]
    arguments = [source, "--label-topic", labels, "--id", "id", "--with-header", "h", "--model", "m", *where]
    arguments += ["--on-error", "fail", "--summary", "s.json", "--learner", "explicit"]
    counted = []
    for more in (["--max-events", "10"], ["--until-end"]):
        said = cluster.attach(*arguments, *more)
        summary = json.loads((cluster.folder / "s.json").read_text())
        counted.append((summary["events"], summary["rejected"]))
        tombstones = summary["kafka"]["tombstones"]
        assert re.findall(r"^tombstones +(\d+)$", said, re.MULTILINE) == [str(tombstones)]
        left -= tombstones
    assert (counted, left) == ([(10, 0), (20, 0)], 0)
    assert cluster.kept("m")["kafka"] == {labels: {"0": 1}, source: {"0": 34}}
    assert cluster.get(dead) == []
    cluster.learn(lines(given), "--id", "id", "--pending", "10000", "--learner", "explicit")
    assert cluster.state("m") == cluster.state("reference.karma")


def test_a_dead_letter_is_the_record_with_more_headers(cluster: Cluster) -> None:
    dead = cluster.topic("dead")
    producer = BulkProducer(bootstrap_servers=cluster.address, transactional_id=cluster.name("sender"))
    producer.init_transactions()
    sink = TopicSink(producer, None, dead)
    headers = [("twice", b""), ("once", b"\x00"), ("twice", b"\xff")]
    sent = [(b"\xffk", None, headers), (None, b"", []), (None, b"v", headers)]
    sent.append((b"k", b"v" * 2000, [("long", b"h" * 2000)]))
    # A record as long as a producer may send, most of it its key.
    sent.append((b"k" * 1_047_000, b"v" * 1000, headers))
    for offset, (key, value, each) in enumerate(sent):
        sink.cut = offset == 3
        record: Any = SimpleNamespace(
            key=key, value=value, headers=each, topic="t", partition=1, offset=offset
        )
        sink.records = [record]
        sink.write_dead_letter(DeadLetter(0, {}, "why", b""))
    producer.commit_transaction()
    producer.close()
    letters = cluster.get(dead)
    for offset, letter in enumerate(letters[:3]):
        own = [("topic", b"t"), ("partition", b"1"), ("offset", b"%d" % offset), ("reason", b"why")]
        assert (letter.key, letter.value, [*letter.headers]) == (*sent[offset][:2], [*sent[offset][2], *own])
    assert letters[3].value == b"v" * 1000
    assert letters[3].headers[-1] == ("cut", b"1000 of 2000 bytes, none of 1 headers")
    assert letters[4].key == b"k" * 1000
    assert letters[4].headers[-1] == ("cut", b"1000 of 1000 bytes, 1000 of 1047000 bytes of the key")


def test_a_dead_letter_too_large_for_its_topic_is_cut(cluster: Cluster) -> None:
    source = cluster.topic("in", 1, **{"max.message.bytes": "900000"})
    dead = cluster.topic("dead", 1, **{"max.message.bytes": "20000"})
    cluster.put(source, [Record(b"x" * 500_000), Record(b'{"a": 1, "y": 1}')])
    said = cluster.attach(source, "--until-end", "--dead-letter-topic", dead, "--model", "m")
    assert "retrying" not in said
    (letter,) = cluster.get(dead)
    assert (letter.value, dict(letter.headers)["cut"]) == (b"x" * 1000, b"1000 of 500000 bytes")
    assert cluster.kept("m")["kafka"] == {source: {"0": 2}}


def check_cut(
    cluster: Cluster, topics: tuple[str, str], given: list[Any], keys: list[Any], sent: list[Any]
) -> None:
    """Check that the rows are sent with these keys, the second one without its id."""
    source, output = topics
    cluster.put(source, [Record(json.dumps(e).encode(), 0, k) for e, k in zip(given, keys, strict=True)])
    said = cluster.attach(source, "--until-end", "--id", "id", "--model", "m", "--output-topic", output)
    assert "retrying" not in said
    expected = cluster.learn(lines(given), "--id", "id")
    del expected[1]["id"]
    expected[1]["cut"] = ["id"]
    assert cluster.rows(output) == expected
    assert [record.key for record in cluster.get(output)] == sent
    assert cluster.state("m") == cluster.state("reference.karma")


def test_a_row_too_large_to_be_sent_is_without_its_longest_fields(cluster: Cluster) -> None:
    source, output = cluster.topic("in", 1, **{"max.message.bytes": "3000000"}), cluster.topic("out")
    long = "x" * 740_000
    given = [{"id": 1, "a": 1.0, "y": 0}, {"id": long, "a": 2.0, "y": 1}, {"id": 3, "a": 3.0, "y": 1}]
    keys = [b"first", long[:300_000].encode(), None]
    check_cut(cluster, (source, output), given, keys, keys)


def test_a_row_too_large_for_its_topic_is_without_its_longest_fields(cluster: Cluster) -> None:
    source, output = cluster.topic("in"), cluster.topic("out", 1, **{"max.message.bytes": "5000"})
    given = [{"id": 1, "a": 1.0, "y": 0}, {"id": "x" * 6000, "a": 2.0, "y": 1}, *events(300)]
    keys = [b"first", b"k" * 4000, *[None] * 300]
    check_cut(cluster, (source, output), given, keys, [b"first", *[None] * 301])


@pytest.mark.parametrize("where", ["--output-topic", "--dead-letter-topic"])
def test_a_topic_that_takes_next_to_nothing_is_named(cluster: Cluster, where: str) -> None:
    source, output = cluster.topic("in"), cluster.topic("out", 1, **{"max.message.bytes": "90"})
    cluster.put(source, [Record(b'{"a": 1, "y": 0}'), Record(b"no")])
    said = cluster.attach(source, "--until-end", "--model", "m", where, output, code=1)
    # A dead letter is retried once, with less of its content.
    assert said.count("retrying") == (where == "--dead-letter-topic")
    assert f"topic {output}" in last(said)
    assert "max.message.bytes" in last(said)


def test_stopping_at_a_bad_record_keeps_what_came_before(cluster: Cluster) -> None:
    source, output = cluster.topic("in"), cluster.topic("out")
    cluster.put(source, [Record(b'{"a": 1, "y": 0}'), Record(b"no"), Record(b'{"a": 2, "y": 1}')])
    dead = cluster.topic("dead")
    arguments = [source, "--until-end", "--output-topic", output, "--dead-letter-topic", dead, "--model", "m"]
    for _ in range(2):
        said = cluster.attach(*arguments, "--on-error", "fail", code=1)
        assert f"streamkarma: topic {source}, partition 0, offset 1: not JSON" in said.splitlines()[-1]
        assert cluster.kept("m")["kafka"] == {source: {"0": 1}}
    assert cluster.get(dead) == []
    cluster.attach(*arguments)
    assert [row["n"] for row in cluster.rows(output)] == [1, 2]
    assert [letter.value for letter in cluster.get(dead)] == [b"no"]


@pytest.mark.parametrize("sent", ["topic", "file"])
def test_a_signal_saves_commits_and_leaves(cluster: Cluster, sent: str) -> None:
    source, output, given = cluster.topic("in", 2), cluster.topic("out"), events(500)
    cluster.put(source, spread(given, 2))
    where = ["--output-topic", output] if sent == "topic" else []
    with cluster.start(source, "--model", "m", "--id", "id", *where, "--summary", "s.json") as process:
        until(lambda: (cluster.folder / "m").exists(), process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 143
    summary = json.loads((cluster.folder / "s.json").read_text())
    positions = cluster.kept("m")["kafka"][source]
    assert sum(positions.values()) == summary["events"] == cluster.kept("m")["events"]
    cluster.attach(source, "--model", "m", "--id", "id", *where, "--until-end")
    if sent == "topic":
        rows = cluster.rows(output)
        assert sorted(row["id"] for row in rows) == list(range(500))
        cluster.learn(lines([given[row["id"]] for row in rows]), "--id", "id")
        assert cluster.state("m") == cluster.state("reference.karma")


def test_the_reader_of_stdout_may_leave(cluster: Cluster) -> None:
    source = cluster.topic("in")
    cluster.put(source, events(3000))
    with cluster.start(source, "--predictions", "-", "--model", "m") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(30) == 0
    assert cluster.kept("m")["events"] > 0


def test_each_part_of_a_record_has_a_name_of_its_own(streamkarma: Program) -> None:
    for given, reason in (
        (["--with-key", "k", "--with-timestamp", "k"], "'k' is used twice"),
        (["--with-header", "h=k", "--with-header", "j=k"], "'k' is used twice"),
        (["--with-header", "h=k", "--with-header", "h=j"], "a header has two names"),
    ):
        done = streamkarma("attach", "t", "--brokers", "127.0.0.1:9", "--group", "g", *given)
        assert done.code == 2
        assert reason in done.stderr
