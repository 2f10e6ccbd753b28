"""The alert rules and the dashboard use only metrics that exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from streamkarma.connectors.base import ReaderFigures
from streamkarma.connectors.histogram import Histogram
from streamkarma.monitoring.exposition import exposition
from streamkarma.monitoring.figures import Checkpoint, Figures
from streamkarma.monitoring.watcher import Watcher

DOCKER = Path(__file__).parents[1] / "docker"
COMPOSE: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text())
PROMTOOL = shutil.which("promtool")


def known() -> set[str]:
    """The names of all metrics, including those of a topic."""
    watcher = Watcher("")
    empty = Histogram().counts()
    durations = dict.fromkeys(("commit_latency_seconds", "transaction_duration_seconds"), empty)
    counts = dict.fromkeys(("events", "learned", "unlabelled", "ignored_attributes"), 1)
    summary = {
        **counts,
        "loss": {"name": "logistic", "mean": 0.5, "total": 0.5},
        "metrics": {"error_rate": 0.1},
        "model": {"bytes": 1, "experts": {"karma": 1.0}, "dormant_experts": 0},
        "regret": {"zero": {"regret": 1.0, "regret_per_event": 0.1}},
    }
    reader = ReaderFigures(True, [("events", 0, 7)], durations)
    drifted = {"errors": 0, "attributes": 0}
    watcher.figures = Figures(
        0.0, 0.0, summary, {"not JSON": 1}, {"a": 0.5}, [], drifted, [], Checkpoint(0.0, 9), reader, 0
    )
    text = exposition(watcher)[1].decode()
    return set(re.findall(r"^(\w+)[{ ]", text, re.MULTILINE))


def expressions() -> list[str]:
    rules = yaml.safe_load((DOCKER / "alerts.yaml").read_text())["groups"][0]["rules"]
    panels = json.loads((DOCKER / "grafana/dashboard.json").read_text())["panels"]
    asked = [target["expr"] for panel in panels for target in panel["targets"]]
    return [rule["expr"] for rule in rules] + asked


def test_rules_and_dashboard_ask_for_metrics_that_there_are() -> None:
    metrics = known()
    for expression in expressions():
        names = set(re.findall(r"\b(?:streamkarma|process)_\w+", expression))
        assert names <= metrics, names - metrics


def test_the_page_lists_every_metric() -> None:
    listed = (DOCKER.parent / "docs/monitoring.md").read_text()
    for name in known():
        bare = re.sub(r"_(?:bucket|count|sum)$", "", name.removeprefix("streamkarma_"))
        assert name.startswith("process_") or f"`{bare}`" in listed, name


def test_what_is_mounted_is_there_and_prometheus_asks_where_it_is_served() -> None:
    for name in ("prometheus", "grafana"):
        for mounted in COMPOSE["services"][name]["volumes"]:
            assert (DOCKER / mounted.split(":")[0]).is_file()
    asked = yaml.safe_load((DOCKER / "prometheus.yaml").read_text())["scrape_configs"][0]
    [target] = asked["static_configs"][0]["targets"]
    service, port = target.split(":")
    assert f"--metrics=0.0.0.0:{port}" in COMPOSE["services"][service]["command"]


@pytest.mark.skipif(PROMTOOL is None, reason="there is no promtool")
@pytest.mark.parametrize(
    "words", [["check", "config", "prometheus.yaml"], ["test", "rules", "alerts_test.yaml"]]
)
def test_promtool_finds_nothing_wrong(words: list[str]) -> None:
    done = subprocess.run([str(PROMTOOL), *words], cwd=DOCKER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
