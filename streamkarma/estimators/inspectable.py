"""What is in a model: its names, counters and sizes."""

from __future__ import annotations

from typing import Any

from streamkarma._engine import Encoder
from streamkarma.core.conformal import PredictionIntervals, PredictionSets
from streamkarma.estimators.pipeline import Pipeline
from streamkarma.events.block import Block


class Inspectable:
    """A model that shows what it has seen and how large it is."""

    #: Intervals or sets, once there are any.
    _conformal: PredictionIntervals | PredictionSets | None
    _pipeline: Pipeline

    @property
    def vocabulary(self) -> Encoder:
        """Names and categories seen so far."""
        return self._pipeline.encoder

    @property
    def steps(self) -> int:
        """Events learned so far."""
        return self._pipeline.learner.steps

    @property
    def ignored(self) -> int:
        """Values ignored so far because of a bound."""
        return self._pipeline.encoder.ignored

    @property
    def values(self) -> dict[str, dict[str, int]]:
        """What happened to the values of each attribute; zero counts are left out.

        ``values`` were learned. Some of these were texts that ``spelled`` a number, numbers ``clipped`` to
        5 deviations, ``prose``, which is used word by word, sets of ``tags``, or ``rare`` categories, words
        and tags, which have no coordinate of their own. Others counted as missing: missing-value words
        (``nothing``), ``sentinels``, and outliers (``far``).
        """
        return self._pipeline.values()

    @property
    def encoded(self) -> Block:
        """The events of the last ``run`` as passed to the learner."""
        return Block(*self._pipeline.encoded.block)

    def summary(self) -> dict[str, Any]:
        """Sizes and counters of the model.

        Returns
        -------
        By name. ``bytes`` is the memory of its arrays, including spare capacity but not the names themselves;
        a model that was saved and loaded uses as much.

        Examples
        --------
        >>> from streamkarma import KARMAClassifier
        >>> model = KARMAClassifier()
        >>> model.learn_one({"temp": 31.0}, "dry")
        >>> summary = model.summary()
        >>> summary["attributes"], summary["support_vectors"], summary["budget"]
        (1, 1, 512)
        """
        summary = self._pipeline.summary()
        if self._conformal is not None:
            summary["bytes"] += self._conformal.bytes
        return summary
