"""On a real broker: what goes wrong, and the one line that reports it."""

from __future__ import annotations

import json
import signal
import time
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType

from tests.broker import PASSWORD, USER, Broker, free_port
from tests.cluster import Cluster, Record, events, last, lines, until

SASL = {
    "STREAMKARMA_KAFKA_SECURITY_PROTOCOL": "SASL_PLAINTEXT",
    "STREAMKARMA_KAFKA_SASL_MECHANISM": "PLAIN",
    "STREAMKARMA_KAFKA_SASL_PLAIN_USERNAME": USER,
}

#: Delays a commit until the brokers have answered what was sent before.
REFUSED_BEFORE = """
import time
from streamkarma.connectors.kafka.sink import TopicSink
original = TopicSink.commit
def late(*arguments):
    time.sleep({seconds})
    original(*arguments)
TopicSink.commit = late
from streamkarma.cli import main
main()
"""

#: Reports silence earlier.
IMPATIENT = """
from streamkarma.connectors.kafka import connection
connection.SILENCE_SECONDS = 0.5
from streamkarma.cli import main
main()
"""

#: The brokers fail twice: before the first commit, and after the second.
FAILS_TWICE = """
from kafka import errors
from streamkarma.connectors.kafka.offsets import Offsets
original, calls = Offsets.maybe_commit, 0
def failing(*arguments):
    global calls
    calls += 1
    if calls in (1, 3):
        raise errors.NodeNotReadyError("gone for a moment")
    original(*arguments)
Offsets.maybe_commit = failing
from streamkarma.cli import main
main()
"""

#: The first events take longer than the group waits for a member.
SLOW_AT_FIRST = """
import time
from streamkarma.runtime.loop import Loop
original, pauses = Loop.feed, [1.5]
def slow(*arguments):
    fed = original(*arguments)
    time.sleep(pauses.pop() if pauses else 0.0)
    return fed
Loop.feed = slow
from streamkarma.cli import main
main()
"""


def end_of(cluster: Cluster, topic: str, isolation: str) -> int:
    """Where the first partition of a topic ends for a reader."""
    consumer = KafkaConsumer(bootstrap_servers=cluster.address, isolation_level=isolation)
    end = consumer.end_offsets([TopicPartition(topic, 0)])
    consumer.close()
    return int(end[TopicPartition(topic, 0)])


def test_no_broker(cluster: Cluster) -> None:
    address = f"127.0.0.1:{free_port()}"
    began = time.monotonic()
    said = cluster.attach("t", "--brokers", address, "--connect-timeout", "2", "--model", "m", code=1)
    assert time.monotonic() - began < 10
    first, *_ = said.splitlines()
    assert first.startswith(f"cannot reach {address} (")
    assert first.endswith("trying for 2 s")
    assert last(said).startswith(f"streamkarma: no broker at {address} within 2 s: ")
    assert not (cluster.folder / "m").exists()


def test_a_broker_that_comes_a_little_later(cluster: Cluster, own_broker: Broker) -> None:
    source = cluster.topic("in")
    cluster.put(source, events(20))
    own_broker.stop()
    with cluster.start(source, "--until-end", "--model", "m") as process:
        assert process.stderr is not None
        assert "cannot reach" in process.stderr.readline()
        own_broker.start()
        assert process.wait(60) == 0
    assert cluster.kept("m")["events"] == 20


def test_a_signal_while_nobody_answers(cluster: Cluster) -> None:
    with cluster.start("t", "--brokers", f"127.0.0.1:{free_port()}") as process:
        assert process.stderr is not None
        process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 143


def test_an_outage_is_reported_and_makes_a_process_unready(cluster: Cluster, own_broker: Broker) -> None:
    source, port = cluster.topic("in"), free_port()
    cluster.put(source, events(20))

    def readiness() -> str:
        try:
            with urlopen(f"http://127.0.0.1:{port}/readyz") as answer:
                body: bytes = answer.read()
        except HTTPError as error:
            body = error.read()
        return body.decode().strip()

    with cluster.start(source, "--model", "m", "--metrics", str(port), script=IMPATIENT) as process:
        until(lambda: (cluster.folder / "m").exists() and cluster.kept("m")["events"] == 20, process)
        own_broker.stop(hard=False)
        try:
            until(lambda: readiness() == f"no response from {cluster.address}", process)
        finally:
            own_broker.start()
        # No record arrives, but commits are answered.
        until(lambda: readiness() == "ready", process)
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=20)[1].splitlines()
    missed = [line for line in said if f"no response from {cluster.address} (" in line]
    assert len(missed) == 1
    assert said.index(missed[0]) < said.index("the brokers are back")


@pytest.mark.parametrize("where", [["--output-topic"], pytest.param([], marks=pytest.mark.slow)])
def test_a_signal_when_the_broker_has_gone(cluster: Cluster, own_broker: Broker, where: list[str]) -> None:
    source, output = cluster.topic("in"), cluster.topic("out")
    cluster.put(source, events(300))
    where = [*where, output] if where else []
    with cluster.start(source, "--model", "m", *where, "--checkpoint-every", "100") as process:
        until(lambda: (cluster.folder / "m").exists() and cluster.kept("m")["events"] >= 300, process)
        own_broker.stop(hard=True)
        try:
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 143
        finally:
            own_broker.start()
    assert cluster.kept("m")["events"] == 300


@pytest.mark.parametrize(
    ("name", "hint"), [("clicsk", "did you mean clicks"), ("nowhere-at-all", "create it")]
)
def test_no_such_topic(cluster: Cluster, name: str, hint: str) -> None:
    cluster.topic("clicks")
    said = cluster.attach(cluster.name(name), code=1)
    assert last(said).startswith(f"streamkarma: there is no topic {cluster.name(name)}; {hint}")


def test_no_such_output_topic(cluster: Cluster) -> None:
    name = cluster.name("nowhere-at-all")
    said = cluster.attach(cluster.topic("in"), "--output-topic", name, code=1)
    assert last(said) == f"streamkarma: there is no topic {name}; create it, or check --brokers"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_the_password_comes_from_the_environment_and_is_never_said(
    cluster: Cluster, own_broker: Broker, mechanism: str
) -> None:
    source = cluster.topic("in")
    cluster.put(source, events(20))
    arguments = [source, "--brokers", own_broker.locked_address, "--until-end", "--model", "m"]
    env = {**SASL, "STREAMKARMA_KAFKA_SASL_MECHANISM": mechanism}
    wrong = "not the password"
    said = cluster.attach(*arguments, code=1, env={**env, "STREAMKARMA_KAFKA_SASL_PLAIN_PASSWORD": wrong})
    assert f"{own_broker.locked_address}: authentication failed: " in last(said)
    assert last(said).endswith("; check user, password, sasl_mechanism and certificates")
    assert wrong not in said
    said = cluster.attach(*arguments, env={**env, "STREAMKARMA_KAFKA_SASL_PLAIN_PASSWORD": PASSWORD})
    assert PASSWORD not in said
    assert cluster.kept("m")["events"] == 20
    # The same from a file, with the settings in a table.
    (cluster.folder / "c.toml").write_text(
        f'[attach.kafka]\nsecurity_protocol = "SASL_PLAINTEXT"\nsasl_mechanism = "{mechanism}"\n'
        f'sasl_plain_username = "{USER}"\nsasl_plain_password = "{PASSWORD}"\n'
    )
    cluster.attach(*arguments, "--config", "c.toml", group="another")


def test_a_mechanism_the_broker_does_not_know(cluster: Cluster, own_broker: Broker) -> None:
    env = {**SASL, "STREAMKARMA_KAFKA_SASL_MECHANISM": "SCRAM-SHA-512"}
    env["STREAMKARMA_KAFKA_SASL_PLAIN_PASSWORD"] = PASSWORD
    said = cluster.attach("t", "--brokers", own_broker.locked_address, code=1, env=env)
    assert f"{own_broker.locked_address}: authentication failed: " in last(said)


def test_no_login_where_one_is_asked_for(cluster: Cluster, own_broker: Broker) -> None:
    said = cluster.attach("t", "--brokers", own_broker.locked_address, "--connect-timeout", "2", code=1)
    assert last(said).endswith("; if they require a password or TLS, set -X security_protocol")


@pytest.mark.parametrize("start", ["earliest", "latest"])
def test_records_that_were_gone_before_they_were_read(cluster: Cluster, start: str) -> None:
    source = cluster.topic("in")
    cluster.put(source, events(100))
    arguments = [source, "--model", "m", "--from", start, "--output-topic", cluster.topic("out")]
    if start == "latest":
        cluster.attach(*arguments, "--until-end")
        cluster.put(source, events(50))
    else:
        cluster.attach(*arguments, "--max-events", "10")
    admin = KafkaAdminClient(bootstrap_servers=cluster.address)
    admin.delete_records({TopicPartition(source, 0): 120 if start == "latest" else 40})
    admin.close()
    said = cluster.attach(*arguments, "--until-end", "--summary", "s")
    begin, end = (100, 120) if start == "latest" else (10, 40)
    assert f"topic {source}, partition 0: offsets {begin} to {end - 1} are lost" in said
    assert json.loads((cluster.folder / "s").read_text())["kafka"]["lost"] == {f"{source}/0": end - begin}
    # The remaining records are read, wherever a partition without an offset would begin.
    assert cluster.kept("m")["events"] == (30 if start == "latest" else 70)


@pytest.mark.parametrize("way", ["answers", "alone", "shares"])
def test_what_is_lost_counts_once_whatever_fails_before_it_is_committed(cluster: Cluster, way: str) -> None:
    source, output = cluster.topic("in"), cluster.topic("out")
    cluster.put(source, events(50))
    options = {
        "answers": ["--model", "m", "--output-topic", output],
        "alone": ["--model", "m"],
        "shares": ["--share", cluster.name("share"), "--task", "binary"],
    }[way]
    cluster.attach(source, *options, "--max-events", "10")
    admin = KafkaAdminClient(bootstrap_servers=cluster.address)
    admin.delete_records({TopicPartition(source, 0): 40})
    admin.close()
    arguments = [source, *options, "--until-end", "--summary", "s"]
    with cluster.start(*arguments, script=FAILS_TWICE) as process:
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 0, said
    assert said.count("gone for a moment") == 2
    summary = json.loads((cluster.folder / "s").read_text())
    assert (summary["events"], summary["kafka"]["lost"]) == (10, {f"{source}/0": 30})


@pytest.mark.parametrize("learns", [True, False])
def test_expired_records_that_nobody_could_read_are_not_lost(cluster: Cluster, learns: bool) -> None:
    source = cluster.topic("in")
    cluster.put(source, events(10))
    cluster.abort(source, events(20))
    cluster.learn(lines(events(10)), model="m")
    mode = ["--output-topic", cluster.topic("out")] if learns else ["--no-learn"]
    arguments = [source, "--model", "m", *mode, "--until-end", "--summary", "s"]
    cluster.attach(*arguments)
    admin = KafkaAdminClient(bootstrap_servers=cluster.address)
    # All of them, and the mark that ends the transaction.
    admin.delete_records({TopicPartition(source, 0): 31})
    admin.close()
    assert "lost" not in cluster.attach(*arguments)
    assert json.loads((cluster.folder / "s").read_text())["kafka"]["lost"] == {}


@pytest.mark.parametrize("before", [0, 40])
def test_a_summary_counts_nothing_that_was_thrown_away(cluster: Cluster, before: int) -> None:
    source, output = cluster.topic("in"), cluster.topic("out")
    arguments = [source, "--until-end", "--model", "m", "--output-topic", output, "--summary", "s.json"]
    if before:
        cluster.put(source, events(before))
        cluster.attach(*arguments)
    cluster.put(source, events(50))
    # Nothing keyless can be sent to it, so that the transaction fails.
    admin = KafkaAdminClient(bootstrap_servers=cluster.address)
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, output, {"cleanup.policy": "compact"})])
    admin.close()
    said = cluster.attach(*arguments, code=1)
    summary = json.loads((cluster.folder / "s.json").read_text())
    assert (summary["events"], summary["learned"]) == (0, 0)
    assert summary["kafka"]["positions"] == ({source: {"0": before}} if before else {})
    assert last(said) == f"streamkarma: {summary['failed']}"


def test_a_compacted_topic_takes_no_predictions_without_keys(cluster: Cluster) -> None:
    source, output = cluster.topic("in"), cluster.topic("out", 1, **{"cleanup.policy": "compact"})
    cluster.put(source, events(9))
    said = cluster.attach(source, "--until-end", "--model", "m", "--output-topic", output, code=1)
    assert "retrying" not in said
    assert "Compacted topic cannot accept message without key" in last(said)


@pytest.mark.parametrize("answers", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_process_that_is_too_slow_for_its_group_goes_on(cluster: Cluster, answers: bool) -> None:
    source, output = cluster.topic("in"), cluster.topic("out")
    cluster.put(source, events(40))
    where = ["--output-topic", output] if answers else []
    pace = ["max_poll_interval_ms=1000", "session_timeout_ms=1500", "heartbeat_interval_ms=100"]
    patient = [word for setting in pace for word in ("-X", setting)]
    arguments = [source, "--until-end", "--model", "m", *where, *patient]
    with cluster.start(*arguments, script=SLOW_AT_FIRST) as process:
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 0, said
    assert "events took longer than max_poll_interval_ms (1 s), and the group has moved on" in said
    assert cluster.kept("m")["events"] == 40
    assert [row["n"] for row in cluster.rows(output)] == (list(range(1, 41)) if answers else [])


@pytest.mark.parametrize("refused_long_before", [False, True])
def test_a_refused_row_leaves_nothing_that_others_wait_for(
    cluster: Cluster, refused_long_before: bool
) -> None:
    source, output = cluster.topic("in"), cluster.topic("out", 1, **{"cleanup.policy": "compact"})
    dead = cluster.topic("dead")
    cluster.put(source, [Record(b"no"), *events(9)])
    script = REFUSED_BEFORE.format(seconds=1.0 if refused_long_before else 0.0)
    arguments = [source, "--until-end", "--model", "m", "--output-topic", output, "--dead-letter-topic", dead]
    with cluster.start(*arguments, script=script) as process:
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    assert "retrying" not in said
    assert "Compacted topic cannot accept message without key" in last(said)
    # The marker that ends a transaction comes a moment after the answer.
    deadline = time.monotonic() + 20.0
    while end_of(cluster, dead, "read_committed") == 0:
        assert time.monotonic() < deadline, "the transaction is still open"
    assert end_of(cluster, dead, "read_uncommitted") == 2
    assert cluster.get(dead) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["-X", "fetch_max_byte=1"], "-X fetch_max_byte: kafka-python has no such setting; fetch_max_bytes?"),
        (["-X", "fetch_max_bytes=secret"], "-X fetch_max_bytes: expected a value like 52428800"),
        (["-X", "max_poll_records=0"], "-X max_poll_records: expected a value like 500, 1 or more"),
        (["-X", "max_in_flight_requests_per_connection=0"], "expected a value like 5, 1 or more"),
        (["-X", "transaction_timeout_ms=99999999999"], "expected a value like 60000, 1 or more"),
        (["-X", "fetch_max_bytes=2147483648"], "-X fetch_max_bytes: expected a value like 52428800"),
        (["-X", "group_id=g"], "-X group_id cannot be set: use --group"),
        (["-X", "isolation_level=x"], "-X isolation_level cannot be set: only committed records are read"),
        (["-X", "check_crcs"], "-X check_crcs: expected NAME=VALUE"),
        (["-X", "ssl_context=1"], "-X ssl_context: its values are not strings, so it cannot be set here"),
        (["-X", "partition_assignment_strategy=x"], "expected one of range, roundrobin, sticky"),
        (["--output-topic", "t"], "the topic t cannot be both read and written"),
        (["[a"], "only one pattern is allowed"),
        (["--label-topic", "l"], "late labels need --id NAME"),
        (["--label-topic", "l", "--pending", "0"], "--label-topic has no meaning with --pending 0"),
        (["--output-topic", ""], "the name of a topic cannot be empty"),
        (["--dead-letter-topic", ""], "the name of a topic cannot be empty"),
        ([""], "the name of a topic cannot be empty"),
        (["--group", ""], "--group cannot be empty"),
        (["--brokers", ""], "--brokers names no broker; expected HOST:PORT"),
        (["--brokers", "localhost:x"], "--brokers: localhost:x has no port; expected HOST:PORT"),
        (["--regret", "nought"], "no such baseline"),
    ],
)
def test_usage(cluster: Cluster, given: list[str], said: str) -> None:
    line = last(cluster.attach("t", *given, code=2))
    assert said in line
    assert "secret" not in line


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("heartbeat_interval_ms=50000", "Heartbeat interval must be lower than the session timeout"),
        ("session_timeout_ms=0", "Heartbeat interval must be lower than the session timeout"),
        ("request_timeout_ms=0", "must be larger than request_timeout_ms (0)"),
        ("delivery_timeout_ms=1", "Must set delivery_timeout_ms higher"),
        ("compression_type=foo", "Not supported codec: foo"),
    ],
)
def test_settings_that_a_client_of_kafka_refuses(cluster: Cluster, setting: str, said: str) -> None:
    given = [cluster.topic("in"), "--output-topic", cluster.topic("out"), "--model", "m", "-X", setting]
    line = last(cluster.attach(*given, code=2))
    assert line.startswith("streamkarma: invalid Kafka settings (-X): ")
    assert said in line
    assert not (cluster.folder / "m").exists()


def test_a_transaction_longer_than_the_brokers_allow(cluster: Cluster) -> None:
    arguments = [cluster.topic("in"), "--until-end", "--output-topic", cluster.topic("out"), "--model", "m"]
    said = cluster.attach(*arguments, "-X", "transaction_timeout_ms=2000000000", code=1)
    assert "retrying" not in said
    assert "InvalidTransactionTimeout" in last(said)


def test_a_record_too_large_for_one_fetch(cluster: Cluster) -> None:
    source = cluster.topic("in", 1, **{"max.message.bytes": "3000000"})
    cluster.put(source, [Record(b'{"a": 1, "y": 0}'), Record(b'{"b": "%s", "y": 1}' % (b"x" * 900_000))])
    cluster.attach(source, "--until-end", "--model", "m", "-X", "max_partition_fetch_bytes=10000")
    assert cluster.kept("m")["events"] == 2
