"""From records to scores: what the classifier and the regressor have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.learning import Arrays, Core
from streamkarma.core.mixture import Calibrated, Mixture
from streamkarma.core.moments import encode
from streamkarma.core.scale import are_rows, memory, nothing
from streamkarma.core.waiting import Waiting
from streamkarma.errors import RecordError
from streamkarma.estimators.single import Single
from streamkarma.events.batch import Batch
from streamkarma.events.block import Block
from streamkarma.events.values import Record
from streamkarma.events.vocabulary import PASSING, Vocabulary

Floats = NDArray[np.float64]

#: An event of a larger weight counts as one of this: what it adds to a model must stay finite.
HEAVIEST = 1e15


def check_weight(weight: Any) -> float:
    """``weight`` as a float of 0 or more and at most HEAVIEST, or RecordError."""
    try:
        number = float(weight)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not 0.0 <= number < float("inf"):
        raise RecordError(f"the weight must be a finite number of 0 or more, not {weight!r}")
    return min(number, HEAVIEST)


class Learner:
    """Vocabulary, running statistics and a core learner, advanced together.

    Parameters
    ----------
    core
        What learns.
    scale, max_attributes, max_coordinates, max_name_bytes, forget
        As in the estimators.
    """

    def __init__(self, core: Core, scale: bool, max_attributes: int, max_coordinates: int,
                 max_name_bytes: int, forget: float | None) -> None:  # fmt: skip
        self.scale = scale
        self.longest = memory(forget)
        self.core = core
        #: For a mixture, which has to know how late labels come.
        self.waiting = Waiting() if isinstance(core, (Mixture, Calibrated)) else None
        self.vocabulary = Vocabulary(max_attributes, max_coordinates, max_name_bytes)
        self.moments = nothing(1)
        #: The block that was encoded last, and how late its labels come.
        self.encoded: Block
        self._delays = np.zeros(0)
        #: The short way, and the same if nothing was done since that may have made it stale.
        self._single: Single | None = None
        self._ready: Single | None = None

    def __getstate__(self) -> dict[str, Any]:
        # What compiled code holds is of this very learner: a copy makes its own.
        return {**self.__dict__, "_single": None, "_ready": None}

    def batch(self) -> Batch:
        """An empty batch to append records to."""
        return Batch(self.vocabulary, self.scale)

    def one(self, record: Record, label: float, weight: float) -> float | None:
        """Predict, then learn, one event the short way.

        Parameters
        ----------
        record
            The event.
        label, weight
            As of ``Core.run``, but the weight is above 0.

        Returns
        -------
        The logistic function of the first score, all of which are in ``said`` then. None, and nothing is
        done, if the event has to go through a batch: if it has a string, a new name or a value that cannot
        be used, or if models from elsewhere have to see it.
        """
        if self.core.others:
            return None
        single = self._ready or self._renewed()
        chance = single.one(record, label, weight)
        if chance is None:
            self._ready = None
        return chance

    @property
    def said(self) -> Floats:
        """Scores of the event that took the short way last, shape (1, C); the next overwrites them."""
        assert self._single is not None
        return self._single.scores

    def _renewed(self) -> Single:
        if self._single is None or not self._single.is_current(self):
            self._single = Single(self)
        self._ready = self._single
        return self._ready

    def encode(self, batch: Batch, learned: NDArray[np.bool_], asked: NDArray[np.bool_]) -> Block:
        """The batch as the core learner sees it; ``learned`` events count in the statistics, and for
        those ``asked`` about a label is to come."""
        self._ready = None
        self.make_room()
        block = batch.block()
        if batch.has_passing and (block.coordinates[np.repeat(learned, batch.sizes())] >= PASSING).any():
            raise ValueError("an event to be learned was appended as one that is not")
        if self.waiting is not None:
            self._delays = self.waiting.delays(block, learned, asked)
        self.encoded = encode(
            block, self.vocabulary.numbers, self.moments, learned, self.scale, True, self.longest
        )
        return self.encoded

    def make_room(self) -> None:
        """Have a place for all names of the vocabulary."""
        missing = self.vocabulary.coordinate_count - len(self.moments)
        if missing > 0:
            # Twice what is needed, so that names coming one by one do not copy each time.
            self.moments = np.concatenate([self.moments, nothing(missing + len(self.moments))])

    def run(self, part: slice, labels: Floats, weights: Floats,
            others: NDArray[np.float64] | None = None) -> tuple[NDArray[np.float64], Floats]:  # fmt: skip
        """Predict, then learn, a part of the events encoded last.

        Parameters
        ----------
        part
            From where to where.
        labels, weights
            As of ``Core.run``, for these events.
        others
            As of ``Mixture.run``.
        """
        block = self.encoded._replace(starts=self.encoded.starts[part.start : part.stop + 1])
        weights = np.minimum(weights, HEAVIEST)
        delays = None if self.waiting is None else self._delays[part]
        return self.core.run(block, labels, weights, delays, others)

    def scores(self, records: Iterable[Record]) -> NDArray[np.float64]:
        """Scores of records by the model as it stands, shape (T, C).

        That leaves no trace, but that a mixture remembers what it was asked about.
        """
        batch = self.batch()
        for record in records:
            batch.append(record, learned=False)
        none = np.zeros(len(batch), np.bool_)
        return self.core.scores(self.encode(batch, none, ~none))

    def summary(self) -> dict[str, Any]:
        """Sizes and counters of the model."""
        return {
            "attributes": self.vocabulary.attribute_count - 1,
            "coordinates": self.vocabulary.coordinate_count - 1,
            **self.core.summary(),
        }

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Everything learned: what goes into JSON, and arrays."""
        header = {"entries": self.vocabulary.entries(), "ignored": self.vocabulary.ignored}
        moments = self.moments[: self.vocabulary.coordinate_count]
        beside = self.waiting.arrays() if self.waiting is not None else {}
        return header, {"moments": moments, **beside, **self.core.arrays()}

    def take_over(self, other: Learner) -> None:
        """Have the names and the statistics of another, and a core learner that begins after its steps."""
        self._ready = None
        self.vocabulary, self.moments = other.vocabulary, other.moments
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
        self._ready = None
        entries = [(name, category) for name, category in header["entries"]]
        self.vocabulary.restore(entries, header["ignored"])
        moments = arrays.pop("moments")
        if len(moments) != self.vocabulary.coordinate_count or not are_rows(moments):
            raise ValueError("the running statistics do not fit the vocabulary")
        self.moments = np.array(moments)
        if self.waiting is not None:
            self.waiting.restore(arrays)
        self.core.restore(arrays, self.vocabulary.attribute_count, self.vocabulary.coordinate_count)
