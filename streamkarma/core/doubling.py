"""The doubling trick: support vectors for a stream whose length nobody knows.

The γ and ρ of the theorem are for T events. With T unknown the model starts afresh, from v = 0, after
1, 3, 7, … events learned, each time with the settings for as many events again and one more. Its
regret is at most the sum of the bounds of its epochs: a constant times that for a T known beforehand.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.karma import Rule
from streamkarma.core.learning import Arrays
from streamkarma.core.passes import Floats
from streamkarma.core.single import Event, Stage
from streamkarma.core.support import SupportVectors
from streamkarma.core.theory import Pace, horizon
from streamkarma.core.vectors import ADDED, MERGED_CLOSEST, MERGED_EXACTLY, REMOVED, REPLACED, STEPS
from streamkarma.events.block import Block

#: What is counted over the whole life, and not from epoch to epoch.
LASTING = [MERGED_EXACTLY, MERGED_CLOSEST, REMOVED, ADDED, REPLACED]


class DoublingSupportVectors(SupportVectors):
    """KARMA that starts afresh after 1, 3, 7, … events learned.

    Parameters
    ----------
    rule
        How it steps, γ and ρ apart.
    average
        As in ``SupportVectors``: over the iterates since the last start.
    pace
        Where γ and ρ come from.

    Examples
    --------
    >>> from streamkarma.core.loss import HINGE
    >>> rule = Rule(2, True, 1.0, 0.0, HINGE, 0.0, 0, 0)
    >>> model = DoublingSupportVectors(rule, False, Pace(2, 0.5, None))
    >>> model.reserve(attributes=1, coordinates=1)
    >>> event = Block(np.array([0, 1]), np.int32([0]), np.int32([0]), np.array([1.0]))
    >>> scores = [model.run(event, np.ones(1), np.ones(1))[0].item() for _ in range(5)]
    >>> [score == 0.0 for score in scores], model.steps
    ([True, True, False, True, False], 5)
    """

    def __init__(self, rule: Rule, average: bool, pace: Pace) -> None:
        super().__init__(rule, average)
        self._pace = pace
        self._before = 0
        self._tune()

    def _tune(self) -> None:
        """Take the γ and ρ of the epoch that begins after ``_before`` events."""
        gamma, rho = self._pace.settings(self._before + 1)
        self.rule = self.rule._replace(gamma=gamma, rho=rho)

    @property
    def steps(self) -> int:
        """Events learned, in all epochs."""
        return self._before + super().steps

    def run(self, block: Block, labels: Floats, weights: Floats) -> tuple[NDArray[np.float64], Floats]:
        """As ``SupportVectors.run``."""
        learned = np.flatnonzero(~np.isnan(labels) & (weights > 0.0))
        pieces, begin, done = [], 0, 0
        while begin < len(labels):
            left = 2 * self._before + 1 - self.steps
            end = int(learned[done + left - 1]) + 1 if done + left <= len(learned) else len(labels)
            part = slice(begin, end)
            piece = block._replace(starts=block.starts[begin : end + 1])
            pieces.append(super().run(piece, labels[part], weights[part]))
            begin, done = end, done + left
            if self.steps == 2 * self._before + 1:
                self._start_afresh()
        if len(pieces) == 1:
            return pieces[0]
        if not pieces:
            return super().run(block, labels, weights)
        return np.concatenate([scores for scores, _ in pieces]), np.concatenate([loss for _, loss in pieces])

    def _start_afresh(self) -> None:
        old, self._before = self.vectors, self.steps
        self.vectors = self._empty(self.classes)
        self.reserve(attributes=old.mask.shape[0], coordinates=old.values.shape[0])
        self.vectors.counts[LASTING] = old.counts[LASTING]
        self._tune()

    def single(self, event: Event) -> list[Stage] | None:
        """None; see ``Core.single``."""
        return None

    def restart(self, steps: int) -> None:
        """As ``SupportVectors.restart``."""
        self._before = horizon(steps + 1) - 1
        self._tune()
        super().restart(steps - self._before)

    def arrays(self) -> Arrays:
        """As ``SupportVectors.arrays``."""
        return {**super().arrays(), "before": np.array([self._before])}

    def restore(self, arrays: Arrays, attributes: int, coordinates: int) -> None:
        """As ``SupportVectors.restore``."""
        before, steps = int(arrays["before"].item()), int(arrays["counts"][STEPS].item())
        if not (0 <= before < 1 << 62 and steps >= 0 and before == horizon(before + steps + 1) - 1):
            raise ValueError(f"no epoch begins after {before} events and has {steps} more")
        self._before = before
        self._tune()
        super().restore(arrays, attributes, coordinates)
