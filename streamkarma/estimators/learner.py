"""From records to scores: what the classifier and the regressor have in common."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.moments import encode
from streamkarma.core.support import Arrays, SupportVectors
from streamkarma.errors import RecordError
from streamkarma.events.batch import Batch
from streamkarma.events.block import Block
from streamkarma.events.vocabulary import PASSING, Record, Vocabulary

Floats = NDArray[np.float64]


def check_weight(weight: Any) -> float:
    """``weight`` as a float of 0 or more, or RecordError."""
    try:
        number = float(weight)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not 0.0 <= number < float("inf"):
        raise RecordError(f"the weight must be a finite number of 0 or more, not {weight!r}")
    return number


class SupportVector(NamedTuple):
    """One support vector of a model.

    Attributes
    ----------
    observed
        Names of the attributes in its observed set, the constant apart.
    values
        By (attribute, category), the category None for a number and both None for the
        constant: the value in standardised units, one per class where there are three or
        more, with norm 1 in feature space.
    alpha
        Its coefficient, 0 or more: its norm in the model. The sign lies in the values.
    """

    observed: frozenset[Hashable]
    values: dict[tuple[Hashable, str | None], Floats]
    alpha: float


class Learner:
    """Vocabulary, running statistics and support vectors, advanced together.

    Parameters
    ----------
    support
        The support vectors.
    scale, max_attributes, max_coordinates
        As in the estimators.
    """

    def __init__(self, support: SupportVectors, scale: bool, max_attributes: int,
                 max_coordinates: int) -> None:  # fmt: skip
        self.scale = scale
        self.support = support
        self.vocabulary = Vocabulary(max_attributes, max_coordinates)
        self.moments = np.zeros((1, 3))
        #: The block that was encoded last.
        self.encoded: Block

    def batch(self) -> Batch:
        """An empty batch to append records to."""
        return Batch(self.vocabulary, self.scale)

    def encode(self, batch: Batch, learned: NDArray[np.bool_]) -> Block:
        """The batch as the support vectors see it; ``learned`` events count in the statistics."""
        vocabulary = self.vocabulary
        self.support.reserve(vocabulary.attribute_count, vocabulary.coordinate_count)
        missing = vocabulary.coordinate_count - len(self.moments)
        if missing > 0:
            # Twice what is needed, so that names coming one by one do not copy each time.
            self.moments = np.concatenate([self.moments, np.zeros((missing + len(self.moments), 3))])
        block = batch.block()
        if batch.has_passing and (block.coordinates[np.repeat(learned, batch.sizes())] >= PASSING).any():
            # Compiled code would write where no array is.
            raise ValueError("an event to be learned was appended as one that is not")
        self.encoded = encode(block, vocabulary.numbers, self.moments, learned, self.scale, True)
        return self.encoded

    def scores(self, records: Iterable[Record]) -> NDArray[np.float64]:
        """Scores of records by the model as it stands, shape (T, C), leaving no trace."""
        batch = self.batch()
        for record in records:
            batch.append(record, learned=False)
        return self.support.scores(self.encode(batch, np.zeros(len(batch), np.bool_)))

    def support_vectors(self) -> list[SupportVector]:
        """What the model is made of, by name; see ``SupportVector``."""
        names = {index: name for name, index in self.vocabulary.attributes.items()}
        result = []
        for slot in range(self.support.used):
            attributes, vectors, alpha = self.support.members(slot)
            observed = frozenset(names[a] for a in attributes if a)
            values = {self.vocabulary.describe(k): vector for k, vector in vectors.items()}
            result.append(SupportVector(observed, values, alpha))
        return result

    def summary(self) -> dict[str, int | None]:
        """Sizes and counters of the model."""
        return {
            "attributes": self.vocabulary.attribute_count - 1,
            "coordinates": self.vocabulary.coordinate_count - 1,
            **self.support.summary(),
        }

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Everything learned: what goes into JSON, and arrays."""
        header = {"entries": self.vocabulary.entries(), "ignored": self.vocabulary.ignored}
        moments = self.moments[: self.vocabulary.coordinate_count]
        return header, {"moments": moments, **self.support.arrays()}

    def restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Take over a ``state``.

        Raises
        ------
        ValueError
            If the parts of the state contradict each other.
        """
        entries = [(name, category) for name, category in header["entries"]]
        self.vocabulary.restore(entries, int(header["ignored"]))
        moments = arrays.pop("moments")
        if moments.shape != (self.vocabulary.coordinate_count, 3):
            raise ValueError("the running statistics do not fit the vocabulary")
        self.moments = np.array(moments)
        self.support.restore(arrays, self.vocabulary.attribute_count, self.vocabulary.coordinate_count)
