"""KARMA in its explicit form: one weight per feature, no support vectors and no budget.

The hypotheses are those of ``core.support``; what an event costs is the number of its
features, |o|^gamma, however long the stream and however many attributes there are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.adaptive import (
    AROW,
    FACTOR,
    LARGEST_GROWTH,
    SGD,
    SMALLEST_SCALE,
    STEPS,
    Rows,
    Step,
    first_spread,
    new_clock,
)
from streamkarma.core.features import ATTRIBUTES, COORDINATES, Form, Places, hashed, set_count, shares
from streamkarma.core.learning import Arrays, begun
from streamkarma.core.passes import Floats
from streamkarma.core.rounds import run_block
from streamkarma.core.single import Event, Stage, run_explicit
from streamkarma.errors import UsageError
from streamkarma.events.block import Block

#: log2 of the most weights when nothing else is said: 64 MB with their spreads.
TABLE_BITS = 22


class Explicit:
    """A linear model on the features of k_gamma, over arrays.

    Every feature has a weight of its own until there are too many for the table; from the
    first event to be learned that needs one more, the table is hashed: features that meet
    share one weight, which begins as the sum of theirs (of AROW's variances as the least).

    Parameters
    ----------
    gamma
        Order of the kernel: 1, 2 or 3.
    normalize
        Whether every event has norm 1 in feature space.
    step
        How it steps.
    table_bits
        log2 of the most weights, those of all classes together: 8 to 30. An event with more
        features than that is taken at a lower order.

    Raises
    ------
    UsageError
        If ``gamma`` or ``table_bits`` is out of its range.

    Examples
    --------
    Two attributes; the first, and the second one's absence, speak for the positive class:

    >>> from streamkarma.core.adaptive import AROW
    >>> from streamkarma.core.loss import HINGE
    >>> model = Explicit(2, False, Step(AROW, HINGE, 1.0, 0.0, 0.0, 0.0, 0.0))
    >>> pair = np.array([0, 2, 4]), np.int32([0, 1, 0, 2]), np.int32([0, 1, 0, 2]), np.ones(4)
    >>> scores, losses = model.run(Block(*pair), np.array([1.0, -1.0]), np.ones(2))
    >>> losses.round(2).tolist()
    [1.0, 1.29]
    >>> model.scores(Block(*pair))[:, 0].round(2).tolist()
    [0.71, -0.77]
    """

    def __init__(self, gamma: int, normalize: bool, step: Step, table_bits: int = TABLE_BITS) -> None:
        if gamma not in (1, 2, 3):
            raise UsageError(f"the explicit form has gamma 1, 2 or 3, not {gamma!r}")
        if not 8 <= table_bits <= 30:
            raise UsageError(f"table_bits must be between 8 and 30, not {table_bits!r}")
        self.step = step
        self.table_bits = table_bits
        self.form = Form(int(gamma), bool(normalize), 1 << table_bits, 0, 0)
        self.shares = shares(gamma)
        self.known: Places
        self.clock: Floats
        self.weights: Rows
        self.spread: Rows
        self.restart(0)

    @property
    def classes(self) -> int:
        """Rows of weights: 1 for two classes or regression, else one per class."""
        return len(self.weights)

    @property
    def steps(self) -> int:
        """Events learned."""
        return int(self.clock[STEPS])

    def reserve(self, attributes: int = 0, coordinates: int = 0) -> None:
        """Nothing: room is made when an event is learned, for what it has."""

    def widen(self, classes: int) -> None:
        """Go to ``classes`` classes; new ones begin with no weights.

        From the single w of two classes to one each: -w/2 for the first and w/2 for the
        second, which leaves the difference of their scores; both take over the spread.
        """
        if self.classes == 1:
            # Subtracted from 0, for a zero must not get a sign: no file keeps it.
            self.weights = np.concatenate([0.0 - self.weights / 2, self.weights / 2])
            self.spread = np.concatenate([self.spread, self.spread])
        missing = max(classes - self.classes, 0), self.weights.shape[1]
        self.weights = np.concatenate([self.weights, np.zeros(missing)])
        self.spread = np.concatenate([self.spread, self._spread(*missing)])
        self._make_room(*self.known.tolist())

    def run(self, block: Block, labels: Floats, weights: Floats) -> tuple[NDArray[np.float64], Floats]:
        """Predict, then learn, each event; see ``run_block``.

        Returns
        -------
        Scores of shape (T, C), each from before its event was learned, and the losses
        suffered, shape (T,), NaN where there is no label.
        """
        scores, losses = begun(block, labels, weights, self.classes)
        events = len(losses)
        done = 0
        while True:
            done = run_block(*self.parts(), block, labels, weights, done, scores, losses)
            if done == events:
                return scores, losses
            items = slice(block.starts[done], block.starts[done + 1])
            names = np.array([block.attributes[items], block.coordinates[items]], np.int64)
            self._make_room(*np.maximum(self.known, names.max(axis=1) + 1).tolist())

    def scores(self, block: Block) -> NDArray[np.float64]:
        """Scores of every event, shape (T, C), without learning."""
        events = len(block.starts) - 1
        return self.run(block, np.full(events, np.nan), np.ones(events))[0]

    def single(self, event: Event) -> list[Stage] | None:
        """See ``Core.single``."""
        return [Stage(self, event, run_explicit, self.parts)]

    def parts(self) -> tuple[Form, Rows, Step, Places, Floats, Rows, Rows]:
        """What ``run_block`` takes of the model."""
        return self.form, self.shares, self.step, self.known, self.clock, self.weights, self.spread

    def restart(self, steps: int) -> None:
        """Forget every weight, and go on as after ``steps`` steps."""
        self.known = np.zeros(2, np.int64)
        self.clock = new_clock(steps)
        self.form = self.form._replace(set_bits=0, hash_bits=0)
        self.weights = np.zeros((1, 1))
        self.spread = self._spread(1, 1)

    def summary(self) -> dict[str, int | None]:
        """Weights that there is room for, whether they are hashed, and bytes."""
        return {
            "weights": self.weights.size,
            "hashed": int(self.form.hash_bits > 0),
            "bytes": self.weights.nbytes + self.spread.nbytes,
        }

    def arrays(self) -> Arrays:
        """The state, of weights only those that were touched: what ``restore`` takes."""
        index = self._touched()
        return {
            "known": self.known,
            "hashed": np.array([self.form.hash_bits > 0]),
            "clock": self.clock,
            "index": index,
            "weights": self.weights[:, index],
            "spread": self.spread[:, index] if self.step.update != SGD else self.spread,
        }

    def restore(self, arrays: Arrays, attributes: int, coordinates: int) -> None:
        """Take over a state from ``arrays``.

        Raises
        ------
        ValueError
            If the arrays contradict each other or point outside of the model.
        """
        a = {name: np.array(array) for name, array in arrays.items()}
        sgd = self.step.update == SGD
        kinds = {"known": "i", "hashed": "b", "clock": "f", "index": "i", "weights": "f", "spread": "f"}
        consistent = (
            a.keys() == kinds.keys()
            and all(a[name].dtype.kind == kind for name, kind in kinds.items())
            and a["known"].dtype == a["index"].dtype == np.int64
            and (a["known"].shape, a["hashed"].shape, a["clock"].shape) == ((2,), (1,), (2,))
            and a["weights"].ndim == 2
            and 1 <= len(a["weights"]) <= 1 << self.table_bits
            and a["index"].shape == a["weights"].shape[1:]
            and a["spread"].shape == ((len(a["weights"]), 0) if sgd else a["weights"].shape)
            and 0 <= a["known"][ATTRIBUTES] <= attributes
            and 0 <= a["known"][COORDINATES] <= coordinates
            and all(np.isfinite(a[name]).all() for name in ("clock", "weights", "spread"))
            and 0 <= a["clock"][STEPS] < 2**53
            and (SMALLEST_SCALE if sgd else 1.0) <= a["clock"][FACTOR] <= (1.0 if sgd else LARGEST_GROWTH)
            and bool((a["spread"] >= 0.0).all())
        )
        if consistent:
            self.restart(0)
            classes = len(a["weights"])
            self.weights, self.spread = np.zeros((classes, 1)), self._spread(classes, 1)
            self._make_room(int(a["known"][ATTRIBUTES]), int(a["known"][COORDINATES]))
            index = a["index"]
            # Once it is hashed it stays so, but then it is for what is known that there is no room.
            consistent = (self.form.hash_bits > 0) == a["hashed"][0] and _ascend_within(
                index, self.weights.shape[1]
            )
        if not consistent:
            raise ValueError("the weights contradict each other")
        self.weights[:, index] = a["weights"]
        if not sgd:
            self.spread[:, index] = a["spread"]
        self.known[:] = a["known"]
        self.clock[:] = a["clock"]

    def _spread(self, classes: int, size: int) -> Rows:
        """Spreads of weights that were not touched yet; SGD has none."""
        if self.step.update == SGD:
            return np.zeros((classes, 0))
        return np.full((classes, size), first_spread(self.step.update))

    def _touched(self) -> Places:
        """Where there is anything learned."""
        touched = (self.weights != 0.0).any(axis=0)
        if self.step.update != SGD:
            touched |= (self.spread != first_spread(self.step.update)).any(axis=0)
        return np.flatnonzero(touched)

    def _make_room(self, attributes: int, coordinates: int) -> None:
        """Room for so many attributes and coordinates; hashed if there is none."""
        old, form = self.form, self.form
        hash_bits = max(self.table_bits - (self.classes - 1).bit_length(), 1)
        set_bits = (set_count(attributes, form.gamma) - 1).bit_length()
        bits = set_bits + (max(coordinates, 1) - 1).bit_length()
        if form.hash_bits > 0 or bits > hash_bits:
            bits = hash_bits
            form = form._replace(set_bits=0, hash_bits=hash_bits)
        else:
            form = form._replace(set_bits=set_bits)
        if (form.set_bits, form.hash_bits, 1 << bits) == (old.set_bits, old.hash_bits, self.weights.shape[1]):
            return
        index = self._touched()
        if form.hash_bits == 0:
            places = (index >> old.set_bits << set_bits) + (index & ((1 << old.set_bits) - 1))
        elif old.hash_bits == 0:
            places = hashed(form, index, old.set_bits)
        else:
            places = index >> (old.hash_bits - form.hash_bits)
        self._move(index, places, 1 << bits)
        self.form = form

    def _move(self, index: Places, places: Places, size: int) -> None:
        """To a table of another size; what meets in one place is put together."""
        join = np.minimum if self.step.update == AROW else np.add
        weights, spread = self.weights, self.spread
        self.weights, self.spread = np.zeros((self.classes, size)), self._spread(self.classes, size)
        for c in range(self.classes):
            np.add.at(self.weights[c], places, weights[c, index])
            if self.step.update != SGD:
                join.at(self.spread[c], places, spread[c, index])


def _ascend_within(index: Places, limit: int) -> bool:
    return index.size == 0 or bool(index[0] >= 0 and index[-1] < limit and (np.diff(index) > 0).all())
