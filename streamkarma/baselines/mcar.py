"""The supervised test for values missing completely at random of [M, Section 16.1.2]."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, check_array, check_random_state
from sklearn.utils.validation import check_consistent_length, column_or_1d

from streamkarma.baselines.tables import Bools, Floats, Scaler, zero_filled

#: Ridge penalty per row on standardised columns, which keeps collinear columns solvable.
RIDGE = 1e-3

#: Numbers in a block of resampled targets: tens of megabytes.
BLOCK = 4_000_000


class MCARTest(NamedTuple):
    """The result of the test.

    Attributes
    ----------
    statistic
        The share of the squared error that 'missing' removes, with each row predicted by a fit on the others:
        1 - (with it) / (without it). At most 1, negative if it makes the predictions worse.
    p_value
        Share of resampled targets, including the original one, that reach the statistic. If it is small,
        missingness is informative about the target, and so not completely at random.
    permuted
        Array of shape (permutations,): the statistic of each resampled target.
    """

    statistic: float
    p_value: float
    permuted: Floats

    def __repr__(self) -> str:
        found = f"statistic={self.statistic:.4g}, p_value={self.p_value:.4g}"
        return f"MCARTest({found}, permuted=<{len(self.permuted)} permutations>)"


def mcar_test(
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    attribute: int | None = None,
    attributes: ArrayLike | None = None,
    given: str = "values",
    permutations: int = 999,
    random_state: Any = 0,
) -> MCARTest:
    """Test whether 'missing' predicts the label, or the values of an attribute.

    As in the lecture, 'missing' is an additional category of each attribute: a ridge regression of the target
    on it and the observed values is compared with one on the observed values alone, by leave-one-out errors.

    Parameters
    ----------
    X
        Array of shape (n, d), NaN for missing values; at least three rows.
    y
        Array of shape (n,): labels. Floats are targets of a regression; integers, strings and booleans are
        classes.
    attribute
        Instead of ``y``: index of the attribute whose values are the target, over the rows in which it is
        observed; the others predict it.
    attributes
        Array of shape (d,): index of the attribute of each column, as in ``EventCoder.attributes_``: the
        categories of a string are missing together and share one 'missing'. None, the default, if each column
        is its own.
    given
        What the model uses besides 'missing'. ``"values"``, the default, as in the lecture: the observed
        values. ``"nothing"``: to test whether missingness alone is informative about the target.
    permutations
        Number of resampled targets, 1 or more; the smallest p-value is 1 / (permutations + 1).
    random_state
        Seed of the resampling.

    Returns
    -------
    ``MCARTest``. If no column is missing in only some of the rows, or the target is constant, the statistic
    is 0 and the p-value 1.

    Raises
    ------
    ValueError
        Unless exactly one of ``y`` and ``attribute`` is given; for an unknown ``attribute`` or ``given``;
        with too few rows.

    Notes
    -----
    ``"nothing"`` also detects missingness that depends on observed values (missing at random), if the target
    depends on the same values. With ``"values"``, such a dependence goes undetected as far as it is linear in
    the values; any remaining effect indicates a dependence on *unobserved* values. Either is evidence against
    MCAR. No test can detect a dependence on missing values that leaves no trace in the target.

    The lecture calls for some supervised learner; with a linear one, every resampling is a product with the
    same matrix. It cannot detect what only a combination of attributes reveals.

    Values are standardised and imputed by their mean. This includes the 0 and 1 of categories: with 0 in all
    of them, 'missing' would be the absence of all categories, and so already be in the model of the values.

    With ``"nothing"``, targets are permuted, which is exact. With ``"values"``, the leave-one-out residuals
    of the model of the values are not permuted, but their signs are flipped at random (a wild bootstrap):
    where a value matters, rows that lack it have larger residuals, and permuting these would make p-values
    spuriously small. The p-values are asymptotic. They are somewhat too small if an attribute that nearly
    determines the target lacks a third of its values or more, and too large, with little power, if there are
    about as many columns as rows.

    References
    ----------
    [M] Mackey, STATS 306B, lecture 16.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> X = rng.standard_normal((200, 3))
    >>> X[y == 1, 0] = np.nan  # never there when the label is 1
    >>> mcar_test(X, y).p_value
    0.001

    Missing where another attribute is large, which already contains all information about the target:

    >>> X = rng.standard_normal((200, 2))
    >>> target = X[:, 0] + rng.standard_normal(200)
    >>> X[X[:, 0] > 0.5, 1] = np.nan
    >>> mcar_test(X, target, given="nothing").p_value
    0.001
    >>> mcar_test(X, target).p_value > 0.05
    True
    """
    rows = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=3)
    if (y is None) == (attribute is None):
        raise ValueError("mcar_test needs either labels y or the number of an attribute")
    if given not in ("values", "nothing"):
        raise ValueError(f"given is 'values' or 'nothing', not {given!r}")
    if permutations < 1:
        raise ValueError(f"permutations is 1 or more, not {permutations}")
    of = _attributes(attributes, rows.shape[1])
    if attribute is not None:
        rows, targets = _split(rows, of, attribute)
        of = of[of != attribute]
    else:
        targets = _columns(column_or_1d(y))
        check_consistent_length(rows, targets)
    missing = ~_observed(rows, of)
    values = zero_filled(Scaler.of(rows)(rows)) if given == "values" else np.empty((len(rows), 0))
    return _resampled(values, missing, targets, permutations, check_random_state(random_state))


def _attributes(attributes: ArrayLike | None, d: int) -> NDArray[Any]:
    """Index of each column's attribute."""
    of = np.arange(d) if attributes is None else np.asarray(attributes)
    if of.shape != (d,):
        raise ValueError(f"attributes names the attribute of each of the {d} columns, not {of.shape}")
    return of


def _split(rows: Floats, of: NDArray[Any], attribute: int) -> tuple[Floats, Floats]:
    """For the rows in which an attribute is observed: the other attributes' columns, and its own."""
    own = of == attribute
    if not own.any():
        known = np.unique(of)
        raise ValueError(f"attribute is a number from {known[0]} to {known[-1]}, not {attribute}")
    having = _observed(rows[:, own], of[own])[:, 0]
    if having.sum() < 3:
        raise ValueError(f"attribute {attribute} is observed in fewer than 3 rows")
    targets = rows[np.ix_(having, own)]
    return rows[np.ix_(having, ~own)], zero_filled(targets - np.nanmean(targets, axis=0))


def _observed(rows: Floats, of: NDArray[Any]) -> Bools:
    """Which attributes are observed in which rows: shape (n, attributes), in the order of their indices."""
    seen = [(~np.isnan(rows[:, of == number])).any(axis=1) for number in np.unique(of)]
    return np.array(seen, dtype=bool).reshape(-1, len(rows)).T


def _columns(y: NDArray[Any]) -> Floats:
    """Numbers as one column, classes as an indicator column each."""
    assert_all_finite(y, input_name="y")
    if y.dtype.kind == "f":
        return np.asarray(y, dtype=np.float64)[:, np.newaxis]
    return np.asarray(y[:, np.newaxis] == np.unique(y), dtype=np.float64)


def _resampled(
    values: Floats, missing: Bools, targets: Floats, permutations: int, rng: np.random.RandomState
) -> MCARTest:
    indicators = np.unique(missing[:, missing.std(axis=0) > 0].astype(np.float64), axis=1)
    off = targets - targets.mean(axis=0)
    if not indicators.shape[1] or not (off * off).sum() > 0:
        return MCARTest(0.0, 1.0, np.zeros(permutations))
    reduced, full = _Ridge(values), _Ridge(np.hstack([values, indicators]))
    # Leave-one-out: with as many columns as rows, a fit on all rows has no residuals.
    residuals = reduced.residuals(off) if values.shape[1] else off
    fitted = off - residuals

    def gains(Y: Floats) -> Floats:
        """The statistic of targets of shape (n, resamplings, columns)."""
        flat = Y.reshape(len(Y), -1)
        errors = [
            (model.residuals(flat) ** 2).sum(axis=0).reshape(Y.shape[1:]).sum(axis=1)
            for model in (full, reduced)
        ]
        shares: Floats = 1.0 - errors[0] / errors[1]
        return shares

    draws = _flipped if values.shape[1] else _permuted
    statistic = float(gains(off[:, np.newaxis])[0])
    blocks = draws(residuals, permutations, max(1, BLOCK // off.size), rng)
    permuted = np.concatenate([gains(fitted[:, np.newaxis] + block) for block in blocks])
    # A small tolerance, so that the same fit in another order of rows counts as reaching it.
    reached = int((permuted >= statistic - 1e-12).sum())
    return MCARTest(statistic, (1 + reached) / (1 + permutations), permuted)


def _permuted(residuals: Floats, times: int, size: int, rng: np.random.RandomState) -> Iterator[Floats]:
    """Permuted residuals, in blocks of shape (n, at most size, columns)."""
    for start in range(0, times, size):
        orders = [rng.permutation(len(residuals)) for _ in range(min(size, times - start))]
        yield residuals[np.array(orders).T]


def _flipped(residuals: Floats, times: int, size: int, rng: np.random.RandomState) -> Iterator[Floats]:
    """Residuals with a random sign for each row, in blocks of shape (n, at most size, columns)."""
    for start in range(0, times, size):
        signs = rng.choice([-1.0, 1.0], (min(size, times - start), len(residuals)))
        yield signs.T[:, :, np.newaxis] * residuals[:, np.newaxis]


class _Ridge:
    """Ridge regression with an intercept, for many targets on the same columns."""

    def __init__(self, columns: Floats) -> None:
        spread = columns.std(axis=0)
        varying = spread > 1e-12
        Z = (columns - columns.mean(axis=0))[:, varying] / spread[varying]
        n = len(Z)
        self._basis, sizes, _ = np.linalg.svd(Z, full_matrices=False)
        self._shrunk = sizes**2 / (sizes**2 + RIDGE * n)
        leverage = 1.0 / n + (self._basis**2) @ self._shrunk
        self._left = np.maximum(1.0 - leverage, 1e-9)[:, np.newaxis]

    def residuals(self, Y: Floats) -> Floats:
        """Leave-one-out residuals."""
        fitted = Y.mean(axis=0) + (self._basis * self._shrunk) @ (self._basis.T @ Y)
        left: Floats = (Y - fitted) / self._left
        return left
