"""The parts of a plan, from the options of the command line, and its execution."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.core import ParameterSource

from streamkarma.errors import UsageError, meaningless_without
from streamkarma.parameters.kinds import NumbersByName, Texts, WordsByName
from streamkarma.parameters.learning import LEARNING, SCORED
from streamkarma.parameters.running import RUNNING
from streamkarma.parameters.words import NOW

if TYPE_CHECKING:
    from streamkarma.connectors.base import Source
    from streamkarma.runtime.explaining import ExplanationLimits
    from streamkarma.runtime.plan import Plan


def execute(plan: Plan, source: Source, metrics: str | None) -> NoReturn:
    """Run a plan over a source, with metrics served if there is an address, and exit with its code."""
    from streamkarma.runtime.run import Run

    if metrics is None:
        sys.exit(Run(plan, source).execute())
    from streamkarma.monitoring.server import serving

    with serving(metrics) as watcher:
        sys.exit(Run(plan, source, watcher).execute())


def printer(quiet: bool) -> Callable[[str], None]:
    """Prints a line for the user on standard error, unless ``quiet``."""

    def say(line: str) -> None:
        if not quiet:
            click.echo(line, err=True)

    return say


def field_names(options: dict[str, Any]) -> dict[str, Any]:
    """The names given for what is not an attribute in a record."""
    given = {name: options.get(name) for name in ("target", "id", "weight", "full", "time")}
    names = {name: value for name, value in given.items() if value is not None}
    if options["ignore"]:
        names["ignore"] = options["ignore"]
    return names


def _strength(name: str) -> int:
    """How strongly an option was given: on the command line, in the environment, in a file, or not at all."""
    weakest_first = (ParameterSource.DEFAULT_MAP, ParameterSource.ENVIRONMENT, ParameterSource.COMMANDLINE)
    source = click.get_current_context().get_parameter_source(name)
    return weakest_first.index(source) if source in weakest_first else -1


def outputs(options: dict[str, Any], predictions: str | None = "-") -> dict[str, Any]:
    """Where results go and how, keyed as in ``Plan``; ``predictions`` is the default for predictions."""
    without = options["no_predictions"]
    if without and options["predictions"] not in (None, "-"):
        strength, other = _strength("no_predictions"), _strength("predictions")
        if strength == other:
            raise UsageError("--predictions and --no-predictions contradict each other; leave one out")
        without = strength > other
    if options["predictions"] is not None:
        predictions = options["predictions"]
    return {
        "fields": field_names(options),
        "predictions": None if without else predictions,
        "dead_letters": options["dead_letters"],
        "summary": options["summary"],
        "fail": options["on_error"] == "fail",
        "strict": options["strict"],
        **{name: options[name] for name in ("report_every", "recent", "drift")},
        "quiet": options["quiet"],
    }


def check_alone(names: Iterable[str], needed: str) -> None:
    """UsageError if one of these options was given without the one that they need."""
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise meaningless_without(f"--{name.replace('_', '-')}", f"--{needed}")


def check_typed(names: Iterable[str], needed: str) -> None:
    """As ``check_alone``, but only for the command line: a file or the environment may serve both cases."""
    context = click.get_current_context()
    typed = (each for each in names if context.get_parameter_source(each) is ParameterSource.COMMANDLINE)
    check_alone(typed, needed)


def strongest(options: dict[str, Any]) -> ExplanationLimits | None:
    """What rows explain, or None."""
    from streamkarma.runtime.explaining import ExplanationLimits

    if options["explain"] and options["no_predictions"] and options.get("output_topic") is None:
        raise UsageError("--explain has no meaning with --no-predictions; leave one of them out")
    return ExplanationLimits(options["explain"]) if options["explain"] else None


def scoring(options: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a learner that scoring takes, as far as they were given."""
    return {name: options[name] for name in SCORED if options[name] is not None}


def learning(options: dict[str, Any]) -> dict[str, Any]:
    """What is learned and saved, keyed as in ``Plan``."""
    if options["regret"].strip() in ("", RUNNING["regret"].default):
        check_alone(("regret_memory", "regret_seconds"), "regret")
    kept = ("model", "checkpoint_every", "pending", "pending_seconds", "share_label", "regret")
    return {**compared(options), **{name: options[name] for name in kept}}


def learner_options(options: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the learner that were given."""
    parameters: dict[str, Any] = {}
    for name, declared in LEARNING.items():
        value = options[declared.flag or name]
        if isinstance(declared.kind, NumbersByName) and value:
            parameters[name] = {each: [number for n, number in value if n == each] for each, _ in value}
        elif isinstance(declared.kind, WordsByName) and value:
            parameters[name] = _once(declared.option, value)
        elif isinstance(declared.kind, Texts) and value:
            parameters[name] = list(value)
        elif value is not None and value != ():
            parameters[name] = None if declared.or_none and value == 0 else value
    if "entity" not in parameters or parameters.get("time") == NOW:
        # The learner does not use the time then.
        parameters.pop("time", None)
    return parameters


def _once(option: str, given: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Words by name; UsageError if a name has two."""
    words: dict[str, str] = {}
    for name, word in given:
        if words.setdefault(name, word) != word:
            both = f"--{option} {name}={words[name]} and {name}={word}"
            raise UsageError(f"{both} contradict each other; leave one out")
    return words


def compared(options: dict[str, Any]) -> dict[str, Any]:
    """What is learned and how it is compared, keyed as in ``Plan``."""
    shared = ("task", "positive", "unlabelled", "learner", "regret_memory", "regret_seconds")
    return {"options": learner_options(options), **{name: options[name] for name in shared}}
