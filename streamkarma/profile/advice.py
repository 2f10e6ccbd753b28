"""The recommended command line for learning, and the reasons for it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from streamkarma.profile.suspicion import numbers_as_texts
from streamkarma.profile.table import share

#: Common names of labels, suggested if no event has the given one.
_LABELS = ("y", "target", "label", "class", "outcome", "churn", "survived")
#: Last parts of the names of entities that send events.
_ENTITIES = re.compile(
    r"(?:^|[._])(?:device|sensor|user|customer|patient|account|machine|meter|vehicle|station|client)(?:_?id)?$",
    re.IGNORECASE,
)
#: Minimum mean events per entity, and fraction of values missing, to recommend ``--entity``.
_EVENTS_OF_ENTITY, _PARTIAL = 5, 0.3
#: A class that is rarer than this is easily overlooked.
_RARE_CLASS = 0.1


class LearnCommand(NamedTuple):
    """The command that learns from the profiled input.

    Attributes
    ----------
    begin
        The beginning of the command, up to the input.
    options
        The options given for the profile that apply to learning as well.
    """

    begin: Sequence[str]
    options: Sequence[str]


def advice(profile: Mapping[str, Any], command: LearnCommand) -> dict[str, Any]:
    """The command and the reasons for its options.

    Parameters
    ----------
    profile
        The profile.
    command
        The command without these options.
    """
    words, why = [*command.begin], []
    for options, reason in _choices(profile):
        words += options
        why.append(reason)
    return {"command": shlex.join([*words, *command.options]), "why": why}


def _choices(profile: Mapping[str, Any]) -> Iterator[tuple[list[str], str]]:
    """Options, and the reason for each; a reason may also stand alone."""
    yield from _label(profile)
    yield from _entity(profile)
    for each in profile["suspicious"]:
        if each["option"]:
            yield each["option"], f"{each['attribute']}: {each['what']}, {each['why']}"
    if profile["missing"] > 0:
        yield [], f"{share(profile['missing'])} of the values are missing: they need not be imputed first"
    if any(each["significant"] for each in profile["tests"]):
        yield [], "missingness is informative: keep records with many missing values"
    observed = [each for each in profile["changes"] if each["what"] == "observed"]
    if observed:
        first = observed[0]
        yield (
            [],
            f"the stream changes (most: {first['attribute']}, from event {first['event']:,}): compare with "
            f"--forget {_half_life(profile)}, which adapts sooner",
        )


def _label(profile: Mapping[str, Any]) -> Iterator[tuple[list[str], str]]:
    label = profile["label"]
    if not profile["events"] and profile.get("rejected"):
        first = profile["first_rejected"]
        yield ["--target", label["name"]], f"every record was rejected, the first because: {first}"
        return
    if not label["observed"]:
        others = [name for name in profile["attributes"] if name.lower() in _LABELS]
        named = others[0] if others else "NAME"
        yield ["--target", named], f"no event has {label['name']}: name the label"
        return
    yield ["--target", label["name"]], f"the label is in {share(label['share'])} of the events"
    if like_numbers := numbers_as_texts(label):
        yield [], f"the labels look like numbers, but {like_numbers}"
    numbers = label["kind"] == "number"
    values = [value for value, _ in label["values"]]
    if label["distinct"] == 1:
        yield [], f"every label is {values[0]}: there is nothing to learn"
    if label["task"] == "regression":
        yield [], "the label is a number: regression"
    elif numbers and label["distinct"] == 2 and set(values) not in ({"0", "1"}, {"-1", "1"}):
        yield (
            ["--task", "binary"],
            f"two numbers, {' and '.join(sorted(values))}, would otherwise be treated as regression",
        )
    elif numbers and label["distinct"] > 2:
        yield (
            ["--task", "multiclass"],
            f"the {label['distinct']} whole numbers look like classes; for amounts give --task regression",
        )
    if label["task"] == "classes" and label["distinct"] > 1:
        least, count = label["values"][-1]
        if count < _RARE_CLASS * label["observed"]:
            yield [], f"only {count / label['observed']:.1%} are {least}: see --threshold and --class-weight"
    if label["share"] < 1:
        yield [], "events without a label are learned from too, as far as possible"


def _entity(profile: Mapping[str, Any]) -> Iterator[tuple[list[str], str]]:
    """Events with many missing values that name an entity may be updates."""
    attributes = profile["attributes"]
    times = [name for name, seen in attributes.items() if seen["kind"] == "time" and seen["share"] == 1.0]
    time = [word for name in times[:1] for word in ("--time", name)]
    if (entity := profile.get("entity")) is not None:
        left = f"{share(entity['missing'])} of the values missing, instead of {share(profile['missing'])}"
        yield ["--entity", entity["name"], *time], f"{entity['name']}: its last values leave {left}"
        return
    for name, seen in attributes.items():
        comes_back = 1 < seen["distinct"] <= seen["observed"] / _EVENTS_OF_ENTITY
        if profile["missing"] >= _PARTIAL and seen["share"] == 1.0 and comes_back and _ENTITIES.search(name):
            why = f"{name}: each one recurs; its last values may stand in for missing ones"
            yield ["--entity", name, *time], why
            return


def _half_life(profile: Mapping[str, Any]) -> int:
    """A tenth of the stream, rounded."""
    tenth = max(profile["events"] // 10, 100)
    digits = len(str(tenth)) - 1
    return int(round(tenth, -digits))
