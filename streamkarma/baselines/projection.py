"""The class that KARMA competes with: f_{w,Q}, a subspace and a linear model [H, Def. 2]."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamkarma.arrays import Floats
from streamkarma.baselines.base import Baseline, WeightedClassifier, WeightedRegressor
from streamkarma.baselines.iterated_svd import iterated
from streamkarma.baselines.machines import Machine, kind_of, width_unit
from streamkarma.baselines.tables import Scaler, patterns
from streamkarma.baselines.tuning import GRID, WIDTHS, Choice, candidates, middle

#: The largest rank tried, besides the full one.
MOST_RANKS = 8

#: Eigenvalues of Q_oo, which lie between 0 and 1, are rounding errors below this.
ROUNDING = 1e-10


def projected(X: Floats, Q: Floats, regularity: float = 0.0) -> Floats:
    """``Q_oo† P_o x`` for each row, 0 outside o: the input of the linear model w in f_{w,Q}.

    Parameters
    ----------
    X
        Array of shape (n, d), NaN for missing values.
    Q
        Array of shape (d, d), the orthogonal projection onto the subspace.
    regularity
        Eigenvalues of Q_oo below it count as 0 in the pseudo-inverse; 0 for Definition 2.
        It is the square of the λ of [H, Def. 1], which bounds the singular values of P_o P_E.

    Examples
    --------
    >>> Q = np.full((2, 2), 0.5)  # the line x_1 = x_2
    >>> projected(np.array([[3.0, np.nan], [3.0, 3.0]]), Q).round(6).tolist()
    [[6.0, 0.0], [3.0, 3.0]]
    """
    found = patterns(X)
    features = np.zeros_like(X)
    for observed, rows in zip(found.observed, found.rows(), strict=True):
        values, vectors = np.linalg.eigh(Q[np.ix_(observed, observed)])
        kept = values >= max(regularity, ROUNDING)
        inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
        features[np.ix_(rows, observed)] = X[np.ix_(rows, observed)] @ inverse
    return features


class _Projection(Baseline):
    def __init__(
        self,
        subspace: ArrayLike | None = None,
        rank: int | None = None,
        regularity: float = 0.0,
        machine: str | None = None,
        C: Choice = None,
        width: Choice = None,
        scale: bool = True,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.subspace = subspace
        self.rank = rank
        self.regularity = regularity
        self.machine = machine
        self.C = C
        self.width = width
        self.scale = scale
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, X: Floats, Y: Floats, weights: Floats | None) -> None:
        if not 0 <= self.regularity <= 1:
            raise ValueError(f"regularity must be between 0 and 1, not {self.regularity}")
        # A given subspace passes through the origin of the unscaled columns.
        self._scaler = Scaler.of(X, scale=self.scale and self.subspace is None, weights=weights)
        rows = self._scaler(X)
        projections = self._projections(rows)
        features = [projected(rows, Q, self.regularity) for Q in projections]
        kind = kind_of(self.machine, self._squared)
        intercept = "feature" if kind == "crammer-singer" else "free"

        def machine(setting: tuple[int, float | None, float], part: NDArray[Any] | slice) -> Machine:
            number, width, C = setting
            # The default widths are relative to the features, which depend on the rank.
            at = width * width_unit(features[number]) if width is not None and self.width is None else width
            return Machine(kind, C, at, intercept).fit(
                features[number][part], Y[part], None if weights is None else weights[part]
            )

        def trial(
            setting: tuple[int, float | None, float], rest: NDArray[Any], quarter: NDArray[Any]
        ) -> Floats:
            return machine(setting, rest).scores(features[setting[0]][quarter])

        widths = candidates("width", self.width, WIDTHS) if kind.startswith("rbf") else (None,)
        values = candidates("C", self.C, GRID)
        settings = [
            (number, width, C) for number in range(len(projections)) for width in widths for C in values
        ]
        default = (0, widths[-1], middle(values, 1.0))
        best = self._holdout(Y, weights).best(settings, default, trial)
        self.projection_, self.C_ = projections[best[0]], best[2]
        self.machine_ = machine(best, slice(None))

    def _projections(self, rows: Floats) -> list[Floats]:
        """Q, or one for each candidate rank."""
        d = rows.shape[1]
        if self.subspace is not None:
            basis = np.asarray(self.subspace, dtype=np.float64)
            if basis.ndim != 2 or basis.shape[0] != d:
                raise ValueError(f"subspace has one row for each of the {d} columns, not shape {basis.shape}")
            vectors, sizes, _ = np.linalg.svd(basis, full_matrices=False)
            bases = [vectors[:, sizes > 1e-10 * sizes.max()]]
        else:
            ranks = [*range(1, min(d, MOST_RANKS) + 1), d] if self.rank is None else [self.rank]
            # Uncentred: the subspace of Definition 2 passes through the origin.
            bases = [iterated(rows, rank).components.T for rank in sorted(set(ranks))]
        return [V @ V.T for V in bases]

    def _scores(self, X: Floats) -> Floats:
        return self.machine_.scores(projected(self._scaler(X), self.projection_, self.regularity))


class ProjectionClassifier(_Projection, WeightedClassifier):
    """The best linear classifier over a subspace: ``f_{w,Q}(x_o) = (P_o w) · Q_oo† P_o x``.

    Parameters
    ----------
    subspace
        Array of shape (d, d) or (d, r) whose columns span the subspace, for features that are neither shifted
        nor scaled; None, the default, to learn it by iterated SVD.
    rank
        Dimension of the learned subspace, 1 … d; None for the best of 1 … 8 and d on held-out quarters,
        together with C. With d, Q is the identity: 0-imputation.
    regularity
        From 0 to 1: eigenvalues of Q_oo below it are not inverted. 0, the default, is Definition 2. The paper
        assumes that there are none between 0 and λ², with the λ of Definition 1 (item 4: positive singular
        values of P_o P_E are at least λ; their squares are these eigenvalues). If a learned subspace violates
        this, small eigenvalues amplify rows with few values.
    machine, C, width, random_state, verbose
        As in ``ImputedClassifier``.
    scale
        Standardise each column by its observed values first, unless a subspace is given.

    Attributes
    ----------
    projection_, C_
        Array of shape (d, d), Q; and the C used.

    Notes
    -----
    The paper shows that learning [H]'s class is hard. Here the subspace is first found by least squares
    alone, and w then by solving a convex problem.

    Examples
    --------
    >>> X = np.array([[1.0, np.nan], [np.nan, 2.0], [-1.0, -1.0], [np.nan, -2.0]])
    >>> model = ProjectionClassifier(subspace=[[1.0], [1.0]], C=1.0).fit(X, [1, 1, 0, 0])
    >>> model.predict([[0.5, np.nan]])
    array([1])
    """


class ProjectionRegressor(_Projection, WeightedRegressor):
    """Ridge regression over a subspace: f_{w,Q} with the squared loss.

    Parameters
    ----------
    subspace, rank, regularity, C, width, scale, random_state, verbose
        As in ``ProjectionClassifier``.
    machine
        ``"ridge"`` or ``"rbf-ridge"``.

    Examples
    --------
    >>> X = np.array([[1.0, 1.0], [2.0, np.nan], [-1.0, -1.0], [np.nan, -2.0]])
    >>> model = ProjectionRegressor(subspace=[[1.0], [1.0]], C=1e4).fit(X, [2.0, 4.0, -2.0, -4.0])
    >>> model.predict([[1.5, np.nan]]).round(1)
    array([3.])
    """
