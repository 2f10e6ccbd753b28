"""mc1 and mcb: transduction by matrix completion (Goldberg et al. 2010), see ``matrix_completion``."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from streamkarma.arrays import Floats
from streamkarma.baselines.base import Baseline, BaselineClassifier, BaselineRegressor
from streamkarma.baselines.matrix_completion import Completed, Problem, complete
from streamkarma.baselines.tables import Scaler
from streamkarma.baselines.tuning import FEWEST, error, held_out

#: Candidate values of λ, smallest first, chosen by holdout.
LABEL_WEIGHTS = (0.01, 0.1, 1.0, 10.0)


class _Completion(Baseline):
    _ones: bool

    def __init__(
        self,
        weight: float | None = None,
        mu: float | None = None,
        tol: float = 1e-5,
        max_iter: int = 2000,
        scale: bool = True,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.weight = weight
        self.mu = mu
        self.tol = tol
        self.max_iter = max_iter
        self.scale = scale
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, X: Floats, Y: Floats, weights: Floats | None) -> None:
        for name, value in (("weight", self.weight), ("mu", self.mu)):
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be a number above 0, or None to have it chosen, not {value}")
        self._scaler = Scaler.of(X, scale=self.scale)
        self._X = self._scaler(X)
        # Targets are standardised as well, because the norm of the matrix weights all columns alike.
        self._shift = Y.mean(axis=0) if self._squared else np.zeros(Y.shape[1])
        spread = Y.std(axis=0) if self._squared else np.ones(Y.shape[1])
        self._spread = np.where(spread > 0, spread, 1.0)
        self._Y = (Y - self._shift) / self._spread
        self.weight_, self.mu_ = self._chosen()
        path = self._path(self._Y, self._X, self.weight_, self.mu_)
        self.n_iter_ = max(len(at.objectives) - 1 for at in path)

    def _chosen(self) -> tuple[float, float]:
        """λ, and the μ of the path with the smallest error on hidden labels."""
        weights = LABEL_WEIGHTS if self.weight is None else (self.weight,)
        _, quarter = held_out(self._Y, self._squared, self._rng())
        if (self.weight and self.mu) or len(self._Y) < FEWEST or not len(quarter):
            return self.weight or 1.0, self.mu or 1e-4
        shown = self._Y.copy()
        shown[quarter] = np.nan
        # Many settings have the same error; the clearest scores break the tie.
        best = (np.inf, np.inf, 1.0, 1e-4)
        for weight in weights:
            for at in self._path(shown, self._X, weight, self.mu or 1e-5):
                if self.mu is None or at.mu == self.mu:
                    scores, known = (at.Z[:, : shown.shape[1]] + at.b)[quarter], self._Y[quarter]
                    wrong = error(scores, known, self._squared)
                    loss = 0.0 if self._squared else float(np.logaddexp(0, -known * scores).mean())
                    best = min(best, (wrong, loss, weight, at.mu))
        return best[2], best[3]

    def _path(self, Y: Floats, X: Floats, weight: float, mu: float) -> list[Completed]:
        problem = Problem(Y, X, self._ones, self._squared)
        return complete(problem, weight, mu, self.tol, self.max_iter, self._say)

    def _completed(self, X: Floats) -> Completed:
        Y = np.full((len(X), self._Y.shape[1]), np.nan)
        rows = np.vstack([self._X, self._scaler(X)])
        return self._path(np.vstack([self._Y, Y]), rows, self.weight_, self.mu_)[-1]

    def _scores(self, X: Floats) -> Floats:
        at = self._completed(X)
        scores = at.Z[len(self._X) :, : self._Y.shape[1]] + at.b
        return np.asarray(scores * self._spread + self._shift)

    @property
    def _has_probabilities(self) -> bool:
        return not self._squared

    def _probabilities(self, X: Floats) -> Floats:
        """Each label has its own logistic loss; the probabilities of several classes are normalised to 1."""
        shares: Floats = expit(self._scores(X))
        return shares if shares.shape[1] == 1 else shares / shares.sum(axis=1, keepdims=True)


class MCBClassifier(_Completion, BaselineClassifier):
    """mcb: matrix completion with labels as columns, each with its own bias.

    ``min μ ‖Z‖_* + λ/|Ω_Y| Σ log(1 + exp(-y (z + b))) + 1/|Ω_X| Σ ½ (z - x)²``, over Z and b,
    by fixed-point continuation (Goldberg et al., Eq. 2 and Algorithm 1).

    Parameters
    ----------
    weight
        λ, above 0; None to choose one of 0.01 … 10 by hiding a random quarter of the labels.
    mu
        Weight of the nuclear norm, above 0; None to choose it in the same way from the continuation's path,
        which goes from a quarter of the first singular value down to 1e-5, each value a quarter of the one
        before.
    tol
        Steps at one μ end when the objective changes by less than this fraction; [H] used 1e-5.
    max_iter
        Maximum number of steps at one μ.
    scale
        Standardise each column by its observed values first.
    random_state
        Seed of the hidden quarter.
    verbose
        Print each μ on standard error.

    Notes
    -----
    The method is transductive: the rows to be predicted are part of the matrix, so predictions depend on the
    other rows, and ``predict`` does the work. With three classes or more, each has a column of labels, as in
    [H]. Labels there are 1 and 0; their logistic loss, log(1 + e^z) - yz, is the same function as with 1 and
    -1. Features are columns here and rows in the paper.

    References
    ----------
    Goldberg, Zhu, Recht, Xu, Nowak: Transduction with Matrix Completion: Three Birds with One
    Stone, NIPS 2010. [H] Hazan, Livni, Mansour, ICML 2015.

    Examples
    --------
    >>> X = np.array([[1.0, 1.0], [2.0, np.nan], [-1.0, -1.0], [np.nan, -2.0]])
    >>> MCBClassifier(weight=1.0, mu=1e-3).fit(X, [1, 1, 0, 0]).predict([[1.5, np.nan]])
    array([1])
    """

    _ones = False


class MC1Classifier(_Completion, BaselineClassifier):
    """mc1: matrix completion with labels as columns, and a column of ones as the bias.

    As ``MCBClassifier``, but with b = 0 and a last column that is 1 for every example (Goldberg et al., Eq.
    3). As in the paper, it is reset to 1 after each shrinkage. This projection is heuristic: the objective
    need not fall in every step.

    Parameters
    ----------
    weight, mu, tol, max_iter, scale, random_state, verbose
        As in ``MCBClassifier``.

    Examples
    --------
    >>> X = np.array([[1.0, 1.0], [2.0, np.nan], [-1.0, -1.0], [np.nan, -2.0]])
    >>> MC1Classifier(weight=1.0, mu=1e-2).fit(X, [1, 1, 0, 0]).predict([[1.5, np.nan]])
    array([1])
    """

    _ones = True


class MCBRegressor(_Completion, BaselineRegressor):
    """mcb with the squared loss on labels, which are standardised first.

    Parameters
    ----------
    weight, mu, tol, max_iter, scale, random_state, verbose
        As in ``MCBClassifier``.

    Examples
    --------
    >>> X = np.array([[1.0, 1.0], [2.0, np.nan], [-1.0, -1.0], [np.nan, -2.0]])
    >>> MCBRegressor(weight=1.0, mu=1e-3).fit(X, [1.0, 2.0, -1.0, -2.0]).predict([[1.5, np.nan]]).round(2)
    array([0.62])
    """

    _ones = False


class MC1Regressor(_Completion, BaselineRegressor):
    """mc1 with the squared loss on labels, which are standardised first.

    Parameters
    ----------
    weight, mu, tol, max_iter, scale, random_state, verbose
        As in ``MCBClassifier``.

    Examples
    --------
    >>> X = np.array([[1.0, 1.0], [2.0, np.nan], [-1.0, -1.0], [np.nan, -2.0]])
    >>> MC1Regressor(weight=1.0, mu=1e-3).fit(X, [1.0, 2.0, -1.0, -2.0]).predict([[1.5, np.nan]]).round(2)
    array([0.75])
    """

    _ones = True
