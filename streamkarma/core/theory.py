"""The regret bound of KARMA [H, Thm 3], term by term.

[H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.

Complete vectors x lie in a subspace, Q is the orthogonal projection onto it, and the coordinates o of x are
observed. The competitors are f_{w,Q}(x_o) = w_o·Q_oo† x_o [H, Def. 2]. The eigenvalues of every Q_oo are 0 or
in [λ, 1]. The bound has three terms.

*λ is the square of the paper's.* In [H, Def. 1, item 4], λ bounds the positive singular values of P_o P_E,
whose squares are these eigenvalues, but the proof of [H, Lemma 2] uses it as a bound on the eigenvalues. The
lemma holds only for the latter: on the line through (σ, √(1-σ²)) with o = {1}, the error is (1-σ²)^γ/σ² for
‖w_o‖ = ‖x_o‖ = 1, above the (1-σ)^γ/σ that the singular values would give. With the λ of the definition,
replace λ by λ².

*Approximation.* As x = Qx, x_o is in the range of Q_oo, where Q_oo† is the series Σ (I - Q_oo)^l over
l = 0, 1, …. Its first γ terms are linear in KARMA's features φ, which contain x_k once for every
sequence (s_1 … s_l, k) of observed attributes with l < γ, with weight
v = w_{s_1} (I - Q)_{s_1 s_2} … (I - Q)_{s_l k}, the same for every o. The rest of the series is
(I - Q_oo)^γ Q_oo† x_o, and so |f_{w,Q}(x_o) - v·φ| ≤ (1-λ)^γ/λ ‖w_o‖ ‖x_o‖ ≤ e^{-λγ}/λ ‖w_o‖ ‖x_o‖.
w may be any vector. Only the observed part of x matters, but x must lie in the subspace: on the null
space of Q_oo the series grows with γ while f is 0. (With the norms of the complete x and w instead,
the divisor λ may be replaced by √λ, and by 1 if w lies in the subspace too: x_o = Q_o: x, and the
singular values of Q_o: are the square roots of the eigenvalues of Q_oo.)

*Regularisation.* It grows with ‖v‖² = B = Σ_{l<γ} (w∘w)ᵀ M^l 1, M = (I - Q)∘(I - Q). The rows of the
projection I - Q have norm at most 1, so no entry of M1 is above 1, and B ≤ γ ‖w‖².

*Estimation.* Algorithm 1 is gradient descent from v_1 = 0, with steps of 1/(ρt), on the ρ-strongly
convex ℓ(v·φ_t) + ρ/2 ‖v‖². For an L-Lipschitz convex ℓ and ‖φ_t‖² ≤ X²Γ, all ‖v_t‖ ≤ L √(X²Γ)/ρ,
since ρ v_t is an average of -ℓ' φ over the past. Gradients are then at most 2L √(X²Γ), and
Σ ℓ(v_t·φ_t) - ℓ(v·φ_t) ≤ (2L²X²Γ/ρ)(1 + ln T) + (ρ/2) T ‖v‖² for every v. This holds for the model
without a budget, without averaging and without a limit on its steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

#: The default λ: half of the λ of complete events.
DEFAULT_REGULARITY = 0.5

#: The candidates of ``best_gamma``.
GAMMAS = range(1, 9)


class Bound(NamedTuple):
    """The bound on the regret against f_{w,Q} over a stream, as a sum of losses.

    With the normalised kernel, φ is divided by its norm, and so are the competitors: they are
    f_{w,Q}(x_o)/‖φ(x, o)‖, not f_{w,Q}. All three terms hold for these with ``x_norm`` 1, as
    ‖x_o‖ ≤ ‖φ(x, o)‖. The first two hold for every linear v on the features, whatever Q is.

    Attributes
    ----------
    L
        Lipschitz constant of the loss in the score (1 for hinge and logistic), times the largest weight.
    squared_radius, B, lam
        X²Γ, ‖v‖² and λ: see ``squared_radius``, ``embedding`` and ``regularity``.
    rho, gamma
        ρ of the learner, above 0, and the order of its kernel.
    w_norm, x_norm
        ‖w‖, and X, the largest ‖x_o‖.
    T
        Number of events, 1 or more.

    Examples
    --------
    >>> bound = Bound(L=1, squared_radius=4, rho=0.1, B=1, lam=0.5, gamma=6, w_norm=1, x_norm=1, T=100)
    >>> terms = bound.as_dict()
    >>> [round(terms[name], 1) for name in ("estimation", "regularisation", "approximation", "total")]
    [448.4, 5.0, 10.0, 463.4]
    """

    L: float
    squared_radius: float
    rho: float
    B: float
    lam: float
    gamma: int
    w_norm: float
    x_norm: float
    T: int

    @property
    def estimation(self) -> float:
        """(2L²X²Γ/ρ)(1 + ln T): the cost of learning v online."""
        return 2.0 * self.L**2 * self.squared_radius / self.rho * (1.0 + math.log(self.T))

    @property
    def regularisation(self) -> float:
        """(ρ/2) T B: the cost of regularising v."""
        return self.rho / 2.0 * self.T * self.B

    @property
    def approximation(self) -> float:
        """(e^{-λγ}/λ) L ‖w‖ X T: the cost of truncating the series."""
        return math.exp(-self.lam * self.gamma) / self.lam * self.L * self.w_norm * self.x_norm * self.T

    @property
    def total(self) -> float:
        """The sum of the three."""
        return self.estimation + self.regularisation + self.approximation

    def as_dict(self) -> dict[str, float]:
        """All terms, for JSON."""
        return {
            **self._asdict(),
            "estimation": self.estimation,
            "regularisation": self.regularisation,
            "approximation": self.approximation,
            "total": self.total,
        }


def best_rho(L: float, squared_radius: float, B: float, T: int) -> float:
    """The ρ that minimises estimation plus regularisation, which are then equal; all arguments are positive.

    Examples
    --------
    >>> round(best_rho(L=1, squared_radius=4, B=1, T=100), 3)
    0.947
    """
    return 2.0 * L * math.sqrt(squared_radius * (1.0 + math.log(T)) / (T * B))


def best_gamma(
    lam: float, L: float, w_norm: float, x_norm: float, T: int, squared_radius_of: Callable[[int], float]
) -> int:
    """The γ from 1 to 8 with the smallest total, each with its best ρ and B = γ‖w‖².

    ``squared_radius_of`` maps γ to X²Γ, the others are as in ``Bound``; all are positive.

    Examples
    --------
    >>> best_gamma(0.5, 1.0, 1.0, 1.0, 10**6, lambda gamma: 4.0**gamma)
    4
    """

    def total(gamma: int) -> float:
        far, B = squared_radius_of(gamma), gamma * w_norm**2
        return Bound(L, far, best_rho(L, far, B, T), B, lam, gamma, w_norm, x_norm, T).total

    return min(GAMMAS, key=total)


def horizon(t: int) -> int:
    """The number of events to tune ρ for at event t = 1, 2, …, when T is unknown: the doubling trick.

    Epochs have 1, 2, 4, … events, and the result is the length 2^k of the epoch with 2^k ≤ t < 2^{k+1}. The
    regret of a learner that restarts wherever ``horizon(t) == t``, with the ``best_rho`` for that many
    events, is bounded by the sum of the bounds of its epochs.

    Examples
    --------
    >>> [horizon(t) for t in range(1, 10)]
    [1, 2, 2, 4, 4, 4, 4, 8, 8]
    """
    return 1 << (t.bit_length() - 1)


class Epoch(NamedTuple):
    """Events learned from v = 0 with one γ and one ρ."""

    gamma: int
    rho: float
    events: int


class Schedule(NamedTuple):
    """γ and ρ by the theorem, for the normalised kernel, slopes of at most 1 and competitors of norm 1.

    Attributes
    ----------
    gamma
        The order of the kernel, or None for the best from 1 to 8.
    regularity
        λ, above 0 and at most 1; only γ depends on it.
    horizon
        T, the number of events to come; None if unknown: the learner then restarts after 1, 3, 7, … events,
        each time for twice as many (the doubling trick).

    Examples
    --------
    >>> [(epoch.gamma, round(epoch.rho, 2), epoch.events) for epoch in Schedule(2, 0.5, None).epochs(5)]
    [(2, 1.41, 1), (2, 1.3, 2), (2, 1.09, 2)]
    >>> [Schedule(None, 0.5, T).settings(T)[0] for T in (10, 100, 10_000)]
    [2, 4, 8]
    """

    gamma: int | None
    regularity: float
    horizon: int | None

    def settings(self, T: int) -> tuple[int, float]:
        """γ and ρ for T events from v = 0."""
        gamma = self.gamma or best_gamma(self.regularity, 1.0, 1.0, 1.0, T, lambda order: 1.0)
        return gamma, best_rho(1.0, 1.0, float(gamma), T)

    def epochs(self, events: int) -> list[Epoch]:
        """The epochs of the first ``events`` events; the last one may be unfinished."""
        if self.horizon is not None:
            return [Epoch(*self.settings(self.horizon), events)]
        starts = [1 << k for k in range(events.bit_length())]
        return [Epoch(*self.settings(start), min(start, events - start + 1)) for start in starts]
