"""Checks of docker/ that need no engine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import Any

import pytest
import yaml

from streamkarma.cli import cli
from tests import forked
from tests.broker import free_port
from tests.cluster import Cluster, events, lines, until

ROOT = Path(__file__).parents[1]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker/compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
#: The brokers and the folder for programs, as seen by the containers.
BROKERS, PROGRAMS = "kafka:9092", "/opt/streamkarma"


def scripts() -> dict[str, str]:
    """The shell script of each service; Compose turns two dollars into one."""
    found = {}
    for name, service in SERVICES.items():
        words = [*service.get("entrypoint", ()), *service.get("command", ())]
        if words[:2] == ["sh", "-c"]:
            found[name] = words[2].replace("$$", "$")
    return found


def shell(script: str, folder: Path, brokers: str) -> subprocess.CompletedProcess[str]:
    """Run a container's script on this machine, with the programs in ``folder`` for those of Kafka."""
    for there, here in {
        BROKERS: brokers,
        PROGRAMS: str(ROOT / "docker"),
        "/opt/kafka/bin": str(folder),
    }.items():
        script = script.replace(there, here)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "PATH": path})  # fmt: skip


def test_the_command_in_the_compose_file_is_one() -> None:
    name, *arguments = SERVICES["streamkarma"]["command"]
    said = cli.commands[name].make_context(name, arguments).params
    assert said["output_topic"] == SERVICES["predictions"]["command"][2].removeprefix("--topic=")
    assert said["brokers"] == BROKERS
    words = SERVICES["events"]["command"][0].split()
    assert words[words.index("|") + 3] == said["topics"][0]
    cli.commands["generate"].make_context("generate", words[2 : words.index("|")])
    assert {*said["topics"], said["output_topic"], said["dead_letter_topic"]} == set(
        re.findall(r"for topic in (.*);", scripts()["topics"])[0].split()
    )
    # The check uses the model that is written, and the brokers it is learned from.
    healthy = SERVICES["streamkarma"]["healthcheck"]["test"]
    assert healthy == ["CMD", "python", f"{PROGRAMS}/healthy.py", said["model"], "--brokers", BROKERS]


def test_one_service_builds_the_image() -> None:
    ours = {name: service for name, service in SERVICES.items() if service["image"] == "streamkarma"}
    assert [name for name, service in ours.items() if "build" in service] == ["streamkarma"]
    assert all(service["pull_policy"] == "never" for service in ours.values() if "build" not in service)
    build = ours["streamkarma"]["build"]
    assert (ROOT / "docker" / build["context"] / build["dockerfile"]).exists()


def test_what_is_stored_is_stored_on_both_sides() -> None:
    mounts = {
        name: dict(each.split(":") for each in service.get("volumes", ()) if not each.startswith("."))
        for name, service in SERVICES.items()
    }
    assert {volume for mounted in mounts.values() for volume in mounted} == set(COMPOSE["volumes"])
    kafka = SERVICES["kafka"]
    assert kafka["environment"]["KAFKA_LOG_DIRS"] in mounts["kafka"].values()
    assert len(urlsafe_b64decode(kafka["environment"]["CLUSTER_ID"] + "==")) == 16
    arguments = SERVICES["streamkarma"]["command"]
    model = next(each for each in arguments if each.startswith("--model=")).removeprefix("--model=")
    assert str(Path(model).parent) in mounts["streamkarma"].values()


def test_every_listener_is_reached_where_it_says() -> None:
    kafka = SERVICES["kafka"]
    environment = kafka["environment"]
    protocols = dict(
        each.split(":") for each in environment["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"].split(",")
    )
    listeners = dict(each.split("://:") for each in environment["KAFKA_LISTENERS"].split(","))
    advertised = dict(each.split("://") for each in environment["KAFKA_ADVERTISED_LISTENERS"].split(","))
    assert protocols.keys() == listeners.keys()
    assert advertised.keys() == listeners.keys() - {environment["KAFKA_CONTROLLER_LISTENER_NAMES"]}
    assert advertised["PLAINTEXT"] == BROKERS == f"kafka:{listeners['PLAINTEXT']}"
    (port,) = kafka["ports"]
    address, outside, inside = port.split(":")
    # A broker without passwords must be reachable only from this machine.
    assert address == "127.0.0.1"
    assert (advertised["HOST"], listeners["HOST"]) == (f"localhost:{outside}", inside)


def test_a_check_has_time_to_begin() -> None:
    for name in ("kafka", "streamkarma"):
        assert SERVICES[name]["healthcheck"].keys() == {
            "test",
            "interval",
            "timeout",
            "retries",
            "start_period",
        }


@pytest.mark.parametrize("name", scripts())
def test_the_scripts_are_some(name: str) -> None:
    subprocess.run(["sh", "-n", "-c", scripts()[name]], check=True, timeout=10)


@pytest.mark.parametrize("fails", ["", "predictions"])
def test_topics_are_made_or_nothing_is_begun(tmp_path: Path, fails: str) -> None:
    tool = tmp_path / "kafka-topics.sh"
    tool.write_text(
        f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\ncase "$*" in *"topic {fails or "-"} "*) exit 1; esac\n'
    )
    tool.chmod(0o755)
    done = shell(scripts()["topics"], tmp_path, "somewhere:1")
    calls = (tmp_path / "calls").read_text().splitlines()
    assert (done.returncode != 0, len(calls)) == ((True, 2) if fails else (False, 3))
    call = "--bootstrap-server somewhere:1 --create --if-not-exists --topic events --partitions 2"
    assert calls[0] == call


def test_what_the_image_is_made_of_is_sent_to_the_builder() -> None:
    wanted = re.findall(r"^COPY (?!--from)(.*) \S+$", (ROOT / "docker/Dockerfile").read_text(), re.MULTILINE)
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for path in " ".join(wanted).split():
        assert (ROOT / path).exists()
        assert path in sent or path.partition("/")[0] in sent


def test_the_events_are_sent(cluster: Cluster) -> None:
    topic = cluster.topic("events")
    script = scripts()["events"].replace("produce.py events", f"produce.py {topic}")
    script = script.replace("--events 1000000", "--events 20").replace("--rate 50", "--rate 100000")
    done = shell(script, cluster.folder, cluster.address)
    assert done.returncode == 0, done.stderr
    assert len(cluster.get(topic)) == 20


def test_the_producer(cluster: Cluster) -> None:
    sent, topic = lines(events(20)), cluster.topic("events")
    script = [sys.executable, ROOT / "docker/produce.py", topic, "--brokers", cluster.address]
    subprocess.run([*script, "--rate", "100000"], input=b"\n".join(sent), check=True, timeout=60)
    assert [record.value for record in cluster.get(topic)] == sent


def test_who_does_not_move_is_not_healthy(cluster: Cluster) -> None:
    def unwell(age: float, brokers: str = cluster.address) -> str:
        given = ["m", "--brokers", brokers, "--age", str(age)]
        done = forked.run(given, b"", cluster.folder, script=ROOT / "docker/healthy.py")
        assert (done.returncode, done.stdout) == (1 if done.stderr else 0, b"")
        return done.stderr.decode()

    assert unwell(180) == "cannot read the model m: No such file or directory\n"
    source = cluster.topic("in", 2)
    cluster.put(source, events(30))
    with cluster.start(
        source, "--output-topic", cluster.topic("out"), "--model", "m", "--learner", "explicit"
    ) as process:
        until(lambda: (cluster.folder / "m").exists() and cluster.kept("m")["events"] == 30, process)
        # Nothing is waiting: the model may be of any age.
        assert unwell(0) == ""
        process.send_signal(signal.SIGSTOP)
        cluster.put(source, events(5))
        assert unwell(180) == ""
        assert re.fullmatch(
            f"topic {source}, partition 0, offset 30 waits to be read, and m was .*\n", unwell(0)
        )
        nobody = f"127.0.0.1:{free_port()}"
        assert re.fullmatch(
            rf"m was written \d+ s ago, and {nobody} cannot be reached to find out why: .*\n",
            unwell(0, nobody),
        )
        process.send_signal(signal.SIGCONT)
        until(lambda: cluster.kept("m")["events"] == 35, process)
        assert unwell(0) == ""
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 143
    cluster.remove(source)
    assert unwell(0) == f"there is no topic {source}, from which the model was learned\n"
