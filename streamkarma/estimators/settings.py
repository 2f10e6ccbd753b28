"""From the parameters of an estimator to its learner, with all checks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from numbers import Integral, Real
from typing import Any

import numpy as np

from streamkarma.core.loss import Loss
from streamkarma.core.support import PRUNING, DoublingSupportVectors, Rule, SupportVectors
from streamkarma.core.theory import DEFAULT_REGULARITY, Schedule
from streamkarma.errors import UsageError
from streamkarma.parameters.checks import check_word, is_word
from streamkarma.parameters.kinds import Integer, Kind, Number, as_float
from streamkarma.parameters.learning import DEFAULT_RHO, LEARNING, MOST, STRENGTH
from streamkarma.parameters.words import AUTO, CARRY, KINDS, MISSING_WORDS
from streamkarma.printable import shown


@dataclass(eq=False, repr=False, kw_only=True)
class KindParameters:
    """The parameters on missing values and kinds of attributes, see ``KARMAClassifier``."""

    na: Sequence[str] | None = None
    sentinel: Mapping[str, float | Sequence[float]] | None = None
    sentinels: bool = True
    kinds: Mapping[str, str] | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class ValueParameters(KindParameters):
    """The parameters of all estimators that concern values, see ``KARMAClassifier``."""

    entity: str | None = None
    time: str | None = None
    carry: str = "fill"
    carry_labels: bool = True
    carry_for: float | None = None
    max_entities: int = 100_000
    coverage: float | None = None


@dataclass(eq=False, repr=False)
class EncodingParameters:
    """The parameters of most estimators on names, scales and forgetting, see ``KARMAClassifier``.

    Listed first among the bases of an estimator, whose own parameters then come before these.
    """

    scale: bool = True
    forget: float | None = None
    max_attributes: int = 16384
    max_coordinates: int = 16384
    max_name_bytes: int = 1024


@dataclass(eq=False, repr=False, kw_only=True)
class CostParameters:
    """The parameters of all classifiers that concern costs of errors, see ``KARMAClassifier``."""

    class_weight: str | Mapping[Any, float] | None = None
    threshold: str | float | None = None


@dataclass(eq=False, repr=False)
class SupportVectorParameters(ValueParameters):
    """The parameters that ``KARMAClassifier`` and ``KARMARegressor`` share, see there."""

    gamma: int | str = 2
    rho: float | str | None = None
    eta: float | None = None
    loss: str = "logistic"
    budget: int | None = 512
    pruning: str = "merge"
    normalize: bool = True
    average: bool = False
    scale: bool = True
    horizon: int | None = None
    regularity: float | None = None
    forget: float | None = None
    max_attributes: int = 16384
    max_coordinates: int = 16384
    max_name_bytes: int = 1024


def support_vectors(
    model: SupportVectorParameters, losses: dict[str, Loss], step_margin: float
) -> SupportVectors:
    """Check the parameters and create the learner, with one of the losses.

    If neither rho nor eta is given, steps are at most 1 / (step_margin * smoothness * k(x, x)); a loss of
    bounded slope counts as having smoothness 1.

    Raises
    ------
    UsageError
        If a parameter is out of its range, or two are incompatible.
    """
    loss = losses[check_word("loss", model.loss, losses)]
    schedule = _schedule(model, loss)
    gamma = 1 if is_word(model.gamma, AUTO) else int(_check("gamma", model.gamma))
    rho = None if is_word(model.rho, AUTO) else model.rho
    for name, value in (("rho", rho), ("eta", model.eta)):
        if value is not None:
            _check(name, value)
    budget = model.budget
    if budget is not None:
        _check("budget", budget)
    check_word("pruning", model.pruning, PRUNING)
    strength = DEFAULT_RHO if rho is None else float(rho)
    if model.eta is not None and model.eta * strength >= 1.0:
        raise UsageError(f"eta * rho must be below 1, or each step forgets all: {model.eta} * {strength}")
    steepness = loss.smoothness
    if model.rho is None and model.eta is None:
        steepness = step_margin * max(steepness, 1.0)
    rule = Rule(
        gamma,
        check_flag("normalize", model.normalize),
        strength,
        float(model.eta or 0.0),
        loss.code,
        steepness,
        budget or 0,
        model.pruning,
        averaging_window(check_half_life(model.forget) or None),
    )
    if schedule is None:
        return SupportVectors(rule, check_flag("average", model.average))
    if schedule.horizon is None:
        return DoublingSupportVectors(rule, check_flag("average", model.average), schedule)
    gamma, strength = schedule.settings(schedule.horizon)
    return SupportVectors(rule._replace(gamma=gamma, rho=strength), check_flag("average", model.average))


def take_plain(model: Any) -> None:
    """Convert the flags of a model to booleans and its numbers to Python's own, as files need them.

    UsageError for a flag that is neither; numbers are checked where they are used.
    """
    for name, parameter in signature(type(model)).parameters.items():
        value = getattr(model, name, parameter.default)
        if isinstance(parameter.default, bool):
            setattr(model, name, check_flag(name, value))
        elif isinstance(value, Real) and not isinstance(value, bool):
            setattr(model, name, int(value) if isinstance(value, Integral) else as_float(value))


def check_flag(name: str, value: Any) -> bool:
    """Return ``value`` as a boolean if it is one, or 0 or 1, else raise UsageError."""
    if not isinstance(value, bool | int | np.bool_) or value not in (0, 1):
        raise UsageError(f"{name} must be True or False, not {shown(value)}")
    return bool(value)


def check_count(name: str, value: Any, most: int = MOST) -> int:
    """Return ``value`` if it is an integer from 1 to ``most``, else raise UsageError."""
    return int(_in_range(name, value, Integer(1, most)))


def check_positive(name: str, value: Any) -> float:
    """Return ``value`` as a float if it is within the range of strengths, else raise UsageError."""
    return float(_in_range(name, value, STRENGTH))


def check_coverage(coverage: Any) -> float:
    """Return ``coverage`` as a float if it is within the range of that parameter, else raise UsageError."""
    return float(_in_range("coverage", coverage, LEARNING["coverage"].kind))


def check_half_life(forget: Any) -> float:
    """Return ``forget`` as the engine takes it, 0 for None; UsageError if it is out of its range."""
    kind = LEARNING["forget"].kind
    return 0.0 if forget is None else float(_in_range("forget", forget, kind, "None or "))


def averaging_window(half_life: float | None) -> float:
    """The length of the exponential average in which weights halve after ``half_life`` events.

    Examples
    --------
    >>> round(averaging_window(1000.0)), averaging_window(None)
    (1443, inf)
    """
    return float("inf") if half_life is None else max(1.0, half_life / math.log(2.0))


def check_bounds(attributes: Any, coordinates: Any, name_bytes: Any) -> tuple[int, int, int]:
    """Return the bounds of a vocabulary if they are in their ranges, else raise UsageError."""
    return (
        int(_check("max_attributes", attributes)),
        int(_check("max_coordinates", coordinates)),
        int(_check("max_name_bytes", name_bytes)),
    )


#: Missing-value words, sentinels by attribute, whether to detect more, and kinds by attribute, as the encoder
#: takes them.
Rules = tuple[list[str], dict[str, list[float]], bool, dict[str, str]]
#: Maximum number of sentinels of one attribute.
MOST_SENTINELS = 4


def check_rules(words: Any, sentinels: Any, find: Any, kinds: Any) -> Rules:
    """Return what stands for a missing value, and kinds of attributes, as the encoder takes them.

    Raises
    ------
    UsageError
        If one of them is invalid.

    Examples
    --------
    >>> check_rules(["missing"], {"temp": -9999}, True, {"user": "category"})
    (['missing'], {'temp': [-9999.0]}, True, {'user': 'category'})
    """
    listed = _listed(MISSING_WORDS if words is None else words)
    if not isinstance(sentinels, Mapping | None) or not isinstance(find, bool):
        raise UsageError("sentinel must be None or numbers by name, and sentinels a boolean")
    by_name = {}
    for name, values in (sentinels or {}).items():
        each = list(values) if isinstance(values, Sequence | np.ndarray) else [values]
        numbers = [as_float(value) for value in each]
        if not all(map(math.isfinite, numbers)) or not isinstance(name, str):
            raise UsageError(f"a sentinel must be a finite number by name, not {shown({name: values})}")
        if len(numbers) > MOST_SENTINELS:
            raise UsageError(f"{name!r} has {len(numbers)} sentinels; at most {MOST_SENTINELS} are allowed")
        by_name[name] = numbers
    return listed, by_name, find, _check_kinds(kinds)


#: The name of the entity, whether it is an attribute too, the name of the time, ``carry``, whether labels are
#: carried, the maximum age, and the maximum number of entities, as the encoder takes them.
EntityRules = tuple[str, bool, str | None, str, bool, float, int]


def check_entities(
    entity: Any, time: Any, carry: Any, carry_labels: Any, carry_for: Any, max_entities: Any
) -> EntityRules | None:
    """Return how events are assigned to entities, as the encoder takes it; None if entities are not tracked.

    Raises
    ------
    UsageError
        If one of them is out of its range, or needs an entity.

    Examples
    --------
    >>> check_entities("device", "ts", "fill", True, 3600.0, 1000)
    ('device', True, 'ts', 'fill', True, 3600.0, 1000)
    """
    if not isinstance(entity, str | None) or not isinstance(time, str | None):
        raise UsageError(f"entity and time must be names or None, not {shown((entity, time))}")
    check_word("carry", carry, CARRY)
    most = int(_check("max_entities", max_entities))
    longest = math.inf if carry_for is None else float(_check("carry_for", carry_for))
    if entity is None:
        if time is not None or carry_for is not None:
            raise UsageError("time and carry_for need an entity")
        return None
    if entity == time:
        raise UsageError(f"{entity!r} cannot be both the entity and the time")
    return entity, True, time, carry, check_flag("carry_labels", carry_labels), longest, most


def _listed(words: Any) -> list[Any]:
    """Words as a list, those of a set sorted, so that the same words give the same file."""
    listed = list(words) if isinstance(words, Iterable) and not isinstance(words, str) else [None]
    if not all(isinstance(word, str) for word in listed):
        raise UsageError(f"na must be None or a list of words, not {shown(words)}")
    return sorted(listed) if isinstance(words, set | frozenset) else listed


def _check_kinds(kinds: Any) -> dict[str, str]:
    if not isinstance(kinds, Mapping | None):
        raise UsageError(f"kinds must be None or kinds by name, not {shown(kinds)}")
    for name, kind in (kinds or {}).items():
        if not isinstance(name, str) or not isinstance(kind, str) or kind not in KINDS:
            known = ", ".join(KINDS)
            raise UsageError(f"a kind must be one of {known} by name, not {shown({name: kind})}")
    return dict(kinds or {})


def _check(name: str, value: Any) -> Any:
    """Return ``value`` if it is within the range declared for that parameter, else raise UsageError."""
    return _in_range(name, value, LEARNING[name].kind)


def _in_range(name: str, value: Any, kind: Kind, or_else: str = "") -> Any:
    assert isinstance(kind, Integer | Number)
    if not kind.holds(value):
        raise UsageError(f"{name} must be {or_else}{kind}, not {shown(value)}")
    return value


def _schedule(model: SupportVectorParameters, loss: Loss) -> Schedule | None:
    """The schedule, if the theorem chooses rho; else None."""
    if not is_word(model.rho, AUTO):
        for name, is_so in (
            ("gamma='auto'", is_word(model.gamma, AUTO)),
            ("horizon", model.horizon is not None),
            ("regularity", model.regularity is not None),
        ):
            if is_so:
                also = "gamma='auto' and " if name == "regularity" else ""
                raise UsageError(f"{name} needs {also}rho='auto'")
        return None
    if model.eta is not None:
        raise UsageError("eta cannot be combined with rho='auto'")
    if model.forget is not None:
        raise UsageError(
            "forget cannot be combined with rho='auto': the theorem assumes that nothing is forgotten"
        )
    if not model.normalize:
        raise UsageError(
            "rho='auto' needs normalize: otherwise the norms of the events are not known in advance"
        )
    if loss.smoothness:
        raise UsageError(
            "rho='auto' is for losses of bounded slope: hinge and logistic for classes, "
            "absolute, huber and epsilon_insensitive for numbers"
        )
    if model.horizon is not None:
        _check("horizon", model.horizon)
    if model.regularity is not None and not is_word(model.gamma, AUTO):
        raise UsageError("regularity needs gamma='auto'")
    lam = DEFAULT_REGULARITY if model.regularity is None else _check("regularity", model.regularity)
    gamma = None if is_word(model.gamma, AUTO) else int(_check("gamma", model.gamma))
    return Schedule(gamma, lam, model.horizon)
