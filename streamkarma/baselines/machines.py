"""The learners used after imputation or with a kernel.

Every machine minimises ``½‖w‖² + C Σ_i weight_i loss(y_i, w·φ(z_i) + b)``, so that C means the same for all
of them. There is one machine per column of Y, except for the multinomial logistic loss and the Crammer–Singer
hinge, which use all columns at once. The solvers are scikit-learn's, except for the linear support vector
machine and the one without an intercept.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC

from streamkarma.arrays import Floats
from streamkarma.baselines.crammer_singer import crammer_singer, crammer_singer_kernel
from streamkarma.baselines.hinge import kernel_svm, linear_svm
from streamkarma.baselines.tuning import GRID, WIDTHS, Choice, Holdout, candidates, class_codes, middle

#: The share of rows assumed for a class without any, in multinomial scores.
NEVER = 1e-6

#: With up to this many columns, each step of a logistic regression factorises a d × d matrix.
FEW = 500

KINDS = (
    "svm",
    "crammer-singer",
    "rbf-svm",
    "logistic",
    "ridge",
    "rbf-ridge",
    "gram-svm",
    "gram-crammer-singer",
    "gram-ridge",
)


Kernel = TypeVar("Kernel", bound=Hashable)


class Scorer(Protocol):
    """Scores rows of features or of a kernel matrix: shape (n,), or (n, classes) for all classes."""

    def __call__(self, Z: Floats) -> Floats: ...


@dataclass(frozen=True)
class Constant:
    """The same score, or scores of all classes, for every row."""

    values: Floats

    def __call__(self, Z: Floats) -> Floats:
        return np.tile(self.values, (len(Z), 1))


@dataclass(frozen=True)
class Multinomial:
    """One score per class from a scikit-learn classifier that was trained on some of the classes."""

    classifier: Any
    there: NDArray[np.intp]
    classes: int

    def __call__(self, Z: Floats) -> Floats:
        scores = self.classifier.decision_function(Z)
        if len(self.there) == 2:
            scores = np.column_stack([-scores / 2, scores / 2])
        every = np.full((len(Z), self.classes), scores.min(axis=1, keepdims=True) + np.log(NEVER))
        every[:, self.there] = scores
        return every


@dataclass(frozen=True)
class Linear:
    """``w·z + b``, for one column of scores or several."""

    w: Floats
    b: float

    def __call__(self, Z: Floats) -> Floats:
        return np.asarray(Z @ self.w + self.b)


@dataclass(frozen=True)
class Ridged:
    """The predictions of a scikit-learn regressor, plus the mean subtracted before fitting."""

    regressor: Any
    mean: float

    def __call__(self, Z: Floats) -> Floats:
        return np.asarray(self.regressor.predict(Z) + self.mean)


@dataclass(frozen=True)
class Decided:
    """The decision function of a scikit-learn classifier."""

    classifier: Any

    def __call__(self, Z: Floats) -> Floats:
        return np.asarray(self.classifier.decision_function(Z))


class Machine:
    """A learner on features, or on a kernel matrix.

    Parameters
    ----------
    kind
        ``"svm"`` (hinge), ``"crammer-singer"`` (its multiclass form, without a free intercept),
        ``"logistic"`` (three classes or more: multinomial) or ``"ridge"`` (squared loss) on the
        columns; ``"rbf-svm"`` or ``"rbf-ridge"`` with ``exp(-width ‖z - z'‖²)``; ``"gram-svm"``,
        ``"gram-crammer-singer"`` or ``"gram-ridge"`` on a kernel matrix.
    C
        Weight of the losses against ½‖w‖², above 0.
    width
        Width of the RBF kernel, above 0; None for 1 / (columns · variance of all values).
    intercept
        ``"free"``: b, which is not regularised; or ``"feature"``: a constant feature, regularised like any
        other [H]. It is added to the columns, which are then divided by the root of their mean squared
        norm, as batch KARMA's kernel is; a kernel matrix must already include it.
    """

    def __init__(
        self, kind: str, C: float = 1.0, width: float | None = None, intercept: str = "free"
    ) -> None:
        if kind not in KINDS:
            raise ValueError(f"machine must be one of {', '.join(KINDS)}, not {kind!r}")
        self.kind, self.C, self.width = kind, C, width
        self.free = intercept == "free"
        self.constant = intercept == "feature" and not kind.startswith("gram")
        #: Subtracted from the columns; None for nothing.
        self.centre: Floats | None = None

    def fit(self, Z: Floats, Y: Floats, weights: Floats | None = None) -> Machine:
        """Learn from features, or a kernel matrix, of shape (n, …), targets (n, m), weights (n,)."""
        if self.free and self.kind in ("svm", "logistic"):
            # This does not move the minimum, and avoids a loss of precision for columns far from 0.
            self.centre = np.average(Z, axis=0, weights=weights)
        if self.constant:
            self._size = float(np.sqrt(np.average((Z * Z).sum(axis=1), weights=weights) + 1.0))
        Z = self._prepared(Z)
        if self.kind.startswith("rbf") and self.width is None:
            self.width = WIDTHS[-1] * width_unit(Z)
        together = self.kind == "logistic" or self.kind.endswith("crammer-singer")
        if together and Y.shape[1] > 1:
            self.columns: list[Scorer] = [self._together(Z, Y, weights)]
        else:
            self.columns = [self._one(Z, column, weights) for column in Y.T]
        return self

    def scores(self, Z: Floats) -> Floats:
        """Scores of shape (n, m)."""
        Z = self._prepared(Z)
        return np.column_stack([score(Z) for score in self.columns])

    def _prepared(self, Z: Floats) -> Floats:
        if self.constant:
            return np.hstack([Z, np.ones((len(Z), 1))]) / self._size
        return Z if self.centre is None else Z - self.centre

    def _together(self, Z: Floats, Y: Floats, weights: Floats | None) -> Scorer:
        """One machine for all of three or more classes."""
        codes = class_codes(Y)
        there = np.unique(codes)
        if len(there) < 2 or Z.shape[1] == 0:
            return Constant(np.log(np.maximum((Y > 0).mean(axis=0), NEVER)))
        match self.kind:
            case "crammer-singer":
                return Linear(crammer_singer(Z, codes, Y.shape[1], self.C, weights), 0.0)
            case "gram-crammer-singer":
                return Linear(crammer_singer_kernel(Z, codes, Y.shape[1], self.C, weights), 0.0)
        fitted = self._solver(Z.shape[1]).fit(Z, codes, sample_weight=weights)
        return Multinomial(fitted, there, Y.shape[1])

    def _one(self, Z: Floats, y: Floats, weights: Floats | None) -> Scorer:
        if np.all(y == y[0]) or Z.shape[1] == 0:
            # A constant target, or no features: the majority, or the mean.
            return Constant(np.atleast_1d(np.average(y, weights=weights)))
        C = self.C if weights is None else self.C * weights
        gram = self.kind.startswith("gram")
        if self.kind in ("svm", "crammer-singer"):
            # With two classes, the Crammer–Singer hinge is half of the ordinary one.
            w, b, _ = linear_svm(Z, y, C, self.free)
            return Linear(w, b)
        if gram and not self.kind.endswith("ridge") and not self.free:
            w, b, _ = kernel_svm(Z, y, C, intercept=False)
            return Linear(w, b)
        solver = self._solver(Z.shape[1])
        if self.kind.endswith("ridge"):
            # KernelRidge has no intercept, so the mean is subtracted first.
            mean = float(np.average(y, weights=weights)) if self.free else 0.0
            return Ridged(solver.fit(Z, y - mean, sample_weight=weights), mean)
        return Decided(solver.fit(Z, y, sample_weight=weights))

    def _solver(self, columns: int) -> Any:
        alpha = 0.5 / self.C
        match self.kind:
            case "rbf-svm":
                return SVC(kernel="rbf", C=self.C, gamma=self.width)
            case "gram-svm":
                return SVC(kernel="precomputed", C=self.C)
            case "logistic":
                # With few columns, Newton's method is exact in a few steps.
                exact = {"solver": "newton-cholesky", "tol": 1e-8} if columns <= FEW else {}
                return LogisticRegression(C=self.C, max_iter=1000, fit_intercept=self.free, **exact)
            case "ridge":
                return Ridge(alpha=alpha, fit_intercept=self.free)
            case "rbf-ridge":
                return KernelRidge(alpha=alpha, kernel="rbf", gamma=self.width)
            case _:
                return KernelRidge(alpha=alpha, kernel="precomputed")


def width_unit(Z: Floats) -> float:
    """1 / (columns · variance of all values): the unit of RBF kernel widths."""
    return 1.0 / (Z.shape[1] * (np.nanvar(Z) or 1.0)) if Z.size else 1.0


def kind_of(machine: str | None, squared: bool) -> str:
    """The kind of machine requested, or the linear one for the task.

    Raises
    ------
    ValueError
        For an unknown machine, or one for another task.
    """
    kinds = ("ridge", "rbf-ridge") if squared else ("svm", "crammer-singer", "rbf-svm", "logistic")
    if machine is not None and machine not in kinds:
        task = "numbers" if squared else "classes"
        raise ValueError(f"machine must be one of {', '.join(kinds)} (for {task}), not {machine!r}")
    return machine or kinds[0]


def fit_features(
    kind: str, Z: Floats, holdout: Holdout, C: Choice, width: Choice = None, intercept: str = "free"
) -> Machine:
    """A machine on features, with C and the width given or chosen on held-out quarters.

    Parameters
    ----------
    kind, intercept
        As in ``Machine``.
    Z
        Array of shape (n, d).
    holdout
        The holdout, with the targets and weights of the rows.
    C, width
        A number, several to choose from, or None for ``GRID`` and ``WIDTHS``; machines without an RBF kernel
        have no width.
    """
    unit = width_unit(Z)
    widths = candidates("width", width, [factor * unit for factor in WIDTHS])
    values = candidates("C", C, GRID)
    settings = [(at, value) for at in (widths if kind.startswith("rbf") else (None,)) for value in values]
    Y, weights = holdout.Y, holdout.weights

    def trial(setting: tuple[float | None, float], rest: NDArray[Any], quarter: NDArray[Any]) -> Floats:
        machine = Machine(kind, setting[1], setting[0], intercept)
        return machine.fit(Z[rest], Y[rest], None if weights is None else weights[rest]).scores(Z[quarter])

    default = (settings[-1][0], middle(values, 1.0))
    at, value = holdout.best(settings, default, trial)
    return Machine(kind, value, at, intercept).fit(Z, Y, weights)


class Kernels(Mapping[Kernel, Floats]):
    """Kernel matrices of shape (n, n) by their parameter (γ or the width); ``made`` computes one."""

    def __init__(self, keys: Sequence[Kernel], made: Callable[[Kernel], Floats]) -> None:
        self.keys_, self.made = keys, made

    def __getitem__(self, key: Kernel) -> Floats:
        return self.made(key)

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self.keys_)

    def __len__(self) -> int:
        return len(self.keys_)


def fit_gram(
    kind: str,
    kernels: Mapping[Kernel, Floats],
    holdout: Holdout,
    C: Choice,
    intercept: str = "free",
    default: Kernel | None = None,
) -> tuple[Kernel, Machine]:
    """A machine on one of several kernel matrices, chosen together with C on held-out quarters.

    Parameters
    ----------
    kind, intercept
        As in ``Machine``.
    kernels
        The candidates, simplest first.
    holdout, C
        As in ``fit_features``.
    default
        The key used if there are too few rows for a holdout; the last one if it is not a key.

    Returns
    -------
    The key of the matrix chosen, and the machine fitted on it.
    """
    values = candidates("C", C, GRID)
    Y, weights = holdout.Y, holdout.weights

    def trial(setting: tuple[Kernel, float], rest: NDArray[Any], quarter: NDArray[Any]) -> Floats:
        K = kernels[setting[0]]
        machine = Machine(kind, setting[1], intercept=intercept)
        machine.fit(K[np.ix_(rest, rest)], Y[rest], None if weights is None else weights[rest])
        return machine.scores(K[np.ix_(quarter, rest)])

    keys = list(kernels)
    settings = [(key, value) for key in keys for value in values]
    stands = default if default is not None and default in keys else keys[-1]
    key, value = holdout.best(settings, (stands, middle(values, 1.0)), trial)
    return key, Machine(kind, value, intercept=intercept).fit(kernels[key], Y, weights)
