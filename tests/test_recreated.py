"""On a real broker: a topic is deleted and recreated."""

from __future__ import annotations

import json
import signal

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from streamkarma.connectors.kafka.tags import Tag
from tests.cluster import Cluster, Record, events, lines, spread, until
from tests.test_crashes import deadly

#: Any learner would do here; this one starts fastest.
LEARNER = ("--learner", "explicit")
CHANGED = "has changed (it was recreated, or this is another cluster)"


@pytest.mark.parametrize(("start", "sent"), [("earliest", "topic"), ("latest", "file")])
def test_the_new_topic_is_read_as_the_user_says(cluster: Cluster, start: str, sent: str) -> None:
    given, source, output = events(90), cluster.topic("in", 2), cluster.topic("out")
    arguments = [source, "--until-end", "--model", "m", "--from", start, "--summary", "s.json", *LEARNER]
    arguments += ["--output-topic", output] if sent == "topic" else []
    cluster.put(source, spread(given[:30], 2))
    said = cluster.attach(*arguments, "--from", "earliest")
    assert CHANGED not in said
    first = cluster.kept("m")["topic_ids"]
    cluster.recreate(source, 2)
    # More records than before, so that the offsets do not show it.
    cluster.put(source, spread(given[30:], 2))
    said = cluster.attach(*arguments)
    where = "its beginning" if start == "earliest" else "its end"
    line = f"topic {source} {CHANGED}: its stored offsets are dropped, and it is read from {where}"
    assert said.count(line) == 1
    kept = cluster.kept("m")
    assert kept["events"] == (90 if start == "earliest" else 30)
    assert sum(kept["kafka"][source].values()) == 60
    assert (kept["topic_ids"].keys(), kept["topic_ids"] == first) == ({source}, False)
    assert json.loads((cluster.folder / "s.json").read_text())["kafka"]["recreated"] == [source]
    # The new topic is known from now on.
    assert CHANGED not in cluster.attach(*arguments)
    assert cluster.kept("m")["events"] == kept["events"]


def test_under_a_running_process(cluster: Cluster) -> None:
    given, source, output = events(120), cluster.topic("in"), cluster.topic("out")
    cluster.put(source, given[:50])
    arguments = [source, "--output-topic", output, "--model", "m", "--id", "id", *LEARNER]
    with cluster.start(*arguments) as process:
        until(lambda: len(cluster.rows(output)) == 50, process)
        # Long enough to be noticed: otherwise kafka-python continues at the old offset.
        cluster.recreate(source, pause=1.0)
        cluster.put(source, given[50:])
        until(lambda: len(cluster.rows(output)) == 120, process)
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=10)[1]
        assert process.returncode == 143, said
    assert said.count(CHANGED) == 1
    assert cluster.rows(output) == cluster.learn(lines(given), "--id", "id", *LEARNER)
    assert cluster.state("m") == cluster.state("reference.karma")


def test_an_output_topic_that_is_gone_for_a_while(cluster: Cluster) -> None:
    given, source, output = events(120), cluster.topic("in"), cluster.topic("out")
    cluster.put(source, given[:50])
    arguments = [source, "--output-topic", output, "--model", "m", "--id", "id", *LEARNER]
    with cluster.start(*arguments, "-X", "max_block_ms=500") as process:
        until(lambda: len(cluster.rows(output)) == 50, process)
        cluster.remove(output)
        cluster.put(source, given[50:])
        assert process.stderr is not None
        said = iter(process.stderr.readline, "")
        assert any("retrying from the last commit" in line for line in said)
        cluster.topic("out")
        until(lambda: len(cluster.rows(output)) == 70, process)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=10)
        assert process.returncode == 143
    assert cluster.rows(output) == cluster.learn(lines(given), "--id", "id", *LEARNER)[50:]
    assert cluster.state("m") == cluster.state("reference.karma")


def test_what_was_answered_from_the_old_topic_cannot_be_learned_again(cluster: Cluster) -> None:
    given, output = events(300), cluster.topic("out")
    source, other = cluster.topic("in"), cluster.topic("other")
    cluster.put(source, given[:150])
    cluster.put(other, given[150:250])
    arguments = [source, other, "--until-end", "--output-topic", output, "--model", "m", "--id", "id"]
    arguments += ["--summary", "s.json", *LEARNER]
    script = deadly("connectors.kafka.sink.TopicSink.commit", 4, False)
    with cluster.start(*arguments, "-X", "max_poll_records=50", script=script) as process:
        assert process.wait(60) == -signal.SIGKILL
    answered = [row["id"] for row in cluster.rows(output)]
    learned = cluster.kept("m")["events"]
    lost = sum(i < 150 for i in answered[learned:])
    assert lost
    cluster.recreate(source)
    cluster.put(source, given[250:])
    said = cluster.attach(*arguments)
    assert f"topic {source} {CHANGED}: {lost} records that were answered but are not in the model" in said
    summary = json.loads((cluster.folder / "s.json").read_text())
    assert summary["kafka"]["lost"] == {f"{source}/0": lost}
    # No number is given out twice.
    numbers = [row["n"] for row in cluster.rows(output)]
    assert numbers == list(range(1, cluster.kept("m")["events"] + 1))
    assert cluster.kept("m")["kafka"] == {source: {"0": 50}, other: {"0": 100}}


def test_a_model_without_ids_gets_them(cluster: Cluster) -> None:
    source = cluster.topic("in")
    cluster.put(source, events(20))
    # As written by an older version of this program, or with brokers that have no ids.
    script = """
from streamkarma.connectors.kafka._private import TopicConsumer
TopicConsumer.topic_id = lambda self, topic: None
from streamkarma.cli import main
main()
"""
    with cluster.start(source, "--until-end", "--model", "m", *LEARNER, script=script) as process:
        assert process.wait(60) == 0, process.communicate()[1]
    assert "topic_ids" not in cluster.kept("m")
    cluster.put(source, [Record(b'{"a": 1, "y": 1}')])
    said = cluster.attach(source, "--until-end", "--model", "m", *LEARNER)
    assert CHANGED not in said
    assert cluster.kept("m")["topic_ids"].keys() == {source}
    assert cluster.kept("m")["events"] == 21
    # Without ids, only a topic that ends before its offset is noticed.
    cluster.recreate(source)
    cluster.put(source, events(5))
    with cluster.start(source, "--until-end", "--model", "m", *LEARNER, script=script) as process:
        assert "offset 21 is past its end, 5; was the topic recreated?" in process.communicate(timeout=60)[1]
    assert cluster.kept("m")["events"] == 26


@pytest.mark.parametrize("tag", [Tag("m-1"), Tag("m-1", "yPxZ"), Tag("a.b_c", "-_-_")])
def test_tags_are_read_as_they_were_written(tag: Tag) -> None:
    assert Tag.read(tag.text()) == tag
    assert Tag.read("") == Tag.read("another program's") == Tag(None)


@for_all(st.text(), st.sampled_from([None, "yPxZ"]), st.sampled_from([(None, None), ("e1", 17)]))
def test_a_tag_takes_any_name_of_a_process(
    instance: str, topic_id: str | None, model: tuple[str | None, int | None]
) -> None:
    tag = Tag(instance, topic_id, *model)
    assert Tag.read(tag.text()) == tag
