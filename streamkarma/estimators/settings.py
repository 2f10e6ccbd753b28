"""From the parameters of an estimator to the support vectors it learns with."""

from __future__ import annotations

import math
import reprlib
from typing import Any, Protocol

import numpy as np

from streamkarma.core.kernel import check_gamma
from streamkarma.core.loss import Loss
from streamkarma.core.support import PRUNING, DoublingSupportVectors, Rule, SupportVectors
from streamkarma.core.theory import DEFAULT_REGULARITY, Pace
from streamkarma.errors import UsageError

#: Regularisation when none is given.
DEFAULT_RHO = 1e-3

#: What parameters may be: integers up to the first, numbers from the second to the third, half-lives and
#: horizons up to the fourth.
MOST, LEAST, LARGEST, LONGEST = 1 << 20, 1e-12, 1e12, 1e15
#: Two of the integers have bounds of their own.
MOST_GAMMA, MOST_NAME_BYTES = 32, 1 << 16

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
    gamma = 1 if said.gamma == AUTO else _checked_gamma(said.gamma)
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
                budget or 0, said.pruning, memory(check_forget(said.forget)))  # fmt: skip
    if pace is None:
        return SupportVectors(rule, bool(said.average))
    if pace.horizon is None:
        return DoublingSupportVectors(rule, bool(said.average), pace)
    gamma, strength = pace.settings(pace.horizon)
    return SupportVectors(rule._replace(gamma=gamma, rho=strength), bool(said.average))


def check_count(name: str, value: Any, most: int = MOST) -> int:
    """Return ``value`` if it is an integer from 1 to ``most``, else raise UsageError."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 1 <= value <= most:
        raise UsageError(f"{name} must be an integer from 1 to {most:,}, not {reprlib.repr(value)}")
    return int(value)


def check_positive(name: str, value: Any) -> float:
    """Return ``value`` as a float if it is a number from LEAST to LARGEST, else raise UsageError."""
    if not _is_within(value, LEAST, LARGEST):
        raise UsageError(f"{name} must be a number from {LEAST:g} to {LARGEST:g}, not {reprlib.repr(value)}")
    return float(value)


def check_forget(half_life: Any) -> float | None:
    """Return ``half_life`` if it is None or a number from 1 to LONGEST, else raise UsageError."""
    if half_life is not None and not _is_within(half_life, 1.0, LONGEST):
        raise UsageError(
            f"forget must be None or a number from 1 to {LONGEST:g}, not {reprlib.repr(half_life)}"
        )
    return None if half_life is None else float(half_life)


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
        check_count("max_attributes", attributes),
        check_count("max_coordinates", coordinates),
        check_count("max_name_bytes", name_bytes, MOST_NAME_BYTES),
    )


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
        check_count("horizon", said.horizon, int(LONGEST))
    if said.regularity is not None and said.gamma != AUTO:
        raise UsageError("regularity has a meaning with gamma='auto' only")
    lam = DEFAULT_REGULARITY if said.regularity is None else said.regularity
    if not _is_within(lam, LEAST, 1.0):
        raise UsageError(f"regularity must be a number from {LEAST:g} to 1, not {reprlib.repr(lam)}")
    gamma = None if said.gamma == AUTO else _checked_gamma(said.gamma)
    return Pace(gamma, lam, said.horizon)


def _checked_gamma(gamma: Any) -> int:
    """The order of the kernel; beyond MOST_GAMMA what a kernel says would not fit into a number."""
    return check_gamma(check_count("gamma", gamma, MOST_GAMMA))


def _is_within(value: Any, least: float, most: float) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most
