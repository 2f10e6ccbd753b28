"""KARMA as a batch method: its kernel in front of a support vector machine [H, Section 5]."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamkarma.baselines.base import Baseline, BaselineClassifier, BaselineRegressor
from streamkarma.baselines.machines import Machine, chosen, grid
from streamkarma.baselines.tables import Floats, Scaler, zero_filled

#: The orders that [H] chooses from.
GAMMAS = (1, 2, 3, 4)


class _BatchKARMA(Baseline):
    def __init__(self, gamma: int | None = None, C: float | None = None, normalize: bool = True,
                 bias: bool = True, attributes: ArrayLike | None = None, scale: bool = True,
                 random_state: Any = 0) -> None:  # fmt: skip
        self.gamma = gamma
        self.C = C
        self.normalize = normalize
        self.bias = bias
        self.attributes = attributes
        self.scale = scale
        self.random_state = random_state

    def _learn(self, X: Floats, Y: Floats) -> None:
        if self.gamma is not None and not (self.gamma >= 1 and self.gamma == int(self.gamma)):
            raise ValueError(f"gamma is an integer of 1 or more, or None to have it chosen; not {self.gamma}")
        self._groups = self._grouped(X.shape[1])
        self._scaler = Scaler.of(X, scale=self.scale)
        self._values, self._observed = self._described(X)
        products, overlaps = self._pairs(self._values, self._observed)
        orders = GAMMAS if self.gamma is None else (int(self.gamma),)
        settings = [(order, C) for order in orders for C in grid(self.C)]
        kind = "gram-ridge" if self._squared else "gram-svm"
        grams: dict[int, Floats] = {}

        def gram(order: int) -> Floats:
            if order not in grams:
                # One at a time is kept: a matrix of n × n numbers is what costs memory here.
                grams.clear()
                grams[order] = self._kernel(products, overlaps, order)
            return grams[order]

        def trial(setting: tuple[int, float], rest: NDArray[Any], quarter: NDArray[Any]) -> Floats:
            K = gram(setting[0])
            machine = Machine(kind, setting[1]).fit(K[np.ix_(rest, rest)], Y[rest])
            return machine.scores(K[np.ix_(quarter, rest)])

        default = (2 if self.gamma is None else int(self.gamma), self.C or 1.0)
        self.gamma_, self.C_ = chosen(settings, default, trial, Y, self._squared, self._rng())
        self.machine_ = Machine(kind, self.C_).fit(gram(self.gamma_), Y)

    def _scores(self, X: Floats) -> Floats:
        products, overlaps = self._pairs(*self._described(X))
        return self.machine_.scores(self._kernel(products, overlaps, self.gamma_, X))

    def _grouped(self, d: int) -> Floats:
        """Array of shape (d, attributes): 1 where a column belongs to an attribute, per column."""
        of = np.arange(d) if self.attributes is None else np.asarray(self.attributes)
        if of.shape != (d,):
            raise ValueError(f"attributes names the attribute of each of the {d} columns, not {of.shape}")
        return np.asarray(of[:, np.newaxis] == np.unique(of), dtype=np.float64)

    def _described(self, X: Floats) -> tuple[Floats, Floats]:
        """Values with 0 for what is missing, and which attributes are observed (1 or 0)."""
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
        norms = _norms(self._values, self._observed, order)
        if not self.normalize:
            # Only the scale of C changes: one grid then serves every order and any units.
            return np.asarray(K / (norms @ norms / len(norms)))
        rows = norms if X is None else _norms(*self._described(X), order)
        return np.asarray(K / (rows[:, np.newaxis] * norms))


def growth(overlaps: Floats, order: int) -> Floats:
    """G(n) = 1 + n + … + n^(order-1), for a whole array."""
    total = np.ones_like(overlaps)
    for _ in range(order - 1):
        total = total * overlaps + 1.0
    return total


def _norms(values: Floats, observed: Floats, order: int) -> Floats:
    squares = (values * values).sum(axis=1) * growth(observed.sum(axis=1), order)
    # A row with nothing but zeros has no norm; its kernel values are 0 whatever it is divided by.
    return np.where(squares > 0, np.sqrt(squares), 1.0)


class BatchKARMAClassifier(_BatchKARMA, BaselineClassifier):
    """A support vector machine with KARMA's kernel.

    ``k((x, o), (x', o')) = G(|o ∩ o'|) Σ_{i ∈ o ∩ o'} x_i x'_i`` with
    ``G(n) = 1 + n + … + n^(γ-1)`` [H, Theorem 4], and
    ``min ½‖v‖² + C Σ_i max(0, 1 - y_i (v·φ(x_i) + b))``.

    Parameters
    ----------
    gamma
        Order of the kernel, 1 or more (1 is 0-imputation); None, the default, for the best
        of 1, 2, 3, 4 on held-out quarters, together with C, as in [H].
    C
        As of ``ImputedClassifier``.
    normalize
        Divide the kernel by sqrt(k(x, x) k(x', x')), so that one grid of C serves every γ.
    bias
        Add an attribute that is always observed and 1, as streamkarma's online learner does.
    attributes
        Array of shape (d,): the attribute of each column, where several columns describe
        one (the categories of a string); |o ∩ o'| counts attributes. None: each its own.
    scale
        Standardise each column by its observed values first.
    random_state
        Seed of the held-out quarters.

    Attributes
    ----------
    gamma_, C_
        What was used.

    Notes
    -----
    Three classes or more are one against the rest; [H] does not say which multiclass form
    it used. The kernel of all pairs is held: 8 n² bytes, three times while fitting.

    References
    ----------
    [H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.

    Examples
    --------
    >>> X = np.array([[1.0, np.nan], [np.nan, 1.0], [-1.0, -1.0], [np.nan, -1.0]])
    >>> BatchKARMAClassifier(gamma=2, C=1.0).fit(X, [1, 1, 0, 0]).predict([[2.0, np.nan]])
    array([1])
    """


class BatchKARMARegressor(_BatchKARMA, BaselineRegressor):
    """Kernel ridge regression with KARMA's kernel: ``min ½‖v‖² + C Σ_i (y_i - v·φ(x_i) - b)²``.

    Parameters
    ----------
    gamma, C, normalize, bias, attributes, scale, random_state
        As of ``BatchKARMAClassifier``. b is the mean of the targets.
    """

    def __init__(self, gamma: int | None = None, C: float | None = None, normalize: bool = False,
                 bias: bool = True, attributes: ArrayLike | None = None, scale: bool = True,
                 random_state: Any = 0) -> None:  # fmt: skip
        # A normalised event cannot say how large it is, which a number mostly hangs on.
        super().__init__(gamma, C, normalize, bias, attributes, scale, random_state)
