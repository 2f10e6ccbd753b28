"""River classifiers as experts of the mixture."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from streamkarma._engine import Encoded
from streamkarma.events.flatten import flatten, is_flat
from streamkarma.events.labels import NONE, Label
from streamkarma.events.values import Record, is_missing

#: Probabilities of an external expert are clipped this far from 0 and 1.
CLIP = 1e-6


class EncodedRecords(Encoded):
    """Encoded events together with their records, which external experts need."""

    def __init__(self) -> None:
        self.records: list[Record] = []


class ExternalExperts:
    """External models that predict and learn alongside the experts.

    Parameters
    ----------
    models
        River classifiers. They get each event without its missing attributes and must accept that.
    """

    def __init__(self, models: Sequence[base.Classifier]) -> None:
        self.models = [model.clone() for model in models]

    def run(
        self,
        records: Sequence[Record],
        known: Sequence[Label],
        targets: NDArray[np.int64],
        weights: NDArray[np.float64],
        classes: int,
    ) -> NDArray[np.float64]:
        """Predict, then learn, each event in turn.

        Parameters
        ----------
        records
            T events; nested ones are flattened.
        known
            The labels, in the order of the scores.
        targets, weights
            Shape (T,): the index of the label, negative without one, and the weight.
        classes
            Columns of the scores: 1 for up to two classes.

        Returns
        -------
        Scores from before each event was learned, shape (F, T, classes).
        """
        scores = np.zeros((len(self.models), len(records), classes))
        for t, record in enumerate(records):
            flat = record if is_flat(record) else flatten(record)
            x = dict(_plain(flat))
            for f, model in enumerate(self.models):
                scores[f, t] = self._scores(model, x, known, classes)
                if targets[t] > NONE and weights[t] > 0.0:
                    model.learn_one(x, known[targets[t]])
        return scores

    def _scores(self, model: Any, x: Record, known: Sequence[Label], classes: int) -> NDArray[np.float64]:
        chances = model.predict_proba_one(x)
        each = [min(max(chances.get(label, 0.0), CLIP), 1.0 - CLIP) for label in known]
        if classes > 1:
            return np.log(each)
        # With two classes the score is that of the second; with fewer nothing is known.
        return np.full(1, math.log(each[1] / each[0]) if len(each) == 2 else 0.0)


def _plain(flat: Record) -> Iterator[tuple[Hashable, Any]]:
    """What is observed; a tag is an attribute of its own, as models that know no tags need it."""
    for name, value in flat.items():
        if isinstance(value, list):
            yield from ((f"{name}.{tag}", 1) for tag in value)
        elif not is_missing(value):
            yield name, value
