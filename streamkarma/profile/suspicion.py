"""Attributes that should be checked before learning from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from streamkarma.connectors.tables.number_formats import REMEDY
from streamkarma.printable import shown

#: An attribute observed in a smaller fraction of events is hardly useful.
_RARE = 0.01
#: Fractions of the wrong predictions, and of the squared error, that no legitimate attribute removes alone,
#: and the minimum number of wrong predictions avoided to report this.
_LEAK, _LEAK_REGRESSION, _LEAST_SAVED = 0.95, 0.98, 20
#: A value this many interquartile ranges off that recurs this often stands for something else.
_FAR, _OFTEN = 10.0, 5
_ENOUGH = 50
#: More than _FEW whole numbers that occur _RECURRING times on average may be names if they span a range
#: _SPARSE times as wide.
_FEW, _RECURRING, _SPARSE = 32, 3, 8
_NUMBERING = re.compile(r"(?:^|[._ -])(?:id|uuid|guid|key|index|row|no|number|nr)$|^unnamed", re.IGNORECASE)


class Suspicion(NamedTuple):
    """What is wrong with an attribute, and the option that helps, if any."""

    attribute: str
    what: str
    why: str
    option: list[str]


def suspicions(profile: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The suspicious attributes in a profile."""
    task = profile["label"]["task"]
    found = [each for name, seen in profile["attributes"].items() for each in _of(name, seen, task)]
    return [each._asdict() for each in found]


def _of(name: str, seen: Mapping[str, Any], task: str) -> Iterator[Suspicion]:
    leave_out = ["--ignore", name]
    if leak := _leak(seen, task):
        yield Suspicion(name, "leaks the label", leak, leave_out)
    elif seen["observed"] >= _ENOUGH and seen["distinct"] == 1:
        value = seen["values"][0][0]
        missing = ", or missing" if seen["share"] < 1 else ""
        yield Suspicion(name, "constant", f"always {value}{missing}", leave_out if seen["share"] == 1 else [])
    elif like_numbers := numbers_as_texts(seen):
        yield Suspicion(name, "numbers as texts", like_numbers, [])
    elif _is_identifier(name, seen):
        new = "counts upwards" if seen["increasing"] else "new in nearly every event"
        yield Suspicion(name, "identifier", new, leave_out)
    elif _may_be_names(seen):
        numbers = seen["numbers"]
        between = f"{numbers['least']:.0f} to {numbers['greatest']:.0f}"
        few = f"{seen['distinct']:,} of the whole numbers from {between} recur"
        why = f"{few}; if they are names, give --kind {name}=category"
        yield Suspicion(name, "possibly names", why, [])
    if seen["observed"] and seen["share"] < _RARE:
        yield Suspicion(name, "rare", f"observed in {seen['share']:.2%} of the events", [])
    is_mixed = seen["kind"] in ("number", "mixed") and 0 < seen["texts"] < 0.2 * seen["observed"]
    if is_mixed and "texts_like_numbers" not in seen:
        texts = [value for value, _ in seen["values"] if not _is_number(value)][:3]
        examples = f" ({', '.join(texts)})" if texts else ""
        yield Suspicion(name, "mixed", f"{seen['texts']:,} of its values are texts{examples}", [])
    for value, count in seen["values"]:
        if _is_far(value, count, seen):
            yield Suspicion(
                name, "far off", f"{value} occurs {count:,} times", ["--sentinel", f"{name}={value}"]
            )


def numbers_as_texts(seen: Mapping[str, Any]) -> str | None:
    """Why the values of an attribute are texts although they look like numbers, and what to do."""
    if "texts_like_numbers" not in seen:
        return None
    form, example = seen["texts_like_numbers"]
    return f"{seen['texts']:,} values have {form}, such as {shown(example)}; {REMEDY}"


def _leak(seen: Mapping[str, Any], task: str) -> str | None:
    """Why an attribute seems to leak the label, if it does."""
    if task == "regression":
        alone = seen.get("alone", 0.0)
        return f"alone it explains {alone:.1%} of the label's variance" if alone >= _LEAK_REGRESSION else None
    for errors, how in (("absence_errors_avoided", ", by being missing or not"), ("errors_avoided", "")):
        share, saved = seen.get(errors, (0.0, 0))
        if share >= _LEAK and saved >= _LEAST_SAVED:
            return f"alone it avoids {share:.0%} of the wrong predictions{how}"
    return None


def _is_identifier(name: str, seen: Mapping[str, Any]) -> bool:
    """Texts that hardly ever recur; also such whole numbers if named so, or any that count upwards."""
    if seen["kind"] == "identifier":
        return True
    if seen["kind"] != "number" or not seen["integers"] or seen["observed"] < _ENOUGH:
        return False
    return bool(seen["increasing"] or (seen["nearly_always_new"] and _NUMBERING.search(name)))


def _may_be_names(seen: Mapping[str, Any]) -> bool:
    """Whole numbers that recur and are few for their range."""
    if seen["kind"] != "number" or not seen["integers"] or seen["distinct"] <= _FEW:
        return False
    span = seen["numbers"]["greatest"] - seen["numbers"]["least"]
    return bool(seen["observed"] >= _RECURRING * seen["distinct"] and span >= _SPARSE * seen["distinct"])


def _is_far(value: str, count: int, seen: Mapping[str, Any]) -> bool:
    if "numbers" not in seen or count < _OFTEN or not _is_number(value):
        return False
    numbers = seen["numbers"]
    spread = numbers["upper_quartile"] - numbers["lower_quartile"]
    off = abs(float(value) - numbers["median"])
    # If a number is nearly always the same, its exceptions are meaningful.
    return spread > 0 and off > _FAR * spread and float(value) in (numbers["least"], numbers["greatest"])


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
