"""From the parameters of an estimator to the support vectors it learns with."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from streamkarma.core.doubling import DoublingSupportVectors
from streamkarma.core.karma import Rule
from streamkarma.core.kernel import check_gamma
from streamkarma.core.loss import Loss
from streamkarma.core.pruning import PRUNING
from streamkarma.core.scale import memory
from streamkarma.core.support import SupportVectors
from streamkarma.core.theory import DEFAULT_REGULARITY, Pace
from streamkarma.errors import UsageError

#: Regularisation when none is given.
DEFAULT_RHO = 1e-3

#: Says that the theorem is to choose.
AUTO = "auto"


class Settings(Protocol):
    """What an estimator says of its support vectors; see ``KARMAClassifier``."""

    gamma: int | str
    rho: float | str | None
    eta: float | None
    budget: int | None
    pruning: str
    normalize: bool
    average: bool
    horizon: int | None
    regularity: float | None
    forget: float | None


def support_vectors(said: Settings, loss: Loss, caution: float) -> SupportVectors:
    """Check the parameters, and make of them what learns.

    ``caution`` says how far below 1 / (smoothness * k(x, x)) the steps are held when neither
    rho nor eta is given; a loss of bounded slope counts as of smoothness 1.

    Raises
    ------
    UsageError
        If a parameter is out of its range, or two contradict each other.
    """
    pace = _pace(said, loss)
    gamma = 1 if said.gamma == AUTO else check_gamma(said.gamma)
    rho = None if said.rho == AUTO else said.rho
    for name, value in (("rho", rho), ("eta", said.eta)):
        if value is not None:
            check_positive(name, value)
    budget = said.budget
    if budget is not None:
        check_count("budget", budget)
    if said.pruning not in PRUNING:
        raise UsageError(f"pruning must be one of {', '.join(PRUNING)}, not {said.pruning!r}")
    strength = DEFAULT_RHO if rho is None else float(rho)
    if said.eta is not None and said.eta * strength >= 1.0:
        raise UsageError(f"eta * rho must be below 1, or each step forgets all: {said.eta} * {strength}")
    steepness = loss.smoothness
    if said.rho is None and said.eta is None:
        steepness = caution * max(steepness, 1.0)
    rule = Rule(gamma, bool(said.normalize), strength, float(said.eta or 0.0), loss.code, steepness,
                budget or 0, PRUNING[said.pruning], memory(check_forget(said.forget)))  # fmt: skip
    if pace is None:
        return SupportVectors(rule, said.average)
    if pace.horizon is None:
        return DoublingSupportVectors(rule, said.average, pace)
    gamma, strength = pace.settings(pace.horizon)
    return SupportVectors(rule._replace(gamma=gamma, rho=strength), said.average)


def check_count(name: str, value: Any) -> int:
    """Return ``value`` if it is an integer of 1 or more, else raise UsageError."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{name} must be an integer of 1 or more, not {value!r}")
    return value


def check_positive(name: str, value: Any) -> float:
    """Return ``value`` as a float if it is a finite number above 0, else raise UsageError."""
    if not _is_positive(value):
        raise UsageError(f"{name} must be a number above 0, not {value!r}")
    return float(value)


def check_forget(half_life: Any) -> float | None:
    """Return ``half_life`` if it is None or a number of 1 or more, else raise UsageError."""
    if half_life is not None and not (_is_positive(half_life) and half_life >= 1.0):
        raise UsageError(f"forget must be None or a number of 1 or more, not {half_life!r}")
    return None if half_life is None else float(half_life)


def _pace(said: Settings, loss: Loss) -> Pace | None:
    """Where the theorem is to choose, how; None where it is not."""
    if said.rho != AUTO:
        for name, is_so in (("gamma='auto'", said.gamma == AUTO), ("horizon", said.horizon is not None),
                            ("regularity", said.regularity is not None)):  # fmt: skip
            if is_so:
                raise UsageError(f"{name} has a meaning with rho='auto' only")
        return None
    if said.eta is not None:
        raise UsageError("eta and rho='auto' contradict each other")
    if said.forget is not None:
        raise UsageError("forget and rho='auto' contradict each other: the theorem forgets nothing")
    if not said.normalize:
        raise UsageError("rho='auto' needs normalize: without it nobody knows how long events will be")
    if loss.smoothness:
        raise UsageError("rho='auto' is for losses of bounded slope: hinge and logistic for classes, "
                         "absolute, huber and epsilon_insensitive for numbers")  # fmt: skip
    if said.horizon is not None:
        check_count("horizon", said.horizon)
    if said.regularity is not None and said.gamma != AUTO:
        raise UsageError("regularity has a meaning with gamma='auto' only")
    lam = DEFAULT_REGULARITY if said.regularity is None else said.regularity
    if not (_is_positive(lam) and lam <= 1.0):
        raise UsageError(f"regularity must be a number above 0 and at most 1, not {lam!r}")
    gamma = None if said.gamma == AUTO else check_gamma(said.gamma)
    return Pace(gamma, lam, said.horizon)


def _is_positive(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0.0 < value < np.inf
