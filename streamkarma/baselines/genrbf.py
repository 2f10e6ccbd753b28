"""genRBF: an RBF kernel for incomplete points [S, Theorem 3.1]."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Bools, Floats
from streamkarma.baselines.base import WeightedClassifier
from streamkarma.baselines.density import STACK, Gauss
from streamkarma.baselines.machines import Kernels, fit_gram
from streamkarma.baselines.progress import Progress
from streamkarma.baselines.tables import Scaler, patterns
from streamkarma.baselines.tuning import WIDTHS, Choice, candidates


class Gaussians(NamedTuple):
    """Points as Gaussian densities; points with the same missingness pattern share a covariance.

    Attributes
    ----------
    means
        Array of shape (n, d).
    of
        Array of shape (n,): index of each point's covariance.
    covariances
        Array of shape (patterns, d, d), positive semidefinite; zero for a point.
    """

    means: Floats
    of: NDArray[np.intp]
    covariances: Floats


def gram(rows: Gaussians, columns: Gaussians | None = None, *, width: float) -> Floats:
    """Kernel matrix between Gaussian points N(m, S) and N(n, T).

    The scalar product in L² of the two densities, each convolved with N(0, I / (4 width)) and
    divided by its norm. With w the width and δ = m - n, it is
    ``(det(I + 4w S) det(I + 4w T))^¼ det M^-½ exp(-w δ' M^-1 δ)``, ``M = I + 2w (S + T)``.
    For complete points, S = T = 0, it is the RBF kernel ``exp(-w ‖δ‖²)``.

    Parameters
    ----------
    rows, columns
        The points; ``columns`` defaults to ``rows``.
    width
        w, above 0.

    Returns
    -------
    Array of shape (rows, columns).
    """
    same = columns is None
    m, of, S = rows
    n, to, T = rows if columns is None else columns
    eye = np.eye(m.shape[1])
    norms_S = np.linalg.slogdet(eye + 4 * width * S)[1]
    norms_T = np.linalg.slogdet(eye + 4 * width * T)[1]
    K = np.empty((len(m), len(n)))
    order = np.argsort(to, kind="stable")
    starts = np.searchsorted(to[order], np.arange(len(T) + 1))
    size = max(1, STACK // eye.size)
    for p in range(len(S)):
        here = np.flatnonzero(of == p)
        # The matrix of points with themselves is symmetric: patterns before p are done.
        for start in range(p if same else 0, len(T), size):
            stop = min(start + size, len(T))
            there = order[starts[start] : starts[stop]]
            M = eye + 2 * width * (S[p] + T[start:stop])
            logs = 0.25 * (norms_S[p] + norms_T[start:stop]) - 0.5 * np.linalg.slogdet(M)[1]
            inverses = np.linalg.inv(M)
            local = to[there] - start
            for row in here:
                away = n[there] - m[row]
                leaning = np.matmul(inverses[local], away[:, :, np.newaxis])[:, :, 0]
                K[row, there] = np.exp(logs[local] - width * (leaning * away).sum(axis=1))
            if same:
                K[np.ix_(there, here)] = K[np.ix_(here, there)].T
    return K


class GenRBFClassifier(WeightedClassifier):
    """A support vector machine with genRBF, Śmieja et al.'s kernel for incomplete points.

    An incomplete point is represented by the conditional Gaussian of its missing values given the observed
    ones, under a Gaussian fitted to the data by EM. The kernel is the normalised scalar product of the
    smoothed densities, see ``gram``. On complete data it is the RBF kernel.

    Parameters
    ----------
    width
        Width of the kernel, ``exp(-width ‖x - x'‖²)`` for points, [S]'s γ = 1 / 4σ²; a sequence to choose
        from, such as ``tuning.SMIEJA_WIDTH``; None for 0.1 / d or 1 / d. It is chosen on random held-out
        quarters, together with C ([S] uses an inner cross-validation).
    C
        As in ``ImputedClassifier``; the grid of [S] is ``tuning.SMIEJA_C``.
    whiten
        Use the Mahalanobis distance of the fitted Gaussian, as in the code of [S]'s authors (the text speaks
        of normalised data, with whitening as an example, Section 3.1); False for the Euclidean distance.
    scale
        Standardise each column by its observed values first.
    random_state
        Seed of the held-out quarters.
    verbose
        Print the steps on standard error.

    Attributes
    ----------
    density_
        The fitted ``Gauss``.
    width_, C_
        The values used.

    Notes
    -----
    All pairs of missingness patterns are processed once per width: O(p² d³) for p patterns and O(n² d²) for n
    rows. Three classes or more are handled one against the rest; [S] has two. The density is fitted only to
    the rows of ``fit`` (Section 4.1).

    References
    ----------
    [S] Śmieja, Struski, Tabor: Generalized RBF kernel for incomplete data, arXiv 1612.01480.

    Examples
    --------
    >>> X = np.array([[1.0, np.nan], [2.0, 1.0], [-1.0, -1.0], [np.nan, -2.0]])
    >>> GenRBFClassifier(width=0.5, C=1.0).fit(X, [1, 1, 0, 0]).predict([[1.5, np.nan]])
    array([1])
    """

    def __init__(
        self,
        width: Choice = None,
        C: Choice = None,
        whiten: bool = True,
        scale: bool = True,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.width = width
        self.C = C
        self.whiten = whiten
        self.scale = scale
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, X: Floats, Y: Floats, weights: Floats | None) -> None:
        self._scaler = Scaler.of(X, scale=self.scale)
        rows = self._scaler(X)
        widths = candidates("width", self.width, [factor / X.shape[1] for factor in WIDTHS])
        self.density_ = Gauss().fit(rows)
        self._say(f"density fitted in {len(self.density_.log_likelihoods_) - 1} steps")
        self._metric = self._whitening() if self.whiten else None
        self._points = self._described(rows)
        self._progress = Progress(self._say, len(widths), "kernels computed")
        kernels = Kernels(widths, lru_cache(None)(self._kernel))
        self.width_, self.machine_ = fit_gram("gram-svm", kernels, self._holdout(Y, weights), self.C)
        self.C_ = self.machine_.C

    def _kernel(self, width: float) -> Floats:
        K = gram(self._points, width=width)
        self._progress.step()
        return K

    def _scores(self, X: Floats) -> Floats:
        points = self._described(self._scaler(X))
        return self.machine_.scores(gram(points, self._points, width=self.width_))

    def _whitening(self) -> Floats:
        values, vectors = np.linalg.eigh(self.density_.covariance_)
        # Directions without variance are left out of the distance; otherwise they would dominate it.
        kept = values > 1e-5 * values.max()
        return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))

    def _described(self, rows: Floats) -> Gaussians:
        """The rows as Gaussian points."""
        found = patterns(rows)
        observed: Bools = found.observed
        means, spreads = self.density_.complete(rows), self.density_.spreads(observed)
        if self._metric is not None:
            means = means @ self._metric
            spreads = self._metric.T @ spreads @ self._metric
        return Gaussians(means, found.of, spreads)
