"""Is it missing completely at random? The supervised test of [M, Section 16.1.2]."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_consistent_length

from streamkarma.baselines.tables import Floats

#: Ridge on standardised indicators, per row: indicators that always go together stay solvable.
RIDGE = 1e-3


class MCARTest(NamedTuple):
    """What the test found.

    Attributes
    ----------
    statistic
        Share of the target's variance that the indicators explain, each row predicted by a fit
        on the others; at most 1, below 0 for a fit worse than the mean.
    p_value
        Share of permutations, the data's own order included, that reach the statistic. Small:
        missingness tells something about the target, so it is not completely at random.
    permuted
        Array of shape (permutations,): the statistic of each permutation.
    """

    statistic: float
    p_value: float
    permuted: Floats

    def __repr__(self) -> str:
        found = f"statistic={self.statistic:.4g}, p_value={self.p_value:.4g}"
        return f"MCARTest({found}, permuted=<{len(self.permuted)} permutations>)"


def mcar_test(X: ArrayLike, y: ArrayLike | None = None, *, attribute: int | None = None,
              permutations: int = 999, random_state: Any = 0) -> MCARTest:  # fmt: skip
    """Test whether missingness predicts the label, or the values of an attribute.

    Were values missing completely at random, which ones are would tell nothing about anything.
    A linear regression (ridge) of the target on the indicators of what is missing, scored by
    leaving each row out, is compared with the same for permuted targets.

    Parameters
    ----------
    X
        Array of shape (n, d), NaN for what is missing; three rows at least.
    y
        Array of shape (n,): labels. Numbers (floats) are predicted as they are; integers,
        strings and booleans are classes.
    attribute
        Instead of ``y``: number of the column whose values are the target, over the rows that
        have it. Indicators are those of the other columns.
    permutations
        How many, 1 or more; the least p-value is 1 / (permutations + 1).
    random_state
        Seed of the permutations.

    Returns
    -------
    ``MCARTest``. With no indicator that varies, or a constant target, the statistic is 0 and
    the p-value 1: there is nothing to find.

    Raises
    ------
    ValueError
        Unless one of ``y`` and ``attribute`` is given, or with too few rows.

    Notes
    -----
    The lecture asks for some classifier; a linear one makes every permutation a product with
    one matrix. It cannot see what only a combination of indicators tells. A test against
    dependence on the *missing* values themselves there is none: they are not seen.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> X = rng.standard_normal((200, 3))
    >>> X[y == 1, 0] = np.nan  # never there when the label is 1
    >>> mcar_test(X, y).p_value
    0.001
    """
    rows = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=3)
    if (y is None) == (attribute is None):
        raise ValueError("mcar_test needs either labels y or the number of an attribute")
    missing = np.isnan(rows)
    if attribute is not None:
        if not 0 <= attribute < rows.shape[1]:
            raise ValueError(f"attribute is a column from 0 to {rows.shape[1] - 1}, not {attribute}")
        having = ~missing[:, attribute]
        if having.sum() < 3:
            raise ValueError(f"attribute {attribute} is observed in fewer than 3 rows")
        targets = rows[having, attribute, np.newaxis]
        missing = np.delete(missing[having], attribute, axis=1)
    else:
        check_consistent_length(rows, y)
        targets = _columns(np.asarray(y))
    if permutations < 1:
        raise ValueError(f"permutations is 1 or more, not {permutations}")
    return _permuted(missing, targets, permutations, check_random_state(random_state))


def _columns(y: NDArray[Any]) -> Floats:
    """Numbers as one column, classes as one column of 0 and 1 each."""
    if y.dtype.kind == "f":
        return np.asarray(y, dtype=np.float64)[:, np.newaxis]
    return np.asarray(y[:, np.newaxis] == np.unique(y), dtype=np.float64)


def _permuted(missing: NDArray[np.bool_], targets: Floats, permutations: int,
              rng: np.random.RandomState) -> MCARTest:  # fmt: skip
    indicators = np.unique(missing[:, missing.std(axis=0) > 0].astype(np.float64), axis=1)
    off = targets - targets.mean(axis=0)
    if not indicators.shape[1] or not (off * off).sum() > 0:
        return MCARTest(0.0, 1.0, np.zeros(permutations))
    hat, left = _leave_one_out(indicators)
    total = float((off * off).sum())

    def explained(columns: Floats) -> float:
        residual = (columns - hat @ columns) / left[:, np.newaxis]
        return 1.0 - float((residual * residual).sum()) / total

    statistic = explained(off)
    permuted = np.array([explained(off[rng.permutation(len(off))]) for _ in range(permutations)])
    # A hair's breadth, so that the same fit in another order of rows counts as reaching it.
    reached = int((permuted >= statistic - 1e-12).sum())
    return MCARTest(statistic, (1 + reached) / (1 + permutations), permuted)


def _leave_one_out(indicators: Floats) -> tuple[Floats, Floats]:
    """The hat matrix of ridge with an intercept, and 1 less its diagonal."""
    n = len(indicators)
    Z = (indicators - indicators.mean(axis=0)) / indicators.std(axis=0)
    squares = Z.T @ Z + RIDGE * n * np.eye(Z.shape[1])
    hat = Z @ np.linalg.solve(squares, Z.T) + 1.0 / n
    return hat, np.maximum(1.0 - np.diag(hat), 1e-9)
