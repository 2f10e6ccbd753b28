"""The learners that stand behind an imputation or a kernel, and how their settings are chosen.

Every machine minimises ``½‖w‖² + C Σ_i loss(y_i, w·φ(z_i) + b)``, b free, one machine per
column of Y; so C means the same for all of them. The solvers are scikit-learn's, but for the
linear support vector machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC

from streamkarma.baselines.hinge import linear_svm
from streamkarma.baselines.tables import Floats

#: Values of C that a holdout chooses from, smallest first.
GRID = (0.01, 0.1, 1.0, 10.0, 100.0)

#: How often a quarter is held out: one alone decides by the luck of the draw (on 961 rows, whose
#: quarter tells errors apart by a hundredth at best).
REPEATS = 3

#: Share of the rows that a class without any is taken to have, in multinomial scores.
NEVER = 1e-6

#: Up to so many columns a d × d matrix is factorised in every step of a logistic regression.
FEW = 500

#: With fewer rows than this no part is held out, and the default setting stands.
FEWEST = 20

Setting = TypeVar("Setting")

KINDS = ("svm", "rbf-svm", "logistic", "ridge", "rbf-ridge", "gram-svm", "gram-ridge")


class Scorer(Protocol):
    """Scores rows of features, or of a kernel matrix, for one column of targets."""

    def __call__(self, Z: Floats) -> Floats: ...


@dataclass(frozen=True)
class Constant:
    """The same score for every row."""

    value: float

    def __call__(self, Z: Floats) -> Floats:
        return np.full(len(Z), self.value)


@dataclass(frozen=True)
class Fixed:
    """The same scores of all classes for every row."""

    values: Floats

    def __call__(self, Z: Floats) -> Floats:
        return np.tile(self.values, (len(Z), 1))


@dataclass(frozen=True)
class Multinomial:
    """One score per class from a scikit-learn classifier that knows some of them."""

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
    """``w·z + b``."""

    w: Floats
    b: float

    def __call__(self, Z: Floats) -> Floats:
        return np.asarray(Z @ self.w + self.b)


@dataclass(frozen=True)
class Ridged:
    """What a scikit-learn regressor says, above a mean taken off before."""

    regressor: Any
    mean: float

    def __call__(self, Z: Floats) -> Floats:
        return np.asarray(self.regressor.predict(Z) + self.mean)


@dataclass(frozen=True)
class Decided:
    """What a scikit-learn classifier's decision function says."""

    classifier: Any

    def __call__(self, Z: Floats) -> Floats:
        return np.asarray(self.classifier.decision_function(Z))


class Machine:
    """One scorer per column of Y.

    Parameters
    ----------
    kind
        ``"svm"`` (hinge), ``"logistic"`` (three classes or more: multinomial, all columns of Y
        together) or ``"ridge"`` (squared loss) on the columns as they are; ``"rbf-svm"`` or
        ``"rbf-ridge"`` with ``exp(-width ‖z - z'‖²)``; ``"gram-svm"`` or ``"gram-ridge"`` on a
        kernel matrix computed before.
    C
        Weight of the losses against ½‖w‖², above 0.
    width
        Of the RBF kernel, above 0; None for 1 / (columns · variance of all values).
    """

    def __init__(self, kind: str, C: float = 1.0, width: float | None = None) -> None:
        if kind not in KINDS:
            raise ValueError(f"machine is one of {', '.join(KINDS)}, not {kind!r}")
        self.kind = kind
        self.C = C
        self.width = width

    def fit(self, Z: Floats, Y: Floats) -> Machine:
        """Learn from features, or a kernel matrix, of shape (n, …) and targets (n, m)."""
        if self.kind.startswith("rbf") and self.width is None:
            self.width = 1.0 / (Z.shape[1] * (Z.var() or 1.0)) if Z.size else 1.0
        if self.kind == "logistic" and Y.shape[1] > 1:
            self.columns: list[Scorer] = [self._multinomial(Z, Y)]
        else:
            self.columns = [self._one(Z, column) for column in Y.T]
        return self

    def scores(self, Z: Floats) -> Floats:
        """Scores of shape (n, m)."""
        return np.column_stack([score(Z) for score in self.columns])

    def _multinomial(self, Z: Floats, Y: Floats) -> Scorer:
        """All classes in one: what the logistic loss is for three or more."""
        codes = Y.argmax(axis=1)
        there = np.unique(codes)
        if len(there) < 2 or Z.shape[1] == 0:
            return Fixed(np.log(np.maximum((Y > 0).mean(axis=0), NEVER)))
        return Multinomial(self._solver(Z.shape[1]).fit(Z, codes), there, Y.shape[1])

    def _one(self, Z: Floats, y: Floats) -> Scorer:
        if np.all(y == y[0]) or Z.shape[1] == 0:
            # Nothing to tell apart, or nothing to tell it by: the majority, or the mean.
            return Constant(float(y.mean()))
        if self.kind == "svm":
            w, b, _ = linear_svm(Z, y, self.C)
            return Linear(w, b)
        solver = self._solver(Z.shape[1])
        if self.kind.endswith("ridge"):
            # KernelRidge has no intercept: the mean is taken off before.
            mean = float(y.mean())
            return Ridged(solver.fit(Z, y - mean), mean)
        return Decided(solver.fit(Z, y))

    def _solver(self, columns: int) -> Any:
        alpha = 0.5 / self.C
        match self.kind:
            case "rbf-svm":
                return SVC(kernel="rbf", C=self.C, gamma=self.width)
            case "gram-svm":
                return SVC(kernel="precomputed", C=self.C)
            case "logistic":
                # Newton's method is exact in a few steps, where the columns are few.
                exact = {"solver": "newton-cholesky", "tol": 1e-8} if columns <= FEW else {}
                return LogisticRegression(C=self.C, max_iter=1000, **exact)
            case "ridge":
                return Ridge(alpha=alpha)
            case "rbf-ridge":
                return KernelRidge(alpha=alpha, kernel="rbf", gamma=self.width)
            case _:
                return KernelRidge(alpha=alpha, kernel="precomputed")


def kind_of(machine: str | None, squared: bool) -> str:
    """The kind of machine on features that was asked for, or the linear one of the task.

    Raises
    ------
    ValueError
        For a machine that is none, or for another task.
    """
    kinds = ("ridge", "rbf-ridge") if squared else ("svm", "rbf-svm", "logistic")
    if machine is not None and machine not in kinds:
        task = "numbers" if squared else "classes"
        raise ValueError(f"machine is one of {', '.join(kinds)} (for {task}), not {machine!r}")
    return machine or kinds[0]


def error(scores: Floats, Y: Floats, squared: bool) -> float:
    """Share of wrong classes, or the mean squared error."""
    if squared:
        return float(((scores - Y) ** 2).mean())
    if Y.shape[1] == 1:
        return float(((scores > 0) != (Y > 0)).mean())
    return float((scores.argmax(axis=1) != Y.argmax(axis=1)).mean())


def held_out(Y: Floats, squared: bool, rng: np.random.RandomState) -> tuple[NDArray[Any], NDArray[Any]]:
    """A random quarter of the rows, stratified by class, after the rest: (rest, quarter)."""
    n = len(Y)
    order = rng.permutation(n)
    if squared:
        return order[n // 4 :], order[: n // 4]
    codes = Y.argmax(axis=1) if Y.shape[1] > 1 else (Y[:, 0] > 0).astype(int)
    # Every fourth row of each class, counted in random order.
    nth = np.empty(n, dtype=int)
    for code in np.unique(codes):
        rows = order[codes[order] == code]
        nth[rows] = np.arange(len(rows))
    test = nth % 4 == 3
    return np.flatnonzero(~test), np.flatnonzero(test)


def chosen(
    settings: Sequence[Setting],
    default: Setting,
    trial: Callable[[Setting, NDArray[Any], NDArray[Any]], Floats],
    Y: Floats,
    squared: bool,
    rng: np.random.RandomState,
) -> Setting:
    """The setting of least error on held-out quarters, ``REPEATS`` of them; the first among equals.

    Parameters
    ----------
    settings
        What there is to choose from, the simplest first.
    default
        What stands when there are fewer than ``FEWEST`` rows.
    trial
        ``trial(setting, rest, quarter)`` learns on rows ``rest`` and scores ``quarter``.
    Y, squared, rng
        Targets of all rows; whether they are numbers; where the quarter is drawn from.
    """
    if len(settings) == 1:
        return settings[0]
    if len(Y) < FEWEST:
        return default
    errors = np.zeros(len(settings))
    for _ in range(REPEATS):
        rest, quarter = held_out(Y, squared, rng)
        if not len(quarter):
            return default
        errors += [error(trial(setting, rest, quarter), Y[quarter], squared) for setting in settings]
    return settings[int(np.argmin(errors))]


def grid(C: float | None) -> Sequence[float]:
    """The values of C to choose from: the one given, or ``GRID``."""
    if C is None:
        return GRID
    if not C > 0:
        raise ValueError(f"C is a number above 0, or None to have it chosen; not {C}")
    return (C,)


def fit_features(kind: str, Z: Floats, Y: Floats, C: float | None, rng: np.random.RandomState) -> Machine:
    """A machine on features, with C as given or chosen on held-out quarters."""
    squared = kind.endswith("ridge")

    def trial(value: float, rest: NDArray[Any], quarter: NDArray[Any]) -> Floats:
        return Machine(kind, value).fit(Z[rest], Y[rest]).scores(Z[quarter])

    return Machine(kind, chosen(grid(C), 1.0, trial, Y, squared, rng)).fit(Z, Y)


def fit_gram(squared: bool, K: Floats, Y: Floats, C: float | None, rng: np.random.RandomState) -> Machine:
    """A machine on a kernel matrix, with C as given or chosen on held-out quarters."""
    kind = "gram-ridge" if squared else "gram-svm"

    def trial(value: float, rest: NDArray[Any], quarter: NDArray[Any]) -> Floats:
        machine = Machine(kind, value).fit(K[np.ix_(rest, rest)], Y[rest])
        return machine.scores(K[np.ix_(quarter, rest)])

    return Machine(kind, chosen(grid(C), 1.0, trial, Y, squared, rng)).fit(K, Y)
