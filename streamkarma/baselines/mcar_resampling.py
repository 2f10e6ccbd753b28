"""The test of ``baselines.mcar``, for tables that are known to be valid.

``profile`` runs it on its own sample. The public function is elsewhere because it checks its arguments with
scikit-learn, whose import takes longer than the rest of most runs of ``profile``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Bools, Floats
from streamkarma.baselines.tables import Scaler, zero_filled

#: Ridge penalty per row on standardised columns, which keeps collinear columns solvable.
RIDGE = 1e-3

#: Numbers in a block of resampled targets: tens of megabytes.
BLOCK = 4_000_000


class MCARTest(NamedTuple):
    """The result of the test.

    Parameters
    ----------
    statistic
        The share of the squared error that 'missing' removes, with each row predicted by a fit on the others:
        1 - (with it) / (without it). At most 1, negative if it makes the predictions worse.
    p_value
        Share of resampled targets, including the original one, that reach the statistic. If it is small,
        missingness is informative about the target, and so not completely at random.
    permuted
        Array of shape (permutations,): the statistic of each resampled target.

    Examples
    --------
    >>> MCARTest(0.5, 0.001, np.zeros(999))
    MCARTest(statistic=0.5, p_value=0.001, permuted=<999 permutations>)
    """

    statistic: float
    p_value: float
    permuted: Floats

    def __repr__(self) -> str:
        found = f"statistic={self.statistic:.4g}, p_value={self.p_value:.4g}"
        return f"MCARTest({found}, permuted=<{len(self.permuted)} permutations>)"


def without_attribute(rows: Floats, of: NDArray[Any], attribute: int) -> tuple[Floats, Floats]:
    """For the rows in which an attribute is observed: the columns of the others, and its own as targets."""
    own = of == attribute
    if not own.any():
        known = np.unique(of)
        raise ValueError(f"attribute must be a number from {known[0]} to {known[-1]}, not {attribute}")
    having = _observed(rows[:, own], of[own])[:, 0]
    if having.sum() < 3:
        raise ValueError(f"attribute {attribute} is observed in fewer than 3 rows")
    targets = rows[np.ix_(having, own)]
    return rows[np.ix_(having, ~own)], zero_filled(targets - np.nanmean(targets, axis=0))


def _observed(rows: Floats, of: NDArray[Any]) -> Bools:
    """Which attributes are observed in which rows: shape (n, attributes), in the order of their indices."""
    seen = [(~np.isnan(rows[:, of == number])).any(axis=1) for number in np.unique(of)]
    return np.array(seen, dtype=bool).reshape(-1, len(rows)).T


def target_columns(y: NDArray[Any]) -> Floats:
    """Numbers as one column, classes as an indicator column each."""
    if y.dtype.kind == "f":
        return np.asarray(y, dtype=np.float64)[:, np.newaxis]
    return np.asarray(y[:, np.newaxis] == np.unique(y), dtype=np.float64)


def resampled_test(
    rows: Floats,
    of: NDArray[Any],
    targets: Floats,
    given: str,
    permutations: int,
    rng: np.random.RandomState,
) -> MCARTest:
    """The test whether 'missing' in ``rows`` predicts ``targets``.

    Parameters
    ----------
    rows
        Array of shape (n, d), NaN for missing values.
    of
        Array of shape (d,): index of the attribute of each column.
    targets
        Array of shape (n, columns), as ``target_columns`` and ``without_attribute`` return them.
    given, permutations, rng
        As in ``mcar_test``.
    """
    missing = ~_observed(rows, of)
    values = zero_filled(Scaler.of(rows)(rows)) if given == "values" else np.empty((len(rows), 0))
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
