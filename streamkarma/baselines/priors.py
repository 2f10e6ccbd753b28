"""The starting point of [D]'s imputations: a prior imputation, and the plain machine on it.

The kernel is always the RBF kernel ``k(x, x') = exp(-width ‖x - x'‖²)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve
from sklearn.impute import SimpleImputer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from streamkarma.arrays import Floats
from streamkarma.baselines.base import Baseline
from streamkarma.baselines.class_mean import ClassMeanImputer
from streamkarma.baselines.feature_mean import MeanFeatImputer
from streamkarma.baselines.imputers import GaussImputer, MixtureImputer
from streamkarma.baselines.tables import Scaler
from streamkarma.baselines.tuning import GRID, WIDTHS, Choice, Holdout, candidates, class_codes, middle

#: The names accepted by ``Prior.named``.
PRIORS = ("mean", "class-mean", "gauss", "gmm", "meanfeat")


@dataclass(frozen=True)
class Prior:
    """A single imputation.

    Attributes
    ----------
    imputer
        Completes new rows, whose labels are unknown.
    completed
        The training rows, completed: ω̂.
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
            Width of the RBF kernel, for ``"meanfeat"``.
        seed
            Seed of the initial centres, for ``"gmm"``.
        """
        imputer: Any
        match name:
            case "mean":
                imputer = SimpleImputer(keep_empty_features=True)
            case "class-mean":
                imputer = ClassMeanImputer()
            case "gauss":
                imputer = GaussImputer()
            case "gmm":
                imputer = MixtureImputer(random_state=seed)
            case "meanfeat":
                imputer = MeanFeatImputer(width=width, scale=False)
            case _:
                raise ValueError(f"prior must be one of {', '.join(PRIORS)}, not {name!r}")
        return cls(imputer, np.asarray(imputer.fit_transform(X, codes)))

    def points(self, X: Floats) -> Floats:
        """New rows, completed."""
        return np.asarray(self.imputer.transform(X))


@dataclass(frozen=True)
class Decision:
    """A decision function ``f(x) = Σ_i c_i k(ω_i, x) + b``, optimal for one kernel matrix.

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
        """Fit a support vector machine, or kernel ridge regression without an intercept; C per row."""
        b = 0.0
        if squared:
            c = np.asarray(solve(K + np.diag(0.5 / C), y, assume_a="pos"))
            losses = (y - K @ c) ** 2
        else:
            # A tight tolerance, because the search compares objectives.
            svm = SVC(kernel="precomputed", C=1.0, tol=1e-5).fit(K, y, sample_weight=C)
            c, b = np.zeros(len(K)), float(svm.intercept_[0])
            c[svm.support_] = svm.dual_coef_[0]
            losses = np.maximum(0.0, 1.0 - y * (K @ c + b))
        return cls(c, b, 0.5 * float(c @ K @ c) + float(C @ losses))


@dataclass(frozen=True)
class SingleImputation:
    """One decision function per column of targets, on the completion of a prior."""

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
    """The learning problem.

    Attributes
    ----------
    X, Y
        The scaled table, and the targets minus ``mean``.
    mean
        The mean subtracted from each column of targets.
    codes
        The class of each row, the same for all in a regression.
    seed
        Seed of the prior.
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
    C: Choice
    width: Choice
    scale: bool

    def _problem(self, X: Floats, Y: Floats, rng: np.random.RandomState) -> Problem:
        """Scale the table, and subtract the mean of the targets if there is an intercept."""
        self._scaler = Scaler.of(X, scale=self.scale)
        mean = Y.mean(axis=0) if getattr(self, "intercept", False) else np.zeros(Y.shape[1])
        codes = np.zeros(len(Y), dtype=np.intp) if self._squared else class_codes(Y)
        return Problem(self._scaler(X), Y - mean, mean, codes, rng.randint(2**31 - 1))

    def _choose_kernel(self, problem: Problem, rng: np.random.RandomState) -> None:
        """Set ``width_`` and ``C_``: those given, or the best of the plain machine on held-out quarters.

        A prior may use labels, so it is refitted without each quarter, and completes the rows of the quarter
        without theirs.
        """
        widths = candidates("width", self.width, [factor / problem.X.shape[1] for factor in WIDTHS])
        values = candidates("C", self.C, GRID)
        priors: dict[Any, Prior] = {}

        def trial(setting: tuple[float, float], rest: NDArray[Any], quarter: NDArray[Any]) -> Floats:
            width, C = setting
            key = rest.tobytes(), width if self.prior == "meanfeat" else None
            if key not in priors:
                priors[key] = problem.prior(self.prior, width, rest)
            machine = SingleImputation.of(priors[key], problem.Y[rest], width, C, self._squared)
            return machine.scores(problem.X[quarter])

        settings = list(product(widths, values))
        holdout = Holdout(problem.Y, self._squared, rng, say=self._say, criterion=self.criterion)
        self.width_, self.C_ = holdout.best(settings, (widths[-1], middle(values, 1.0)), trial)
