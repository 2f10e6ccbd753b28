"""Validation of tables with NaN for missing values, and of weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import column_or_1d, validate_data

from streamkarma.arrays import Floats


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


def weighted(X: Floats, y: NDArray[Any], sample_weight: ArrayLike | None) -> Any:
    """X, y and weights (or None) without the rows of weight 0.

    Examples
    --------
    >>> weighted(np.array([[1.0], [2.0]]), np.array([0, 1]), [0.0, 3.0])
    (array([[2.]]), array([1]), array([3.]))
    """
    if sample_weight is None:
        return X, y, None
    given = np.asarray(sample_weight, dtype=np.float64)
    weights = column_or_1d(np.full(len(X), given) if given.ndim == 0 else given)
    if weights.shape != (len(X),) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"sample_weight has one finite number of 0 or more for each of the {len(X)} rows")
    kept = weights > 0
    if not kept.any():
        raise ValueError("sample_weight is zero for all rows: there is nothing to learn from")
    return X[kept], y[kept], weights[kept]
