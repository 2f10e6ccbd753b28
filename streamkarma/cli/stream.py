"""learn, predict and inspect."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from streamkarma.cli.config import config_option
from streamkarma.errors import UsageError

#: The default of --max-record-bytes; ``streamkarma.sources.jsonlines`` says it too, and is
#: not imported before a command runs.
MAX_RECORD_BYTES = 16 << 20

Decorator = Callable[[Any], Any]


def _together(*decorators: Decorator) -> Decorator:
    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


_above_zero = click.FloatRange(min=0, min_open=True)

_fields = _together(
    click.option("--target", metavar="NAME", help="Attribute that is the label.  [default: y]"),
    click.option("--id", "identity", metavar="NAME", help="Attribute copied to the output."),
    click.option("--ignore", metavar="NAME", multiple=True, help="Attribute left out; repeatable."),
    click.option("--weight", metavar="NAME", help="Attribute that weighs the event."),
)

_learner = _together(
    click.option(
        "--learner", type=click.Choice(["karma"]), default="karma", show_default=True, help="What learns."
    ),
    click.option(
        "--gamma",
        type=click.IntRange(min=1),
        help="Order of the kernel; 1 is 0-imputation.  [default: 2]",
    ),
    click.option(
        "--rho",
        type=_above_zero,
        help="Regularisation: steps of exactly 1/(rho t).  [default: 0.001, and no long first steps]",
    ),
    click.option("--eta", type=_above_zero, help="Constant step instead of a decreasing one."),
    click.option(
        "--loss",
        metavar="NAME",
        help="For classes logistic, hinge or squared_hinge; for numbers squared, absolute, huber "
        "or epsilon_insensitive.  [default: logistic or squared]",
    ),
    click.option(
        "--budget",
        type=click.IntRange(min=0),
        help="Most support vectors; 0 for no limit.  [default: 512]",
    ),
    click.option(
        "--pruning",
        type=click.Choice(["merge", "remove", "oldest"]),
        help="What gives way when the budget is full.  [default: merge]",
    ),
    click.option(
        "--scale/--no-scale",
        default=None,
        help="Standardise numbers (and a numeric target) online.  [default: scale]",
    ),
)

_output = _together(
    click.option(
        "--predictions", metavar="PATH", default="-", show_default=True, help="Where predictions go."
    ),
    click.option("--no-predictions", is_flag=True, help="Print no predictions."),
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
    click.option("--quiet", is_flag=True, help="Nothing on stderr but errors."),
)


@click.command()
@click.argument("input", default="-")
@config_option
@_fields
@click.option(
    "--task",
    type=click.Choice(["auto", "binary", "multiclass", "regression"]),
    help="What the label is.  [default: auto]",
)
@click.option("--positive", metavar="VALUE", help="The positive class.  [default: the greater of the two]")
@_learner
@click.option(
    "--model", metavar="PATH", help="Model file: resumed if it exists, written at checkpoints and at the end."
)
@click.option(
    "--checkpoint-every",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="Events between two writings of the model.",
)
@_output
@click.option(
    "--regret", metavar="NAMES", default="none", show_default=True, help="Offline baselines to compare with."
)
def learn(**options: Any) -> None:  # fmt: skip
    """Predict each event, then learn from its label.

    INPUT is a file of JSON lines, or - for standard input; .gz and .zst are read as they
    are. Predictions go to standard output, one JSON line an event.
    """
    if options["regret"] != "none":
        raise UsageError(f"--regret {options['regret']}: this version has no baselines yet; use none")
    names = ("gamma", "rho", "eta", "loss", "pruning", "scale")
    said = {name: options[name] for name in names if options[name] is not None}
    if options["budget"] is not None:
        said["budget"] = options["budget"] or None
    _execute(
        options,
        model=options["model"],
        task=options["task"],
        positive=options["positive"],
        options=said,
        checkpoint_every=options["checkpoint_every"],
    )


@click.command()
@click.argument("model")
@click.argument("input", default="-")
@config_option
@_fields
@_output
def predict(**options: Any) -> None:
    """Score events with a model, without learning.

    Names of target, id, weight and ignored attributes are those the model was learned with,
    unless given. Where events carry the target, loss and metrics are reported.
    """
    _execute(options, model=options["model"], learn=False)


@click.command()
@click.argument("model")
@config_option
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def inspect(model: str, as_json: bool) -> None:
    """Show what is in a model file."""
    from streamkarma.runtime.run import describe

    content = describe(model)
    if as_json:
        import json

        click.echo(json.dumps(content))
        return
    names = content.pop("attributes")
    for name, value in content.items():
        if isinstance(value, dict):
            click.echo(f"{name}:")
            for inner, each in value.items():
                click.echo(f"  {inner:<18} {_shown(each)}")
        else:
            click.echo(f"{name:<20} {_shown(value)}")
    click.echo(f"{'attributes':<20} {', '.join(names[:20])}{' …' if len(names) > 20 else ''}")


def _execute(said: dict[str, Any], **plan: Any) -> None:
    """Put the options that learn and predict share into a plan, and run it."""
    from streamkarma.runtime.run import Plan, Run

    if said["no_predictions"] and said["predictions"] != "-":
        raise UsageError("--predictions and --no-predictions contradict each other")
    fields = {"target": said["target"], "id": said["identity"], "weight": said["weight"]}
    names = {name: value for name, value in fields.items() if value is not None}
    if said["ignore"]:
        names["ignore"] = said["ignore"]
    run = Run(
        Plan(
            input=said["input"],
            fields=names,
            predictions=None if said["no_predictions"] else said["predictions"],
            dead_letters=said["dead_letters"],
            summary=said["summary"],
            fail=said["on_error"] == "fail",
            report_every=said["report_every"],
            quiet=said["quiet"],
            max_record_bytes=said["max_record_bytes"],
            **plan,
        )
    )
    sys.exit(run.execute())


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
