"""regret: the learner on a stored stream against the offline baselines."""

from __future__ import annotations

import sys
from typing import Any

import click

from streamkarma.cli import options as shared
from streamkarma.cli import plans
from streamkarma.cli.config import config_option
from streamkarma.cli.typos import Command
from streamkarma.errors import UsageError
from streamkarma.parameters.words import FAST_BASELINES, LEARNER_NAMES


@click.command(cls=Command)
@click.argument("input", default="-")
@config_option
@shared.format
@shared.fields
@shared.tasks
@click.option(
    "--learner",
    metavar="NAMES",
    help=f"One of {', '.join(LEARNER_NAMES)}; several, comma-separated, if INPUT is a file.  [default: auto, "
    "or the one that has the options given]",
)
@shared.parameters
@click.option(
    "--regret",
    "--baselines",
    "baselines",
    # By itself, click knows only the name that the parameter has in here.
    envvar=["STREAMKARMA_REGRET_REGRET", "STREAMKARMA_REGRET_BASELINES"],
    metavar="NAMES",
    default="fast",
    show_default=True,
    help="Offline baselines to compare with: comma-separated names, all, or fast, which is "
    f"{', '.join(FAST_BASELINES)}.",
)
@shared.comparison
@shared.watching
@click.option(
    "--json",
    metavar="PATH",
    is_flag=False,
    flag_value="-",
    help="Where to write the report, as JSON; without a PATH, to standard output.",
)
@click.option("--plot", metavar="FILE", help="Plot the report; FILE ends in .png, .svg or .html.")
@shared.quiet
def regret(**options: Any) -> None:
    """How much better would an offline method have done?

    Runs the learner over INPUT (JSON lines or a table; - is standard input) as learn does. At 256,
    512, 1024, … events and at the end it fits each baseline and compares the losses on the same events.
    """
    from streamkarma.connectors.tables.source import source_of
    from streamkarma.runtime.plan import Plan
    from streamkarma.runtime.regret_run import RegretRun

    if {word.strip() for word in options["baselines"].split(",")} <= {"", "none"}:
        raise UsageError("--regret none leaves nothing to compare with; name baselines, or fast, or all")
    learners = [name.strip() for name in (options["learner"] or "").split(",") if name.strip()]
    for name in learners:
        if name not in LEARNER_NAMES:
            raise UsageError(f"--learner {name}: no such learner; there are {', '.join(LEARNER_NAMES)}")
    if options["learner"] is not None and not learners:
        raise UsageError(
            f"--learner {options['learner']!r} names no learner; there are {', '.join(LEARNER_NAMES)}"
        )
    if len(learners) > 1 and options["input"] == "-":
        raise UsageError("several learners need a file: standard input can be read only once")
    options["learner"] = None
    plan = Plan(
        fields=plans.field_names(options),
        predictions=None,
        quiet=options["quiet"],
        regret=options["baselines"],
        recent=options["recent"],
        drift=options["drift"],
        **plans.compared(options),
    )
    source = source_of(options["input"], options["format"])
    sys.exit(RegretRun(plan, source, learners, options["json"], options["plot"]).execute())
