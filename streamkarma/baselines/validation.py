"""Validation by scikit-learn of tables with NaN for missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data


def validated(
    estimator: Any, X: Any, y: Any = "no_validation", *, reset: bool = True, complete: bool = False
) -> Any:
    """A table as floats with NaN for missing values, and its labels as an array if given.

    Parameters
    ----------
    estimator
        The estimator, in which the columns are stored, or compared with ``reset=False``.
    X
        Array or data frame of shape (n, d): numbers, finite or missing.
    y
        Labels, of shape (n,); without them only the table is returned.
    reset
        Whether this is a fit.
    complete
        Whether NaN is refused as well.

    Raises
    ------
    ValueError
        For infinite values, text, or shapes that do not match.
    """
    finite: Any = True if complete else "allow-nan"
    try:
        return validate_data(estimator, X, y, reset=reset, dtype=np.float64, ensure_all_finite=finite)
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        raise ValueError(
            f"{error}: categories become columns by EventCoder,"
            f" as in make_pipeline(EventCoder(), {type(estimator).__name__}())"
        ) from None
