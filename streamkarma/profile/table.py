"""A profile as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from streamkarma.printable import printable

#: Maximum numbers of attributes and of other items shown; more are in the JSON.
_ATTRIBUTES, _FEW = 60, 8
_NAME = 28


def lines(profile: Mapping[str, Any]) -> Iterator[str]:
    """The profile in lines, without control characters."""
    yield from map(printable, _lines(profile))


def _lines(profile: Mapping[str, Any]) -> Iterator[str]:
    yield verdict(profile)
    yield ""
    yield from _attributes(profile)
    yield from _section("missing together", _patterns(profile))
    yield from _section("known from earlier events of the entity", remembered(profile))
    yield from _section("correlations of missingness", _together(profile))
    yield from _section("changes", changes(profile))
    yield from _section("missing completely at random", tests(profile))
    yield from _section("look at", suspicious(profile))
    yield from _section("learn with", [profile["command"], *(f"- {why}" for why in profile["why"])])


def verdict(profile: Mapping[str, Any]) -> str:
    """A summary of the stream in a sentence."""
    label = profile["label"]
    parts = [
        f"{_count(profile['events'], 'event')}, {_count(len(profile['attributes']), 'attribute')}, "
        f"{share(profile['missing'])} of the values missing"
    ]
    if label["observed"]:
        what = "a number" if label["task"] == "regression" else _count(label["distinct"], "class", "es")
        parts.append(f"the label {label['name']} ({what}) in {share(label['share'])}")
    if changed := {each["attribute"] for each in profile["changes"]} - {label["name"]}:
        plural = " changes" if len(changed) == 1 else "s change"
        parts.append(f"{len(changed):,} attribute{plural} during the stream")
    if rejected := profile["rejected"]:
        parts.append(f"{_count(rejected, 'record')} that cannot be used")
    if beyond := profile["values_of_further_attributes"]:
        parts.append(f"{beyond:,} values of further attributes that were not looked at")
    return "; ".join(parts)


def _count(number: int, noun: str, plural: str = "s") -> str:
    return f"{number:,} {noun}{'' if number == 1 else plural}"


def _attributes(profile: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'attribute':<{_NAME}} {'kind':<10} {'observed':>8} {'distinct':>9} {'alone':>6}  values"
    found = list(profile["attributes"].items())
    for name, seen in [(profile["label"]["name"], profile["label"]), *found[:_ATTRIBUTES]]:
        distinct = f"{'' if seen['distinct_exact'] else '~'}{seen['distinct']:,}"
        alone = f"{seen['alone']:.0%}" if "alone" in seen else ""
        columns = f"{seen['kind']:<10} {share(seen['share']):>8} {distinct:>9} {alone:>6}"
        shown = f"{printable(name)[:_NAME]:<{_NAME}} {columns}"
        yield f"{shown}  {values(seen)}".rstrip()
    if len(found) > _ATTRIBUTES:
        yield f"… {len(found) - _ATTRIBUTES:,} more (--json has them all)"


def share(value: float) -> str:
    """A share in percent, shown as 100 or 0 only if it is exactly that.

    Examples
    --------
    >>> share(1.0), share(0.99999), share(0.5), share(0.00001)
    ('100 %', '>99.9 %', '50.0 %', '<0.1 %')
    """
    if value in (0.0, 1.0):
        return f"{100 * value:.0f} %"
    return ">99.9 %" if value > 0.9995 else "<0.1 %" if value < 0.0005 else f"{100 * value:.1f} %"


def values(seen: Mapping[str, Any]) -> str:
    """The range and median of an attribute, or its most common values."""
    if "numbers" in seen and seen["kind"] in ("number", "time") and seen["distinct"] > _FEW:
        n = seen["numbers"]
        return f"{n['least']:.6g} … {n['median']:.6g} … {n['greatest']:.6g}"
    if seen["kind"] == "identifier":
        return ""
    shown = [f"{value[:24]} ({count / max(seen['observed'], 1):.0%})" for value, count in seen["values"][:3]]
    return ", ".join(shown)


def _section(title: str, found: Sequence[str]) -> Iterator[str]:
    if found:
        yield ""
        yield f"{title}:"
        yield from (f"  {line}" for line in found)


def _patterns(profile: Mapping[str, Any]) -> list[str]:
    commonest = profile["patterns"]["commonest"][:_FEW]
    return [f"{share(each['share']):>8}  {pattern(each['missing'], profile)}" for each in commonest]


def pattern(missing: Sequence[str], profile: Mapping[str, Any], most: int = 6) -> str:
    """What is missing, or all but what is observed if that is shorter."""
    every = list(profile["attributes"])
    if 2 * len(missing) <= len(every):
        return names(missing, most) or "nothing"
    return f"all but {names([name for name in every if name not in missing], most)}".removesuffix(" but ")


def names(every: Sequence[str], most: int = 6) -> str:
    """Names separated by commas, and how many more there are.

    Examples
    --------
    >>> names(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(every) - most:,} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def remembered(profile: Mapping[str, Any]) -> list[str]:
    """What the last values of entities would fill in, in words; empty without entities."""
    entity = profile.get("entity")
    if entity is None:
        return []
    if entity["share"] == 0.0:
        return [f"no event has {entity['name']}"]
    about = "" if entity["distinct_exact"] else "about "
    count = f"{about}{entity['distinct']:,} {'entity' if entity['distinct'] == 1 else 'entities'}"
    missing = f"{share(entity['missing'])} of the values missing instead of {share(profile['missing'])}"
    first = f"{count} ({entity['name']}), in {share(entity['share'])} of the events: {missing}"
    filled = [(name, seen) for name, seen in profile["attributes"].items() if seen["carried"] > 0]
    filled.sort(key=lambda pair: -pair[1]["carried"])
    each = [
        f"{name}: known in {share(seen['share'] + seen['carried'])}, observed in {share(seen['share'])}"
        for name, seen in filled[:_FEW]
    ]
    more = len(filled) - len(each)
    return [first, *each, *([f"… {more:,} more (--json has them all)"] if more else [])]


def _together(profile: Mapping[str, Any]) -> list[str]:
    return [
        f"{each['correlation']:+.2f}  {each['attributes'][0]}, {each['attributes'][1]}"
        for each in profile["together"][:_FEW]
    ]


def changes(profile: Mapping[str, Any]) -> list[str]:
    """The greatest changes of each attribute, in words; those of whether it is observed come first."""
    greatest: dict[tuple[str, str], Mapping[str, Any]] = {}
    for each in profile["changes"]:
        greatest.setdefault((each["attribute"], each["what"]), each)
    every = sorted(greatest.values(), key=lambda each: each["what"] != "observed")[:_FEW]
    what = {
        "observed": "observed",
        "values": "above its initial median, or equal to its most common initial value,",
    }
    found = [
        f"from event {each['event']:,}: {each['attribute']} is {what[each['what']]} in "
        f"{share(each['after'])}, before that in {share(each['before'])}"
        for each in every
    ]
    more = len(profile["changes"]) - len(every)
    return found + ([f"… {more:,} more (--json has them all)"] if more else [])


def tests(profile: Mapping[str, Any]) -> list[str]:
    """The results of the tests, in words."""
    found = []
    for each in profile["tests"]:
        sure = "" if each["significant"] else "no sign that "
        beyond = ", given the observed values" if each["beyond"] else ""
        found.append(f"p = {each['p_value']:.3f}: {sure}missingness predicts {each['of']}{beyond}")
    return found


def suspicious(profile: Mapping[str, Any]) -> list[str]:
    """What is suspicious, in words."""
    return [f"{each['attribute']}: {each['what']}, {each['why']}" for each in profile["suspicious"]]
