"""A linear model on the products of what is observed: interactions that KARMA's features have not.

KARMA's features of higher order multiply a value by what is *there* beside it; these multiply it by
what the others *say*. The features of an event are its values x_k, their products x_i x_k for i < k, and
(x_k^2 - 1) / sqrt(2), which is 0 for a category that holds; all divided by their norm. What is missing
has value 0, as with gamma = 1: beside the other experts this one knows nothing of missingness.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.adaptive import Step
from streamkarma.core.explicit import Explicit
from streamkarma.core.held import borrowed
from streamkarma.core.jit import borrowing, compiled, inlined
from streamkarma.core.learning import Arrays, begun
from streamkarma.core.passes import Floats, Indices
from streamkarma.core.rounds import run_block
from streamkarma.core.single import Event, Stage
from streamkarma.events.block import Block

#: Most products that are written out together, 8 megabytes of them. An event that alone has more,
#: one of 1,024 items, is taken without.
MOST = 1 << 19

#: Places of products are taken modulo this prime, below what stands for unknown names: among more
#: than 46,339 coordinates some share a place.
PLACES = 1_073_741_789


class Products:
    """AROW or AdaGrad on values and their products.

    Parameters
    ----------
    step, table_bits
        As of ``Explicit``.

    Examples
    --------
    Whether two attributes agree, which no linear model of them can say:

    >>> from streamkarma.core.adaptive import AROW
    >>> from streamkarma.core.loss import HINGE
    >>> model = Products(Step(AROW, HINGE, 1.0, 0.0, 0.0, 0.0, 0.0), 18)
    >>> values = np.random.default_rng(1).choice([-1.0, 1.0], (200, 2))
    >>> items = np.tile(np.arange(3, dtype=np.int32), 200)
    >>> block = Block(np.arange(0, 601, 3), items, items, np.insert(values, 0, 1.0, axis=1).ravel())
    >>> scores, _ = model.run(block, values.prod(axis=1), np.ones(200))
    >>> bool((scores[20:, 0] * values[20:].prod(axis=1) > 0).all())
    True
    """

    def __init__(self, step: Step, table_bits: int) -> None:
        self._linear = Explicit(1, True, step, table_bits)

    @property
    def classes(self) -> int:
        """Columns of the scores; see ``Explicit``."""
        return self._linear.classes

    @property
    def steps(self) -> int:
        """Events learned."""
        return self._linear.steps

    def reserve(self, attributes: int = 0, coordinates: int = 0) -> None:
        """Nothing: room is made when an event is learned, for what it has."""

    def widen(self, classes: int) -> None:
        """Go to ``classes`` classes; see ``Explicit.widen``."""
        self._linear.widen(classes)

    def run(self, block: Block, labels: Floats, weights: Floats) -> tuple[NDArray[np.float64], Floats]:
        """Predict, then learn, each event; see ``Core.run``."""
        scores, losses = begun(block, labels, weights, self.classes)
        events = len(losses)
        begin = 0
        while begin < events:
            end, size = _stretch(block, begin, MOST)
            part = slice(begin, end)
            made = _products(block, begin, end, size, MOST)
            scores[part], losses[part] = self._linear.run(made, labels[part], weights[part])
            begin = end
        return scores, losses

    def scores(self, block: Block) -> NDArray[np.float64]:
        """Scores of every event, shape (T, C), without learning."""
        events = len(block.starts) - 1
        return self.run(block, np.full(events, np.nan), np.ones(events))[0]

    def single(self, event: Event) -> list[Stage] | None:
        """See ``Core.single``."""
        return [Stage(self, event, _run_one, self._linear.parts)]

    def restart(self, steps: int) -> None:
        """Forget every weight, and go on as after ``steps`` steps."""
        self._linear.restart(steps)

    def summary(self) -> dict[str, Any]:
        """Sizes; see ``Explicit.summary``."""
        return self._linear.summary()

    def arrays(self) -> Arrays:
        """The state: what ``restore`` takes."""
        return self._linear.arrays()

    def restore(self, arrays: Arrays, attributes: int, coordinates: int) -> None:
        """Take over a state; ValueError if the arrays contradict each other or point outside."""
        self._linear.restore(arrays, 1, min(coordinates * (coordinates + 1) // 2, PLACES))


@compiled
def _run_one(lent: Any) -> int:
    """As ``single.run_explicit``, on the event's products."""
    (form, shares, step, known, clock, weights, spread), event, scores, losses = borrowed(lent)
    made = _products(event.block, 0, 1, _stretch(event.block, 0, MOST)[1], MOST)
    return run_block(form, shares, step, known, clock, weights, spread, made, event.labels, event.weights, 0,
                     scores, losses)  # fmt: skip


@borrowing
def _count(size: int, most: int) -> int:
    """How many features an event of ``size`` items, the constant among them, has."""
    count = size * (size + 1) // 2
    return count if count <= most else size


@borrowing
def _stretch(block: Block, begin: int, most: int) -> tuple[int, int]:
    """Up to where events have no more than ``most`` features together, one event at least; how many."""
    starts, end, size = block.starts, begin, 0
    while end < starts.size - 1:
        more = _count(starts[end + 1] - starts[end], most)
        if end > begin and size + more > most:
            break
        size += more
        end += 1
    return end, size


@compiled
def _products(block: Block, begin: int, end: int, size: int, most: int) -> Block:
    """The events from ``begin`` to ``end`` with their products as items, all of attribute 0."""
    made = Block(np.zeros(end - begin + 1, np.int64), np.zeros(size, np.int32), np.empty(size, np.int32),
                 np.empty(size, np.float64))  # fmt: skip
    at = _multiply(block, begin, end, most, made)
    return Block(made.starts, made.attributes[:at], made.coordinates[:at], made.values[:at])


@borrowing
def _multiply(block: Block, begin: int, end: int, most: int, made: Block) -> int:
    """Fill ``made`` but for the attributes, and say how many items there are."""
    starts, _, coordinates, values = block
    ends, _, places, products = made
    root, at = np.sqrt(2.0), 0
    for t in range(begin, end):
        first, last = starts[t], starts[t + 1]
        alone = _count(last - first, most) == last - first
        for j in range(first, last):
            # Item 0 is the constant, whose product with a value is the value.
            for i in range(first, min(j, first + 1) if alone else j):
                at = _put(places, products, at, coordinates[i], coordinates[j], values[i] * values[j])
            if j == first or not alone:
                square = 1.0 if j == first else (values[j] * values[j] - 1.0) / root
                at = _put(places, products, at, coordinates[j], coordinates[j], square)
        ends[t - begin + 1] = at
    return at


@inlined
def _put(places: Indices, products: Floats, at: int, one: int, other: int, product: float) -> int:
    """Write a product of two coordinates, and say where the next one goes."""
    low, high = min(int(one), int(other)), max(int(one), int(other))
    if high >= PLACES:
        return at  # a name that was never learned
    place = high * (high + 1) // 2 + low
    places[at], products[at] = place if place < PLACES else place % PLACES, product
    return at + 1
