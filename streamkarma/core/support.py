"""The support-vector learner as an object: arrays that grow, runs over blocks, its state."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.karma import Rule, run_block
from streamkarma.core.kernel import growth
from streamkarma.core.learning import Arrays, begun, capacity
from streamkarma.core.passes import TILE, Floats
from streamkarma.core.single import Event, Stage, run_support
from streamkarma.core.vectors import (
    ADDED,
    LONGEST,
    MERGED_CLOSEST,
    MERGED_EXACTLY,
    REMOVED,
    SCALE,
    SCALE_SUM,
    STEPS,
    USED,
    Vectors,
    grown,
)
from streamkarma.events.block import Block


class SupportVectors:
    """KARMA in its support-vector form, over arrays.

    Parameters
    ----------
    rule
        How it steps.
    average
        Keep the average of v_1 … v_T, and predict by it [H, Thm 2.2].

    Examples
    --------
    One event observed in attribute 0 with value 2, learned as positive with the hinge loss;
    then one that shares nothing with it:

    >>> from streamkarma.core.loss import HINGE
    >>> model = SupportVectors(Rule(2, False, 1.0, 0.0, HINGE, 0.0, 0, 0), average=False)
    >>> model.reserve(attributes=2, coordinates=2)
    >>> first = Block(np.array([0, 1]), np.int32([0]), np.int32([0]), np.array([2.0]))
    >>> other = Block(np.array([0, 1]), np.int32([1]), np.int32([1]), np.array([2.0]))
    >>> scores, losses = model.run(first, np.array([1.0]), np.array([1.0]))
    >>> float(losses[0])
    1.0
    >>> float(model.scores(first)[0, 0]), float(model.scores(other)[0, 0])
    (8.0, 0.0)
    """

    def __init__(self, rule: Rule, average: bool) -> None:
        self.rule = rule
        self.average = average
        self.vectors = self._empty(1)

    def _empty(self, classes: int) -> Vectors:
        cube = np.zeros((0, classes, 0))
        return Vectors(
            values=cube,
            rounded=cube.astype(np.float32),
            narrow=np.zeros(0, np.float32),
            passed=cube.copy() if self.average else np.zeros((0, 0, 0)),
            mask=np.zeros((0, 0), np.uint8),
            attributes=np.zeros((0, 0), np.int32),
            coordinates=np.zeros((0, 0), np.int32),
            sizes=np.zeros(0, np.int32),
            lengths=np.zeros(0, np.int32),
            inverse=np.zeros(0),
            squares=np.zeros(0),
            born=np.zeros(0),
            owners=np.zeros(0, np.int32),
            clock=np.array([1.0, 0.0]),
            counts=np.zeros(8, np.int64),
        )

    @property
    def classes(self) -> int:
        """Vectors per support vector: 1 for two classes or regression, else one per class."""
        return int(self.vectors.values.shape[1])

    @property
    def used(self) -> int:
        """Support vectors, which is to say distinct observed sets, in the model."""
        return int(self.vectors.counts[USED])

    @property
    def steps(self) -> int:
        """Events learned."""
        return int(self.vectors.counts[STEPS])

    def reserve(self, attributes: int = 0, coordinates: int = 0, slots: int = 0,
                members: int = 0) -> None:  # fmt: skip
        """Make room for at least that many of each; what is there stays."""
        v = self.vectors
        old_coordinates, classes, old_slots = v.values.shape
        a = capacity(v.mask.shape[0], attributes)
        k = capacity(old_coordinates, coordinates)
        b = capacity(old_slots, slots)
        if self.rule.budget:
            b = min(b, self.rule.budget)
        b = -(-b // TILE) * TILE
        length = min(capacity(v.coordinates.shape[1], members), k)
        if (a, k, b, length) == (v.mask.shape[0], old_coordinates, old_slots, v.coordinates.shape[1]):
            return
        self.vectors = v._replace(
            values=grown(v.values, (k, classes, b)),
            rounded=grown(v.rounded, (k, classes, b)),
            passed=grown(v.passed, (k, classes, b)) if self.average else v.passed,
            mask=grown(v.mask, (a, b)),
            attributes=grown(v.attributes, (b, length)),
            coordinates=grown(v.coordinates, (b, length)),
            sizes=grown(v.sizes, (b,)),
            lengths=grown(v.lengths, (b,)),
            inverse=grown(v.inverse, (b,)),
            narrow=grown(v.narrow, (b,)),
            squares=grown(v.squares, (b,)),
            born=grown(v.born, (b,)),
            owners=grown(v.owners, (k,)),
        )

    def widen(self, classes: int) -> None:
        """Go to ``classes`` classes; new ones begin with v = 0.

        From the single vector w of two classes to one vector each: -w/2 for the first and
        w/2 for the second, which leaves the difference of their scores as it was.
        """
        v = self.vectors
        values, passed = v.values, v.passed
        if values.shape[1] == 1:
            # Subtracted from 0, for a zero must not get a sign: no file keeps it.
            values = np.concatenate([0.0 - values / 2, values / 2], axis=1)
            passed = np.concatenate([0.0 - passed / 2, passed / 2], axis=1) if self.average else passed
            v.squares[:] /= 2
        shape = (values.shape[0], classes, values.shape[2])
        passed = grown(passed, shape) if self.average else passed
        values = grown(values, shape)
        rounded = grown(_single(values), shape)
        self.vectors = v._replace(values=values, rounded=rounded, passed=passed)

    def run(self, block: Block, labels: Floats, weights: Floats) -> tuple[NDArray[np.float64], Floats]:
        """Predict, then learn, each event; see ``karma.run_block``.

        ``reserve`` must have made room for the attributes and coordinates of every event
        that has a label.

        Returns
        -------
        Scores of shape (T, C), each from before its event was learned, and the losses
        suffered, shape (T,), NaN where there is no label.
        """
        scores, losses = begun(block, labels, weights, self.classes)
        done = 0
        while (done := run_block(self.vectors, self.rule, block, labels, weights, self.average, done,
                                 scores, losses)) < len(losses):  # fmt: skip
            size = int(block.starts[done + 1] - block.starts[done])
            longest = max(int(self.vectors.counts[LONGEST]), size)
            self.reserve(slots=self.used + 1, members=2 * longest)
        return scores, losses

    def scores(self, block: Block) -> NDArray[np.float64]:
        """Scores of every event, shape (T, C), without learning."""
        events = len(block.starts) - 1
        return self.run(block, np.full(events, np.nan), np.ones(events))[0]

    def single(self, event: Event) -> list[Stage] | None:
        """See ``Core.single``."""
        return [Stage(self, event, run_support, lambda: (self.vectors, self.rule, self.average))]

    def restart(self, steps: int) -> None:
        """Forget every support vector, and go on as after ``steps`` steps."""
        self.vectors = self._empty(1)
        self.vectors.counts[STEPS] = steps
        self.vectors.clock[SCALE_SUM] = steps

    def summary(self) -> dict[str, int | None]:
        """What the model holds, what became of the examples, and the bytes of its arrays."""
        counts = self.vectors.counts
        return {
            "support_vectors": self.used,
            "patterns": self.used,
            "budget": self.rule.budget or None,
            "merged_exactly": int(counts[MERGED_EXACTLY]),
            "merged_closest": int(counts[MERGED_CLOSEST]),
            "removed": int(counts[REMOVED]),
            "added": int(counts[ADDED]),
            "bytes": sum(array.nbytes for array in self.vectors),
        }

    def members(self, slot: int) -> tuple[list[int], dict[int, Floats], float]:
        """One support vector: observed set, unit vectors by coordinate, and alpha.

        alpha times the vector is what the slot adds to the model; a vector has one entry
        per class, and norm 1 in feature space over all of them.
        """
        v = self.vectors
        norm = float(np.sqrt(v.squares[slot]))
        listed = v.coordinates[slot, : v.lengths[slot]]
        vectors = {int(k): v.values[k, :, slot] / norm if norm else v.values[k, :, slot] for k in listed}
        return v.attributes[slot, : v.sizes[slot]].tolist(), vectors, norm * float(v.clock[SCALE])

    def arrays(self) -> Arrays:
        """The state, without spare room: what ``restore`` takes."""
        v, used = self.vectors, self.used
        slots = np.repeat(np.arange(used), v.lengths[:used])
        listed = _flat(v.coordinates, v.lengths, used)
        return {
            "sizes": v.sizes[:used],
            "attributes": _flat(v.attributes, v.sizes, used),
            "lengths": v.lengths[:used],
            "coordinates": listed,
            "values": v.values[listed, :, slots].reshape(len(listed), self.classes),
            "passed": v.passed[listed, :, slots] if self.average else np.zeros((0, self.classes)),
            "squares": v.squares[:used],
            "born": v.born[:used],
            "owners": v.owners[listed],
            "clock": v.clock,
            "counts": v.counts,
        }

    def restore(self, arrays: Arrays, attributes: int, coordinates: int) -> None:
        """Take over a state from ``arrays``.

        Raises
        ------
        ValueError
            If the arrays contradict each other or point outside of the model.
        """
        a = {name: np.array(array) for name, array in arrays.items()}
        used, total = len(a["sizes"]), len(a["coordinates"])
        classes = a["values"].shape[1] if a["values"].ndim == 2 else 0
        kinds = {"values": "f", "passed": "f", "squares": "f", "born": "f", "clock": "f"}
        consistent = (
            classes >= 1
            and all(a[name].dtype.kind == kinds.get(name, "i") for name in a)
            and a["counts"].shape == (8,)
            and a["clock"].shape == (2,)
            and bool((a["counts"] >= 0).all())
            and int(a["counts"][STEPS]) < 2**53
            and bool(np.isfinite(a["clock"]).all())
            and 0.0 < a["clock"][SCALE] <= 1.0
            and int(a["counts"][USED]) == used
            and (self.rule.budget == 0 or used <= self.rule.budget)
            and all(a[name].shape == (used,) for name in ("lengths", "squares", "born"))
            and a["values"].shape == (total, classes)
            and a["passed"].shape == (total if self.average else 0, classes)
            and a["owners"].shape == (total,)
            and int(a["sizes"].sum()) == len(a["attributes"])
            and int(a["lengths"].sum()) == total
            and _within(a["sizes"], attributes + 1)
            and _within(a["lengths"], coordinates + 1)
            and _within(a["attributes"], attributes)
            and _within(a["owners"], attributes)
            and _within(a["coordinates"], coordinates)
            and int(a["counts"][LONGEST]) == max(a["counts"][LONGEST], a["lengths"].max(initial=0))
            and int(a["counts"][LONGEST]) <= coordinates
            and _distinct(a["sizes"], a["attributes"], attributes)
            and _distinct(a["lengths"], a["coordinates"], coordinates)
            and all(bool(np.isfinite(a[name]).all()) for name in ("values", "passed", "squares", "born"))
            and bool((a["squares"] >= 0.0).all())
        )
        if not consistent:
            raise ValueError("the support vectors contradict each other")
        self.vectors = self._empty(classes)
        longest = max(int(a["counts"][LONGEST]), int(a["sizes"].max(initial=0)))
        # As much room as ``run`` has made by now, so that a model takes no less memory for being resumed.
        self.reserve(attributes, coordinates, used, 2 * longest)
        v = self.vectors
        slots = np.repeat(np.arange(used), a["lengths"])
        v.values[a["coordinates"], :, slots] = a["values"]
        v.rounded[a["coordinates"], :, slots] = _single(a["values"])
        if self.average:
            v.passed[a["coordinates"], :, slots] = a["passed"]
        v.owners[a["coordinates"]] = a["owners"]
        _unflat(v.coordinates, a["coordinates"], a["lengths"])
        _unflat(v.attributes, a["attributes"], a["sizes"])
        v.mask[a["attributes"], np.repeat(np.arange(used), a["sizes"])] = 1
        for name in ("sizes", "lengths", "squares", "born"):
            getattr(v, name)[:used] = a[name]
        for slot in range(used):
            v.inverse[slot] = 1.0 / growth(float(a["sizes"][slot]), self.rule.gamma)
        v.narrow[:] = v.inverse
        v.clock[:] = a["clock"]
        v.counts[:] = a["counts"]


def _flat(table: NDArray[np.int32], lengths: NDArray[np.int32], used: int) -> NDArray[np.int32]:
    """The first ``lengths[i]`` entries of each row, one row after another."""
    listed = np.arange(table.shape[1])[None, :] < lengths[:used, None]
    return table[:used][listed]


def _unflat(table: NDArray[np.int32], flat: NDArray[Any], lengths: NDArray[Any]) -> None:
    listed = np.arange(table.shape[1])[None, :] < lengths[:, None]
    table[: len(lengths)][listed] = flat


def _distinct(lengths: NDArray[Any], flat: NDArray[Any], limit: int) -> bool:
    """Whether no slot, of which the i-th has the next ``lengths[i]`` entries, has one of them twice."""
    entries = np.repeat(np.arange(len(lengths)), lengths) * limit + flat
    return len(np.unique(entries)) == len(entries)


def _single(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """In single precision; what is too large for that is infinite, as in compiled code."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def _within(array: NDArray[Any], limit: int) -> bool:
    return array.size == 0 or (int(array.min()) >= 0 and int(array.max()) < limit)
