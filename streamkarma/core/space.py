"""What the subspace learner knows about the attributes: room for it, its change of form, its state."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.adaptive import FACTOR, LARGEST_GROWTH, STEPS
from streamkarma.core.factor import Factor, empty_factor
from streamkarma.core.learning import Arrays
from streamkarma.core.pairs import LEAST_NOISE, Pairs, empty_pairs, strongest
from streamkarma.core.passes import Floats, Indices

EVENTS, DUE, GROWTH, NOISE, SEEN, WIDE = range(6)


class Space(NamedTuple):
    """What is known about the attributes; one of ``pairs`` and ``factor`` is empty.

    Attributes
    ----------
    clock
        Events learned; at how many the correlations are due; what an event of weight 1 adds
        to the counts; variance of the noise, in units of a coordinate's own; coordinates seen,
        1 + the highest; 1 once ``factor`` is in use, else 0.
    owners
        Shape (K,): the attribute of a coordinate, -1 before it was learned.
    known
        Shape (A,): 1 for attributes that were learned, else 0.
    pairs, factor
        See there.
    """

    clock: Floats
    owners: Indices
    known: NDArray[np.uint8]
    pairs: Pairs
    factor: Factor


class Sizes(NamedTuple):
    """Most coordinates of which pairs are kept, and dimension of the subspace beyond."""

    bound: int
    rank: int


#: The correlations are due for the first time after so many events.
FIRST_DUE = 10

#: Arrays without negative numbers.
NOT_NEGATIVE = {"counts", "deviations", "listed", "observed", "squares"}

Form = TypeVar("Form", Pairs, Factor)


def empty_space(sizes: Sizes, attributes: int, coordinates: int, wide: bool) -> Space:
    """Nothing known; the form that is not in use takes no room."""
    clock = np.array([0.0, FIRST_DUE, 1.0, 1.0, 0.0, float(wide)])
    a, k = (0, 0) if wide else (min(attributes, sizes.bound), min(coordinates, sizes.bound))
    factor = (attributes, coordinates) if wide else (0, 0)
    return Space(clock, np.full(coordinates, -1, np.int32), np.zeros(attributes, np.uint8),
                 empty_pairs(a, k), empty_factor(*factor, sizes.rank))  # fmt: skip


def resized(space: Space, sizes: Sizes, attributes: int, coordinates: int) -> Space:
    """With room for so many, or as much of it as they hold."""
    target = empty_space(sizes, attributes, coordinates, space.clock[WIDE] > 0.0)
    return Space(
        moved(space.clock, target.clock),
        moved(space.owners, target.owners),
        moved(space.known, target.known),
        _moved_form(space.pairs, target.pairs),
        _moved_form(space.factor, target.factor),
    )


def widened(space: Space, sizes: Sizes) -> tuple[Space, Floats]:
    """From pairs to the factor, which begins with the strongest directions of the pairs.

    The correlations must be up to date. Where they are mostly noise the factor begins anew;
    the first moments stay.

    Returns
    -------
    The space, and what each coordinate, in its unit, is explained by: shape (seen, s), its row
    of the factor's first s columns; the others keep their random start, or would never move.
    """
    wide = empty_space(sizes, len(space.known), len(space.owners), True)
    pairs, factor, seen = space.pairs, wide.factor, int(space.clock[SEEN])
    factor.observed[: len(pairs.counts)] = pairs.counts.diagonal()
    factor.listed[:seen] = pairs.listed[:seen]
    factor.sums[:seen] = pairs.sums[:seen, 0]
    factor.squares[:seen] = pairs.sums.diagonal()[:seen]
    moved(space.owners, wide.owners)
    moved(space.known, wide.known)
    moved(space.clock, wide.clock)
    wide.clock[WIDE], wide.clock[NOISE] = 1.0, 1.0
    rows = np.zeros((seen, 0))
    if space.clock[NOISE] < 1.0:
        rows = strongest(pairs.correlations[:seen, :seen], sizes.rank)
        factor.rows[:seen, : rows.shape[1]] = rows
        unexplained = 1.0 - (rows[pairs.deviations[:seen] > 0.0] ** 2).sum(axis=1)
        if unexplained.size:
            wide.clock[NOISE] = np.maximum(unexplained, LEAST_NOISE).mean()
    return wide, pairs.deviations[:seen, None] * rows


def state(space: Space, sizes: Sizes) -> Arrays:
    """The space as arrays, without spare room."""
    seen = int(space.clock[SEEN])
    small = resized(space, sizes, attributes_of(space.owners), seen)
    form = small.factor if space.clock[WIDE] else small.pairs
    return {"clock": small.clock, "owners": small.owners, **form._asdict()}


def restored(a: Arrays, sizes: Sizes, attributes: int, coordinates: int) -> Space | None:
    """The space of a ``state`` without spare room, or None if it contradicts itself or points outside."""
    clock, owners = a.get("clock"), a.get("owners")
    if (
        clock is None
        or owners is None
        or not _is(clock, np.float64, (6,))
        or not _is(owners, np.int32, (owners.size,))
        or not len(owners) == clock[SEEN] <= coordinates
        or owners.min(initial=0) < -1
        or owners.max(initial=-1) >= attributes
    ):
        return None
    wide = bool(clock[WIDE])
    space = empty_space(sizes, attributes_of(owners), len(owners), wide)
    form = space.factor if wide else space.pairs
    for name, target in form._asdict().items():
        if name not in a or not _is(a[name], np.float64, target.shape) or not np.isfinite(a[name]).all():
            return None
        if name in NOT_NEGATIVE and (a[name] < 0.0).any():
            return None
        target[:] = a[name]
    consistent = (
        np.isfinite(clock).all()
        and clock[WIDE] in (0.0, 1.0)
        and (wide or max(len(space.known), len(owners)) <= sizes.bound)
        and 0.0 <= clock[EVENTS] < 2**53
        and (wide or clock[EVENTS] < clock[DUE])
        and 1.0 <= clock[GROWTH] <= LARGEST_GROWTH
        and clock[NOISE] >= LEAST_NOISE
    )
    space.clock[:], space.owners[:] = clock, owners
    space.known[owners[owners >= 0]] = 1
    return space if consistent else None


def weights_fit(a: Arrays, places: int) -> bool:
    """Whether there are steps, weights and spreads, in so many places."""
    names = ("steps", "weights", "spread")
    if not all(name in a and a[name].dtype == np.float64 and np.isfinite(a[name]).all() for name in names):
        return False
    steps, weights, spread = (a[name] for name in names)
    return (
        steps.shape == (2,)
        and bool(0.0 <= steps[STEPS] < 2**53 and 1.0 <= steps[FACTOR] <= LARGEST_GROWTH)
        and weights.ndim == 2
        and len(weights) >= 1
        and weights.shape[1] == places
        and spread.shape == weights.shape
        and bool((spread >= 0.0).all())
    )


def attributes_of(owners: Indices) -> int:
    """1 + the highest attribute that owns one of these coordinates."""
    return int(owners.max(initial=-1)) + 1


def moved(source: NDArray[Any], target: NDArray[Any]) -> NDArray[Any]:
    """``target`` with as much of ``source`` in it as it has room for."""
    region = tuple(slice(0, min(sizes)) for sizes in zip(source.shape, target.shape, strict=True))
    target[region] = source[region]
    return target


def _moved_form(source: Form, target: Form) -> Form:
    for old, new in zip(source, target, strict=True):
        moved(old, new)
    return target


def _is(array: NDArray[Any], kind: type, shape: tuple[int, ...]) -> bool:
    return bool(array.dtype == kind) and array.shape == shape
