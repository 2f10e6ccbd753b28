"""The regret bound of KARMA [H, Thm 3], with its terms spelled out.

[H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.

Complete vectors x lie in a subspace, Q is the orthogonal projection onto it, and of x the
coordinates o are observed. The rivals are f_{w,Q}(x_o) = w_o·Q_oo† x_o [H, Def. 2]. Eigenvalues of
every Q_oo are 0, or at least λ [H, Def. 3]; none is above 1. The bound has three terms.

*Approximation.* x = Qx puts x_o in the range of Q_oo, where Q_oo† is the series Σ (I - Q_oo)^l over
l = 0, 1, …. Its first γ terms are linear in KARMA's features φ, which hold x_k once for every
sequence (s_1 … s_l, k) of observed attributes with l < γ: the weight there is
v = w_{s_1} (I - Q)_{s_1 s_2} … (I - Q)_{s_l k}, the same for every o. The rest of the series is
(I - Q_oo)^γ Q_oo† x_o, and so |f_{w,Q}(x_o) - v·φ| ≤ (1-λ)^γ/λ ‖w_o‖ ‖x_o‖ ≤ e^{-λγ}/λ ‖w_o‖ ‖x_o‖.
w may be any vector. Of x only the observed part counts, yet x must lie in the subspace: on the null
space of Q_oo the series grows with γ while f is 0. (With the norms of the complete x and w instead,
√λ will do for the divisor λ, and 1 will if w lies in the subspace too: x_o = Q_o: x, and the
singular values of Q_o: are the square roots of the eigenvalues of Q_oo.)

*Regularisation.* It grows with ‖v‖² = B = Σ_{l<γ} (w∘w)ᵀ M^l 1, M = (I - Q)∘(I - Q). Rows of the
projection I - Q have norm 1 at most, so no entry of M1 is above 1, and B ≤ γ ‖w‖².

*Estimation.* Algorithm 1 is gradient descent from v_1 = 0, with steps of 1/(ρt), on the ρ-strongly
convex ℓ(v·φ_t) + ρ/2 ‖v‖². With an L-Lipschitz convex ℓ and ‖φ_t‖² ≤ X²Γ all ‖v_t‖ ≤ L √(X²Γ)/ρ,
since ρ v_t is an average of -ℓ' φ over the past. Gradients are then at most 2L √(X²Γ), and
Σ ℓ(v_t·φ_t) - ℓ(v·φ_t) ≤ (2L²X²Γ/ρ)(1 + ln T) + (ρ/2) T ‖v‖² for every v. This holds for the model
without a budget, without averaging and without a limit on its steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Eigenvalues of a Q_oo up to this are 0.
ZERO = 1e-8

#: What ``best_gamma`` chooses from.
GAMMAS = range(1, 9)


class Bound(NamedTuple):
    """What bounds the regret against f_{w,Q} over a stream, in the sum of losses.

    With the normalised kernel φ is divided by its norm, and so the rivals are too: they are
    f_{w,Q}(x_o)/‖φ(x, o)‖, not f_{w,Q}. All three terms hold for these with ``x_norm`` 1, as
    ‖x_o‖ ≤ ‖φ(x, o)‖. The first two hold for every linear v on the features, whatever Q is.

    Attributes
    ----------
    L
        Lipschitz constant of the loss in the score (1 for hinge and logistic), times the greatest weight.
    reach, B, lam
        X²Γ, ‖v‖² and λ: see ``reach``, ``embedding`` and ``regularity``.
    rho, gamma
        ρ of the learner, above 0, and the order of its kernel.
    w_norm, x_norm
        ‖w‖, and X, the greatest ‖x_o‖.
    T
        Events, 1 or more.

    Examples
    --------
    >>> bound = Bound(L=1, reach=4, rho=0.1, B=1, lam=0.5, gamma=6, w_norm=1, x_norm=1, T=100)
    >>> {name: round(value, 1) for name, value in bound.spelled().items() if name not in bound._fields}
    {'estimation': 448.4, 'regularisation': 5.0, 'approximation': 10.0, 'total': 463.4}
    """

    L: float
    reach: float
    rho: float
    B: float
    lam: float
    gamma: int
    w_norm: float
    x_norm: float
    T: int

    @property
    def estimation(self) -> float:
        """(2L²X²Γ/ρ)(1 + ln T): the price of learning v one event after the other."""
        return 2.0 * self.L**2 * self.reach / self.rho * (1.0 + math.log(self.T))

    @property
    def regularisation(self) -> float:
        """(ρ/2) T B: the price of keeping v small."""
        return self.rho / 2.0 * self.T * self.B

    @property
    def approximation(self) -> float:
        """(e^{-λγ}/λ) L ‖w‖ X T: the price of cutting the series off."""
        return math.exp(-self.lam * self.gamma) / self.lam * self.L * self.w_norm * self.x_norm * self.T

    @property
    def total(self) -> float:
        """The sum of the three."""
        return self.estimation + self.regularisation + self.approximation

    def spelled(self) -> dict[str, float]:
        """What went in and what came out, for JSON."""
        return {**self._asdict(), "estimation": self.estimation, "regularisation": self.regularisation,
                "approximation": self.approximation, "total": self.total}  # fmt: skip


def regularity(Q: Floats, observed: NDArray[np.bool_], zero: float = ZERO) -> float:
    """λ [H, Def. 3]: the least eigenvalue other than 0 of a Q_oo, or 1 if there is none.

    Parameters
    ----------
    Q
        Orthogonal projection, shape (d, d).
    observed
        Observed sets as rows, shape (n, d); they may repeat.
    zero
        Eigenvalues up to this are 0; as large as the error of Q.

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


def reach(values: Floats, observed: NDArray[np.bool_], gamma: int, normalize: bool) -> float:
    """X²Γ as measured: the greatest ‖φ(x, o)‖² = G_γ(|o|) ‖x_o‖²; 1 with the normalised kernel.

    ``values`` and ``observed`` have shape (n, d); values that were not observed do not matter.

    Examples
    --------
    >>> reach(np.array([[3.0, 4.0]]), np.array([[True, True]]), 2, False)  # (1 + 2) · 25
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
        Directions whose singular value is this part of the largest, or less, are left out. The bound
        holds for the vectors without what they have there.

    Examples
    --------
    >>> subspace(np.array([[1.0, 1.0], [2.0, 2.0]])).round(6)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    _, sizes, directions = np.linalg.svd(full, full_matrices=False)
    basis = directions[sizes > tol * sizes.max(initial=0.0)]
    return np.asarray(basis.T @ basis)


def best_rho(L: float, reach: float, B: float, T: int) -> float:
    """The ρ with the least estimation and regularisation, which are then equal; all is above 0.

    Examples
    --------
    >>> round(best_rho(L=1, reach=4, B=1, T=100), 3)
    0.947
    """
    return 2.0 * L * math.sqrt(reach * (1.0 + math.log(T)) / (T * B))


def best_gamma(
    lam: float, L: float, w_norm: float, x_norm: float, T: int, reach_of: Callable[[int], float]
) -> int:
    """The γ from 1 to 8 with the least total, each with its best ρ and with B = γ‖w‖².

    ``reach_of`` says X²Γ for a γ, the others are as of ``Bound``; all is above 0.

    Examples
    --------
    >>> best_gamma(0.5, 1.0, 1.0, 1.0, 10**6, lambda gamma: 4.0**gamma)
    4
    """

    def total(gamma: int) -> float:
        far, B = reach_of(gamma), gamma * w_norm**2
        return Bound(L, far, best_rho(L, far, B, T), B, lam, gamma, w_norm, x_norm, T).total

    return min(GAMMAS, key=total)


def horizon(t: int) -> int:
    """For how many events to tune ρ at event t = 1, 2, …, when T is unknown: the doubling trick.

    Epochs have 1, 2, 4, … events, and the answer is 2^k, the length of the epoch in which
    2^k ≤ t < 2^{k+1}. A learner that starts afresh where ``horizon(t) == t``, with the ``best_rho`` for
    so many events, has the bound ``doubled``.

    Examples
    --------
    >>> [horizon(t) for t in range(1, 10)]
    [1, 2, 2, 4, 4, 4, 4, 8, 8]
    """
    return 1 << (t.bit_length() - 1)


def doubled(bounds: Sequence[Bound]) -> float:
    """The bound of a learner that starts afresh in every epoch: the sum of the totals.

    Each holds against the same w. If the stream ends within an epoch, the ``T`` of that bound is the
    events that came, though its ``rho`` was for more.

    Examples
    --------
    >>> epoch = Bound(L=1, reach=1, rho=1, B=1, lam=1, gamma=50, w_norm=1, x_norm=1, T=1)
    >>> doubled([epoch, epoch])
    5.0
    """
    return math.fsum(bound.total for bound in bounds)
