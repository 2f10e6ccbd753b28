"""The parts of a plan, from what was said on the command line, and its execution."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.core import ParameterSource

from streamkarma.errors import UsageError
from streamkarma.parameters.kinds import NumbersByName, Texts, WordsByName
from streamkarma.parameters.learning import LEARNING
from streamkarma.parameters.running import RUNNING
from streamkarma.parameters.words import NOW

if TYPE_CHECKING:
    from streamkarma.connectors.base import Source
    from streamkarma.runtime.explaining import Explaining
    from streamkarma.runtime.plan import Plan


def execute(plan: Plan, source: Source, metrics: str | None) -> NoReturn:
    """Run a plan over a source, with metrics served if there is an address, and exit with its code."""
    from streamkarma.runtime.run import Run

    if metrics is None:
        sys.exit(Run(plan, source).execute())
    from streamkarma.monitoring.server import serving

    with serving(metrics) as watcher:
        sys.exit(Run(plan, source, watcher).execute())


def field_names(said: dict[str, Any]) -> dict[str, Any]:
    """The names in a record that are no attributes, those that were said."""
    given = {name: said.get(name) for name in ("target", "id", "weight", "full", "time")}
    names = {name: value for name, value in given.items() if value is not None}
    if said["ignore"]:
        names["ignore"] = said["ignore"]
    return names


def outputs(said: dict[str, Any], predictions: str | None = "-") -> dict[str, Any]:
    """Where results go and how, by the names of a plan; ``predictions`` is where those go by default."""
    if said["no_predictions"] and said["predictions"] not in (None, "-"):
        raise UsageError("--predictions and --no-predictions contradict each other")
    if said["predictions"] is not None:
        predictions = said["predictions"]
    return {
        "fields": field_names(said),
        "predictions": None if said["no_predictions"] else predictions,
        "dead_letters": said["dead_letters"],
        "summary": said["summary"],
        "fail": said["on_error"] == "fail",
        "strict": said["strict"],
        **{name: said[name] for name in ("report_every", "recent", "drift")},
        "quiet": said["quiet"],
    }


def check_alone(names: Iterable[str], needed: str) -> None:
    """UsageError if one of these options was given, where the one that they need was not."""
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise UsageError(f"--{name.replace('_', '-')} has no meaning without --{needed}")


def check_typed(names: Iterable[str], needed: str) -> None:
    """As ``check_alone``, on the command line: a file or an environment may be for runs with and without."""
    context = click.get_current_context()
    typed = (each for each in names if context.get_parameter_source(each) is ParameterSource.COMMANDLINE)
    check_alone(typed, needed)


def strongest(said: dict[str, Any]) -> Explaining | None:
    """What rows say of attributes, if anything."""
    from streamkarma.runtime.explaining import Explaining

    if said["explain"] and said["no_predictions"] and said.get("output_topic") is None:
        raise UsageError("--explain has no meaning with --no-predictions")
    return Explaining(said["explain"]) if said["explain"] else None


def threshold(said: dict[str, Any]) -> dict[str, Any]:
    """The one parameter of a learner that scoring takes, if it was given."""
    return {} if said["threshold"] is None else {"threshold": said["threshold"]}


def learning(said: dict[str, Any]) -> dict[str, Any]:
    """What is learned and kept, by the names of a plan."""
    if said["regret"].strip() in ("", RUNNING["regret"].default):
        check_alone(("regret_memory", "regret_seconds"), "regret")
    kept = ("model", "checkpoint_every", "pending", "pending_seconds", "share_label", "regret")
    return {**compared(said), **{name: said[name] for name in kept}}


def learner_options(said: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the learner that were given."""
    options: dict[str, Any] = {}
    for name, declared in LEARNING.items():
        value = said[declared.flag or name]
        if isinstance(declared.kind, NumbersByName) and value:
            options[name] = {each: [number for n, number in value if n == each] for each, _ in value}
        elif isinstance(declared.kind, WordsByName) and value:
            options[name] = _once(declared.option, value)
        elif isinstance(declared.kind, Texts) and value:
            options[name] = list(value)
        elif value is not None and value != ():
            options[name] = None if declared.or_none and value == 0 else value
    if "entity" not in options or options.get("time") == NOW:
        # It is not the learner's then.
        options.pop("time", None)
    return options


def _once(option: str, said: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Words by name; UsageError if a name has two."""
    words: dict[str, str] = {}
    for name, word in said:
        if words.setdefault(name, word) != word:
            raise UsageError(f"--{option} {name}={words[name]} and {name}={word} contradict each other")
    return words


def compared(said: dict[str, Any]) -> dict[str, Any]:
    """What is learned and how it is compared, by the names of a plan."""
    shared = ("task", "positive", "unlabelled", "learner", "regret_memory", "regret_seconds")
    return {"options": learner_options(said), **{name: said[name] for name in shared}}
