"""The rival of the theorem: f_{w,Q*} with the true subspace, and the bound on the regret against it.

Complete vectors say what the subspace is. They come in units of their own, and the learner saw events
standardised as it went, by a mean and a spread per attribute; so each column of the complete vectors
is first put into the learner's units by the line that fits best where the attribute was observed
(without standardisation: exactly). The constant, which every event has, is a coordinate like the
others: what lies in an affine subspace lies in a linear one with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.theory import DEFAULT_REGULARITY, Bound, Epoch, Pace
from streamkarma.regret import bound as measured
from streamkarma.regret.losses import suffered

Floats = NDArray[np.float64]

#: Singular values of the complete vectors below this part of the largest are rounding: streams carry
#: some six digits.
ROUNDING = 1e-4

#: Eigenvalues of Q_oo below are not inverted: there events would be magnified a hundred times.
REGULARITY = 1e-2

#: The losses that the theorem is about have slopes of 1 at most.
LIPSCHITZ = ("logistic", "hinge")


class Learner(NamedTuple):
    """What the bound has to know of the learner.

    Attributes
    ----------
    gamma, rho
        Of its kernel and its steps; None where the theorem chooses, see ``Pace``.
    normalize
        Of its kernel.
    strays
        Where it leaves Algorithm 1, so that the bound does not speak of it; empty for nowhere.
    regularity, horizon
        As of ``Pace``, for a learner of which ρ is None.
    """

    gamma: int | None
    rho: float | None
    normalize: bool
    strays: str
    regularity: float = DEFAULT_REGULARITY
    horizon: int | None = None

    def epochs(self, events: int) -> list[Epoch]:
        """What so many events were learned in."""
        if self.gamma is not None and self.rho is not None:
            return [Epoch(self.gamma, self.rho, events)]
        return Pace(self.gamma, self.regularity, self.horizon).epochs(events)


def with_constant(X: Floats) -> Floats:
    """``X`` with a last column of ones."""
    return np.column_stack([X, np.ones(len(X))])


def subspace(X: Floats, full: Floats) -> Floats:
    """Q* for events with the constant, shape (d + 1, d + 1).

    Parameters
    ----------
    X
        Events as the learner saw them, NaN for what is missing.
    full
        Their complete vectors, the same columns in the same order.
    """
    put = np.empty_like(full)
    for j, (seen, whole) in enumerate(zip(X.T, full.T, strict=True)):
        there = ~np.isnan(seen)
        line = np.column_stack([np.ones(there.sum()), whole[there]])
        start, slope = np.linalg.lstsq(line, seen[there], rcond=None)[0]
        put[:, j] = start + slope * whole
    return measured.subspace(with_constant(put), ROUNDING)


class Events(NamedTuple):
    """Events with the constant that a bound is wanted for, n rows of d columns.

    Attributes
    ----------
    X
        As the learner saw them, NaN for what is missing.
    y, weights
        Shape (n,): class 0 or 1, and the weight.
    loss
        One of LIPSCHITZ.
    stands_for
        How many events the rows stand for.
    """

    X: Floats
    y: Floats
    weights: Floats
    loss: str
    stands_for: int


def bounded(events: Events, Q: Floats, w: Floats, b: float, learner: Learner) -> dict[str, Any]:
    """The bound on the regret against ``f_{w,Q} + b``, its terms spelled out.

    b counts as part of w: f_{Qe,Q} is 1 on the subspace, e being the constant. ``ceiling`` is what
    the learner's own loss can come to at most, see there; None for one that starts afresh.
    """
    observed = ~np.isnan(events.X)
    values = np.where(observed, events.X, 0.0)
    rival = w + b * Q[:, -1]
    norms = np.sqrt((values**2).sum(axis=1))
    lam = measured.regularity(Q, observed, ROUNDING)
    bounds = [
        Bound(
            L=float(events.weights.max()),
            reach=measured.reach(values, observed, epoch.gamma, learner.normalize),
            rho=epoch.rho,
            B=measured.embedding(rival, Q, epoch.gamma),
            lam=lam,
            gamma=epoch.gamma,
            w_norm=float(np.linalg.norm(rival)),
            x_norm=1.0 if learner.normalize else float(norms.max()),
            T=epoch.events,
        )
        for epoch in learner.epochs(events.stands_for)
    ]
    highest = ceiling(events, Q, rival, bounds[0], learner.normalize) if len(bounds) == 1 else None
    return {**measured.doubled(bounds), "ceiling": highest, "strays": learner.strays}


def ceiling(events: Events, Q: Floats, rival: Floats, bound: Bound, normalize: bool) -> float:
    """What Algorithm 1 can suffer at most on these events, in the sum of losses.

    The first two terms of the bound hold against every linear v on the features. So its loss is at
    most theirs and that of v, which can be had from the events themselves: here v is the best multiple
    of the series for ``rival``, cut off. It holds where λ is too small for the third term to say
    anything, with the normalised kernel too, and less the loss of any rival it bounds the regret.
    """
    # A tenth of a second that nobody without complete vectors should wait for.
    from scipy.optimize import minimize_scalar

    observed = ~np.isnan(events.X)
    term = np.where(observed, events.X, 0.0)
    scores = np.zeros(len(term))
    for _ in range(bound.gamma):
        scores += term @ rival
        term = term - observed * (term @ Q)
    if normalize:
        values = np.where(observed, events.X, 0.0)
        scores /= np.sqrt((values**2).sum(axis=1) * np.polyval(np.ones(bound.gamma), observed.sum(axis=1)))
    each = events.stands_for / len(events.y)

    def most(multiple: float) -> float:
        losses = suffered(events.loss, multiple * scores[:, np.newaxis], events.y)
        return bound.regularisation * multiple**2 + each * float(events.weights @ losses)

    return bound.estimation + float(minimize_scalar(most).fun)
