"""All numbers of a run at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from streamkarma.connectors.base import ReaderFigures
from streamkarma.monitoring.history import Point
from streamkarma.runtime.loop import Loop
from streamkarma.runtime.monitor import EVICTED

#: Maximum number of attributes whose share of missing values is shown: those known first.
MOST_ATTRIBUTES = 50
#: Maximum number of changes shown: the latest.
MOST_DRIFTS = 100


class Checkpoint(NamedTuple):
    """The last checkpoint: its time in seconds since 1970, and its size if it is a file."""

    time: float
    bytes: int | None


class Figures(NamedTuple):
    """The numbers of a run at one moment.

    Attributes
    ----------
    started, time
        The start of the program, and the time of these figures, in seconds since 1970.
    summary
        The summary as if the run ended now.
    rejected
        Rejected records by reason.
    missing
        By attribute, the share of events since its last change in which it is missing; only with ``--drift``.
    drifts
        The latest changes: ``event``, ``attribute`` (None for the errors), ``before``, ``after``.
    drifted
        The number of changes, of the errors and of attributes.
    rows
        The latest predictions, the newest last.
    checkpoint
        The last checkpoint; None before the first.
    reader
        The figures of the source's reader.
    restarts
        The number of failed attempts to read the source.
    late_labels
        Counts of labels that came after their events, by what became of them.
    """

    started: float
    time: float
    summary: Mapping[str, Any]
    rejected: Mapping[str, int]
    missing: Mapping[str, float]
    drifts: Sequence[Mapping[str, Any]]
    drifted: Mapping[str, int]
    rows: Sequence[Mapping[str, Any]]
    checkpoint: Checkpoint | None
    reader: ReaderFigures
    restarts: int
    late_labels: Mapping[str, int] = MappingProxyType({})

    @property
    def error(self) -> str:
        """The name of the metric that is the error."""
        return "mae" if "mae" in self.summary["metrics"] else "error_rate"

    @property
    def regret(self) -> dict[str, Mapping[str, Any]]:
        """The comparison with each baseline that could be fitted."""
        return {name: row for name, row in self.summary["regret"].items() if "problem" not in row}

    @property
    def experts(self) -> Mapping[str, float]:
        """Mean weights of the experts of a mixture over the last 1,000 events; empty without one."""
        return dict(self.summary["model"].get("experts", {}))

    def point(self) -> Point:
        """The values that are drawn over time."""
        summary, recent = self.summary, self.summary.get("recent", {})
        means = {
            "loss": summary["loss"]["mean"],
            "error": summary["metrics"].get(self.error),
            "recent loss": recent.get("loss"),
            "recent error": recent.get(self.error),
        }
        values = {
            **{name: value for name, value in means.items() if value is not None},
            **{f"regret:{name}": row["regret_per_event"] for name, row in self.regret.items()},
            **{f"expert:{name}": weight for name, weight in self.experts.items()},
            **{f"missing:{name}": share for name, share in self.missing.items()},
            **{f"lag:{topic}/{number}": lag for topic, number, lag in self.reader.lag},
        }
        return Point(self.time, summary["events"], values)


def missing_shares(loop: Loop) -> dict[str, float]:
    """The share of events since its last change in which each attribute is missing."""
    model = loop.task_model.model
    names = model.vocabulary.attribute_names
    observed = loop.monitor.observed_shares(MOST_ATTRIBUTES, model)
    return {str(names[number]): 1.0 - share for number, share in observed.items() if number in names}


def latest_drifts(loop: Loop) -> list[dict[str, Any]]:
    """The latest changes found, as JSON."""
    names = loop.task_model.model.vocabulary.attribute_names
    return [
        {**drift._asdict(), "attribute": drift.attribute and names.get(drift.attribute, EVICTED)}
        for drift in loop.monitor.drifts[-MOST_DRIFTS:]
    ]


def drift_counts(loop: Loop) -> dict[str, int]:
    """The number of changes found, of the errors and of attributes."""
    errors = sum(drift.attribute is None for drift in loop.monitor.drifts)
    return {"errors": errors, "attributes": len(loop.monitor.drifts) - errors}


def late_labels(loop: Loop) -> dict[str, int]:
    """What became of late labels; those that still wait for their events may be matched yet."""
    pending = loop.pending
    if pending is None:
        return {}
    return {"matched": pending.matched, "unmatched": pending.unmatched, "expired": pending.expired}
