"""From the parameters of an estimator to the support vectors it learns with."""

from __future__ import annotations

import math
import reprlib
from typing import Any, Protocol

from streamkarma import parameters
from streamkarma.core.kernel import check_gamma
from streamkarma.core.loss import Loss
from streamkarma.core.support import PRUNING, DoublingSupportVectors, Rule, SupportVectors
from streamkarma.core.theory import DEFAULT_REGULARITY, Pace
from streamkarma.errors import UsageError
from streamkarma.parameters import LEARNING, Integer, Number

#: Regularisation when none is given, and what says that the theorem is to choose.
DEFAULT_RHO, AUTO = parameters.DEFAULT_RHO, parameters.AUTO


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
    gamma = 1 if said.gamma == AUTO else _checked_gamma(said.gamma)
    rho = None if said.rho == AUTO else said.rho
    for name, value in (("rho", rho), ("eta", said.eta)):
        if value is not None:
            _check(name, value)
    budget = said.budget
    if budget is not None:
        _check("budget", budget)
    if said.pruning not in PRUNING:
        raise UsageError(f"pruning must be one of {', '.join(PRUNING)}, not {said.pruning!r}")
    strength = DEFAULT_RHO if rho is None else float(rho)
    if said.eta is not None and said.eta * strength >= 1.0:
        raise UsageError(f"eta * rho must be below 1, or each step forgets all: {said.eta} * {strength}")
    steepness = loss.smoothness
    if said.rho is None and said.eta is None:
        steepness = caution * max(steepness, 1.0)
    rule = Rule(gamma, bool(said.normalize), strength, float(said.eta or 0.0), loss.code, steepness,
                budget or 0, said.pruning, memory(check_forget(said.forget)))  # fmt: skip
    if pace is None:
        return SupportVectors(rule, bool(said.average))
    if pace.horizon is None:
        return DoublingSupportVectors(rule, bool(said.average), pace)
    gamma, strength = pace.settings(pace.horizon)
    return SupportVectors(rule._replace(gamma=gamma, rho=strength), bool(said.average))


def check_count(name: str, value: Any, most: int = parameters.MOST) -> int:
    """Return ``value`` if it is an integer from 1 to ``most``, else raise UsageError."""
    return int(_in_range(name, value, Integer(1, most)))


def check_positive(name: str, value: Any) -> float:
    """Return ``value`` as a float if it is a number that a parameter may be, else raise UsageError."""
    return float(_in_range(name, value, parameters.STRENGTH))


def check_forget(half_life: Any) -> float | None:
    """Return ``half_life`` if it is None or within the range of ``forget``, else raise UsageError."""
    kind = LEARNING["forget"].kind
    return None if half_life is None else float(_in_range("forget", half_life, kind, "None or "))


def memory(half_life: float | None) -> float:
    """How many things to average over, so that what was seen ``half_life`` before counts half.

    Examples
    --------
    >>> round(memory(1000.0)), memory(None)
    (1443, inf)
    """
    return float("inf") if half_life is None else max(1.0, half_life / math.log(2.0))


def check_bounds(attributes: Any, coordinates: Any, name_bytes: Any) -> tuple[int, int, int]:
    """The bounds of a vocabulary, if they are within their own, else raise UsageError."""
    return (
        int(_check("max_attributes", attributes)),
        int(_check("max_coordinates", coordinates)),
        int(_check("max_name_bytes", name_bytes)),
    )


def _check(name: str, value: Any) -> Any:
    """Return ``value`` if it is within the range declared for that parameter, else raise UsageError."""
    return _in_range(name, value, LEARNING[name].kind)


def _in_range(name: str, value: Any, kind: parameters.Kind, or_else: str = "") -> Any:
    assert isinstance(kind, Integer | Number)
    if not kind.holds(value):
        raise UsageError(f"{name} must be {or_else}{kind}, not {reprlib.repr(value)}")
    return value


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
        _check("horizon", said.horizon)
    if said.regularity is not None and said.gamma != AUTO:
        raise UsageError("regularity has a meaning with gamma='auto' only")
    lam = DEFAULT_REGULARITY if said.regularity is None else _check("regularity", said.regularity)
    gamma = None if said.gamma == AUTO else _checked_gamma(said.gamma)
    return Pace(gamma, lam, said.horizon)


def _checked_gamma(gamma: Any) -> int:
    """The order of the kernel; beyond its range what a kernel says would not fit into a number."""
    return check_gamma(_check("gamma", gamma))
