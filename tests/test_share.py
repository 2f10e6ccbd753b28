"""On a real broker: processes that share what they learn through a topic of models."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st
from kafka import KafkaAdminClient, TopicPartition, errors
from kafka.admin import ConfigResource

import streamkarma
from streamkarma.connectors.kafka.errors import reason_of
from streamkarma.connectors.kafka.shared_models import BASE, encode
from streamkarma.runtime.packing import Packing
from tests.cluster import Cluster, Record, events, last, lines, spread, until
from tests.sharing import by_partition, check_partitions, models_of_topic, snapshots, state_of

LEARNING = ["--task", "binary", "--learner", "explicit", "--id", "id"]
COMPACT = {"cleanup.policy": "compact"}


def learned(cluster: Cluster, share: str) -> int:
    """How many events the models in a topic have learned."""
    stored = models_of_topic(cluster, share)
    return 0 if stored.base() is None else sum(each.events for each in snapshots(cluster, share).values())


def config(cluster: Cluster, topic: str, name: str) -> str:
    """A setting of a topic."""
    admin = KafkaAdminClient(bootstrap_servers=cluster.address)
    found = admin.describe_configs([ConfigResource("topic", topic)], config_filter="all")
    admin.close()
    return str(found["topic"][topic][name]["value"])


def test_a_model_of_each_partition_which_another_process_goes_on_with(cluster: Cluster) -> None:
    source, output, share = cluster.topic("in", 3), cluster.topic("out"), cluster.name("share")
    given = events(900)
    cluster.put(source, spread(given[:600], 3))
    arguments = [source, "--share", share, "--output-topic", output, *LEARNING, "--until-end"]
    cluster.attach(*arguments, "--checkpoint-every", "100")
    check_partitions(cluster, share, source, by_partition(cluster, source, 3), *LEARNING)
    assert config(cluster, share, "cleanup.policy") == "compact"
    cluster.put(source, spread(given[600:], 3))
    cluster.attach(*arguments)
    check_partitions(cluster, share, source, by_partition(cluster, source, 3), *LEARNING)
    assert learned(cluster, share) == 900
    rows = cluster.rows(output)
    assert sorted(row["id"] for row in rows) == list(range(900))
    # They are numbered by partition.
    counts = [len(records) for records in by_partition(cluster, source, 3).values()]
    assert sorted(row["n"] for row in rows) == sorted(n for count in counts for n in range(1, count + 1))


def test_shared_models_explain_what_they_predict_and_learn_no_differently(cluster: Cluster) -> None:
    source, output, share = cluster.topic("in", 2), cluster.topic("out"), cluster.name("share")
    cluster.put(source, spread(events(300), 2))
    arguments = [source, "--share", share, "--output-topic", output, *LEARNING, "--until-end"]
    cluster.attach(*arguments, "--explain", "5")
    check_partitions(cluster, share, source, by_partition(cluster, source, 2), *LEARNING)
    given = {each["id"]: each for records in by_partition(cluster, source, 2).values() for each in records}
    rows = cluster.rows(output)
    assert len(rows) == 300
    assert all({name for name, _ in row["contributions"]} <= set(given[row["id"]]) for row in rows)
    assert sum(bool(row["contributions"]) for row in rows) > 250


@pytest.mark.parametrize("strategy", [pytest.param("range", marks=pytest.mark.slow), "cooperative-sticky"])
def test_models_move_with_their_partitions(cluster: Cluster, strategy: str) -> None:
    source, output, share = cluster.topic("in", 4), cluster.topic("out"), cluster.name("share")
    given = [{**event, "device": f"d{n % 20}"} for n, event in enumerate(events(2400))]
    # What entities said before moves with the partitions, too.
    options = [*LEARNING, "--entity", "device", "--ignore", "device"]
    arguments = [source, "--share", share, "--output-topic", output, *options, "--checkpoint-every", "150"]
    arguments += ["--workers", "2"]
    arguments += ["--share-every", "0.2", "-X", f"partition_assignment_strategy={strategy}"]
    cluster.put(source, spread(given[:800], 4))
    with cluster.start(*arguments) as first:
        until(lambda: learned(cluster, share) >= 800, first)
        with cluster.start(*arguments) as second:
            until(lambda: len(cluster.members("group")) == 2, second)
            cluster.put(source, spread(given[800:1600], 4))
            until(lambda: learned(cluster, share) >= 1600, second)
            first.send_signal(signal.SIGTERM)
            assert first.wait(10) == 143, first.communicate()[1]
            cluster.put(source, spread(given[1600:], 4))
            until(lambda: learned(cluster, share) >= 2400, second)
            second.send_signal(signal.SIGTERM)
            assert second.wait(10) == 143, second.communicate()[1]
    check_partitions(cluster, share, source, by_partition(cluster, source, 4), *options)
    assert sorted(row["id"] for row in cluster.rows(output)) == list(range(2400))


def test_a_process_with_other_options_is_refused(cluster: Cluster) -> None:
    source, share = cluster.topic("in"), cluster.name("share")
    cluster.put(source, events(20))
    arguments = [source, "--share", share, "--until-end"]
    cluster.attach(*arguments, *LEARNING)
    for more, why in (
        (["--learner", "karma"], "was made with learner explicit, not karma"),
        (["--forget", "100"], "was made with forget none, not 100.0"),
        (["--task", "multiclass"], "was made for the task binary, not multiclass"),
        (["--target", "z"], "was started with target y, not z"),
        (["--ignore", "a"], "was started with ignore none, not a"),
        (["--unlabelled", "ignore"], "was started with unlabelled learn, not ignore"),
        (["--threshold", "0.3"], "was started with threshold none, not 0.3"),
        (["--positive", "0"], "was started with positive none, not 0"),
    ):
        said = cluster.attach(*arguments, *more, code=2)
        assert f"topic {share} {why}" in last(said)
    assert learned(cluster, share) == 20


def test_what_is_not_said_is_as_the_first_process_had_it(cluster: Cluster) -> None:
    source, share = cluster.topic("in"), cluster.name("share")
    arguments = [source, "--share", share, "--until-end"]
    said = cluster.attach(*arguments, code=2)
    assert "the first process needs --task binary, multiclass or regression" in last(said)
    cluster.put(source, events(20))
    cluster.attach(*arguments, *LEARNING, "--gamma", "3")
    cluster.put(source, events(20, seed=1))
    cluster.attach(*arguments)
    check_partitions(cluster, share, source, by_partition(cluster, source, 1), *LEARNING, "--gamma", "3")


def test_entities_that_are_no_attributes_are_followed_in_each_partition(cluster: Cluster) -> None:
    source, share = cluster.topic("in", 2), cluster.name("share")
    given = [{**event, "device": f"d{n % 6}"} for n, event in enumerate(events(300))]
    cluster.put(source, [Record(line, n % 2) for n, line in enumerate(lines(given))])
    options = [*LEARNING, "--entity", "device", "--ignore", "device"]
    cluster.attach(source, "--share", share, "--until-end", *options)
    check_partitions(cluster, share, source, by_partition(cluster, source, 2), *options)
    cluster.pull("--share", share, "--model", "pulled")
    assert "device" not in streamkarma.load(cluster.folder / "pulled").vocabulary.attributes


def test_expired_records_that_nobody_could_read_are_not_lost(cluster: Cluster) -> None:
    source, share = cluster.topic("in"), cluster.name("share")
    arguments = [source, "--share", share, *LEARNING, "--until-end"]
    given = events(15)
    cluster.put(source, given[:10])
    cluster.attach(*arguments)
    cluster.abort(source, events(20))
    cluster.attach(*arguments)
    admin = KafkaAdminClient(bootstrap_servers=cluster.address)
    # All of them, and the mark that ends the transaction.
    admin.delete_records({TopicPartition(source, 0): 31})
    admin.close()
    cluster.put(source, given[10:])
    assert "lost" not in cluster.attach(*arguments)
    found = snapshots(cluster, share)[f"{source}/0"]
    cluster.learn(lines(given), *LEARNING, model="alone")
    assert (found.next, state_of(found.content)) == (36, cluster.state("alone"))


def test_models_that_go_on_from_another(cluster: Cluster) -> None:
    source, share = cluster.topic("in", 2), cluster.name("share")
    warm = events(300, seed=5)
    cluster.learn(lines(warm), *LEARNING, model="warm.karma")
    cluster.learn(lines(warm[:9]), *LEARNING, model="other.karma")
    cluster.put(source, spread(events(200), 2))
    arguments = [source, "--share", share, "--until-end"]
    cluster.attach(*arguments, "--base", "warm.karma")
    for number, records in by_partition(cluster, source, 2).items():
        (cluster.folder / f"alone-{number}").write_bytes((cluster.folder / "warm.karma").read_bytes())
        cluster.learn(lines(records), model=f"alone-{number}")
    found = snapshots(cluster, share)
    for number in range(2):
        content = found[f"{source}/{number}"].content
        assert state_of(content) == cluster.state(f"alone-{number}")
    said = cluster.attach(*arguments, "--base", "other.karma", code=2)
    assert "was started with another --base than other.karma" in last(said)
    cluster.attach(*arguments, "--base", "warm.karma")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["--model", "m"], "--model cannot be combined with --share"),
        (["--label-topic", "t"], "--label-topic cannot be combined with --share"),
        (["--pending", "9"], "--pending cannot be combined with --share"),
        (["--refit", "trees"], "--refit cannot be combined with --share"),
        (["--regret", "fast"], "--regret cannot be combined with --share"),
    ],
)
def test_what_cannot_be_shared(cluster: Cluster, more: list[str], why: str) -> None:
    assert why in cluster.attach("in", "--share", "share", *more, code=2)


def test_a_base_with_refits_is_refused_before_anything_is_made(cluster: Cluster) -> None:
    source, share = cluster.topic("in"), cluster.name("share")
    cluster.learn(
        lines(events(20)), "--learner", "auto", "--refit", "trees", "--task", "binary", model="warm"
    )
    said = cluster.attach(source, "--share", share, "--base", "warm", "--until-end", code=2)
    assert "warm has refits (--refit trees)" in last(said)
    assert len(said.splitlines()) == 1
    assert f"there is no topic {share}" in last(cluster.pull("--share", share, "--model", "m", code=1))


def test_why_a_topic_cannot_be_made_is_said_in_the_words_of_the_broker(cluster: Cluster) -> None:
    source, there, share = cluster.topic("in"), cluster.topic("a.b"), cluster.name("a_b")
    said = last(cluster.attach(source, "--share", share, *LEARNING, code=1))
    assert (
        f"there is no topic {share}, and it cannot be created (Topic '{share}' collides with existing" in said
    )
    assert said.endswith(f"{there}); create it with cleanup.policy=compact")


@for_all(st.none() | st.text())
def test_of_an_answer_only_what_the_broker_says_is_told(said: str | None) -> None:
    answer = f"R(topics=[T(name='t', error_code=17, error_message={said!r}, partitions=-1)])"
    error = errors.InvalidTopicError(f"Request 'C(topics=[T(name='t')])' failed with response '{answer}'.")
    assert reason_of(error) == (" ".join((said or "").split()) or "InvalidTopicError")


def test_a_topic_that_is_not_compacted_is_refused(cluster: Cluster) -> None:
    source, share = cluster.topic("in"), cluster.topic("share")
    said = cluster.attach(source, "--share", share, *LEARNING, "--until-end", code=1)
    assert f"the topic {share} has cleanup.policy=delete" in last(said)
    small = cluster.topic("small", **COMPACT, **{"max.message.bytes": "3000"})
    said = cluster.attach(source, "--share", small, *LEARNING, "--until-end", code=1)
    assert f"the topic {small} takes messages of 3000 bytes; models need 4096" in last(said)


def test_models_in_chunks_that_a_topic_takes(cluster: Cluster) -> None:
    source = cluster.topic("in", 2)
    share = cluster.topic("share", 2, **COMPACT, **{"max.message.bytes": "5000"})
    cluster.put(source, spread(events(300), 2))
    cluster.attach(source, "--share", share, *LEARNING, "--until-end", "--checkpoint-every", "50")
    longest = max(len(record.value) for record in cluster.get(share, 2))
    assert 3000 < longest <= 5000
    assert all(len(each.content) > 3 * longest for each in snapshots(cluster, share, 2).values())
    cluster.attach(source, "--share", share, "--until-end")


def test_a_pulled_model_predicts_and_goes_on_alone(cluster: Cluster) -> None:
    source, share = cluster.topic("in", 3), cluster.name("share")
    given = events(600)
    cluster.put(source, spread(given[:500], 3))
    cluster.attach(source, "--share", share, *LEARNING, "--until-end")
    said = cluster.pull("--share", share, "--model", "m")
    assert last(said) == "m: 3 partitions with 500 events learned"
    model = streamkarma.load(cluster.folder / "m")
    assert [name for name, _ in model.merged_from] == [f"{source}/{number}" for number in range(3)]
    right = sum(model.predict_one({n: v for n, v in e.items() if n in "abcde"}) == e["y"] for e in given)
    assert right > 400
    # It has the offsets, and so learns what arrived since.
    cluster.put(source, spread(given[500:], 3))
    cluster.attach(source, "--model", "m", "--until-end", group="alone")
    assert cluster.kept("m")["events"] == 600


def test_there_is_nothing_to_pull(cluster: Cluster) -> None:
    share = cluster.name("share")
    arguments = ["--share", share, "--model", "m"]
    assert f"there is no topic {share}" in cluster.pull(*arguments, code=1)
    cluster.topic("share", **COMPACT)
    assert f"topic {share} has no models: no process has started" in cluster.pull(*arguments, code=1)
    plain = cluster.topic("events")
    said = last(cluster.pull("--share", plain, "--model", "m", code=1))
    assert f"topic {plain} has no models: it has cleanup.policy=delete" in said
    assert "no topic can have the name" in last(cluster.pull("--share", "a b", "--model", "m", code=2))
    cluster.attach(cluster.topic("in"), "--share", share, *LEARNING, "--until-end")
    assert "no partition has learned anything" in cluster.pull(*arguments, code=1)


def _altered(records: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    key, chunk = records[0]
    return [(key, chunk[:-1] + bytes([chunk[-1] ^ 1])), *records[1:]]


@pytest.mark.parametrize(
    ("content", "change", "why"),
    [
        (None, _altered, "the newest model of {} cannot be used, its checksum does not match"),
        (None, lambda records: records[1:], "the newest model of {} cannot be used, 0 of "),
        (b"no model", lambda records: records, "{} cannot be unpacked: "),
        (
            Packing(b"").pack(b"no model"),
            lambda records: records,
            "{} is not a streamkarma model; the last good one is used",
        ),
    ],
)
def test_the_last_good_model_serves_where_the_newest_is_broken(
    cluster: Cluster, content: bytes | None, change: Any, why: str
) -> None:
    source, share, output = cluster.topic("in"), cluster.name("share"), cluster.topic("out")
    arguments = [source, "--share", share, "--output-topic", output, *LEARNING, "--until-end"]
    cluster.put(source, events(100))
    cluster.attach(*arguments)
    good = snapshots(cluster, share)[f"{source}/0"]
    broken = good._replace(content=content or good.content, next=90)
    records = change(encode(f"{source}/0", broken, 10_000))
    cluster.put(share, [Record(value, 0, key) for key, value in records])
    cluster.put(source, events(100, seed=1, first=100))
    assert why.format(f"{source}/0") in cluster.pull("--share", share, "--model", "before")
    assert why.format(f"{source}/0") in cluster.attach(*arguments)
    said = cluster.pull("--share", share, "--model", "after")
    assert said == "after: 1 partition with 200 events learned\n"
    check_partitions(cluster, share, source, by_partition(cluster, source, 1), *LEARNING)
    assert len(cluster.rows(output)) == 200


def test_where_no_model_is_left_the_events_that_are_there_are_learned_again(cluster: Cluster) -> None:
    source, share, output = cluster.topic("in"), cluster.topic("share", **COMPACT), cluster.topic("out")
    arguments = [source, "--share", share, "--output-topic", output, *LEARNING, "--until-end"]
    cluster.put(source, events(100))
    cluster.attach(*arguments)
    good = snapshots(cluster, share)[f"{source}/0"]
    # The only model is removed, and an invalid one is put in its place.
    broken = encode(f"{source}/0", good._replace(content=b"no model"), 100)
    cluster.put(share, [Record(None, 0, f"{source}/0".encode()), *(Record(v, 0, k) for k, v in broken)])
    said = cluster.attach(*arguments)
    assert "no usable model; all available events are learned again, from 0" in said
    check_partitions(cluster, share, source, by_partition(cluster, source, 1), *LEARNING)
    assert len(cluster.rows(output)) == 100
    cluster.put(share, [Record(b"{}", 0, BASE.encode())])
    assert "the newest model of base cannot be used, it has no valid header" in cluster.attach(*arguments)


def test_of_two_processes_that_begin_at_once_one_says_what_all_begin_as(cluster: Cluster) -> None:
    source, share = cluster.topic("in", 2), cluster.name("share")
    cluster.put(source, spread(events(200), 2))
    gammas = ("1", "2")
    ended = []
    with ExitStack() as stack:
        arguments = [source, "--share", share, *LEARNING, "--until-end"]
        running = [stack.enter_context(cluster.start(*arguments, "--gamma", gamma)) for gamma in gammas]
        for process in running:
            ended.append((process.communicate(timeout=60)[1], process.returncode))
    assert sorted(code for _, code in ended) == [0, 2]
    assert sum(f"topic {share} was made with gamma" in last(said) for said, _ in ended) == 1
    gamma = next(gamma for gamma, (_, code) in zip(gammas, ended, strict=True) if code == 0)
    check_partitions(cluster, share, source, by_partition(cluster, source, 2), *LEARNING, "--gamma", gamma)
