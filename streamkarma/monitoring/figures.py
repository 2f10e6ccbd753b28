"""All numbers of a run at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from streamkarma.connectors.base import ReaderFigures
from streamkarma.monitoring.history import Point
from streamkarma.runtime.loop import Loop
from streamkarma.runtime.monitor import GIVEN_UP

#: Attributes of which it is told in what share of events they are missing: those known first.
MOST_ATTRIBUTES = 50
#: Changes of the stream that are told: the latest.
MOST_DRIFTS = 100


class Checkpoint(NamedTuple):
    """The model as it was last written: when, in seconds since 1970, and its size if it is a file."""

    time: float
    bytes: int | None


class Figures(NamedTuple):
    """The numbers of a run at one moment.

    Attributes
    ----------
    started, time
        When the program began, and when they were taken, in seconds since 1970.
    summary
        What the summary would be if the run ended now.
    rejected
        Rejected records by reason.
    missing
        By attribute, in what share of the events since its last change it is missing; only with ``--drift``.
    drifts
        The latest changes: ``event``, ``attribute`` (None for the errors), ``before``, ``after``.
    drifted
        How many changes there were, of the errors and of attributes.
    rows
        The latest predictions, the newest last.
    checkpoint
        The last one; None before.
    reader
        The figures of the source's reader.
    restarts
        How often an attempt to read the source has failed.
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
        """What of them is drawn over time."""
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
    """In what share of the events since its last change each attribute is missing."""
    names = loop.task_model.model.vocabulary.attribute_names
    observed = loop.monitor.observed_shares(MOST_ATTRIBUTES)
    return {str(names[number]): 1.0 - share for number, share in observed.items() if number in names}


def latest_drifts(loop: Loop) -> list[dict[str, Any]]:
    """The latest changes that were found, as JSON."""
    names = loop.task_model.model.vocabulary.attribute_names
    return [
        {**drift._asdict(), "attribute": drift.attribute and names.get(drift.attribute, GIVEN_UP)}
        for drift in loop.monitor.drifts[-MOST_DRIFTS:]
    ]


def drift_counts(loop: Loop) -> dict[str, int]:
    """How many changes were found, of the errors and of attributes."""
    errors = sum(drift.attribute is None for drift in loop.monitor.drifts)
    return {"errors": errors, "attributes": len(loop.monitor.drifts) - errors}
