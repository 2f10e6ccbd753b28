"""The data exchanged between processes, as bytes: a model, the run state saved with it, and counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from streamkarma import checkpoint
from streamkarma.arrays import Arrays
from streamkarma.errors import ModelFileError
from streamkarma.estimators.learners import Model
from streamkarma.estimators.merging import merge
from streamkarma.estimators.persistence import from_bytes, to_bytes
from streamkarma.runtime.evaluator import RunningMetrics
from streamkarma.runtime.fields import Fields
from streamkarma.runtime.loop import Loop
from streamkarma.runtime.merging import merged_runs
from streamkarma.runtime.monitor import Monitor
from streamkarma.runtime.output import Counters, Output, Totals
from streamkarma.runtime.session import resumed

#: Exceptions that decoding untrusted data may raise.
_WRONG = (KeyError, TypeError, ValueError, AttributeError, IndexError)


def totals_with(counters: Counters, metrics: RunningMetrics, first_rejected: str | None) -> Totals:
    """Totals without waiting labels and drift detection."""
    return Totals(counters, metrics, Monitor(recent=0, drift=False, awaits=False), (0, 0, 0), first_rejected)


NOTHING = totals_with(Counters(), RunningMetrics(), None)


class State(NamedTuple):
    """A model that has learned a part of the events, and its results.

    Attributes
    ----------
    model
        The model.
    kept
        The run state saved with it.
    totals
        The counts of this part alone.
    lines
        By part, the number of records in each of its pieces, if counted.
    """

    model: Model
    kept: dict[str, Any]
    totals: Totals
    lines: Mapping[str, list[int]] = MappingProxyType({})

    @classmethod
    def of(cls, model: Model, kept: dict[str, Any]) -> State:
        """The state of a model without counts."""
        return cls(model, kept, NOTHING)

    def to_bytes(self) -> bytes:
        """The state as bytes, for ``from_bytes``."""
        counted, arrays = counts_of(self.totals)
        kept = {**self.kept, "counted": counted, "lines": dict(self.lines)}
        return to_bytes(self.model, kept, arrays)

    @classmethod
    def from_bytes(cls, data: bytes, what: str) -> State:
        """The state from the result of ``to_bytes``; ``what`` names it in messages.

        Raises
        ------
        ModelFileError
            If it is incomplete or altered.
        """
        model, kept, arrays = from_bytes(data, what)
        totals = totals_of(kept.pop("counted", None), arrays, what)
        return cls(model, kept, totals, kept.pop("lines", {}))

    def loop(
        self, output: Output, learn: bool = True, first: int | None = None, kind: type[Loop] = Loop
    ) -> Loop:
        """A loop that continues with the model, and numbers events from ``first`` or from the next number."""
        kept = self.kept
        return kind(
            resumed("the model", self.model, kept, lambda _: None),
            Fields.restored(kept["fields"]),
            learn,
            output,
            fail=False,
            first=kept["events"] + 1 if first is None else first,
            unlabelled=kept["unlabelled"] == "learn",
            share_label=kept["share_label"] == "on",
        )

    def after(self, loop: Loop) -> State:
        """The state after a loop has run."""
        task_model = loop.task_model
        kept = {**self.kept, "task": task_model.state(), "events": loop.last}
        return State(task_model.model, kept, loop.totals(), self.lines)


def merged(base: State, states: Sequence[State], names: Sequence[str]) -> State:
    """Merge states that started from the same base; their counts are summed in order.

    Raises
    ------
    UsageError
        If they cannot be merged.
    """
    model = merge([state.model for state in states], base.model, names)
    kept = merged_runs(names, [state.kept for state in states], base.kept)
    lines = {part: counts for state in states for part, counts in state.lines.items()}
    return State(model, kept, summed([state.totals for state in states]), lines)


def summed(all_of_them: Sequence[Totals]) -> Totals:
    """The sum of several totals, in order."""
    counters = Counters(*map(sum, zip(*(totals.counters for totals in all_of_them), strict=True)))
    metrics = RunningMetrics()
    for totals in all_of_them:
        metrics.add(totals.metrics.arrays())
    rejected = (totals.first_rejected for totals in all_of_them)
    return totals_with(counters, metrics, next((each for each in rejected if each is not None), None))


def counts_of(totals: Totals) -> tuple[dict[str, Any], Arrays]:
    """Totals as JSON and arrays."""
    counted = {"counters": totals.counters._asdict(), "first_rejected": totals.first_rejected}
    return counted, totals.metrics.arrays()


def totals_of(counted: Any, arrays: Arrays, what: str) -> Totals:
    """Totals from the result of ``counts_of``; ``what`` names them in messages.

    Raises
    ------
    ModelFileError
        If they are invalid.
    """
    metrics = RunningMetrics()
    try:
        metrics.add(arrays)
        return totals_with(Counters(**counted["counters"]), metrics, counted["first_rejected"])
    except _WRONG as error:
        raise ModelFileError(f"{what} has no valid counts: {error!r:.200}") from error


def packed_counts(totals: Totals) -> bytes:
    """Totals as bytes."""
    counted, arrays = counts_of(totals)
    return checkpoint.to_bytes({"counted": counted}, arrays)


def unpacked_counts(data: bytes, what: str) -> Totals:
    """Totals from the result of ``packed_counts``; errors as in ``totals_of``."""
    header, arrays = checkpoint.from_bytes(data, what)
    return totals_of(header.get("counted"), arrays, what)
