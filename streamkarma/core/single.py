"""One event through a core learner: the loops of its blocks, without what a block costs in Python.

All here run the very functions that blocks run through, on a block of one event whose arrays stay where
they are, so that the bits are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from streamkarma.core import completing, karma, rounds
from streamkarma.core.bayes import Blend, mix_numbers, mix_several, mix_two
from streamkarma.core.calibration import Calibration
from streamkarma.core.completing import Model, Setting
from streamkarma.core.features import Form, Places, Rows
from streamkarma.core.held import Held, entry, hold
from streamkarma.core.jit import compiled
from streamkarma.core.moments import encode_into
from streamkarma.core.passes import Floats
from streamkarma.core.space import DUE, EVENTS, WIDE, Space
from streamkarma.core.vectors import Vectors
from streamkarma.core.waiting import NOTHING, item_key
from streamkarma.events.block import Block

if TYPE_CHECKING:
    from streamkarma.core.explicit import Explicit
    from streamkarma.core.learning import Core, Single
    from streamkarma.core.mixing import Mixing
    from streamkarma.core.subspace import Subspace
    from streamkarma.core.support import SupportVectors


#: Compiled: what is held, label and weight to how many events are done, which is 1 or 0.
Run = Callable[[Held, float, float], int]

#: Done, and the correlations are due.
_DUE = 2


class _Short:
    """The short way: one compiled call on what is held of a core learner."""

    def __init__(self, core: Core, block: Block) -> None:
        self._learner = core
        self._event = block, np.zeros(1), np.zeros(1)
        self._held: Held
        self._run: Run
        self.scores = np.zeros((1, core.classes))

    def _hold(self, run: Run, *state: Any) -> None:
        if self.scores.shape[1] != self._learner.classes:
            self.scores = np.zeros((1, self._learner.classes))
        self._held = hold((*state, *self._event, self.scores, np.zeros(1)))
        self._run = entry(run, self._held, 0.0, 0.0)

    def _run_long(self) -> None:
        """After the short way had no room and did nothing; this makes some."""
        self.scores[:] = self._learner.run(*self._event)[0]


class SingleSupport(_Short):
    """One event through ``SupportVectors``."""

    def __init__(self, core: SupportVectors, block: Block) -> None:
        super().__init__(core, block)
        self._core = core
        self._vectors: Vectors | None = None

    def __call__(self, label: float, weight: float, delay: float) -> None:
        core = self._core
        if core.vectors is not self._vectors:
            self._vectors = core.vectors
            self._hold(_run_support, core.vectors, core.rule, core.average)
        if not self._run(self._held, label, weight):
            self._run_long()


class SingleExplicit(_Short):
    """One event through ``Explicit``, or through a learner that hands its features to one.

    Parameters
    ----------
    core, block
        As of ``_Short``.
    explicit
        What has the weights.
    run
        Compiled: see ``run_explicit``.
    """

    def __init__(self, core: Core, block: Block, explicit: Explicit, run: Run) -> None:
        super().__init__(core, block)
        self._explicit = explicit
        self._compiled = run
        self._form: Form | None = None
        self._known: Places | None = None
        self._clock: Floats | None = None
        self._weights: Rows | None = None
        self._spread: Rows | None = None

    def __call__(self, label: float, weight: float, delay: float) -> None:
        now = self._explicit
        if not (
            now.weights is self._weights
            and now.spread is self._spread
            and now.known is self._known
            and now.clock is self._clock
            and now.form is self._form
        ):
            self._form, self._known, self._clock = now.form, now.known, now.clock
            self._weights, self._spread = now.weights, now.spread
            self._hold(self._compiled, now.form, now.shares, now.step, now.known, now.clock, now.weights,
                       now.spread)  # fmt: skip
        if not self._run(self._held, label, weight):
            self._run_long()


class SingleSubspace(_Short):
    """One event through ``Subspace``; ``correlate`` is called when the correlations are due."""

    def __init__(self, core: Subspace, block: Block, setting: Setting,
                 correlate: Callable[[], None]) -> None:  # fmt: skip
        super().__init__(core, block)
        self._core = core
        self._setting, self._correlate = setting, correlate
        self._space: Space | None = None
        self._model: Model | None = None

    def __call__(self, label: float, weight: float, delay: float) -> None:
        core = self._core
        if not (core.space is self._space and core.model is self._model):
            self._space, self._model = core.space, core.model
            self._hold(_run_subspace, self._setting, core.space, core.model)
        done = self._run(self._held, label, weight)
        if not done:
            self._run_long()
        elif done == _DUE:
            self._correlate()


class SingleMixture:
    """One event through the experts of a ``Mixture`` that has no models from elsewhere."""

    def __init__(self, mixing: Mixing, experts: Sequence[Single]) -> None:
        self._mixing = mixing
        self._experts = experts
        self._calibration: Calibration | None = None
        self._blend: Blend | None = None
        self._held: Held
        self._run: Callable[[Held, float, float], None]
        self.scores = np.zeros((1, mixing.classes))

    def __call__(self, label: float, weight: float, delay: float) -> None:
        for expert in self._experts:
            expert(label, weight, delay)
        mixing = self._mixing
        if not (mixing.calibration is self._calibration and mixing.blend is self._blend):
            self._calibration, self._blend = mixing.calibration, mixing.blend
            self.scores = np.zeros((1, mixing.classes))
            # These are others only when there are more classes, and then so is the calibration.
            said = tuple(expert.scores for expert in self._experts)
            self._held = hold((said, mixing.regression, mixing.calibration, mixing.blend, mixing.memory,
                               np.zeros((len(said), 1, mixing.classes)), np.zeros(1), np.zeros(1),
                               self.scores, np.zeros(1)))  # fmt: skip
            self._run = entry(_mix, self._held, 0.0, 0.0)
        self._run(self._held, label, weight / (1.0 + delay))


@compiled
def encode_one(held: Held, packed: bytes, learned: bool) -> np.uint64:
    """As ``moments.encode``, with the constant, of one event.

    Parameters
    ----------
    held
        Holds the owners of the coordinates, then what ``encode`` takes but for ``bias``, and a block; both
        blocks have one event, and must have room for this one.
    packed
        Its values, then their coordinates, eight bytes each, as floats and integers.
    learned
        Whether ``moments`` keep it.

    Returns
    -------
    What the event is known by while it waits for its label, see ``core.waiting``.
    """
    owners, raw, numeric, moments, is_learned, scale, longest, block = held.state
    attributes, coordinates, values = raw.attributes, raw.coordinates, raw.values
    numbers, places = np.frombuffer(packed, np.float64), np.frombuffer(packed, np.int64)
    bits, key = np.frombuffer(packed, np.uint64), np.uint64(NOTHING)
    size = numbers.size // 2
    for j in range(size):
        attributes[j], coordinates[j], values[j] = owners[places[size + j]], places[size + j], numbers[j]
        if not np.isnan(numbers[j]):
            key += item_key(coordinates[j], bits[j])
    raw.starts[1], is_learned[0] = size, learned
    encode_into(block, raw, numeric, moments, is_learned, scale, True, longest)
    return key


@compiled
def _run_support(held: Held, label: float, weight: float) -> int:
    vectors, rule, average, block, labels, weights, scores, losses = held.state
    labels[0], weights[0] = label, weight
    return karma.run_block(vectors, rule, block, labels, weights, average, 0, scores, losses)


@compiled
def run_explicit(held: Held, label: float, weight: float) -> int:
    """One event through ``rounds.run_block``; 0, and nothing is done, if there is no room."""
    form, shares, step, known, clock, weights, spread, block, labels, counts, scores, losses = held.state
    labels[0], counts[0] = label, weight
    return rounds.run_block(form, shares, step, known, clock, weights, spread, block, labels, counts, 0,
                            scores, losses)  # fmt: skip


@compiled
def _run_subspace(held: Held, label: float, weight: float) -> int:
    setting, space, model, block, labels, weights, scores, losses = held.state
    labels[0], weights[0] = label, weight
    done = completing.run_block(setting, space, model, block, labels, weights, False, 0, scores, losses)
    due = done == 1 and space.clock[WIDE] == 0.0 and space.clock[EVENTS] >= space.clock[DUE]
    return _DUE if due else done


@compiled
def _mix(held: Held, label: float, weight: float) -> None:
    said, regression, calibration, blend, memory, scores, labels, weights, mixed, losses = held.state
    labels[0], weights[0] = label, weight
    for e in range(len(said)):
        scores[e] = said[e]
    if regression:
        mix_numbers(scores, labels, weights, calibration, blend, memory, mixed, losses)
    elif mixed.shape[1] > 1:
        mix_several(scores, labels, weights, calibration, blend, memory, mixed, losses)
    else:
        mix_two(scores, labels, weights, calibration, blend, memory, mixed, losses)
