"""Names in a record that are not attributes."""

from __future__ import annotations

from collections.abc import Container, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from streamkarma._engine import seconds_since_1970
from streamkarma.errors import RecordError, UsageError
from streamkarma.estimators.learners import Model
from streamkarma.estimators.pipeline import check_weight
from streamkarma.events.flatten import flatten
from streamkarma.events.roles import ID, IGNORED, TARGET, WEIGHT
from streamkarma.events.values import LONGEST_NAME, as_number, fits, is_missing, is_unicode
from streamkarma.parameters.learning import LEARNING
from streamkarma.parameters.running import RUNNING
from streamkarma.parameters.words import NOW
from streamkarma.runtime.plan import Plan

#: Maximum number of values in a complete vector.
_MOST_NUMBERS = 16384


class RecordFields(NamedTuple):
    """The values in a record that are neither attributes nor the target: id, weight, full vector, time."""

    id: Any
    weight: float
    full: dict[str, float] | None
    time: Any = None


class Fields(NamedTuple):
    """Names in a record that are not attributes.

    Attributes
    ----------
    target
        The label.
    id
        Copied to the output; None for none.
    weight
        The weight of the event; None for none.
    ignore
        Names left out.
    full
        The complete vector, for baselines that need it; None for none.
    time
        The time of the event; NOW for this machine's clock, None for none.
    """

    target: str = RUNNING["target"].default
    id: str | None = None
    weight: str | None = None
    ignore: tuple[str, ...] = ()
    full: str | None = None
    time: str | None = None

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Fields:
        """Restore from the state saved with a model.

        Raises
        ------
        TypeError, ValueError
            If the state is invalid.
        """
        fields = cls(**{**state, "ignore": tuple(state.get("ignore", ()))})
        optional = (fields.id, fields.weight, fields.full, fields.time)
        texts = all(isinstance(name, str) for name in (fields.target, *fields.ignore))
        if not texts or not all(name is None or isinstance(name, str) for name in optional):
            raise ValueError("a field name is not a string")
        return fields

    @property
    def timed(self) -> str | None:
        """The attribute that holds the time, or None."""
        return None if self.time == NOW else self.time

    def roles(self, entity_fields: Container[str | None] = ()) -> dict[str, int] | None:
        """The roles of these names for the engine's reader; None if it cannot handle them.

        Names in ``entity_fields`` are left to the encoder.
        """
        given = [(self.target, TARGET), (self.id, ID), (self.weight, WEIGHT)]
        given += [(name, IGNORED) for name in {*self.ignore, self.timed} if name not in entity_fields]
        # No JSON line has a name that is not valid Unicode.
        pairs = [(name, role) for name, role in given if name is not None and is_unicode(name)]
        roles = dict(pairs)
        clear = len(roles) == len(pairs)
        return roles if clear and self.full is None else None

    @property
    def nested(self) -> bool:
        """Whether a name has a dot and may be nested, so that records must be flattened first."""
        return any("." in name for name in self._names())

    def flattened(self, record: dict[str, Any]) -> dict[str, Any]:
        """A flattened record; what has one of these names is a single value, unless it contains others."""
        names = self._names()
        outer = {name for name in names if any(each.startswith(f"{name}.") for each in names)}
        flat = flatten(record, self.ignore, {*names} - {*self.ignore} - outer)
        for name in outer:
            if isinstance(flat.get(name), list):
                del flat[name]
        return flat

    def _names(self) -> list[str]:
        names = (self.target, self.id, self.weight, self.full, self.timed, *self.ignore)
        return [name for name in names if name is not None]

    def extract(self, record: dict[str, Any], entity_fields: Container[str | None] = ()) -> RecordFields:
        """Remove and return the values of a record that are not attributes, except for the target.

        Names in ``entity_fields`` stay, for the encoder.

        Raises
        ------
        RecordError
            If the weight is invalid, or the complete vector holds anything but numbers.
        """
        identity = record.pop(self.id, None) if self.id is not None else None
        weight = record.pop(self.weight, None) if self.weight is not None else None
        time = record.get(self.timed) if self.timed is not None else None
        for name in (*self.ignore, self.timed):
            if name is not None and name not in entity_fields:
                record.pop(name, None)
        vector = _vector(record.pop(self.full, None)) if self.full is not None else None
        return RecordFields(identity, 1.0 if weight is None else check_weight(weight), vector, time)


def _vector(value: Any) -> dict[str, float] | None:
    if value is None:
        return None
    if isinstance(value, dict) and len(value) <= _MOST_NUMBERS and all(fits(n, LONGEST_NAME) for n in value):
        numbers = {name: as_number(name, each) for name, each in value.items() if not is_missing(each)}
        if len(numbers) == len(value):
            return numbers
    raise RecordError(
        f"the complete vector is an object of numbers, with none missing: {_MOST_NUMBERS:,} at most, "
        f"with names of {LONGEST_NAME:,} bytes or less"
    )


def seconds_of(time: Any) -> float:
    """A time in seconds since 1970, from a number or a string as the learner reads it.

    Raises
    ------
    RecordError
        If it is no time, or before 1970.

    Examples
    --------
    >>> seconds_of(1.5), seconds_of("1.5"), seconds_of("1970-01-01T00:01:00Z"), seconds_of("1970-01-02")
    (1.5, 1.5, 60.0, 86400.0)

    A number of more than 11 digits counts milliseconds, microseconds or nanoseconds:

    >>> seconds_of(1_700_000_000_000)
    1700000000.0
    """
    seconds = None
    if isinstance(time, (str, int, float)) and not isinstance(time, bool):
        with suppress(OverflowError):
            seconds = seconds_since_1970(time)
    if seconds is None or seconds < 0.0:
        raise RecordError(f"the time must be seconds since 1970 or ISO 8601, not {time!r:.60}")
    return seconds


def merge_fields(plan: Plan, kept: Mapping[str, Any], model: Model, path: str | None) -> Fields:
    """The names from a plan, otherwise those saved with its model.

    Raises
    ------
    UsageError
        If the model would continue with names under which the same records have other attributes.
    """
    if plan.learn and (model.steps or model.vocabulary.attributes):
        for name, value in plan.fields.items():
            # A model made in Python has no field names.
            made = kept.get(name)
            old, new = (set(each or ()) if name == "ignore" else {each} - {None} for each in (made, value))
            # A name that is no longer ignored would become an attribute, and a newly ignored one may already
            # be one.
            if old - new or (new - old) & set(model.vocabulary.attributes):
                raise UsageError(
                    f"{path} was made with {name} {_listed(old)}, not {_listed(new)}; "
                    "leave the option out or start another model"
                )
    fields = Fields.restored(dict(kept))._replace(**plan.fields)
    _check_apart(fields, model.entity, plan.learn)
    _check_described(plan.options, fields, model)
    return fields


def _check_apart(fields: Fields, entity: str | None, learn: bool) -> None:
    """Raise UsageError if the target or the weight also has another purpose."""
    names = {"id": fields.id, "time": fields.timed, "entity": entity, "full": fields.full}
    for role, name in {"target": fields.target, "weight": fields.weight, **names}.items():
        if around := [each for each in fields.ignore if (name or "").startswith(f"{each}.")]:
            raise UsageError(
                f"--{role} {name} is inside --ignore {around[0]}; ignore other names in it instead"
            )
    for single, more in (("target", {"weight": fields.weight}), ("weight", {})):
        name = getattr(fields, single)
        twice = [other for other, its in {**names, **more}.items() if its == name is not None]
        if single == "target" and learn and name in fields.ignore:
            twice.append("ignore")
        if twice:
            raise UsageError(f"--{single} and --{twice[0]} are both {name}; name another attribute")


def _check_described(options: Mapping[str, Any], fields: Fields, model: Model) -> None:
    """Raise UsageError if options describe the values of a name that is not an attribute."""
    roles: dict[str | None, str] = dict.fromkeys(fields.ignore, "ignore")
    roles |= {getattr(fields, role): role for role in ("full", "weight", "id", "target")}
    for option in ("kinds", "sentinel"):
        for name in options.get(option) or ():
            # An entity's values are read even if it is ignored as an attribute, or is also the id.
            if name in roles and name not in (model.entity, model.time):
                described, role = f"--{LEARNING[option].option} {name}=…", f"--{roles[name]} {name}"
                raise UsageError(f"{described} has no effect: {role} is not an attribute")


def _listed(names: set[Any]) -> str:
    return ", ".join(sorted(names)) or "none"
