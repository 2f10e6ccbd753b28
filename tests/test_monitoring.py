"""Metrics, health, readiness and the live page, as seen by those who watch a run."""

from __future__ import annotations

import json
import math
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from streamkarma.connectors.base import ReaderFigures
from streamkarma.connectors.histogram import BOUNDS, Histogram
from streamkarma.connectors.rows import Rows
from streamkarma.errors import UsageError
from streamkarma.monitoring import server
from streamkarma.monitoring.exposition import exposition
from streamkarma.monitoring.figures import Figures
from streamkarma.monitoring.history import MOST, History, Point
from streamkarma.monitoring.page import page
from streamkarma.monitoring.reasons import MOST as MOST_REASONS
from streamkarma.monitoring.reasons import OTHERS, Reasons
from streamkarma.monitoring.server import address_of
from streamkarma.monitoring.watcher import Watcher
from streamkarma.runtime.output import Output
from streamkarma.synthetic import StreamSpec
from streamkarma.synthetic import records as synthetic
from tests.browser import CHROMIUM, Page
from tests.conftest import Program
from tests.watched import Watched, samples

in_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with Page(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture
def shown(browser: Page) -> Page:
    return browser.reset()


def lowrank(events: int) -> list[dict[str, Any]]:
    return list(synthetic(StreamSpec(observed=0.5, noise=0.05, seed=1), events))


def test_metrics_are_those_of_the_summary(tmp_path: Path) -> None:
    bad = [[1], {"x0": {"a": 1}, "x0.a": 2}, [2]]
    with Watched(tmp_path, "--learner", "karma", "--model", "m.karma", "--summary", "-") as run:
        run.feed([*lowrank(600), *bad])
        figures = run.figures(600)
        answer, text = run.ask("/metrics")
        output, _ = run.end()
    assert answer.headers["Content-Type"].startswith("text/plain")
    found, summary = samples(text), json.loads(output)
    model = summary["model"]
    for name in ("events", "learned", "unlabelled"):
        assert found[f"streamkarma_{name}_total",] == summary[name]
    assert found["streamkarma_loss_suffered_total",] == pytest.approx(summary["loss"]["total"])
    assert found["streamkarma_loss", "all"] == pytest.approx(summary["loss"]["mean"])
    assert found["streamkarma_loss", "recent"] == pytest.approx(summary["recent"]["loss"])
    for name, value in summary["metrics"].items():
        assert found["streamkarma_metric", name, "all"] == pytest.approx(value)
    for name in ("attributes", "coordinates", "support_vectors", "bytes"):
        assert found[f"streamkarma_{name}",] == model[name]
    for name in ("evicted", "merged_exactly", "merged_closest", "removed"):
        assert found[f"streamkarma_{name}_total",] == model[name]
    rejected = {key[1]: value for key, value in found.items() if key[0] == "streamkarma_rejected_total"}
    assert sum(rejected.values()) == summary["rejected"] == 3
    assert len(rejected) == 2
    assert 0.3 < found["streamkarma_missing_share", "x3"] < 0.7
    assert len(figures["rows"]) == 12
    assert figures["history"]["series"]["loss"][-1] == pytest.approx(summary["loss"]["mean"], rel=1e-4)


def test_the_memory_of_entities_is_told(tmp_path: Path) -> None:
    with Watched(tmp_path, "--entity", "who", "--max-entities", "3", "--learner", "sgd") as run:
        run.feed([{"who": f"d{n}", "a": 1.0, "y": n % 2} for n in range(5)])
        model = run.figures(5)["summary"]["model"]
        found = samples(run.ask("/metrics")[1])
    assert (found["streamkarma_entities",], found["streamkarma_entities_forgotten_total",]) == (3, 2)
    assert found["streamkarma_entity_bytes",] == model["entity_bytes"] > 300


def test_checkpoints_experts_and_regret_are_told(tmp_path: Path) -> None:
    options = ["--model", "m.karma", "--checkpoint-every", "300", "--regret", "zero"]
    with Watched(tmp_path, *options, "--summary", "-") as run:
        run.feed(lowrank(400))
        run.figures(400)
        found = samples(run.ask("/metrics")[1])
        size = (tmp_path / "m.karma").stat().st_size
    assert found["streamkarma_checkpoint_duration_seconds_count",] == 1
    assert found["streamkarma_checkpoint_bytes",] == size
    assert 0 <= found["streamkarma_checkpoint_age_seconds",] < 60
    weights = [value for key, value in found.items() if key[0] == "streamkarma_expert_weight"]
    assert sum(weights) == pytest.approx(1.0)


def test_what_became_of_late_labels_is_told(tmp_path: Path) -> None:
    told = [{"id": n, "a": 1.0} for n in range(5)] + [{"id": n, "y": n % 2} for n in (3, 4, 0, 7)]
    with Watched(tmp_path, "--id", "id", "--pending", "3", "--learner", "explicit") as run:
        run.feed(told)
        run.figures(7)
        found = samples(run.ask("/metrics")[1])
    # The label of 7 may still find its event, and that of 0 as well.
    counts = {
        name: found[f"streamkarma_labels_{name}_total",] for name in ("matched", "unmatched", "expired")
    }
    assert counts == {"matched": 2, "unmatched": 0, "expired": 2}


def figures(counted: int) -> Figures:
    """Figures of a run with all counters at ``counted``."""
    summary = {
        **dict.fromkeys(("events", "learned", "unlabelled", "ignored_attributes"), counted),
        "loss": {"total": counted / 7, "mean": 1 / 7},
        "metrics": {"mae": 0.5},
        "regret": {},
        "model": dict.fromkeys(("evicted", "merged_exactly", "merged_closest", "removed"), counted),
    }
    drifted = dict.fromkeys(("errors", "attributes"), counted)
    labels = dict.fromkeys(("matched", "unmatched", "expired"), counted)
    return Figures(0.0, 0.0, summary, {}, {}, [], drifted, [], None, ReaderFigures(), 0, labels)


def test_no_counter_falls_when_what_was_not_committed_is_counted_again() -> None:
    watcher = Watcher("")
    told = []
    for counted in (200, 150, 260):
        watcher.figures = figures(counted)
        found = samples(exposition(watcher)[1])
        told.append({key: value for key, value in found.items() if key[0].endswith("_total")})
    before, between, after = told
    rising = [key for key in before if after[key] > before[key] and not key[0].startswith("process_")]
    assert len(rising) == 14
    assert [between[key] for key in rising] == [before[key] for key in rising]


def test_the_last_rows_before_a_pause_are_shown() -> None:
    output = Watcher("").watch(Output())
    assert output.predictions is not None
    output.predictions(Rows({"n": np.arange(40)}), range(40))
    # Rows were made just now: those of many events can wait, but after a few it may be long until the next.
    assert output.wants_rows(40)
    assert not output.wants_rows(4000)


def test_health_and_readiness(tmp_path: Path) -> None:
    with Watched(tmp_path, "--learner", "explicit") as run:
        run.feed(lowrank(5))
        run.figures(5)
        assert run.ask("/healthz")[0].status == 200
        assert run.ask("/readyz")[0].status == 200


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /../../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        b"GET //evil.example/figures.json HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"\r\n\r\n",
    ],
)
def test_hostile_requests_get_nothing_and_do_no_harm(hostile: Watched, request_: bytes) -> None:
    place = urlsplit(hostile.address)
    with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=30) as asking:
        # A request that is too long may be refused, and the connection closed, before all is sent.
        with suppress(OSError):
            asking.sendall(request_)
            asking.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: _read(asking), b""))
    assert b"root:" not in answer
    assert b" 200 " not in answer.split(b"\r\n", 1)[0]
    assert hostile.ask("/healthz")[0].status == 200


def _read(asking: socket.socket) -> bytes:
    try:
        return asking.recv(1 << 16)
    except ConnectionResetError:
        return b""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with Watched(tmp_path_factory.mktemp("hostile"), "--learner", "explicit") as run:
        run.feed(lowrank(5))
        run.figures(5)
        yield run


def test_connections_that_say_nothing_do_not_keep_others_from_being_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # None of them is closed before the other one is answered, however slow this machine is.
    monkeypatch.setattr(server._Handler, "timeout", 60.0)
    with server.serving("127.0.0.1:0") as watcher, ExitStack() as silent:
        said: list[str] = []
        watcher.begin(said.append)
        place = urlsplit(said[0].split()[-1])
        address = str(place.hostname), int(place.port or 0)
        for _ in range(40):
            each = silent.enter_context(socket.create_connection(address, timeout=30))
            each.sendall(b"GET /metr")
        asking = HTTPConnection(place.netloc, timeout=30)
        asking.request("GET", "/metrics")
        assert asking.getresponse().status == 200
        asking.close()


def test_a_head_has_no_body_and_nobody_else_may_show_the_page(hostile: Watched) -> None:
    answer, body = hostile.ask("/", "HEAD")
    assert (answer.status, body) == (200, b"")
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]


def test_the_page_asks_nobody_else() -> None:
    text = page().decode()
    assert "/* page.js */" not in text
    assert [part for part in text.split('"') if part.startswith("http")] == ["http://www.w3.org/2000/svg"]


@in_browser
def test_the_page_loads_updates_and_survives_a_restart(shown: Page, tmp_path: Path) -> None:
    events = lowrank(900)
    with Watched(tmp_path, "--model", "m.karma", "--learner", "explicit") as run:
        run.feed(events[:300])
        run.figures(300)
        shown.open(run.address)
        tile = "document.querySelector('#tiles b')?.textContent"
        shown.until(tile, lambda text: text == "300")
        run.feed(events[300:600])
        shown.until(tile, lambda text: text == "600")
        assert shown.value("document.querySelectorAll('#charts path.curve').length") >= 4
        assert shown.value("document.querySelectorAll('#rows tr').length") == 13
        shown.value("document.querySelector('#charts svg').focus()")
        assert "600 events: 0." in shown.until("document.querySelector('.tip')?.textContent")
        shown.value("document.activeElement.blur()")
        assert shown.value("document.querySelector('.tip')") is None
        port = urlsplit(run.address).port or 0
        before = shown.complaints.copy()
        run.end()
    status = "document.getElementById('status').textContent"
    shown.until(status, lambda text: "not reachable" in text)
    with Watched(tmp_path, "--model", "m.karma", "--learner", "explicit", port=port) as run:
        run.feed(events[600:])
        shown.until(status, lambda text: text == "live; restarted once")
        shown.until(tile, lambda text: text == "300")
    assert before == []
    # While the program is down or starting, the browser only reports that it cannot be reached or has no
    # figures yet.
    assert all("ERR_" in each or "503" in each for each in shown.complaints)
    assert {urlsplit(each).port for each in shown.requests if each.startswith("http")} == {port}


@in_browser
def test_names_in_the_stream_are_text_and_no_html(shown: Page, tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>"
    with Watched(tmp_path, "--learner", "explicit", "--id", "id") as run:
        run.feed([{name: t % 5, "id": name, "y": t % 2} for t in range(100)])
        run.figures(100)
        shown.open(run.address)
        shown.until("document.querySelectorAll('#rows tr').length", lambda rows: rows == 13)
        assert name in shown.value("document.body.textContent")
        assert shown.value("document.images.length") == 0


@in_browser
@pytest.mark.parametrize("labels", [[2, 7, 19], [-1, 1], [0, 1], ["a", "b"], [False, True]])
def test_wrong_predictions_are_marked(shown: Page, tmp_path: Path, labels: list[Any]) -> None:
    task = ["--task", "multiclass" if len(labels) > 2 else "binary"]
    with Watched(tmp_path, "--learner", "explicit", *task) as run:
        run.feed([{"x": t * t % 7, "y": labels[t * t % 11 % len(labels)]} for t in range(60)])
        rows = run.figures(60)["rows"]
        shown.open(run.address)
        shown.until("document.querySelectorAll('#rows tr').length", lambda found: found == 13)
        wrong = sum(row["prediction"] != row["target"] for row in rows)
        assert wrong > 0
        assert shown.value("document.querySelectorAll('td.wrong').length") == wrong


@in_browser
def test_no_prediction_of_a_number_is_marked(shown: Page, tmp_path: Path) -> None:
    with Watched(tmp_path, "--learner", "explicit") as run:
        run.feed([{"x": t, "y": t % 7 + 0.5} for t in range(60)])
        run.figures(60)
        shown.open(run.address)
        shown.until("document.querySelectorAll('#rows tr').length", lambda found: found == 13)
        assert shown.value("document.querySelectorAll('td.wrong').length") == 0


@in_browser
def test_long_names_fit_a_phone(shown: Page, tmp_path: Path) -> None:
    names = ["long.name.of.an.attribute." * 3 + "x", "y" * 1000]
    with Watched(tmp_path, "--id", "id", "--target", names[1]) as run:
        run.feed([{names[0]: t if t % 3 else None, names[1]: t % 2, "id": "i" * 5000} for t in range(300)])
        run.figures(300)
        size = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
        shown.order("Emulation.setDeviceMetricsOverride", **size)
        shown.open(run.address)
        shown.until("document.querySelectorAll('#rows tr').length", lambda found: found == 13)
        assert shown.value("[...document.querySelectorAll('td')].some((each) => each.title.length === 5000)")
        assert (
            shown.value("Math.max(...[...document.querySelectorAll('td')].map((e) => e.offsetWidth))") <= 160
        )
        charts = shown.value("document.querySelectorAll('#charts svg[role]').length")
        told = []
        for at in range(charts):
            shown.value(f"document.querySelectorAll('#charts svg[role]')[{at}].focus()")
            told.append(shown.until("document.querySelector('.tip .name')?.textContent"))
            assert shown.value("document.documentElement.scrollWidth") == 400
            shown.value("document.activeElement.blur()")
        assert any(name.startswith("long.name") and name.endswith("…") for name in told)


def test_without_prometheus_client_one_line_says_what_to_install(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['prometheus_client'] = None; "
        "sys.argv = ['streamkarma', 'learn', '--metrics', '0']; from streamkarma.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "streamkarma: --metrics needs prometheus_client: pip install 'streamkarma[metrics]'"
    ]


def test_a_port_that_is_taken_is_said_in_one_line(streamkarma: Program) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = streamkarma("learn", "--metrics", str(taken.getsockname()[1]))
    assert result.code == 1
    assert result.stderr.startswith("streamkarma: --metrics: cannot listen on")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("given", ["", "localhost", "localhost:", "localhost:x", "1:65536", "-1", ":²"])
def test_what_is_no_address_is_refused(given: str) -> None:
    with pytest.raises(UsageError):
        address_of(given)


def test_a_history_is_bounded_and_keeps_its_first_and_last_points() -> None:
    history = History(1.0)
    for second in range(10_000):
        history.add(Point(float(second), second, {"loss": second / 7} if second % 2 else {}))
    shown = history.columns(Point(10_000.0, 10_000, {"loss": math.pi}))
    assert len(shown["time"]) <= MOST + 1
    assert (shown["events"][0], shown["events"][-1]) == (0, 10_000)
    assert shown["time"] == sorted(shown["time"])
    assert shown["series"]["loss"][-1] == 3.1416


def test_reasons_are_bounded() -> None:
    reasons = Reasons()
    for index in range(100):
        reasons.add(f"attribute {index} is 'infinite'")
        reasons.add("unlike " + chr(ord("a") + index % 26) * (index + 1))
    assert len(reasons.counts) == MOST_REASONS + 1
    assert reasons.counts["attribute … is …"] == 100
    assert reasons.counts[OTHERS] == 200 - 100 - (MOST_REASONS - 1)


def test_a_histogram_counts_each_duration_once() -> None:
    durations, given = Histogram(), [0.0005, 0.001, 0.5, 1e9, -3.0]
    for each in given:
        durations.add(each)
    counts = durations.counts()
    assert counts.up_to == [sum(each <= bound for each in given) for bound in (*BOUNDS, math.inf)]
    assert counts.sum == pytest.approx(1e9 + 0.5015)
