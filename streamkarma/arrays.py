"""Types of arrays, and arrays by name, of which those of a part have a common prefix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: Arrays by name, such as those of a model file.
Arrays = dict[str, NDArray[Any]]


def with_prefix(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays of a part, with its prefix before their names."""
    return {prefix + name: array for name, array in arrays.items()}


def part_of(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays of a part, by their own names.

    Examples
    --------
    >>> part_of(with_prefix("tree.", {"left": np.zeros(2)}), "tree.")
    {'left': array([0., 0.])}
    """
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def pop_part(arrays: Arrays, prefix: str) -> Arrays:
    """Remove the arrays of a part from the others, and return them by their own names."""
    names = [name for name in arrays if name.startswith(prefix)]
    return {name.removeprefix(prefix): arrays.pop(name) for name in names}
