"""explain: what attributes contribute to scores, event by event or over many."""

from __future__ import annotations

import sys
from typing import Any

import click
from click.core import ParameterSource

from streamkarma.cli import options as shared
from streamkarma.cli import plans
from streamkarma.cli.config import config_option
from streamkarma.cli.stream import run_of
from streamkarma.cli.typos import Command
from streamkarma.errors import UsageError

#: Missing attributes shown in a row.
_ASKED = 5
#: Events over which attributes are ranked.
_WINDOW = 1000


@click.command(cls=Command)
@click.argument("model")
@click.argument("input", required=False)
@config_option
@shared.format
@shared.scored_fields
@click.option(
    "--rank", is_flag=True, help="Rank attributes over the latest events of INPUT instead of writing rows."
)
@click.option(
    "--window",
    metavar="N",
    type=click.IntRange(min=1),
    help=f"Number of events over which attributes are ranked.  [default: {_WINDOW:,}]",
)
@click.option("--json", is_flag=True, help="Print the ranking as one JSON object.")
@shared.predictions("-")
@shared.output
@shared.file_workers
def explain(**options: Any) -> None:
    """Show what each attribute contributes to the scores of a model.

    For each event of INPUT (- for standard input) this writes a row as predict does, with the contributions
    of its attributes, which add up to the score together with the constant, and with the missing attributes
    that would change the score most: by how much, as a standard deviation.

    With --rank, or without INPUT, it prints a table of the attributes by their mean absolute contribution
    over a window of events, with the effect of their absence. The window is the latest events of INPUT, or
    those that the model keeps; for a model that keeps none, events are drawn from what it has learned about
    its attributes.
    """
    if options["input"] is not None and not options["rank"]:
        _explain_rows(options)
    window = options["window"] or _WINDOW
    if options["input"] is None:
        _check_no_input()
        from streamkarma.runtime.ranking import rank_model

        _show(rank_model(options["model"], window), options["json"])
        return
    if options["predictions"] is not None:
        raise UsageError("--predictions cannot be combined with --rank, which writes no rows")
    from streamkarma.runtime.ranking import rank_run
    from streamkarma.runtime.run import Run

    run = Run(*run_of(options, model=options["model"], learn=False, predictions=None, window=window))
    code = run.execute()
    _show(rank_run(run, options["input"]), options["json"])
    sys.exit(code)


def _explain_rows(options: dict[str, Any]) -> None:
    """Write a row for each event of the input."""
    from streamkarma.runtime.explaining import ExplanationLimits

    for name in ("window", "json"):
        if options[name]:
            raise UsageError(
                f"--{name} has no meaning for INPUT without --rank; add --rank, or leave --{name} out"
            )
    plan, source = run_of(
        options, model=options["model"], learn=False, explaining=ExplanationLimits(missing=_ASKED)
    )
    plans.execute(plan, source, None)


#: Options that have a meaning without INPUT.
_WITHOUT_INPUT = ("model", "rank", "window", "json", "log_format", "quiet")


def _check_no_input() -> None:
    """UsageError for options on the command line that need INPUT; a config file may be for all commands."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = str(parameter.name)
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name not in _WITHOUT_INPUT and parameter.expose_value:
            raise UsageError(
                f"{parameter.opts[0]} has no meaning without INPUT; name a file, or - for standard input"
            )


def _show(ranking: Any, json: bool) -> None:
    """Write a ranking to standard output."""
    from orjson import dumps

    from streamkarma.runtime.ranking import table

    click.echo(dumps(ranking._asdict()) if json else table(ranking))
