"""From records to scores: what the classifier and the regressor have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma._engine import Encoded, Encoder
from streamkarma.core.learning import Arrays, Core, Floats
from streamkarma.core.mixture import Calibrated, Mixture
from streamkarma.core.waiting import Waiting
from streamkarma.errors import RecordError
from streamkarma.estimators.settings import memory
from streamkarma.events.values import Record, fits, is_missing

#: An event of a larger weight counts as one of this: what it adds to a model must stay finite.
HEAVIEST = 1e15


def check_weight(weight: Any) -> float:
    """``weight`` as a float of 0 or more and at most HEAVIEST, or RecordError."""
    if isinstance(weight, float) and weight == 1.0:
        return 1.0  # nearly always
    try:
        number = float(weight)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not 0.0 <= number < float("inf"):
        raise RecordError(f"the weight must be a finite number of 0 or more, not {weight!r}")
    return min(number, HEAVIEST)


class Learner:
    """An encoder and a core learner, advanced together.

    Parameters
    ----------
    core
        What learns.
    scale, max_attributes, max_coordinates, max_name_bytes, forget
        As in the estimators.
    """

    def __init__(self, core: Core, scale: bool, max_attributes: int, max_coordinates: int,
                 max_name_bytes: int, forget: float | None) -> None:  # fmt: skip
        self.longest = memory(forget)
        self.longest_name = max_name_bytes
        self.core = core
        #: For a mixture, which has to know how late labels come.
        self.waiting = Waiting() if isinstance(core, (Mixture, Calibrated)) else None
        self.encoder = Encoder(max_attributes, max_coordinates, max_name_bytes, scale, self.longest)
        #: What the core learner was given last.
        self.encoded: Encoded
        self._delays = np.zeros(0)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "encoded"}

    def read(self, records: Sequence[Record], learned: Sequence[bool]) -> Encoded:
        """Encode records; those ``learned`` count in the statistics, and their names are kept.

        Raises
        ------
        RecordError
            If one of them is no event. None is encoded then.
        """
        events = Encoded()
        self.encoder.read_dicts(list(records), list(learned), events)
        return events

    def read_table(self, names: list[Any], table: Floats, learned: Sequence[bool]) -> Encoded:
        """Encode the rows of a table, as ``read``; NaN is missing."""
        events = Encoded()
        self.encoder.read_table(names, table, list(learned), events)
        return events

    def one(self, record: Record, label: float, weight: float) -> list[float]:
        """Predict, then learn, one event.

        Parameters
        ----------
        record
            The event.
        label, weight
            As of ``Core.run``.

        Returns
        -------
        Its scores from before it was learned.

        Raises
        ------
        RecordError
            If it is none.
        """
        waiting = None if self.waiting is None else self.waiting.engine
        return self.encoder.step(record, label, weight, self.core.engine, waiting)

    def take(self, events: Encoded, learned: NDArray[np.bool_], asked: NDArray[np.bool_]) -> None:
        """Take encoded events for ``run``; for those ``asked`` about a label is to come."""
        self.encoded = events
        if self.waiting is not None:
            self._delays = self.waiting.delays(events, learned, asked)

    def run(self, part: slice, labels: Floats, weights: Floats,
            others: Floats | None = None) -> tuple[Floats, Floats]:  # fmt: skip
        """Predict, then learn, a part of the events taken last.

        Parameters
        ----------
        part
            From where to where.
        labels, weights
            As of ``Core.run``, for these events.
        others
            As of ``Mixture.run``.
        """
        weights = np.minimum(weights, HEAVIEST)
        delays = None if self.waiting is None else self._delays[part]
        return self.core.run(self.encoded, labels, weights, delays, others, (part.start, part.stop))

    def scores(self, events: Encoded) -> Floats:
        """Scores of events by the model as it stands, shape (T, C).

        That leaves no trace, but that a mixture remembers what it was asked about.
        """
        none = np.zeros(len(events), np.bool_)
        self.take(events, none, ~none)
        return self.core.scores(events)

    def worth_keeping(self, record: dict[str, Any]) -> dict[str, Any]:
        """What of a flat record is worth keeping until it is learned.

        That is not what is missing, and not what is too long, which is counted here.
        """
        kept = {}
        for name, value in record.items():
            if is_missing(value):
                continue
            if fits(name, self.longest_name) and fits(value, self.longest_name):
                kept[name] = value
            else:
                self.encoder.ignore(name, value if isinstance(value, str) else None)
        return kept

    def summary(self) -> dict[str, Any]:
        """Sizes and counters of the model."""
        return {
            "attributes": self.encoder.attribute_count - 1,
            "coordinates": self.encoder.coordinate_count - 1,
            **self.core.summary(),
        }

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Everything learned: what goes into JSON, and arrays."""
        header = {"entries": self.encoder.entries(), "ignored": self.encoder.ignored}
        beside = self.waiting.arrays() if self.waiting is not None else {}
        return header, {"moments": self.encoder.moments(), **beside, **self.core.arrays()}

    def take_over(self, other: Learner) -> None:
        """Have the names and the statistics of another, and a core learner that begins after its steps."""
        self.encoder = other.encoder
        self.core.restart(other.core.steps)
        if self.waiting is not None and other.waiting is not None:
            self.waiting = other.waiting

    def restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Take over a ``state``.

        Raises
        ------
        ValueError
            If the parts of the state contradict each other.
        """
        entries = [(name, category) for name, category in header["entries"]]
        moments = arrays.pop("moments")
        self.encoder.restore(entries, header["ignored"], moments)
        if self.waiting is not None:
            self.waiting.restore(arrays)
        self.core.restore(arrays, self.encoder.attribute_count, self.encoder.coordinate_count)
