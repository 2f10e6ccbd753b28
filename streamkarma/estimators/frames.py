"""pandas frames as records."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


def records_of(frame: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """The rows as dicts without what is missing (NaN, None, NA, NaT)."""
    names = list(frame.columns)
    values = frame.astype(object).to_numpy()
    present = frame.notna().to_numpy()
    return [
        {names[j]: row[j] for j in np.flatnonzero(there)} for row, there in zip(values, present, strict=True)
    ]
