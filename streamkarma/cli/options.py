"""The options that commands share, and the parts of a plan they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from streamkarma.errors import UsageError

#: The default of --max-record-bytes; ``streamkarma.connectors.jsonlines.lines`` says it too, and is
#: not imported before a command runs.
MAX_RECORD_BYTES = 16 << 20

#: Those that are parameters of an estimator under the same name.
OPTIONS = (
    "gamma", "rho", "eta", "horizon", "regularity", "forget", "loss", "pruning", "normalize", "scale",
    "update", "r", "table_bits", "indicators", "max_attributes", "max_coordinates", "max_name_bytes",
)  # fmt: skip

#: As ``estimators.learners`` has them, which is not imported before a command runs.
LEARNERS = ("auto", "karma", "explicit", "subspace")

Decorator = Callable[[Any], Any]


def together(*decorators: Decorator) -> Decorator:
    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


above_zero = click.FloatRange(min=0, min_open=True)
#: As ``estimators.settings`` has them: integers up to the first, numbers between the others.
_MOST, _LEAST, _LARGEST = 1 << 20, 1e-12, 1e12
_strength = click.FloatRange(_LEAST, _LARGEST)
_count = click.IntRange(1, _MOST)


def or_auto(kind: click.IntRange | click.FloatRange) -> Callable[[Any], Any]:
    """A type for what another one takes, or the word auto."""
    return lambda value: value if value == "auto" else kind.convert(value, None, None)


fields = together(
    click.option("--target", metavar="NAME", help="Attribute that is the label.  [default: y]"),
    click.option("--id", metavar="NAME", help="Attribute copied to the output."),
    click.option("--ignore", metavar="NAME", multiple=True, help="Attribute left out; repeatable."),
    click.option("--weight", metavar="NAME", help="Attribute that weighs the event."),
    click.option("--full", metavar="NAME", help="The complete vector, for --regret full; not learned from."),
)

learner = click.option(
    "--learner",
    type=click.Choice(LEARNERS),
    help="What learns; auto is a mixture of all.  [default: auto, or the one that has the options given]",
)

parameters = together(
    click.option(
        "--gamma",
        metavar="INT|auto",
        type=or_auto(click.IntRange(1, 32)),
        help="karma, explicit: order of the kernel, up to 32 and 3; 1 is 0-imputation.  [default: 2]",
    ),
    click.option(
        "--rho",
        metavar="FLOAT|auto",
        type=or_auto(_strength),
        help="karma: regularisation, with steps of exactly 1/(rho t); auto: by the regret bound.  "
        "[default: 0.001, and no long first steps]",
    ),
    click.option(
        "--horizon",
        metavar="T",
        type=click.IntRange(1, 10**15),
        help="With --rho auto: events to come.  [default: unknown, start afresh after 1, 3, 7, … events]",
    ),
    click.option(
        "--regularity",
        metavar="LAMBDA",
        type=click.FloatRange(_LEAST, 1),
        help="With --gamma auto: the least positive eigenvalue of a Q_oo to reckon with.  [default: 0.5]",
    ),
    click.option(
        "--forget",
        metavar="H",
        type=click.FloatRange(1, 1e15),
        help="Half-life, in events, of what was learned, for streams that drift.  [default: none]",
    ),
    click.option("--eta", type=_strength, help="karma: constant step instead of a decreasing one."),
    click.option(
        "--update",
        type=click.Choice(["arow", "adagrad", "sgd"]),
        help="explicit: how it steps.  [default: arow]",
    ),
    click.option(
        "--r",
        type=_strength,
        help="explicit, subspace: caution of the steps.  [default: 1 and 10]",
    ),
    click.option(
        "--table-bits",
        metavar="BITS",
        type=click.IntRange(8, 30),
        help="explicit: log2 of the most weights; beyond it they are hashed.  [default: 22]",
    ),
    click.option(
        "--indicators/--no-indicators",
        default=None,
        help="subspace: let it see what is missing.  [default: no-indicators]",
    ),
    click.option(
        "--loss",
        metavar="NAME",
        help="karma: for classes logistic, hinge or squared_hinge; for numbers squared, absolute, huber "
        "or epsilon_insensitive.  [default: logistic or squared]",
    ),
    click.option(
        "--budget",
        type=click.IntRange(0, _MOST),
        help="karma: most support vectors; 0 for no limit.  [default: 512]",
    ),
    click.option(
        "--pruning",
        type=click.Choice(["merge", "remove", "oldest"]),
        help="karma: what gives way when the budget is full.  [default: merge]",
    ),
    click.option(
        "--normalize/--no-normalize",
        default=None,
        help="karma, explicit: divide the kernel by the norms of both events.  [default: normalize]",
    ),
    click.option(
        "--scale/--no-scale",
        default=None,
        help="Standardise numbers (and a numeric target) online.  [default: scale]",
    ),
    click.option(
        "--max-attributes",
        metavar="N",
        type=_count,
        help="Most attributes that get a place; values of others are ignored.  [default: 16384]",
    ),
    click.option(
        "--max-coordinates",
        metavar="N",
        type=_count,
        help="Most numbers and categories that get a place; others are ignored.  [default: 16384]",
    ),
    click.option(
        "--max-name-bytes",
        metavar="N",
        type=click.IntRange(1, 1 << 16),
        help="Longest name and longest category; longer ones are ignored.  [default: 1024]",
    ),
)


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


output = together(
    click.option("--dead-letters", metavar="PATH", help="Where records that cannot be used go."),
    click.option(
        "--on-error",
        type=click.Choice(["skip", "fail"]),
        default="skip",
        show_default=True,
        help="What to do at such a record.",
    ),
    click.option(
        "--max-record-bytes",
        type=click.IntRange(min=1),
        default=MAX_RECORD_BYTES,
        show_default=True,
        help="Longest line accepted.",
    ),
    click.option("--summary", metavar="PATH", help="Where the summary goes, as JSON."),
    click.option(
        "--report-every",
        type=click.IntRange(min=0),
        default=0,
        help="Events between two lines of progress.",
    ),
    click.option(
        "--strict",
        is_flag=True,
        help="Exit with 1 if no record could be used, or none had the target to learn from.",
    ),
    click.option("--quiet", is_flag=True, help="Nothing on stderr but errors."),
)

tasks = together(
    click.option(
        "--task",
        type=click.Choice(["auto", "binary", "multiclass", "regression"]),
        help="What the label is.  [default: auto]",
    ),
    click.option(
        "--positive", metavar="VALUE", help="The positive class.  [default: the greater of the two]"
    ),
)

comparison = together(
    click.option(
        "--regret-memory",
        metavar="N",
        type=click.IntRange(min=1),
        help="Events kept to compare on; past it a uniform sample.  [default: 20000]",
    ),
    click.option(
        "--regret-seconds",
        metavar="S",
        type=above_zero,
        default=60.0,
        show_default=True,
        help="What one baseline may take at a time.",
    ),
)

keeping = together(
    tasks,
    learner,
    parameters,
    click.option(
        "--model",
        metavar="PATH",
        help="Model file: resumed if it exists, written at checkpoints and at the end. The one before it "
        "stays as PATH.bak; one process learns with it at a time.",
    ),
    click.option(
        "--checkpoint-every",
        type=click.IntRange(min=1),
        default=10_000,
        show_default=True,
        help="Events between two writings of the model.",
    ),
    click.option(
        "--pending",
        metavar="N",
        type=click.IntRange(min=0),
        help="Most events kept for a label that comes later, under the same --id.  [default: none]",
    ),
    click.option(
        "--pending-seconds",
        metavar="S",
        type=above_zero,
        help="Longest wait for a label; for learn by --time.  [default: any]",
    ),
    click.option(
        "--regret",
        metavar="NAMES",
        default="none",
        show_default=True,
        help="Offline baselines to compare with: names with commas, all, fast or none.",
    ),
    comparison,
)


workers = click.option(
    "--workers",
    type=click.IntRange(1, 2),
    help="2: read and parse on one core, learn on another, with several experts at once.  [default: 2 where "
    "there are as many]",
)


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
        "report_every": said["report_every"],
        "quiet": said["quiet"],
    }


def learning(said: dict[str, Any]) -> dict[str, Any]:
    """What is learned and kept, by the names of a plan."""
    kept = ("model", "checkpoint_every", "pending", "pending_seconds", "regret")
    return {**compared(said), **{name: said[name] for name in kept}}


def compared(said: dict[str, Any]) -> dict[str, Any]:
    """What is learned and how it is compared, by the names of a plan."""
    options = {name: said[name] for name in OPTIONS if said[name] is not None}
    if said["budget"] is not None:
        options["budget"] = said["budget"] or None
    shared = ("task", "positive", "learner", "regret_memory", "regret_seconds")
    return {"options": options, **{name: said[name] for name in shared}}
