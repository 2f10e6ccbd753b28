"""The terms of the regret bound [H, Thm 3], measured on a stream; see ``core.theory``.

[H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Floats
from streamkarma.core.theory import Bound

#: Eigenvalues of Q_oo up to this count as 0.
ZERO = 1e-8


def regularity(Q: Floats, observed: NDArray[np.bool_], zero: float = ZERO) -> float:
    """λ: the smallest positive eigenvalue of any Q_oo, or 1 if there is none.

    It is the square of the λ of [H, Def. 1, item 4], a smallest singular value: see ``core.theory``.

    Parameters
    ----------
    Q
        Orthogonal projection, shape (d, d).
    observed
        Observed sets as rows, shape (n, d); they may repeat.
    zero
        Eigenvalues up to this count as 0; choose it to match the error of Q.

    Examples
    --------
    >>> Q = np.full((2, 2), 0.5)  # the line x_1 = x_2
    >>> round(regularity(Q, np.array([[True, True]])), 9), round(regularity(Q, np.eye(2, dtype=bool)), 9)
    (1.0, 0.5)
    """
    least = 1.0
    for o in np.unique(observed, axis=0):
        eigenvalues = np.linalg.eigvalsh(Q[np.ix_(o, o)])
        least = min(least, float(eigenvalues[eigenvalues > zero].min(initial=1.0)))
    return least


def embedding(w: Floats, Q: Floats, gamma: int) -> float:
    """B = ‖v‖² for w of shape (d,), the projection Q of shape (d, d) and an order of 1 or more.

    Examples
    --------
    >>> embedding(np.array([1.0, 0.0]), np.full((2, 2), 0.5), 3)  # 1 + 1/2 + 1/4
    1.75
    """
    M = (np.eye(len(Q)) - Q) ** 2
    weights, total = w * w, 0.0
    for _ in range(gamma):
        total += float(weights.sum())
        weights = weights @ M
    return total


def squared_radius(values: Floats, observed: NDArray[np.bool_], gamma: int, normalize: bool) -> float:
    """X²Γ as measured: the largest ‖φ(x, o)‖² = G_γ(|o|) ‖x_o‖²; 1 with the normalised kernel.

    ``values`` and ``observed`` have shape (n, d); values that were not observed are ignored.

    Examples
    --------
    >>> squared_radius(np.array([[3.0, 4.0]]), np.array([[True, True]]), 2, False)  # (1 + 2) · 25
    75.0
    """
    if normalize:
        return 1.0
    squares = (np.where(observed, values, 0.0) ** 2).sum(axis=1)
    repeats = np.polyval(np.ones(gamma), observed.sum(axis=1))
    return float((repeats * squares).max(initial=0.0))


def subspace(full: Floats, tol: float = 1e-6) -> Floats:
    """Q: the orthogonal projection onto the span of complete vectors.

    Parameters
    ----------
    full
        Vectors as rows, shape (n, d). With a constant attribute, append its column of ones.
    tol
        Directions whose singular value is at most this fraction of the largest are dropped. The bound holds
        for the projected vectors.

    Examples
    --------
    >>> subspace(np.array([[1.0, 1.0], [2.0, 2.0]])).round(6)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    _, sizes, directions = np.linalg.svd(full, full_matrices=False)
    basis = directions[sizes > tol * sizes.max(initial=0.0)]
    return np.asarray(basis.T @ basis)


def doubled(bounds: Sequence[Bound]) -> dict[str, float]:
    """The bound of a learner that restarts in every epoch; its terms and T are sums over epochs.

    Each bound holds against the same w, and so does the sum. If the stream ends within an epoch, the ``T`` of
    its bound is the number of events that arrived, although its ``rho`` was chosen for more. ρ, γ and B are
    those of the last epoch.

    Examples
    --------
    >>> epoch = Bound(L=1, squared_radius=1, rho=1, B=1, lam=1, gamma=50, w_norm=1, x_norm=1, T=1)
    >>> found = doubled([epoch, epoch])
    >>> found["T"], found["total"], found["epochs"]
    (2, 5.0, 2)
    """
    terms = [bound.as_dict() for bound in bounds]
    summed = ("T", "estimation", "regularisation", "approximation", "total")
    sums = {name: sum(each[name] for each in terms) for name in summed}
    return {**terms[-1], **sums, "epochs": len(bounds)}
