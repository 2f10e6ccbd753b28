"""Where [D]'s imputations start from: a prior imputation, and the plain machine on it.

All speak of the RBF kernel ``k(x, x') = exp(-width ‖x - x'‖²)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve
from sklearn.impute import SimpleImputer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from streamkarma.baselines.base import Baseline
from streamkarma.baselines.feature_mean import MeanFeatImputer
from streamkarma.baselines.imputers import GaussImputer, MixtureImputer
from streamkarma.baselines.machines import chosen, grid
from streamkarma.baselines.tables import Floats, Scaler

#: What ``Prior.named`` knows.
PRIORS = ("mean", "class-mean", "gauss", "gmm", "meanfeat")


@dataclass(frozen=True)
class Prior:
    """One point for each row.

    Attributes
    ----------
    imputer
        Completes later rows, whose labels are not known.
    completed
        The rows that it was learned from, completed: ω̂.
    """

    imputer: Any
    completed: Floats

    @classmethod
    def named(cls, name: str, X: Floats, codes: NDArray[Any], width: float, seed: int) -> Prior:
        """The prior of that name, learned from an incomplete table of scaled columns.

        Parameters
        ----------
        name
            One of ``PRIORS``.
        X, codes
            The table, and the class of each row (the same for all in a regression).
        width
            Of the RBF kernel, for ``"meanfeat"``.
        seed
            Of the first centres, for ``"gmm"``.
        """
        imputer: Any
        match name:
            case "mean":
                imputer = SimpleImputer(keep_empty_features=True)
            case "class-mean":
                # The mean of each class is what Definition 1 comes to for the linear kernel.
                imputer = MeanFeatImputer("linear", scale=False)
            case "gauss":
                imputer = GaussImputer()
            case "gmm":
                imputer = MixtureImputer(random_state=seed)
            case "meanfeat":
                imputer = MeanFeatImputer(width=width, scale=False)
            case _:
                raise ValueError(f"prior is one of {', '.join(PRIORS)}, not {name!r}")
        return cls(imputer, np.asarray(imputer.fit_transform(X, codes)))

    def points(self, X: Floats) -> Floats:
        """Later rows, completed."""
        return np.asarray(self.imputer.transform(X))


@dataclass(frozen=True)
class Decision:
    """A decision function ``f(x) = Σ_i c_i k(ω_i, x) + b``, the best for one kernel matrix.

    Attributes
    ----------
    c, b
        Its coefficients and its intercept.
    value
        ``½‖f‖² + Σ_i C_i loss(y_i, f(x_i))``.
    """

    c: Floats
    b: float
    value: float

    @classmethod
    def of(cls, K: Floats, y: Floats, C: Floats, squared: bool) -> Decision:
        """A support vector machine, or kernel ridge regression without an intercept; C of each row."""
        b = 0.0
        if squared:
            c = np.asarray(solve(K + np.diag(0.5 / C), y, assume_a="pos"))
            losses = (y - K @ c) ** 2
        else:
            # Tight, since a search compares objectives.
            svm = SVC(kernel="precomputed", C=1.0, tol=1e-5).fit(K, y, sample_weight=C)
            c, b = np.zeros(len(K)), float(svm.intercept_[0])
            c[svm.support_] = svm.dual_coef_[0]
            losses = np.maximum(0.0, 1.0 - y * (K @ c + b))
        return cls(c, b, 0.5 * float(c @ K @ c) + float(C @ losses))


@dataclass(frozen=True)
class SingleImputation:
    """One decision function per column of targets, on the completion that a prior gives."""

    prior: Prior
    width: float
    decisions: list[Decision]

    @classmethod
    def of(cls, prior: Prior, Y: Floats, width: float, C: float, squared: bool) -> SingleImputation:
        K = rbf_kernel(prior.completed, gamma=width)
        return cls(prior, width, [Decision.of(K, y, np.full(len(y), C), squared) for y in Y.T])

    def scores(self, X: Floats) -> Floats:
        K = rbf_kernel(self.prior.points(X), self.prior.completed, gamma=self.width)
        return np.column_stack([K @ decision.c + decision.b for decision in self.decisions])


@dataclass(frozen=True)
class Problem:
    """What there is to learn.

    Attributes
    ----------
    X, Y
        The scaled table, and the targets less ``mean``.
    mean
        What was taken off each column of targets.
    codes
        The class of each row, the same for all in a regression.
    seed
        Of the prior.
    """

    X: Floats
    Y: Floats
    mean: Floats
    codes: NDArray[Any]
    seed: int

    def prior(self, name: str, width: float, rows: NDArray[Any] | slice = slice(None)) -> Prior:
        """The prior of that name, learned from some of the rows."""
        return Prior.named(name, self.X[rows], self.codes[rows], width, self.seed)


class PriorBaseline(Baseline):
    """An offline method that starts from a prior, with the RBF kernel."""

    prior: str
    C: float | Sequence[float] | None
    width: float | Sequence[float] | None
    scale: bool

    def _problem(self, X: Floats, Y: Floats, rng: np.random.RandomState) -> Problem:
        """Scales the table, and takes the mean off the targets where an intercept is asked for."""
        self._scaler = Scaler.of(X, scale=self.scale)
        mean = Y.mean(axis=0) if getattr(self, "intercept", False) else np.zeros(Y.shape[1])
        if self._squared:
            codes = np.zeros(len(Y), dtype=np.intp)
        else:
            codes = Y.argmax(axis=1) if Y.shape[1] > 1 else (Y[:, 0] > 0).astype(np.intp)
        return Problem(self._scaler(X), Y - mean, mean, codes, rng.randint(2**31 - 1))

    def _choose_kernel(self, problem: Problem, rng: np.random.RandomState) -> None:
        """``width_`` and ``C_``: those given, or the best on held-out quarters of the plain machine.

        A prior may see labels, so it is learned anew without each quarter, and completes the
        quarter's rows without theirs.
        """
        widths = numbers("width", 1.0 / problem.X.shape[1] if self.width is None else self.width)
        Cs = grid(None) if self.C is None else [C for given in numbers("C", self.C) for C in grid(given)]
        priors: dict[Any, Prior] = {}

        def trial(setting: tuple[float, float], rest: NDArray[Any], quarter: NDArray[Any]) -> Floats:
            width, C = setting
            key = rest.tobytes(), width if self.prior == "meanfeat" else None
            if key not in priors:
                priors[key] = problem.prior(self.prior, width, rest)
            machine = SingleImputation.of(priors[key], problem.Y[rest], width, C, self._squared)
            return machine.scores(problem.X[quarter])

        default = widths[0], 1.0 if self.C is None else Cs[0]
        settings = list(product(widths, Cs))
        self.width_, self.C_ = chosen(settings, default, trial, problem.Y, self._squared, rng)


def numbers(name: str, value: float | Sequence[float], *, zero: bool = False) -> tuple[float, ...]:
    """A setting as the values to choose from: the one given, or several.

    Raises
    ------
    ValueError
        For one that is not above 0 (or 0, with ``zero``), or no value at all.
    """
    given = tuple(float(each) for each in np.atleast_1d(np.asarray(value, dtype=np.float64)))
    if not given or not all(np.isfinite(each) and (each > 0 or (zero and each == 0)) for each in given):
        least = "of 0 or more" if zero else "above 0"
        raise ValueError(f"{name} is a number {least}, or several to choose from; not {value}")
    return given
