"""Algorithm 1 of [H] on a budget, literally: the specification of the engine's support vectors.

[H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.

Written to be read beside the paper, not for speed: tests check that the engine gives the same scores. Two
things are not in the paper.

*Support vectors add up.* For one observed set o, φ(x, o) is linear in x, so that
α φ(x, o) + β φ(z, o) = φ(αx + βz, o): examples with the same observed set form one support vector, without
loss. It is kept as u = Σ α x, and its coefficient is the norm of φ(u, o).

*A budget.* The projection of φ(u, o) onto {φ(z, q) : z} has z_k = u_k G(|o ∩ q|) / G(|q|) on o ∩ q, and
there its squared norm is G(|o ∩ q|)² / G(|q|) Σ u_k²: an evicted support vector is folded into the one whose
pattern q keeps most of it. The first of equals is taken; a replacement keeps the position of the replaced.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from river import base

#: Names of the observed attributes; None for the constant, which is always observed.
Observed = frozenset[Hashable]
#: Values by attribute and category, None for the category of a number.
Values = dict[tuple[Hashable, str | None], float]

#: l'(f, y) by the name of the loss, for y of +1 and -1.
SLOPES: dict[str, Callable[[float, int], float]] = {
    "hinge": lambda f, y: -float(y) if y * f < 1.0 else 0.0,
    "logistic": lambda f, y: -y * math.exp(min(-y * f, 0.0)) / (1.0 + math.exp(-abs(f))),
}


@dataclass
class SupportVector:
    """A support vector.

    Parameters
    ----------
    observed
        The observed set o.
    u
        The vector u = Σ α x on it.
    step
        The step in which this set was first added, from 1.

    Examples
    --------
    >>> model = ReferenceKARMA()
    >>> model.learn_one({"temp": 3.0}, True)
    >>> sorted(model.support_vectors[0].u, key=str), model.support_vectors[0].step
    ([('temp', None), (None, None)], 1)
    """

    observed: Observed
    u: Values
    step: int


class ReferenceKARMA(base.Classifier):
    """KARMA for two classes, in its support-vector form.

    Parameters
    ----------
    gamma
        Order of the kernel, 1 or more.
    rho
        Strength of the regularisation, above 0: event t is learned with step 1 / (rho t).
    loss
        ``"hinge"`` or ``"logistic"``.
    budget
        Maximum number of support vectors, 1 or more; None for no limit.
    pruning
        What is evicted from a full model: ``"merge"``, the support vector of least norm, old or new, which is
        folded into another; ``"remove"``, the same, dropped; ``"oldest"``, the oldest, dropped.
    normalize
        Whether every event has norm 1 in feature space.

    Attributes
    ----------
    support_vectors : list of SupportVector
        No two have the same observed set.

    Examples
    --------
    >>> model = ReferenceKARMA(rho=0.1)
    >>> for _ in range(5):
    ...     model.learn_one({"temp": 3.0, "wind": "S", "rain": None}, False)
    ...     model.learn_one({"temp": -1.0, "rain": 4.5}, True)
    >>> model.predict_one({"temp": -2.0}), len(model.support_vectors)
    (True, 2)
    """

    def __init__(
        self,
        gamma: int = 2,
        rho: float = 0.01,
        loss: str = "logistic",
        budget: int | None = None,
        pruning: str = "merge",
        normalize: bool = True,
    ) -> None:
        self.gamma = gamma
        self.rho = rho
        self.loss = loss
        self.budget = budget
        self.pruning = pruning
        self.normalize = normalize
        self.support_vectors: list[SupportVector] = []
        self._steps = 0

    def learn_one(self, x: Mapping[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """One round of Algorithm 1.

        Parameters
        ----------
        x
            The event: numbers and categories by name; None and NaN are missing.
        y
            The label; true for the positive class.
        w
            Multiplies the loss, 0 or more; with 0 there is no round.

        Examples
        --------
        >>> model = ReferenceKARMA()
        >>> model.learn_one({"temp": 3.0, "rain": None}, True)
        >>> model.learn_one({"temp": 1.0, "rain": 2.0}, False, w=0.0)
        >>> len(model.support_vectors)
        1
        """
        if w == 0.0:
            return
        observed, values = self._encoded(x)
        self._steps += 1
        eta = 1.0 / (self.rho * self._steps)
        alpha = -eta * w * SLOPES[self.loss](self.decision_one(x), 1 if y else -1)
        for sv in self.support_vectors:
            sv.u = {k: (1.0 - eta * self.rho) * value for k, value in sv.u.items()}
        if alpha != 0.0:
            self._add(SupportVector(observed, {k: alpha * x for k, x in values.items()}, self._steps))

    def decision_one(self, x: Mapping[Hashable, Any]) -> float:
        """The score: the sum of the kernels with all support vectors.

        Parameters
        ----------
        x
            The event, as in ``learn_one``.

        Returns
        -------
        The score, positive for the positive class.

        Examples
        --------
        >>> model = ReferenceKARMA(rho=1.0, loss="hinge")
        >>> model.learn_one({"temp": 3.0}, True)
        >>> round(model.decision_one({"temp": 3.0}), 6)
        1.0
        """
        event = self._encoded(x)
        return math.fsum(self._kernel(*event, sv.observed, sv.u) for sv in self.support_vectors)

    def predict_proba_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """The logistic function of the score, and its complement.

        Parameters
        ----------
        x
            The event, as in ``learn_one``.
        **kwargs
            Ignored; river passes none.

        Returns
        -------
        The probabilities of False and True.

        Examples
        --------
        >>> ReferenceKARMA().predict_proba_one({"temp": 3.0})
        {False: 0.5, True: 0.5}
        """
        chance = (1.0 + math.tanh(self.decision_one(x) / 2.0)) / 2.0
        return {False: 1.0 - chance, True: chance}

    def _growth(self, n: int) -> int:
        """G(n) = 1 + n + … + n^(γ-1)."""
        return int(sum(n**power for power in range(self.gamma)))

    def _kernel(self, o: Observed, x: Values, q: Observed, z: Values) -> float:
        """G(|o ∩ q|) times the sum of x_k z_k [H, Thm 4]."""
        return self._growth(len(o & q)) * math.fsum(x[k] * z[k] for k in x.keys() & z.keys())

    def _encoded(self, x: Mapping[Hashable, Any]) -> tuple[Observed, Values]:
        """The observed set and its values, of norm 1 with ``normalize``; None and NaN are missing."""
        values: Values = {(None, None): 1.0}
        for name, value in x.items():
            if isinstance(value, str):
                values[name, value] = 1.0
            elif value is not None and not math.isnan(value):
                values[name, None] = float(value)
        observed = frozenset(name for name, _ in values)
        norm = math.sqrt(self._kernel(observed, values, observed, values)) if self.normalize else 1.0
        return observed, {k: value / norm for k, value in values.items()}

    def _add(self, new: SupportVector) -> None:
        """Add φ(u, o) to the model."""
        for sv in self.support_vectors:
            if sv.observed == new.observed:
                sv.u = {k: sv.u.get(k, 0.0) + new.u.get(k, 0.0) for k in sv.u.keys() | new.u.keys()}
                return
        if self.budget is None or len(self.support_vectors) < self.budget:
            self.support_vectors.append(new)
        else:
            self._prune(new)

    def _prune(self, new: SupportVector) -> None:
        """Add a support vector with a new observed set to a full model."""

        def square(sv: SupportVector) -> float:
            return self._kernel(sv.observed, sv.u, sv.observed, sv.u)

        oldest = self.pruning == "oldest"
        old = min(self.support_vectors, key=lambda sv: sv.step if oldest else square(sv))
        goes = old if oldest or square(new) > square(old) else new
        if self.pruning == "merge":
            self._fold(goes)
        self.support_vectors = [new if sv is goes else sv for sv in self.support_vectors]

    def _fold(self, goes: SupportVector) -> None:
        """Fold an evicted support vector into the one whose pattern keeps most of it."""

        def both(sv: SupportVector) -> int:
            return self._growth(len(goes.observed & sv.observed))

        def kept(sv: SupportVector) -> float:
            squares = math.fsum(value**2 for (name, _), value in goes.u.items() if name in sv.observed)
            return both(sv) ** 2 / self._growth(len(sv.observed)) * squares

        hosts = [sv for sv in self.support_vectors if sv is not goes]
        host = max(hosts, key=kept, default=None)
        if host is not None and kept(host) > 0.0:
            factor = both(host) / self._growth(len(host.observed))
            part = {k: factor * value for k, value in goes.u.items() if k[0] in host.observed}
            self._add(SupportVector(host.observed, part, self._steps))
