"""The class that KARMA competes with: f_{w,Q}, a subspace and a linear model [H, Def. 2]."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamkarma.baselines.base import Baseline, BaselineClassifier, BaselineRegressor
from streamkarma.baselines.imputers import iterated
from streamkarma.baselines.machines import Machine, chosen, grid, kind_of
from streamkarma.baselines.tables import Floats, Scaler, patterns

#: Ranks up to this are tried, besides the full one.
MOST_RANKS = 8


def projected(X: Floats, Q: Floats, regularity: float) -> Floats:
    """``Q_oo† P_o x`` for each row, 0 outside o: what the linear model w of f_{w,Q} sees.

    Parameters
    ----------
    X
        Array of shape (n, d), NaN for what is missing.
    Q
        Array of shape (d, d), the orthogonal projection onto the subspace.
    regularity
        λ of [H, Def. 3]: eigenvalues of Q_oo below it count as 0 in the pseudo-inverse.

    Examples
    --------
    >>> Q = np.full((2, 2), 0.5)  # the line x_1 = x_2
    >>> projected(np.array([[3.0, np.nan], [3.0, 3.0]]), Q, 0.1).round(6).tolist()
    [[6.0, 0.0], [3.0, 3.0]]
    """
    found = patterns(X)
    features = np.zeros_like(X)
    for observed, rows in zip(found.observed, found.rows(), strict=True):
        values, vectors = np.linalg.eigh(Q[np.ix_(observed, observed)])
        kept = values >= regularity
        inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
        features[np.ix_(rows, observed)] = X[np.ix_(rows, observed)] @ inverse
    return features


class _Projection(Baseline):
    def __init__(self, subspace: ArrayLike | None = None, rank: int | None = None, regularity: float = 0.1,
                 machine: str | None = None, C: float | None = None, scale: bool = True,
                 random_state: Any = 0) -> None:  # fmt: skip
        self.subspace = subspace
        self.rank = rank
        self.regularity = regularity
        self.machine = machine
        self.C = C
        self.scale = scale
        self.random_state = random_state

    def _learn(self, X: Floats, Y: Floats) -> None:
        if not 0 < self.regularity <= 1:
            raise ValueError(f"regularity is above 0 and at most 1, not {self.regularity}")
        # A given subspace passes through the origin of the columns as they are.
        self._scaler = Scaler.of(X, scale=self.scale and self.subspace is None)
        rows = self._scaler(X)
        projections = self._projections(rows)
        features = [projected(rows, Q, self.regularity) for Q in projections]
        kind = kind_of(self.machine, self._squared)

        def trial(setting: tuple[int, float], rest: NDArray[Any], quarter: NDArray[Any]) -> Floats:
            Z = features[setting[0]]
            return Machine(kind, setting[1]).fit(Z[rest], Y[rest]).scores(Z[quarter])

        settings = [(number, C) for number in range(len(projections)) for C in grid(self.C)]
        number, self.C_ = chosen(settings, (0, self.C or 1.0), trial, Y, self._squared, self._rng())
        self.projection_ = projections[number]
        self.machine_ = Machine(kind, self.C_).fit(features[number], Y)

    def _projections(self, rows: Floats) -> list[Floats]:
        """Q, or one for each rank that there is to choose from."""
        d = rows.shape[1]
        if self.subspace is not None:
            basis = np.asarray(self.subspace, dtype=np.float64)
            if basis.ndim != 2 or basis.shape[0] != d:
                raise ValueError(f"subspace has one row for each of the {d} columns, not shape {basis.shape}")
            vectors, sizes, _ = np.linalg.svd(basis, full_matrices=False)
            bases = [vectors[:, sizes > 1e-10 * sizes.max()]]
        else:
            ranks = [*range(1, min(d, MOST_RANKS) + 1), d] if self.rank is None else [self.rank]
            bases = [iterated(rows, rank).components.T for rank in sorted(set(ranks))]
        return [V @ V.T for V in bases]

    def _scores(self, X: Floats) -> Floats:
        return self.machine_.scores(projected(self._scaler(X), self.projection_, self.regularity))


class ProjectionClassifier(_Projection, BaselineClassifier):
    """The best linear classifier over a subspace: ``f_{w,Q}(x_o) = (P_o w) · Q_oo† P_o x``.

    Parameters
    ----------
    subspace
        Array of shape (d, d) or (d, r) whose columns span the subspace, for columns that are
        neither shifted nor scaled; None, the default, to learn it by iterated SVD.
    rank
        Dimension of the subspace that is learned, 1 … d; None for the best of 1 … 8 and d on
        held-out quarters, together with C. With d, Q is the identity: 0-imputation.
    regularity
        λ of [H, Def. 3], above 0 and at most 1: directions of Q_oo below it are not
        inverted. The paper assumes none between 0 and λ and leaves λ to the data.
    machine, C, random_state
        As of ``ImputedClassifier``.
    scale
        Standardise each column by its observed values first, unless a subspace is given.

    Attributes
    ----------
    projection_, C_
        Array of shape (d, d), Q; and what was used.

    Notes
    -----
    How [H]'s class is to be learned is what the paper shows to be hard; the subspace is
    found first here, by least squares alone, and w for it then by a convex problem.

    Examples
    --------
    >>> X = np.array([[1.0, np.nan], [np.nan, 2.0], [-1.0, -1.0], [np.nan, -2.0]])
    >>> model = ProjectionClassifier(subspace=[[1.0], [1.0]], C=1.0).fit(X, [1, 1, 0, 0])
    >>> model.predict([[0.5, np.nan]])
    array([1])
    """


class ProjectionRegressor(_Projection, BaselineRegressor):
    """Ridge regression over a subspace: f_{w,Q} with the squared loss.

    Parameters
    ----------
    subspace, rank, regularity, C, scale, random_state
        As of ``ProjectionClassifier``.
    machine
        ``"ridge"`` or ``"rbf-ridge"``.
    """
