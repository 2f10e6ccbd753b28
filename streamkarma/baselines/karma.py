"""KARMA as a batch method: a support vector machine with its kernel [H, Section 5]."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from streamkarma.arrays import Floats
from streamkarma.baselines.base import Baseline, WeightedClassifier, WeightedRegressor
from streamkarma.baselines.machines import Kernels, fit_gram
from streamkarma.baselines.tables import Scaler, zero_filled
from streamkarma.baselines.tuning import Choice
from streamkarma.core.kernel import growth

#: The candidate orders of [H].
GAMMAS = (1, 2, 3, 4)

#: The machines for several classes.
MULTICLASS = ("crammer-singer", "one-vs-rest")


class _BatchKARMA(Baseline):
    gamma: int | Sequence[int] | None
    C: Choice
    degree: int
    normalize: bool
    bias: bool
    attributes: ArrayLike | None
    scale: bool

    def _kind(self, columns: int) -> str:
        raise NotImplementedError

    def _learn(self, X: Floats, Y: Floats, weights: Floats | None) -> None:
        orders = self._orders()
        if not (self.degree >= 1 and self.degree == int(self.degree)):
            raise ValueError(f"degree must be an integer of 1 or more, not {self.degree}")
        self._groups = self._grouped(X.shape[1])
        self._scaler = Scaler.of(X, scale=self.scale, weights=weights)
        self._values, self._observed = self._described(X)
        self._weights = weights
        products, overlaps = self._pairs(self._values, self._observed)
        # [H] normalises regression targets to mean 0.
        self._mean = np.average(Y, axis=0, weights=weights) if self._squared else np.zeros(Y.shape[1])
        # Only one is kept at a time, because each takes n × n numbers.
        grams = Kernels(orders, lru_cache(1)(lambda order: self._kernel(products, overlaps, order)))
        # The constant attribute replaces the intercept; without it, the intercept is free.
        intercept = "feature" if self.bias else "free"
        holdout = self._holdout(Y - self._mean, weights)
        found = fit_gram(self._kind(Y.shape[1]), grams, holdout, self.C, intercept, default=2)
        self.gamma_, self.machine_ = found
        self.C_ = self.machine_.C

    def _orders(self) -> tuple[int, ...]:
        given = GAMMAS if self.gamma is None else np.atleast_1d(self.gamma).tolist()
        if not given or not all(order >= 1 and order == int(order) for order in given):
            raise ValueError(
                "gamma must be an integer of 1 or more, several of them to choose from, or None; "
                f"not {self.gamma}"
            )
        return tuple(int(order) for order in given)

    def _scores(self, X: Floats) -> Floats:
        products, overlaps = self._pairs(*self._described(X))
        return self.machine_.scores(self._kernel(products, overlaps, self.gamma_, X)) + self._mean

    def _grouped(self, d: int) -> Floats:
        """Array of shape (d, attributes): 1 where a column belongs to an attribute."""
        of = np.arange(d) if self.attributes is None else np.asarray(self.attributes)
        if of.shape != (d,):
            raise ValueError(
                f"attributes must have one entry for each of the {d} columns, not the shape {of.shape}"
            )
        return np.asarray(of[:, np.newaxis] == np.unique(of), dtype=np.float64)

    def _described(self, X: Floats) -> tuple[Floats, Floats]:
        """Values with 0 where missing, and indicators of the observed attributes (1 or 0)."""
        values = zero_filled(self._scaler(X))
        observed = ((~np.isnan(X)).astype(np.float64) @ self._groups > 0).astype(np.float64)
        if self.bias:
            ones = np.ones((len(X), 1))
            return np.hstack([values, ones]), np.hstack([observed, ones])
        return values, observed

    def _pairs(self, values: Floats, observed: Floats) -> tuple[Floats, Floats]:
        return values @ self._values.T, observed @ self._observed.T

    def _kernel(self, products: Floats, overlaps: Floats, order: int, X: Floats | None = None) -> Floats:
        K: Floats = products * growth(overlaps, order)
        squares = _squares(self._values, self._observed, order)
        if self.normalize:
            rows = squares if X is None else _squares(*self._described(X), order)
            K = K / (_norms(rows)[:, np.newaxis] * _norms(squares))
        else:
            # This changes only the scale of C, so that one grid serves every order and any units.
            K = K / (np.average(squares, weights=self._weights) or 1.0)
        return K if self.degree == 1 else (1.0 + K) ** self.degree


def _squares(values: Floats, observed: Floats, order: int) -> Floats:
    """k(x, x) of each row."""
    return np.asarray((values * values).sum(axis=1) * growth(observed.sum(axis=1), order))


def _norms(squares: Floats) -> Floats:
    # A row of zeros has norm 0; its kernel values are 0 whatever the divisor.
    return np.where(squares > 0, np.sqrt(squares), 1.0)


class BatchKARMAClassifier(_BatchKARMA, WeightedClassifier):
    """A support vector machine with KARMA's kernel.

    ``k((x, o), (x', o')) = G(|o ∩ o'|) Σ_{i ∈ o ∩ o'} x_i x'_i`` with
    ``G(n) = 1 + n + … + n^(γ-1)`` [H, Theorem 4], and ``min ½‖v‖² + C Σ_i loss_i`` with the
    hinge loss ``max(0, 1 - y_i v·φ(x_i))``, or Crammer and Singer's for several classes.

    Parameters
    ----------
    gamma
        Order of the kernel, 1 or more (1 is 0-imputation); a sequence to choose from; None, the
        default, for the best of 1, 2, 3, 4 on held-out quarters, together with C, as in [H].
    C
        Weight of the losses against ½‖v‖², above 0; a sequence to choose from, such as [H]'s
        ``tuning.HAZAN_C``; None for the best of 0.01 … 100. It is in units of the mean of k(x, x)
        over the rows, so that one grid serves every γ and any units.
    degree
        Degree of a polynomial classifier over KARMA's features, ``(1 + k)^degree`` [H, Section 6],
        with k in those units; 1 for the linear one.
    normalize
        Divide the kernel by sqrt(k(x, x) k(x', x')), as the online learner does. The paper does not:
        γ = 1 is then not 0-imputation, whatever C is.
    bias
        Add an attribute that is always observed and 1, as [H] does; otherwise the machine has a
        free intercept (and several classes are handled one against the rest).
    attributes
        Array of shape (d,): the attribute of each column, if several columns describe one attribute
        (the categories of a string); |o ∩ o'| counts attributes. None if each column is its own.
    scale
        Standardise each column by its observed values first, so that its mean is 0 as in [H].
    multiclass
        For three classes or more: ``"crammer-singer"`` as in [H], or ``"one-vs-rest"``.
    random_state
        Seed of the held-out quarters.
    verbose
        Print progress on standard error.

    Attributes
    ----------
    gamma_, C_
        The values used.

    Notes
    -----
    The full kernel matrix is kept: 8 n² bytes, three times as much while fitting. [H] holds out once; here
    three random quarters are held out in turn.

    References
    ----------
    [H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.

    Examples
    --------
    >>> X = np.array([[1.0, np.nan], [np.nan, 1.0], [-1.0, -1.0], [np.nan, -1.0]])
    >>> BatchKARMAClassifier(gamma=2, C=1.0).fit(X, [1, 1, 0, 0]).predict([[2.0, np.nan]])
    array([1])
    """

    def __init__(
        self,
        gamma: int | Sequence[int] | None = None,
        C: Choice = None,
        degree: int = 1,
        normalize: bool = False,
        bias: bool = True,
        attributes: ArrayLike | None = None,
        scale: bool = True,
        multiclass: str = "crammer-singer",
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.gamma = gamma
        self.C = C
        self.degree = degree
        self.normalize = normalize
        self.bias = bias
        self.attributes = attributes
        self.scale = scale
        self.multiclass = multiclass
        self.random_state = random_state
        self.verbose = verbose

    def _kind(self, columns: int) -> str:
        if self.multiclass not in MULTICLASS:
            raise ValueError(f"multiclass must be one of {', '.join(MULTICLASS)}, not {self.multiclass!r}")
        together = columns > 1 and self.bias and self.multiclass == "crammer-singer"
        return "gram-crammer-singer" if together else "gram-svm"


class BatchKARMARegressor(_BatchKARMA, WeightedRegressor):
    """Kernel ridge regression with KARMA's kernel: ``min ½‖v‖² + C Σ_i (y_i - v·φ(x_i))²``.

    Parameters
    ----------
    gamma, C, degree, normalize, bias, attributes, scale, random_state, verbose
        As in ``BatchKARMAClassifier``. The mean of the targets is subtracted first, as in [H].

    Examples
    --------
    >>> X = np.array([[1.0, 1.0], [2.0, np.nan], [-1.0, -1.0], [np.nan, -2.0]])
    >>> BatchKARMARegressor(gamma=2, C=1e4).fit(X, [2.0, 4.0, -2.0, -4.0]).predict(X).round(1)
    array([ 2.,  4., -2., -4.])
    """

    def __init__(
        self,
        gamma: int | Sequence[int] | None = None,
        C: Choice = None,
        degree: int = 1,
        normalize: bool = False,
        bias: bool = True,
        attributes: ArrayLike | None = None,
        scale: bool = True,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.gamma = gamma
        self.C = C
        self.degree = degree
        self.normalize = normalize
        self.bias = bias
        self.attributes = attributes
        self.scale = scale
        self.random_state = random_state
        self.verbose = verbose

    def _kind(self, columns: int) -> str:
        return "gram-ridge"
