"""The features of k_gamma [H, Thm 4], one by one, for gamma up to 3.

k_gamma has a feature x_k for every sequence of fewer than gamma observed attributes. The
constant and k's own attribute are observed whenever x_k is, so sequences that differ only in
these say the same: what is left of one is S, the set of its *other* attributes, fewer than
gamma. One feature (S, k) stands for all its sequences, times the root of their number:

=========  ===========  =======  ========
gamma      S empty      {i}      {i, j}
=========  ===========  =======  ========
1          1
2          √3 (√2)      1
3          √7 (√3)      √6 (2)   √2
=========  ===========  =======  ========

in brackets where x_k is the constant, whose own attribute is itself. Its features with S are
indicators of what is missing.

A feature sits at (k << set_bits) + code of S; codes do not depend on how many attributes
there are. Once there are too many for that, at a hash of the two: features that meet share
their weight.

[H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.
"""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.jit import borrowing, compiled, inlined
from streamkarma.core.kernel import growth
from streamkarma.core.passes import Floats, Indices
from streamkarma.core.sums import dot

Places = NDArray[np.int64]
Rows = NDArray[np.float64]

ATTRIBUTES, COORDINATES = range(2)

#: Odd numbers that spread bits, below 2^63.
_SPREAD = 0x2545F4914F6CDD1D
_SPREAD_AGAIN = 0x1B873593CC9E2D51


class Form(NamedTuple):
    """Where features sit, and how long they are.

    Attributes
    ----------
    gamma
        Order of the kernel: 1, 2 or 3.
    normalize
        Whether every event has norm 1.
    most
        Most features of one event; of an event that has more only those of the largest
        order that has not.
    set_bits
        Bits of the code of a set.
    hash_bits
        Bits of the hash; 0 while features have places of their own.
    """

    gamma: int
    normalize: bool
    most: int
    set_bits: int
    hash_bits: int


class Scratch(NamedTuple):
    """One event's features, and the sets S among its attributes.

    Attributes
    ----------
    places, phi
        Where each feature sits, and its value.
    codes
        Of each set, already mixed if hashed.
    share
        Of each set: beside the constant, beside any other value.
    """

    places: Places
    phi: Floats
    codes: Places
    share: Rows


def shares(gamma: int) -> Rows:
    """Root of the number of sequences that a feature stands for.

    Returns
    -------
    Shape (gamma + 1, 2, gamma): by order, whether it is a value (1) or the constant (0),
    and the size of S.

    Examples
    --------
    >>> (shares(3)[3] ** 2).round()
    array([[3., 4., 2.],
           [7., 6., 2.]])
    """
    result = np.zeros((gamma + 1, 2, gamma))
    for order in range(1, gamma + 1):
        for always in (1, 2):
            for size in range(order):
                # Sequences over S and the always observed that leave out none of S.
                count = sum(
                    (-1) ** out * comb(size, out) * (always + size - out) ** length
                    for length in range(order)
                    for out in range(size + 1)
                )
                result[order, always - 1, size] = np.sqrt(count)
    return result


@borrowing
def set_count(attributes: int, order: int) -> int:
    """How many sets S there are among that many attributes, the constant counted as one."""
    if order == 1:
        return 1
    if order == 2:
        return max(attributes, 1)
    return 1 + attributes * (attributes - 1) // 2


@compiled
def hashed(form: Form, index: Places, set_bits: int) -> Places:
    """Where features go that sat at ``index`` while they had places of their own."""
    result = np.empty_like(index)
    for i in range(index.size):
        coordinate, code = index[i] >> set_bits, index[i] & ((1 << set_bits) - 1)
        result[i] = _hash(_mix(coordinate), _mix(~code), form.hash_bits)
    return result


@borrowing
def _mix(number: int) -> int:
    number *= _SPREAD
    number ^= number >> 29
    number *= _SPREAD_AGAIN
    return number ^ (number >> 32)


@borrowing
def _hash(coordinate: int, code: int, bits: int) -> int:
    """The upper bits, so that a hash of one bit less is this one halved."""
    return (((coordinate ^ code) * _SPREAD) >> (64 - bits)) & ((1 << bits) - 1)


@borrowing
def order_of(form: Form, size: int) -> int:
    """The order at which an event of ``size`` items is taken."""
    order = form.gamma
    while order > 1 and size * set_count(size, order) > form.most:
        order -= 1
    return order


@compiled
def scratch(form: Form, starts: Places) -> Scratch:
    """Scratch for the features of any of the events."""
    features = sets = 1
    for t in range(starts.size - 1):
        size = starts[t + 1] - starts[t]
        count = set_count(size, order_of(form, size))
        features, sets = max(features, size * count), max(sets, count)
    return Scratch(
        np.empty(features, np.int64),
        np.empty(features, np.float64),
        np.empty(sets, np.int64),
        np.empty((2, sets), np.float64),
    )


@borrowing
def expand(form: Form, known: Places, attributes: Indices, coordinates: Indices, values: Floats,
           begin: int, end: int, shares: Rows, places: Places, phi: Floats, codes: Places,
           share: Rows) -> int:  # fmt: skip
    """Write an event's features, those that are 0 left out, and return how many there are.

    Parameters
    ----------
    known
        How many attributes and coordinates have weights; others are observed, and count in
        the norm, but have no features.
    attributes, coordinates, values
        Of encoded events, each with the constant first.
    begin, end
        Which items are the event's.
    shares
        From ``shares``.
    places, phi, codes, share
        See ``Scratch``; out of their tuple, since taking them costs as much as filling them.
    """
    order = order_of(form, end - begin)
    factor = _inverse_norm(values, begin, end, order) if form.normalize else 1.0
    while end > begin and attributes[end - 1] >= known[ATTRIBUTES]:
        end -= 1  # they ascend
    most = known[COORDINATES]
    if form.hash_bits == 0 and order < 3:
        return _list_plain(form, order, most, attributes, coordinates, values, np.uint64(begin), end, factor,
                           shares, places, phi, codes)  # fmt: skip
    sets = _list_sets(form, order, attributes, begin, end, shares, codes, share)
    count = 0
    for j in range(end - begin):
        x = factor * values[begin + j]
        coordinate = int(coordinates[begin + j])
        if x == 0.0 or coordinate >= most:
            continue
        base = coordinate << form.set_bits if form.hash_bits == 0 else _mix(coordinate)
        kind, at = min(j, 1), np.uint64(count)
        for s in range(np.uint64(sets)):
            code = codes[s]
            places[at + s] = base + code if form.hash_bits == 0 else _hash(base, code, form.hash_bits)
            phi[at + s] = x * share[kind, s]
        first, count = count, count + sets
        # The sets with the value's own attribute give way to what is last, from the end on:
        # those before a higher attribute, then those after a lower one or alone.
        if order == 3 and j > 0:
            for i in range(end - begin - 1, j, -1):
                count = _drop(places, phi, first + 1 + i * (i - 1) // 2 + j, count)
            for i in range(j - 1, -1, -1):
                count = _drop(places, phi, first + 1 + j * (j - 1) // 2 + i, count)
        elif order == 2 and j > 0:
            count = _drop(places, phi, first + j, count)
    return count


@borrowing
def _list_plain(form: Form, order: int, most: int, attributes: Indices, coordinates: Indices, values: Floats,
                begin: np.uint64, end: int, factor: float, shares: Rows, places: Places, phi: Floats,
                codes: Places) -> int:  # fmt: skip
    """``expand`` for orders 1 and 2 where features have places of their own.

    A value's features are then alike but for the first, and no more than one of them gives way.
    """
    size = np.uint64(end) - begin
    sets = size if order == 2 else np.uint64(1)
    codes[0] = 0
    for s in range(np.uint64(1), sets):
        attribute = int(attributes[begin + s])
        codes[s] = attribute if form.gamma == 2 else 1 + attribute * (attribute - 1) // 2
    count = 0
    for j in range(size):
        x, coordinate = factor * values[begin + j], int(coordinates[begin + j])
        if x == 0.0 or coordinate >= most:
            continue
        kind, base, at = 1 if j > 0 else 0, coordinate << form.set_bits, np.uint64(count)
        alike = x * shares[order, kind, order - 1]
        for s in range(sets):
            places[at + s], phi[at + s] = base + codes[s], alike
        phi[at] = x * shares[order, kind, 0]
        count += int(sets)
        if j > 0 and order == 2:
            count = _drop(places, phi, int(at + j), count)
    return count


@inlined
def _drop(places: Places, phi: Floats, at: int, count: int) -> int:
    """Put the last of ``count`` features into the place of another."""
    places[at], phi[at] = places[count - 1], phi[count - 1]
    return count - 1


@inlined
def _inverse_norm(values: Floats, begin: int, end: int, order: int) -> float:
    items = values[begin:end]
    square = dot(items, items) * growth(float(end - begin), order)
    return 1.0 / np.sqrt(square) if square > 0.0 else 0.0


@borrowing
def _list_sets(form: Form, order: int, attributes: Indices, begin: int, end: int, shares: Rows,
               codes: Places, share: Rows) -> int:  # fmt: skip
    """Write the sets S among an event's attributes: none, one and, in order 3, two of them."""
    codes[0], share[0, 0], share[1, 0] = 0, shares[order, 0, 0], shares[order, 1, 0]
    count = 1
    for j in range(begin + 1, end if order > 1 else begin):
        upper = int(attributes[j])
        first = upper if form.gamma == 2 else 1 + upper * (upper - 1) // 2
        # Item 0 is the constant, which is in no set: with it a pair is one attribute.
        for i in range(begin, j if order == 3 else begin + 1):
            size = 1 if i == begin else 2
            codes[count] = first + attributes[i]
            share[0, count], share[1, count] = shares[order, 0, size], shares[order, 1, size]
            count += 1
    if form.hash_bits > 0:
        for s in range(count):
            codes[s] = _mix(~codes[s])
    return count
