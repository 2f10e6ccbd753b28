"""Calibration of the scores of several classes: a slope and an intercept for each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from streamkarma.arrays import Floats
from streamkarma.baselines.machines import NEVER
from streamkarma.baselines.tables import Scaler
from streamkarma.regret.losses import STRENGTH


class Calibration:
    """The map of scores ``a_c s_c + b_c`` that is best in the multinomial logistic loss.

    It minimises ``½‖a‖² + C Σ_i weight_i loss_i`` over standardised columns, with C = ``STRENGTH``. A class
    without rows stays below all others.

    Parameters
    ----------
    scores
        Array of shape (n, classes), finite.
    codes
        Array of shape (n,): the class of each row.
    weights
        Weights of the rows, above 0, shape (n,); None for 1 each.

    Examples
    --------
    >>> scores = np.array([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 3.0], [3.0, 0.0, 0.0]])
    >>> calibrated = Calibration(scores, np.array([0, 1, 2, 1]))
    >>> np.exp(log_softmax(calibrated(scores), axis=1)).round(2)[0].tolist()
    [0.5, 0.5, 0.0]
    """

    def __init__(self, scores: Floats, codes: NDArray[np.intp], weights: Floats | None = None) -> None:
        self._there = np.unique(codes)
        self._scaler = Scaler.of(scores, weights=weights)
        Z = self._scaler(scores)[:, self._there]
        Y = (codes[:, np.newaxis] == self._there).astype(np.float64)
        shares = np.full(len(Z), 1.0) if weights is None else weights
        total = float(shares.sum())
        shares = shares / total
        k = len(self._there)

        def loss(p: Floats) -> tuple[float, Floats]:
            logs = log_softmax(p[:k] * Z + p[k:], axis=1)
            off = shares[:, np.newaxis] * (np.exp(logs) - Y)
            penalty = p[:k] / (STRENGTH * total)
            value = 0.5 * float(penalty @ p[:k]) - float(shares @ (logs * Y).sum(axis=1))
            return value, np.concatenate([(off * Z).sum(axis=0) + penalty, off.sum(axis=0)])

        # Without slopes the shares of the classes are best.
        start = np.concatenate([np.zeros(k), np.log(shares @ Y)])
        options = {"maxiter": 1000, "ftol": 1e-13, "gtol": 1e-9}
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x
        self._slopes, self._intercepts = found[:k], found[k:]

    def __call__(self, scores: Floats) -> Floats:
        known = self._slopes * self._scaler(scores)[:, self._there] + self._intercepts
        every = np.repeat(known.min(axis=1, keepdims=True) + np.log(NEVER), scores.shape[1], axis=1)
        every[:, self._there] = known
        return every
