"""What can be checked of docker/ without an engine."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import yaml

from streamkarma.cli import cli
from tests.cluster import Cluster, events, lines

ROOT = Path(__file__).parents[1]


def test_the_command_in_the_compose_file_is_one() -> None:
    services = yaml.safe_load((ROOT / "docker/compose.yaml").read_text())["services"]
    name, *arguments = services["streamkarma"]["command"]
    said = cli.commands[name].make_context(name, arguments).params
    assert said["output_topic"] == services["predictions"]["command"][2].removeprefix("--topic=")
    words = services["events"]["command"][0].split()
    assert words[words.index("|") + 3] == said["topics"][0]
    cli.commands["generate"].make_context("generate", words[2 : words.index("|")])
    assert {*said["topics"], said["output_topic"], said["dead_letter_topic"]} == set(
        re.findall(r"for topic in (.*);", services["topics"]["command"][2])[0].split()
    )


def test_what_the_image_is_made_of_is_sent_to_the_builder() -> None:
    wanted = re.findall(r"^COPY (?!--from)(.*) \S+$", (ROOT / "docker/Dockerfile").read_text(), re.MULTILINE)
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for path in " ".join(wanted).split():
        assert (ROOT / path).exists()
        assert path in sent or path.partition("/")[0] in sent


def test_the_producer(cluster: Cluster) -> None:
    sent, topic = lines(events(20)), cluster.topic("events")
    script = [sys.executable, ROOT / "docker/produce.py", topic, "--brokers", cluster.address]
    subprocess.run([*script, "--rate", "100000"], input=b"\n".join(sent), check=True, timeout=60)
    assert [record.value for record in cluster.get(topic)] == sent
