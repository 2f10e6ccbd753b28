"""mc1 and mcb: transduction by matrix completion (Goldberg et al. 2010).

Examples and labels are one matrix Z (here examples are its rows), of low rank if labels are
linear in the features; what is not known of it, features and new labels, is completed at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from streamkarma.baselines.base import Baseline, BaselineClassifier, BaselineRegressor
from streamkarma.baselines.tables import Floats, Scaler, zero_filled
from streamkarma.baselines.tuning import FEWEST, error, held_out

#: Factor from one μ of the continuation to the next, and from the first singular value to the
#: first μ [Goldberg et al., Section 3.3].
DECAY = 0.25

#: The values of λ that a holdout chooses from, smallest first.
LABEL_WEIGHTS = (0.01, 0.1, 1.0, 10.0)


class Problem(NamedTuple):
    """What is known of the matrix, and how the labels enter.

    Attributes
    ----------
    Y
        Array of shape (n, m): labels, -1 or 1 or numbers, NaN where they are to be found.
    X
        Array of shape (n, d): features, NaN where they are missing.
    ones
        mc1: a column of ones is part of the matrix, as the bias. Otherwise, mcb, each label
        column has a bias of its own outside of it.
    squared
        Squared loss on labels, instead of the logistic loss.
    """

    Y: Floats
    X: Floats
    ones: bool
    squared: bool

    def loss(self, Z: Floats, b: Floats, weight: float) -> float:
        """The smooth part: λ/|Ω_Y| Σ c_y(z + b, y) + 1/|Ω_X| Σ ½ (z - x)²."""
        m, d = self.Y.shape[1], self.X.shape[1]
        labelled, seen = ~np.isnan(self.Y), ~np.isnan(self.X)
        scores, known = (Z[:, :m] + b)[labelled], self.Y[labelled]
        losses = 0.5 * (scores - known) ** 2 if self.squared else np.logaddexp(0, -known * scores)
        features = 0.5 * (Z[:, m : m + d] - self.X)[seen] ** 2
        return weight * _mean(losses) + _mean(features)

    def slope(self, Z: Floats, b: Floats, weight: float) -> tuple[Floats, Floats]:
        """Gradients of ``loss`` in Z and in b."""
        m, d = self.Y.shape[1], self.X.shape[1]
        labelled, seen = ~np.isnan(self.Y), ~np.isnan(self.X)
        g = np.zeros_like(Z)
        scores = Z[:, :m] + b
        pull = scores - self.Y if self.squared else -self.Y * expit(-self.Y * scores)
        g[:, :m] = np.where(labelled, pull, 0.0) * (weight / max(labelled.sum(), 1))
        g[:, m : m + d] = np.where(seen, Z[:, m : m + d] - self.X, 0.0) / max(seen.sum(), 1)
        return g, g[:, :m].sum(axis=0)


class Completed(NamedTuple):
    """The matrix at one μ of the path: Z with labels first, b, and the objective's course."""

    mu: float
    Z: Floats
    b: Floats
    objectives: list[float]


def complete(
    problem: Problem, weight: float, mu: float, tol: float, max_iter: int, say: Any = lambda text: None
) -> list[Completed]:
    """Fixed-point continuation: proximal gradient steps while μ falls from σ_1/4 to ``mu``.

    Steps are those of the paper: τ_Z = min(3.8 |Ω_Y| / λ, |Ω_X|) and τ_b = 4 |Ω_Y| / (λ n),
    for the squared loss on labels a quarter of them (its curvature is 1, not ¼).

    Parameters
    ----------
    problem
        The matrix.
    weight
        λ, above 0.
    mu
        Least weight of the nuclear norm, where the path ends.
    tol
        Steps at one μ end when the objective falls by less than this share of it.
    max_iter
        Most steps at one μ.
    say
        Is told the progress.

    Returns
    -------
    One ``Completed`` per μ, in falling order.
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
    done = []
    for at in path:
        objectives = [problem.loss(Z, b, weight) + at * _nuclear(Z)]
        for _ in range(max_iter):
            g, g_b = problem.slope(Z, b, weight)
            Z, norm = _shrunk(Z - step * g, step * at)
            b = b - step_b * g_b
            if ones:
                Z[:, -1] = 1.0
                norm = _nuclear(Z)
            objectives.append(problem.loss(Z, b, weight) + at * norm)
            if objectives[-2] - objectives[-1] <= tol * abs(objectives[-2]):
                break
        say(f"mu {at:.2g}: {len(objectives) - 1} steps, objective {objectives[-1]:.6g}")
        done.append(Completed(at, Z.copy(), b.copy(), objectives))
    return done


def _rank_one(problem: Problem) -> Floats:
    """The best approximation of rank one to the matrix with 0 for what is not known."""
    parts = [zero_filled(problem.Y), zero_filled(problem.X)]
    if problem.ones:
        parts.append(np.ones((len(problem.Y), 1)))
    U, s, Vt = np.linalg.svd(np.hstack(parts), full_matrices=False)
    Z: Floats = s[0] * np.outer(U[:, 0], Vt[0])
    if problem.ones:
        Z[:, -1] = 1.0
    return Z


def _shrunk(A: Floats, by: float) -> tuple[Floats, float]:
    """A with each singular value less by ``by``, 0 at least; and the sum of what they are then."""
    if A.shape[0] < A.shape[1]:
        Z, norm = _shrunk(A.T, by)
        return Z.T, norm
    # A is tall: from the small product A'A, several times as fast as a full decomposition.
    squares, V = np.linalg.eigh(A.T @ A)
    s = np.sqrt(np.maximum(squares, 0.0))
    left = np.maximum(s - by, 0.0)
    kept = left > 0
    return A @ (V[:, kept] * (left[kept] / s[kept])) @ V[:, kept].T, float(left.sum())


def _nuclear(Z: Floats) -> float:
    small = Z.T @ Z if Z.shape[0] >= Z.shape[1] else Z @ Z.T
    return float(np.sqrt(np.maximum(np.linalg.eigvalsh(small), 0.0)).sum())


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else 0.0


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
                raise ValueError(f"{name} is a number above 0, or None to have it chosen; not {value}")
        self._scaler = Scaler.of(X, scale=self.scale)
        self._X = self._scaler(X)
        # Numbers are standardised as well: the norm of the matrix weighs all columns alike.
        self._shift = Y.mean(axis=0) if self._squared else np.zeros(Y.shape[1])
        spread = Y.std(axis=0) if self._squared else np.ones(Y.shape[1])
        self._spread = np.where(spread > 0, spread, 1.0)
        self._Y = (Y - self._shift) / self._spread
        self.weight_, self.mu_ = self._chosen()
        path = self._path(self._Y, self._X, self.weight_, self.mu_)
        self.n_iter_ = max(len(at.objectives) - 1 for at in path)

    def _chosen(self) -> tuple[float, float]:
        """λ, and the μ of the path where hidden labels are met best."""
        weights = LABEL_WEIGHTS if self.weight is None else (self.weight,)
        _, quarter = held_out(self._Y, self._squared, self._rng())
        if (self.weight and self.mu) or len(self._Y) < FEWEST or not len(quarter):
            return self.weight or 1.0, self.mu or 1e-4
        shown = self._Y.copy()
        shown[quarter] = np.nan
        # Many settings err equally often; of those the one whose scores say so most clearly.
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
        """The logistic loss is that of each label by itself; several are made to sum to 1."""
        shares: Floats = expit(self._scores(X))
        return shares if shares.shape[1] == 1 else shares / shares.sum(axis=1, keepdims=True)


class MCBClassifier(_Completion, BaselineClassifier):
    """mcb: matrix completion with labels as columns, each with a bias of its own.

    ``min μ ‖Z‖_* + λ/|Ω_Y| Σ log(1 + exp(-y (z + b))) + 1/|Ω_X| Σ ½ (z - x)²``, over Z and b,
    by fixed-point continuation (Goldberg et al., Eq. 2 and Algorithm 1).

    Parameters
    ----------
    weight
        λ, above 0; None to choose one of 0.01 … 10 on a random quarter of the labels hidden.
    mu
        Weight of the nuclear norm, above 0; None to choose it from the continuation's path
        (from a quarter of the first singular value down to 1e-5, each a quarter of the one
        before) in the same way.
    tol
        Steps at one μ end when the objective changes by less than this share; [H] used 1e-5.
    max_iter
        Most steps at one μ.
    scale
        Standardise each column by its observed values first.
    random_state
        Seed of the hidden quarter.
    verbose
        Print each μ on standard error.

    Notes
    -----
    It is transductive: the rows to be predicted are part of the matrix, so answers depend on
    what they come with, and ``predict`` is where the work is done. Three classes or more are a
    column of labels each, as in [H], whose matrix of labels has 1 and 0: the logistic loss of such
    a label, log(1 + e^z) - yz, is the same function as with 1 and -1. Features here are columns
    (the paper has them as rows).

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

    As ``MCBClassifier``, but b = 0 and the matrix has a last column that is 1 for every example
    (Goldberg et al., Eq. 3): after each shrinkage it is set to 1 again, as in the paper. That
    is a heuristic projection, under which the objective need not fall in every step.

    Parameters
    ----------
    weight, mu, tol, max_iter, scale, random_state, verbose
        As in ``MCBClassifier``.
    """

    _ones = True


class MCBRegressor(_Completion, BaselineRegressor):
    """mcb with the squared loss on labels, which are standardised first.

    Parameters
    ----------
    weight, mu, tol, max_iter, scale, random_state, verbose
        As in ``MCBClassifier``.
    """

    _ones = False


class MC1Regressor(_Completion, BaselineRegressor):
    """mc1 with the squared loss on labels, which are standardised first.

    Parameters
    ----------
    weight, mu, tol, max_iter, scale, random_state, verbose
        As in ``MCBClassifier``.
    """

    _ones = True
