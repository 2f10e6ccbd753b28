"""The options that commands share, and the parts of a plan they make."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import click

from streamkarma.errors import UsageError
from streamkarma.parameters.base import Parameter
from streamkarma.parameters.kinds import (
    Integer,
    Number,
    NumbersByName,
    Seconds,
    Texts,
    Threshold,
    WeightsByClass,
    WordsByName,
)
from streamkarma.parameters.learning import LEARNING
from streamkarma.parameters.running import RUNNING
from streamkarma.parameters.words import AUTO, BALANCED, NOW

if TYPE_CHECKING:
    from streamkarma.connectors.base import Source
    from streamkarma.runtime.explaining import Explaining
    from streamkarma.runtime.plan import Plan

Decorator = Callable[[Any], Any]


def together(*decorators: Decorator) -> Decorator:
    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


above_zero = click.FloatRange(min=0, min_open=True)


def option(declared: Parameter) -> Decorator:
    """The option of a parameter; without a default in click, if the model file may hold another value."""
    name = declared.flag or declared.name.replace("_", "-")
    default = _default_text(declared)
    flag = f"--{name}/--no-{name}" if declared.kind is bool else f"--{name}"
    return click.option(
        flag,
        type=_click_type(declared),
        multiple=isinstance(declared.kind, Texts | NumbersByName | WordsByName),
        metavar=declared.metavar,
        default=None if declared.stored else declared.default,
        show_default=bool(declared.default) and not declared.stored,
        help=declared.help + (f"  [default: {default}]" if declared.stored and default else ""),
    )


def _default_text(declared: Parameter) -> str:
    """The default in words; for a learner's parameter, that of each learner but the mixture."""
    if declared.default_text:
        return declared.default_text
    single = (default for learner, default in declared.defaults.items() if learner != "auto")
    values = [each for each in (*single, declared.default) if each is not None]
    return " and ".join(dict.fromkeys(_in_words(declared.name, each) for each in values))


def _in_words(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return name if value else f"no-{name}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _click_type(declared: Parameter) -> Any:
    kind = declared.kind
    if isinstance(kind, tuple):
        return click.Choice(kind)
    if isinstance(kind, Texts):
        return str
    if isinstance(kind, NumbersByName):
        return _number_by_name
    if isinstance(kind, WordsByName):
        return _word_by_name(kind.words)
    if isinstance(kind, WeightsByClass):
        return _weights_by_class(kind.weight)
    if isinstance(kind, Threshold):
        return _probability(kind.probability)
    if isinstance(kind, Seconds):
        return above_zero
    if isinstance(kind, Number):
        numbers = click.FloatRange(kind.least, kind.most)
        return _or_auto(numbers) if declared.or_auto else numbers
    if isinstance(kind, Integer):
        integers = click.IntRange(0 if declared.or_none else kind.least, kind.most)
        return _or_auto(integers) if declared.or_auto else integers
    return kind


def _or_auto(kind: click.IntRange | click.FloatRange) -> Callable[[Any], Any]:
    """A type that takes the word auto besides what another type takes."""
    return lambda value: value if value == AUTO else kind.convert(value, None, None)


def _number_by_name(value: str) -> tuple[str, float]:
    """NAME=VALUE; the name may have a = in it."""
    name, _, number = str(value).rpartition("=")
    try:
        if name:
            return name, float(number)
    except ValueError:
        pass
    raise click.BadParameter(f"{value!r} is not NAME=VALUE with a number")


def _word_by_name(words: tuple[str, ...]) -> Callable[[Any], tuple[str, str]]:
    """A type that takes NAME=WORD; the name may have a = in it."""

    def convert(value: Any) -> tuple[str, str]:
        name, _, word = str(value).rpartition("=")
        if name and word in words:
            return name, word
        raise click.BadParameter(f"{value!r} is not NAME=KIND with one of {', '.join(words)}")

    return convert


def _weights_by_class(kind: Number) -> Callable[[Any], str | dict[str, float]]:
    """A type that takes the word balanced, or NAME=W with commas; the name may have a = in it."""

    def convert(value: Any) -> str | dict[str, float]:
        if value == BALANCED:
            return BALANCED
        # A table of a config file comes in parts.
        parts = value if isinstance(value, list) else str(value).split(",")
        try:
            weights = dict(map(_number_by_name, parts))
        except click.BadParameter:
            raise click.BadParameter(f"{value!r} is neither {BALANCED} nor NAME=W,… with numbers") from None
        if len(weights) < len(parts):
            raise click.BadParameter(f"{value!r} has a class twice")
        if not all(map(kind.holds, weights.values())):
            raise click.BadParameter(f"{value!r}: a weight is {kind}")
        return weights

    return convert


def _probability(kind: Number) -> Callable[[Any], str | float]:
    """A type that takes the word balanced, or a probability."""

    def convert(value: Any) -> str | float:
        if value == BALANCED:
            return BALANCED
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not kind.holds(number):
            raise click.BadParameter(f"{value!r} is neither {BALANCED} nor {kind}")
        return number

    return convert


format = option(RUNNING["format"])

explain = option(RUNNING["explain"])


def setting(value: Any) -> tuple[str, str]:
    """NAME=VALUE of a program that has settings of its own."""
    name, equals, setting = str(value).partition("=")
    if not (name and equals):
        raise click.BadParameter(f"{value!r} is not NAME=VALUE")
    return name, setting


names = together(
    option(RUNNING["target"]),
    click.option("--id", metavar="NAME", help="Attribute copied to the output."),
    click.option("--ignore", metavar="NAME", multiple=True, help="Attribute left out; repeatable."),
    click.option("--weight", metavar="NAME", help="Attribute that weighs the event."),
)

fields = together(
    names,
    click.option("--full", metavar="NAME", help="The complete vector, for --regret full; not learned from."),
)

parameters = together(*(option(each) for each in LEARNING.values()))


def predictions(default: str) -> Decorator:
    """Where predictions go besides a topic; the default, in words, is settled by ``outputs``."""
    return together(
        click.option(
            "--predictions",
            metavar="PATH",
            help=f"Where predictions go; - is standard output.  [default: {default}]",
        ),
        click.option("--no-predictions", is_flag=True, help="Write none to standard output or a file."),
    )


bad_records = together(
    click.option("--dead-letters", metavar="PATH", help="Where records that cannot be used go."),
    click.option(
        "--on-error",
        type=click.Choice(["skip", "fail"]),
        default="skip",
        show_default=True,
        help="What to do at such a record.",
    ),
    option(RUNNING["max_record_bytes"]),
)

summary = click.option("--summary", metavar="PATH", help="Where the summary goes, as JSON.")

strictness = together(
    click.option(
        "--strict",
        is_flag=True,
        help="Exit with 1 if no record could be used, or none had the target to learn from.",
    ),
    click.option("--quiet", is_flag=True, help="Nothing on stderr but errors."),
)

watching = together(option(RUNNING["recent"]), option(RUNNING["drift"]))

output = together(
    bad_records,
    summary,
    option(RUNNING["report_every"]),
    watching,
    option(RUNNING["log_format"]),
    strictness,
)

positive = click.option(
    "--positive", metavar="VALUE", help="The positive class.  [default: the greater of the two]"
)

tasks = together(
    option(RUNNING["task"]), option(RUNNING["unlabelled"]), option(RUNNING["share_label"]), positive
)

comparison = together(
    option(RUNNING["regret_memory"]),
    option(RUNNING["regret_seconds"]),
)

keeping = together(
    tasks,
    option(RUNNING["learner"]),
    parameters,
    click.option(
        "--model",
        metavar="PATH",
        help="Model file: resumed if it exists, written at checkpoints and at the end. The one before it "
        "stays as PATH.bak; one process learns with it at a time.",
    ),
    option(RUNNING["checkpoint_every"]),
    click.option(
        "--pending",
        metavar="N",
        type=click.IntRange(min=0),
        help="Most events kept for a label that comes later, under the same --id, or for their --entity.  "
        "[default: none]",
    ),
    click.option(
        "--pending-seconds",
        metavar="S",
        type=above_zero,
        help="Longest wait for a label; for learn by --time.  [default: any]",
    ),
    option(RUNNING["regret"]),
    comparison,
    option(RUNNING["metrics"]),
)


#: Of commands that run on Spark.
spark = together(
    click.option(
        "--master",
        metavar="URL",
        help="Where Spark runs.  [default: what spark-submit or Spark's settings say, else this machine]",
    ),
    click.option(
        "--spark",
        metavar="NAME=VALUE",
        multiple=True,
        type=setting,
        help="A setting of Spark; repeatable.",
    ),
)

workers = click.option(
    "--workers",
    type=click.IntRange(1, 2),
    help="2: read and parse on one core, learn on another, with several experts at once.  [default: 2 where "
    "there are as many]",
)


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


def strongest(said: dict[str, Any]) -> Explaining | None:
    """What rows say of attributes, if anything."""
    from streamkarma.runtime.explaining import Explaining

    return Explaining(said["explain"]) if said["explain"] else None


def threshold(said: dict[str, Any]) -> dict[str, Any]:
    """The one parameter of a learner that scoring takes, if it was given."""
    return {} if said["threshold"] is None else {"threshold": said["threshold"]}


def learning(said: dict[str, Any]) -> dict[str, Any]:
    """What is learned and kept, by the names of a plan."""
    kept = ("model", "checkpoint_every", "pending", "pending_seconds", "regret")
    return {**compared(said), **{name: said[name] for name in kept}}


def learner_options(said: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the learner that were given."""
    options: dict[str, Any] = {}
    for name, declared in LEARNING.items():
        value = said[declared.flag or name]
        if isinstance(declared.kind, NumbersByName) and value:
            options[name] = {each: [number for n, number in value if n == each] for each, _ in value}
        elif isinstance(declared.kind, WordsByName) and value:
            options[name] = dict(value)
        elif isinstance(declared.kind, Texts) and value:
            options[name] = list(value)
        elif value is not None and value != ():
            options[name] = None if declared.or_none and value == 0 else value
    if "entity" not in options or options.get("time") == NOW:
        # It is not the learner's then.
        options.pop("time", None)
    return options


def compared(said: dict[str, Any]) -> dict[str, Any]:
    """What is learned and how it is compared, by the names of a plan."""
    shared = ("task", "positive", "unlabelled", "share_label", "learner", "regret_memory", "regret_seconds")
    return {"options": learner_options(said), **{name: said[name] for name in shared}}
