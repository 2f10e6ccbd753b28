"""The competitor in the theorem: f_{w,Q*} with the true subspace, and the bound on the regret against it.

The subspace is computed from complete vectors. These are in their original units, while the learner saw
events standardised online, by a mean and a standard deviation per attribute. Each column of the complete
vectors is therefore first converted to the learner's units by a least-squares line, fitted where the
attribute was observed (exact without standardisation). The constant of every event is a coordinate like any
other, which makes an affine subspace linear.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from streamkarma.arrays import Floats
from streamkarma.core.kernel import growth
from streamkarma.core.theory import DEFAULT_REGULARITY, Bound, Epoch, Schedule
from streamkarma.regret import bound as measured
from streamkarma.regret.losses import pointwise_loss

#: Singular values of the complete vectors below this fraction of the largest are rounding errors, as values
#: in streams have about six digits.
ROUNDING = 1e-4

#: Smaller eigenvalues of Q_oo are not inverted: they would magnify events a hundredfold.
REGULARITY = 1e-2

#: The losses that the theorem covers; their slopes are at most 1.
LIPSCHITZ = ("logistic", "hinge")


class LearnerProfile(NamedTuple):
    """The properties of a learner that the bound depends on.

    Attributes
    ----------
    gamma, rho
        Order of the kernel and regularisation; None if the theorem chooses them, see ``Schedule``.
    normalize
        Whether the kernel is normalised.
    deviations
        How the learner deviates from Algorithm 1, so that the bound does not apply; empty if it does not.
    regularity, horizon
        As in ``Schedule``, if ρ is None.
    """

    gamma: int | None
    rho: float | None
    normalize: bool
    deviations: str
    regularity: float = DEFAULT_REGULARITY
    horizon: int | None = None

    def epochs(self, events: int) -> list[Epoch]:
        """The epochs in which this many events were learned."""
        if self.gamma is not None and self.rho is not None:
            return [Epoch(self.gamma, self.rho, events)]
        return Schedule(self.gamma, self.regularity, self.horizon).epochs(events)


def with_constant(X: Floats) -> Floats:
    """``X`` with a last column of ones."""
    return np.column_stack([X, np.ones(len(X))])


def subspace_of_events(X: Floats, full: Floats) -> Floats:
    """Q* for events with the constant, shape (d + 1, d + 1).

    Parameters
    ----------
    X
        Events as the learner saw them, NaN for missing values.
    full
        Their complete vectors, with the same columns in the same order.
    """
    put = np.empty_like(full)
    for j, (seen, whole) in enumerate(zip(X.T, full.T, strict=True)):
        there = ~np.isnan(seen)
        line = np.column_stack([np.ones(there.sum()), whole[there]])
        start, slope = np.linalg.lstsq(line, seen[there], rcond=None)[0]
        put[:, j] = start + slope * whole
    return measured.subspace(with_constant(put), ROUNDING)


class BoundEvents(NamedTuple):
    """The events for a bound, with the constant; n rows and d columns.

    Attributes
    ----------
    X
        The events as the learner saw them, NaN for missing values.
    y, weights
        Shape (n,): class 0 or 1, and the weight.
    loss
        One of LIPSCHITZ.
    stands_for
        Number of events that the rows represent.
    """

    X: Floats
    y: Floats
    weights: Floats
    loss: str
    stands_for: int


def bound_terms(
    events: BoundEvents, Q: Floats, w: Floats, b: float, learner: LearnerProfile
) -> dict[str, Any]:
    """The bound on the regret against ``f_{w,Q} + b``, with all its terms.

    b counts as part of w: f_{Qe,Q} is 1 on the subspace, where e is the constant. The term ``ceiling`` bounds
    the learner's own loss, see there; None for a learner that restarts.
    """
    observed = ~np.isnan(events.X)
    values = np.where(observed, events.X, 0.0)
    rival = w + b * Q[:, -1]
    norms = np.sqrt((values**2).sum(axis=1))
    lam = measured.regularity(Q, observed, ROUNDING)
    bounds = [
        Bound(
            L=float(events.weights.max()),
            squared_radius=measured.squared_radius(values, observed, epoch.gamma, learner.normalize),
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
    deviations = learner.deviations
    if events.stands_for > len(events.y):
        sampled = f"L, X and λ are those of a sample of {len(events.y):,} events"
        deviations = f"{deviations}; {sampled}" if deviations else sampled
    return {**measured.doubled(bounds), "ceiling": highest, "deviations": deviations}


def ceiling(events: BoundEvents, Q: Floats, rival: Floats, bound: Bound, normalize: bool) -> float:
    """An upper bound on the sum of losses of Algorithm 1 on these events.

    The first two terms of the bound hold against every linear v on the features, so the learner's loss is at
    most their sum plus the loss of v, which can be computed from the events: here v is the best multiple of
    the truncated series for ``rival``. This also holds with the normalised kernel, and if λ is too small for
    the third term to be useful. Minus the loss of any competitor it bounds the regret.
    """
    # Imported late, because it takes a tenth of a second and only streams with complete vectors need it.
    from scipy.optimize import minimize_scalar

    observed = ~np.isnan(events.X)
    term = np.where(observed, events.X, 0.0)
    scores = np.zeros(len(term))
    for _ in range(bound.gamma):
        scores += term @ rival
        term = term - observed * (term @ Q)
    if normalize:
        values = np.where(observed, events.X, 0.0)
        overlaps = observed.sum(axis=1, dtype=np.float64)
        scores /= np.sqrt((values**2).sum(axis=1) * growth(overlaps, bound.gamma))
    each = events.stands_for / len(events.y)

    def most(multiple: float) -> float:
        losses = pointwise_loss(events.loss, multiple * scores[:, np.newaxis], events.y)
        return bound.regularisation * multiple**2 + each * float(events.weights @ losses)

    return bound.estimation + float(minimize_scalar(most).fun)
