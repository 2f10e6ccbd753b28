"""mc1 and mcb: transduction by matrix completion (Goldberg et al. 2010).

Examples and labels form one matrix Z (here with examples as rows), which has low rank if the labels are
linear in the features. Its unknown entries, missing features and new labels, are completed together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from streamkarma.arrays import Floats
from streamkarma.baselines.base import Baseline, BaselineClassifier, BaselineRegressor
from streamkarma.baselines.tables import Scaler, zero_filled
from streamkarma.baselines.tuning import FEWEST, error, held_out

#: Factor from one μ of the continuation to the next, and from the first singular value to the
#: first μ [Goldberg et al., Section 3.3].
DECAY = 0.25

#: Candidate values of λ, smallest first, chosen by holdout.
LABEL_WEIGHTS = (0.01, 0.1, 1.0, 10.0)


class Problem(NamedTuple):
    """The known entries of the matrix, and the treatment of the labels.

    Attributes
    ----------
    Y
        Array of shape (n, m): labels, -1 or 1 or numbers, NaN where unknown.
    X
        Array of shape (n, d): features, NaN where missing.
    ones
        Whether the bias is a column of ones in the matrix (mc1). Otherwise each label column has its own bias
        outside the matrix (mcb).
    squared
        Whether labels have the squared instead of the logistic loss.
    """

    Y: Floats
    X: Floats
    ones: bool
    squared: bool


class _Smooth:
    """The smooth part of the objective: λ/|Ω_Y| Σ c_y(z + b, y) + 1/|Ω_X| Σ ½ (z - x)²."""

    def __init__(self, problem: Problem, weight: float) -> None:
        labelled, seen = ~np.isnan(problem.Y), ~np.isnan(problem.X)
        self._squared = problem.squared
        self._Y, self._X = zero_filled(problem.Y), zero_filled(problem.X)
        # The weight of each entry, 0 if it is unknown.
        self._weights = labelled * (weight / max(labelled.sum(), 1)), seen / max(seen.sum(), 1)

    def __call__(self, Z: Floats, b: Floats) -> tuple[float, Floats, Floats]:
        """Its value, and its gradients in Z and in b."""
        m, d = self._Y.shape[1], self._X.shape[1]
        of_labels, of_features = self._weights
        scores = Z[:, :m] + b
        if self._squared:
            pull = scores - self._Y
            losses = 0.5 * pull**2
        else:
            margins = self._Y * scores
            pull, losses = -self._Y * expit(-margins), np.logaddexp(0.0, -margins)
        away = Z[:, m : m + d] - self._X
        g = np.zeros_like(Z)
        g[:, :m] = of_labels * pull
        g[:, m : m + d] = of_features * away
        value = np.vdot(of_labels, losses) + 0.5 * np.vdot(g[:, m : m + d], away)
        return float(value), g, g[:, :m].sum(axis=0)


class Completed(NamedTuple):
    """The matrix at one μ of the path: Z with labels first, b, and the objective at each step."""

    mu: float
    Z: Floats
    b: Floats
    objectives: list[float]


def complete(
    problem: Problem, weight: float, mu: float, tol: float, max_iter: int, say: Any = lambda text: None
) -> list[Completed]:
    """Fixed-point continuation: proximal gradient steps while μ falls from σ_1/4 to ``mu``.

    Step sizes are those of the paper: τ_Z = min(3.8 |Ω_Y| / λ, |Ω_X|) and τ_b = 4 |Ω_Y| / (λ n), and a
    quarter of them for the squared loss on labels (whose curvature is 1, not ¼).

    Parameters
    ----------
    problem
        The matrix.
    weight
        λ, above 0.
    mu
        Smallest weight of the nuclear norm, where the path ends.
    tol
        Steps at one μ end when the objective falls by less than this fraction.
    max_iter
        Maximum number of steps at one μ.
    say
        Called with lines of progress.

    Returns
    -------
    One ``Completed`` per μ, in decreasing order.
    """
    Y, X, ones, squared = problem
    n = len(Y)
    labels, features = max(int((~np.isnan(Y)).sum()), 1), max(int((~np.isnan(X)).sum()), 1)
    curvature = 1.0 if squared else 0.25
    step = min(0.95 * labels / (weight * curvature), features)
    step_b = 0.0 if ones else labels / (weight * curvature * n)
    Z, b = _rank_one(problem), np.zeros(Y.shape[1])
    path = [max(DECAY * float(np.linalg.norm(Z, 2)), mu)]
    while path[-1] > mu:
        path.append(max(path[-1] * DECAY, mu))
    smooth = _Smooth(problem, weight)
    value, g, g_b = smooth(Z, b)
    done = []
    for at in path:
        objectives = [value + at * _nuclear(Z)]
        for _ in range(max_iter):
            Z, norm = _shrunk(Z - step * g, step * at)
            b = b - step_b * g_b
            if ones:
                Z[:, -1] = 1.0
                norm = _nuclear(Z)
            value, g, g_b = smooth(Z, b)
            objectives.append(value + at * norm)
            if objectives[-2] - objectives[-1] <= tol * abs(objectives[-2]):
                break
        say(f"mu {at:.2g}: {len(objectives) - 1} steps, objective {objectives[-1]:.6g}")
        done.append(Completed(at, Z.copy(), b.copy(), objectives))
    return done


def _rank_one(problem: Problem) -> Floats:
    """The best rank-one approximation of the matrix with 0 for unknown entries."""
    parts = [zero_filled(problem.Y), zero_filled(problem.X)]
    if problem.ones:
        parts.append(np.ones((len(problem.Y), 1)))
    U, s, Vt = np.linalg.svd(np.hstack(parts), full_matrices=False)
    Z: Floats = s[0] * np.outer(U[:, 0], Vt[0])
    if problem.ones:
        Z[:, -1] = 1.0
    return Z


def _shrunk(A: Floats, by: float) -> tuple[Floats, float]:
    """``A`` with its singular values reduced by ``by``, to no less than 0, and their new sum."""
    if A.shape[0] < A.shape[1]:
        Z, norm = _shrunk(A.T, by)
        return Z.T, norm
    # A is tall: the small product A'A is several times as fast as a full decomposition.
    squares, V = np.linalg.eigh(A.T @ A)
    s = np.sqrt(np.maximum(squares, 0.0))
    left = np.maximum(s - by, 0.0)
    kept = left > 0
    return A @ (V[:, kept] * (left[kept] / s[kept])) @ V[:, kept].T, float(left.sum())


def _nuclear(Z: Floats) -> float:
    small = Z.T @ Z if Z.shape[0] >= Z.shape[1] else Z @ Z.T
    return float(np.sqrt(np.maximum(np.linalg.eigvalsh(small), 0.0)).sum())


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
