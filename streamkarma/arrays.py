"""Names for types of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: Arrays by name, such as those of a model file.
Arrays = dict[str, NDArray[Any]]
