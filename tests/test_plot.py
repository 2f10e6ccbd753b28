"""The plot of a regret report: it is complete and legible."""

from __future__ import annotations

import math
import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib
import pytest

from streamkarma.baselines.registry import REGISTRY
from streamkarma.errors import RunError, UsageError
from streamkarma.regret.plot import check_ending, draw, figure

LINEAR = [name for name, entry in REGISTRY.items() if entry.linear and not entry.oracle]
NAMES = ["full", *LINEAR, *(name for name, entry in REGISTRY.items() if not entry.linear)]
LONG = [f"nearest-neighbours-imputation-with-{k}-neighbours-and-distance-weights" for k in (5, 7, 9)]


def report(names: list[str], points: int = 7, level: float = 0.4, **more: Any) -> dict[str, Any]:
    """A report in which the learner's mean loss falls to 0.5, and a baseline's rises to the level or more."""
    events = [256 * 2**number for number in range(points)]
    regret = {name: [row(n, level + 0.02 * rank) for n in events] for rank, name in enumerate(names)}
    curve = {"events": events, "mean_loss": [learned(n) for n in events], "error": [0.13 for _ in events]}
    recent = {"window": 1000, **curve}
    drift = [{"events": events[-1] // 2, "before": 0.1, "after": 0.2}]
    learners = {"karma": {"curve": curve, "recent": recent, "drift": drift, "regret": regret}}
    found = {"input": "weather.jsonl", "task": "binary", "loss": "logistic", "events": events[-1]}
    found["verdict"] = "karma beats the best offline linear model (zero, held out): it is 4.2 ± 0.4 % lower."
    return {**found, "learners": learners, **more}


def row(events: int, level: float) -> dict[str, Any]:
    suffered, best = events * learned(events), events * level * (1 - 1 / math.sqrt(events))
    return {
        "events": events, "weight": float(events),
        "learner_loss": suffered, "baseline_loss": best, "regret": suffered - best,
        "regret_per_event": (suffered - best) / events, "exact": events < 2000, "error": 0.11,
        "standard_error": 0.0 if events < 2000 else 0.02 * events, "learner_error": 0.13,
        "held_out_loss": 1.1 * best, "held_out_error": 0.12, "seconds": 0.3,
        "held_out_standard_error": 0.01 * events,
    }  # fmt: skip


def learned(events: int) -> float:
    return 0.5 + 2 / math.sqrt(events)


def problem(events: int) -> dict[str, Any]:
    return {"events": events, "problem": "exceeded its 60 seconds"}


def rows(made: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = made["learners"]["karma"]["regret"][name]
    return found


def bound(total: float) -> dict[str, Any]:
    return {"events": [256, 16384], "regret_bound": [total / 8, total]}


def with_two_learners() -> dict[str, Any]:
    made = report(NAMES[:7], bound=bound(3000.0))
    made["learners"]["another learner"] = made["learners"]["karma"]
    return made


def with_many_drifts() -> dict[str, Any]:
    made = report(NAMES[:5])
    drift = [{"events": events, "before": 0.1, "after": 0.2} for events in range(2000, 16000, 150)]
    made["learners"]["karma"]["drift"] = drift
    return made


def without_held_out() -> dict[str, Any]:
    made = report(["zero", "mean", "gmm", "trees"])
    for name in ("zero", "mean", "trees"):
        rows(made, name)[-1].update(held_out_loss=None, held_out_error=None, held_out_standard_error=None)
    return made


def with_an_outlier() -> dict[str, Any]:
    made = report(NAMES[:4], task="regression", loss="squared")
    for each in rows(made, "zero"):
        total = 1e7 * each["events"]
        each.update(baseline_loss=total, held_out_loss=1.1 * total, regret=-total, regret_per_event=-1e7)
    return made


def with_problems() -> dict[str, Any]:
    made = report(NAMES[:9])
    rows(made, "full")[3:] = [problem(4096)]
    rows(made, "zero")[:] = [problem(256), problem(512)]
    return made


def texts(path: Path) -> list[str]:
    return [each.text or "" for each in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("number", [1, 3, 8, len(NAMES)])
def test_every_baseline_is_named(number: int, tmp_path: Path) -> None:
    draw(report(NAMES[:number]), str(tmp_path / "p.svg"))
    found = texts(tmp_path / "p.svg")
    assert {"karma", *NAMES[:number]} <= set(found)
    # Named beside the bars, and beside regret curves if linear; of many curves the middle ones are grey.
    grey = {1: 0, 3: 0, 8: 2}.get(number, len(LINEAR) + 1 - 6)
    assert found.count(f"{grey} more, grey") == bool(grey)
    assert [found.count(name) for name in NAMES[:number] if name in [*LINEAR, "full"]].count(1) == grey
    assert all(found.count(name) == 1 for name in NAMES[:number] if name not in [*LINEAR, "full"])


def test_the_verdict_is_on_top_and_the_held_out_loss_is_the_figure(tmp_path: Path) -> None:
    made = report(["zero", "trees"])
    draw(made, str(tmp_path / "p.svg"))
    found = texts(tmp_path / "p.svg")
    assert made["verdict"] in " ".join(found).replace("\N{NO-BREAK SPACE}", " ")
    last = rows(made, "trees")[-1]
    assert f"{last['held_out_loss'] / last['events']:.4f}" in found
    assert f"{last['baseline_loss'] / last['events']:.4f}" not in found
    assert "12.0 %" in found
    assert any("in hindsight, memorises" in text for text in found)
    assert "Methods that memorise have no curve of regret." in " ".join(found)


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_bars_are_of_the_same_events_as_the_verdict(ending: str, tmp_path: Path) -> None:
    made = report(["zero"])
    # On the sample that the baseline saw, the learner did worse than on all events.
    rows(made, "zero")[-1].update(learner_loss=16384 * 0.5432, learner_error=0.1414)
    draw(made, str(tmp_path / f"a.{ending}"))
    drawn = (tmp_path / f"a.{ending}").read_text()
    assert "0.5432" in drawn
    assert "14.1 %" in drawn


def test_what_has_no_held_out_figure_has_none(tmp_path: Path) -> None:
    draw(without_held_out(), str(tmp_path / "p.svg"))
    found = texts(tmp_path / "p.svg")
    assert "No held-out figure: zero, mean, trees." in " ".join(found)
    assert found.count("–") == 6


def test_losses_of_late_and_drift_are_in_sight(tmp_path: Path) -> None:
    draw(report(NAMES[:3]), str(tmp_path / "p.svg"))
    found = texts(tmp_path / "p.svg")
    assert {"karma, last 1,000", "karma, all so far", "8,192"} <= {text.strip() for text in found}
    assert "the errors of karma have risen, once." in " ".join(found)
    draw(with_many_drifts(), str(tmp_path / "p.svg"))
    found = texts(tmp_path / "p.svg")
    assert "have risen, 94 times." in " ".join(found)


def test_without_linear_baselines_there_is_no_panel_of_regret() -> None:
    assert len(figure(report(["trees", "knn"])).axes) == 2
    assert len(figure(report(["trees", "zero"])).axes) == 3


CASES = {
    "one": report(NAMES[:1]),
    "fifteen": report(NAMES[:15], bound=bound(900.0)),
    "drifts": with_many_drifts(),
    "no held out": without_held_out(),
    "seven": report(NAMES[:7], bound=bound(900.0)),
    "many": report(NAMES, points=12),
    "negative": report(NAMES[:8], level=0.9),
    "long": report([*LONG, "MissForest with 500 TREES and a WEIGHT"], input="/a/long/path" * 9),
    "ten times": report(NAMES[:5], points=4),
    "single": report(NAMES[:5], points=1, bound=bound(30.0)),
    "two points": report(NAMES[:5], points=2),
    "two learners": with_two_learners(),
    "outlier": with_an_outlier(),
    "problems": with_problems(),
    "small": report(NAMES[:5], level=1e-7),
}


@pytest.mark.parametrize("made", CASES.values(), ids=CASES)
def test_no_text_is_on_another_or_cut_off(made: dict[str, Any]) -> None:
    sheet = figure(made)
    sheet.draw_without_rendering()
    written = list(sheet.texts)
    for axes in sheet.axes:
        written += [*axes.texts, axes.xaxis.label, axes.yaxis.label]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            written += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    boxes = {each: each.get_window_extent() for each in written if each.get_text()}
    for box in boxes.values():
        assert sheet.bbox.x0 <= box.x0
        assert box.x1 <= sheet.bbox.x1
        assert sheet.bbox.y0 <= box.y0
        assert box.y1 <= sheet.bbox.y1
    over = [(a.get_text(), b.get_text()) for a, b in combinations(boxes, 2) if boxes[a].overlaps(boxes[b])]
    assert over == []


def test_long_names_are_told_apart_and_given_in_full(tmp_path: Path) -> None:
    draw(report(LONG), str(tmp_path / "p.svg"))
    found = texts(tmp_path / "p.svg")
    whole = "".join(found)
    assert all(name in whole for name in LONG)
    labels = [text for text in found if "…" in text and " is " not in text]
    assert len(labels) == len(set(labels)) == 4  # of bars, and the best of them is among the curves


def test_a_bound_far_above_is_said_and_squashes_nothing() -> None:
    given: list[dict[str, Any]] = [{"bound": bound(3e3)}, {"bound": bound(3e7)}, {}]
    near, far, without = (figure(report(NAMES[:3]) | more).axes[2] for more in given)
    assert near.get_ylim()[1] > 3e3
    assert far.get_ylim() == without.get_ylim()
    assert "bound" in [text.get_text() for text in near.texts]
    assert "bound ↑30M" in [text.get_text() for text in far.texts]


def test_a_baseline_far_off_is_said_and_squashes_nothing() -> None:
    final, _, regret = figure(with_an_outlier()).axes
    assert regret.get_ylim()[0] > -1e5
    assert "zero ↓−163.8G" not in [text.get_text() for text in regret.texts]
    assert "zero ↓−164G" in [text.get_text() for text in regret.texts]
    assert "→11M" in [text.get_text() for text in final.texts]


def test_negative_regrets_and_zero_are_in_sight() -> None:
    low, high = figure(report(NAMES[:3], level=0.9)).axes[2].get_ylim()
    worst = rows(report(NAMES[:3], level=0.9), NAMES[2])[-1]["regret"]
    assert low < worst < 0 < high


def test_what_was_at_the_very_beginning_takes_no_room() -> None:
    made = report(NAMES[:3])
    curve = made["learners"]["karma"]["curve"]
    for name, values in (("events", [1, 2, 200]), ("mean_loss", [9.0, 8.0, 7.0]), ("error", [1.0, 1.0, 0.3])):
        curve[name] = values + curve[name]
    _, losses, _ = figure(made).axes
    assert losses.get_ylim()[1] < 1


def test_problems_are_no_points(tmp_path: Path) -> None:
    draw(with_problems(), str(tmp_path / "p.svg"))
    found = " ".join(texts(tmp_path / "p.svg"))
    assert "Ended early: full." in found
    assert "No result: zero." in found


def test_nothing_but_problems(tmp_path: Path) -> None:
    made = report(["zero", "full"])
    for name in ("zero", "full"):
        rows(made, name)[:] = [problem(256)]
    draw(made, str(tmp_path / "p.svg"))
    found = texts(tmp_path / "p.svg")
    assert "No result: zero, full." in " ".join(found)
    assert len(figure(made).axes) == 2
    draw(made, str(tmp_path / "p.html"))
    assert (tmp_path / "p.html").read_text().count("at 256 events: exceeded its 60 seconds") == 2


def test_a_stream_without_labels(tmp_path: Path) -> None:
    made = report(["zero"], events=0)
    rows(made, "zero").clear()
    made["learners"]["karma"].update(
        {name: {"window": 9, "events": [], "mean_loss": [], "error": []} for name in ("curve", "recent")}
    )
    for ending in ("svg", "html"):
        draw(made, str(tmp_path / f"p.{ending}"))
    assert "nothing to show" in texts(tmp_path / "p.svg")


def test_what_is_not_finite_is_left_out(tmp_path: Path) -> None:
    made = report(["zero", "full"], bound={"events": [256, 512], "regret_bound": [math.inf, math.nan]})
    rows(made, "zero")[-1].update(regret=-math.inf, baseline_loss=math.inf, held_out_loss=math.nan)
    made["learners"]["karma"]["curve"]["mean_loss"][0] = math.inf
    draw(made, str(tmp_path / "p.svg"))
    assert "Ended early: zero." in " ".join(texts(tmp_path / "p.svg"))
    draw(made, str(tmp_path / "p.html"))
    page = (tmp_path / "p.html").read_text()
    assert not any(word in page for word in ("inf<", "nan<", "None<"))


def test_a_page_is_escaped_and_by_itself(tmp_path: Path) -> None:
    draw(report(["<b>", "a&b"], input="<i>$x$.jsonl"), str(tmp_path / "p.html"))
    page = (tmp_path / "p.html").read_text()
    assert "<b>" not in page
    assert "<i>" not in page
    assert page.count("<td>&lt;b&gt;</td>") == page.count("<td>a&amp;b</td>") == 1
    assert "<title>Regret on &lt;i&gt;$x$.jsonl</title>" in page
    assert page.startswith("<!DOCTYPE html>")
    assert not any(word in page for word in ("src=", "@import", "url(", "{{"))


def test_names_that_the_font_or_xml_cannot_hold(tmp_path: Path) -> None:
    made = report(["天气", "a\x00b\nc", "\udcff"], input="\udcff.jsonl")
    for ending in ("svg", "html"):
        draw(made, str(tmp_path / f"p.{ending}"))
    assert {"天气", "a b c"} <= set(texts(tmp_path / "p.svg"))


def test_a_png_is_as_wide_as_a_screen(tmp_path: Path) -> None:
    draw(report(NAMES[:3]), str(tmp_path / "P.PNG"))
    content = (tmp_path / "P.PNG").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert [int.from_bytes(content[at : at + 4], "big") for at in (16, 20)] == [1920, 1080]


@pytest.mark.parametrize("ending", ["png", "html"])
def test_equal_reports_give_equal_files(ending: str, tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    for name in ("one", "two"):
        draw(report(NAMES[:3]), str(tmp_path / f"{name}.{ending}"))
    assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"two.{ending}").read_bytes()
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("name", ["p.pdf", "p", "png", "p.svg.gz"])
def test_another_ending(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^[^\n]*\.png, \.svg or \.html$"):
        draw(report(NAMES[:1]), str(tmp_path / name))
    with pytest.raises(UsageError):
        check_ending(name)
    assert not list(tmp_path.iterdir())


def test_a_path_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "p.svg"
    with pytest.raises(RunError) as caught:
        draw(report(NAMES[:1]), str(path))
    assert str(caught.value) == f"cannot write {path}: No such file or directory"


def test_importing_it_does_not_import_matplotlib() -> None:
    code = "import sys, streamkarma.regret.plot; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
