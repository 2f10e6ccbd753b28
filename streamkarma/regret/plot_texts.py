"""The texts and numbers in the pictures of a regret report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from streamkarma.pages import clean
from streamkarma.regret.plot_data import Bar
from streamkarma.regret.rows import is_linear, per_event, rows_of, sound
from streamkarma.regret.verdict import STANDARD_ERRORS


def number(value: float | None, digits: int = 3) -> str:
    """A number with ``digits`` digits, and a unit for thousands."""
    if value is None or not math.isfinite(value):
        return "–"
    # A number that would be rounded up to the next unit gets that unit.
    least = 1 - 0.5 * 10**-digits
    units = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
    size, unit = next((each for each in units if abs(value) >= least * each[0]), (1.0, ""))
    return f"{value / size:.{digits}g}{unit}".replace("-", "−")


def loss_text(value: float | None) -> str:
    """A mean loss for a column: with four decimals if they are significant.

    Examples
    --------
    >>> loss_text(0.3), loss_text(12.3456), loss_text(4e-5), loss_text(None)
    ('0.3000', '12.35', '4e−05', '–')
    """
    if value is None or not 1e-3 <= abs(value) < 1e3:
        return number(value, 4)
    return f"{value:.{4 if abs(value) < 10 else 2}f}"


def error_text(report: dict[str, Any], value: float | None) -> str:
    """An error rate in per cent, or a mean absolute error."""
    if value is None or not math.isfinite(value):
        return "–"
    return number(value, 3) if report["task"] == "regression" else f"{100 * value:.1f} %"


def labels(report: dict[str, Any]) -> dict[str, str]:
    """A unique label for each name in the picture, the first learner's first."""
    labels: dict[str, str] = {}
    for name in dict.fromkeys([*report["learners"], *rows_of(report)]):
        label = shortened(name, 20)
        labels[name] = label if label not in labels.values() else f"{label[:12]} {len(labels)}"
    return labels


def shortened(name: str, most: int) -> str:
    """The name, with its middle left out if it is longer than ``most``."""
    name = clean(name)
    return name if len(name) <= most else f"{name[: most - 9]}…{name[-8:]}"


def subtitle(report: dict[str, Any]) -> str:
    """The input, and the loss used for comparison."""
    return f"{clean(report['input'])}: {report['events']:,} events, {report['task']}, {report['loss']} loss"


def marks(report: dict[str, Any]) -> list[tuple[int, str]]:
    """Where the errors of the first learner rose, and by how much."""
    return [
        (each["events"], f"errors rose from {number(each['before'])} to {number(each['after'])}")
        for each in next(iter(report["learners"].values())).get("drift", [])
    ]


def key(bars: Sequence[Bar]) -> str:
    """The meaning of the marks within bars."""
    kinds = {bar.kind for bar in bars if bar.hindsight is not None}
    parts = ["◆ in hindsight"] * ("linear" in kinds) + ["○ in hindsight, memorises"] * ("memorises" in kinds)
    return "\N{EM SPACE}\N{EM SPACE}".join(parts)


def notes(report: dict[str, Any], labels: Mapping[str, str]) -> list[str]:
    """Notes for the reader of the panels, one line each."""
    rows = rows_of(report)
    good = {name: sound(some) for name, some in rows.items()}
    last = {name: some[-1] for name, some in good.items() if some}
    learner = next(iter(labels.values()))
    parts = ["Learners predict each event before they learn it; baselines are held out in five folds."]
    if last:
        parts.append(f"Whiskers: ±{STANDARD_ERRORS} standard errors of the difference to {learner}.")
    if not all(row["exact"] for row in last.values()):
        parts.append(
            "Bars and some other figures are estimates on a uniform sample of the events;"
            f" bands: ±{STANDARD_ERRORS} standard errors of the regret."
        )
    if not all(map(is_linear, last)):
        parts.append("Methods that memorise have no curve of regret.")
    if drifts := marks(report):
        times = "once" if len(drifts) == 1 else f"{len(drifts):,} times"
        parts.append(f"Dashed red: the errors of {learner} have risen, {times}.")
    ended = max((row["events"] for row in last.values()), default=0)
    for heading, names in {
        "No held-out figure": [name for name, row in last.items() if per_event(row, "held_out_loss") is None],
        "Ended early": [name for name, row in last.items() if row["events"] < ended],
        "No result": [name for name in rows if name not in last],
    }.items():
        if names:
            parts.append(f"{heading}: {', '.join(labels[name] for name in names)}.")
    shortened = [f"{label} is {clean(name)}." for name, label in labels.items() if label != name]
    return [" ".join(parts), *shortened]
