"""regret: a stream at rest against the offline baselines."""

from __future__ import annotations

import sys
from typing import Any

import click

from streamkarma.cli import options as shared
from streamkarma.cli import plans
from streamkarma.cli.config import config_option
from streamkarma.cli.typos import Command
from streamkarma.errors import UsageError
from streamkarma.parameters.words import LEARNER_NAMES


@click.command(cls=Command)
@click.argument("input", default="-")
@config_option
@shared.format
@shared.fields
@shared.tasks
@click.option(
    "--learner",
    metavar="NAMES",
    help=f"What learns, of {', '.join(LEARNER_NAMES)}; several, with commas, for a file.  [default: auto, "
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
    help="Offline baselines to compare with: names with commas, all or fast.",
)
@shared.comparison
@shared.watching
@click.option(
    "--json",
    metavar="PATH",
    is_flag=False,
    flag_value="-",
    help="Where the report goes, as JSON; without a PATH to standard output.",
)
@click.option("--plot", metavar="FILE", help="Draw it: FILE ends in .png, .svg or .html.")
@click.option("--quiet", is_flag=True, help="Nothing on stderr but errors.")
def regret(**said: Any) -> None:
    """How much better would offline have done?

    Runs the learner over INPUT (JSON lines or a table; - is standard input) as learn does, and asks each
    baseline at 256, 512, 1024, … events and at the end what it would have suffered on the
    very same events.
    """
    from streamkarma.connectors.tables.source import source_of
    from streamkarma.runtime.plan import Plan
    from streamkarma.runtime.regret_run import RegretRun

    if {word.strip() for word in said["baselines"].split(",")} <= {"", "none"}:
        raise UsageError("--regret none leaves nothing to compare with; name baselines, or fast, or all")
    learners = [name.strip() for name in (said["learner"] or "").split(",") if name.strip()]
    for name in learners:
        if name not in LEARNER_NAMES:
            raise UsageError(f"--learner {name}: no such learner; there are {', '.join(LEARNER_NAMES)}")
    if said["learner"] is not None and not learners:
        raise UsageError(f"--learner {said['learner']!r} names none; there are {', '.join(LEARNER_NAMES)}")
    if len(learners) > 1 and said["input"] == "-":
        raise UsageError("several learners need a file: standard input can be read once only")
    said["learner"] = None
    plan = Plan(
        fields=plans.field_names(said),
        predictions=None,
        quiet=said["quiet"],
        regret=said["baselines"],
        recent=said["recent"],
        drift=said["drift"],
        **plans.compared(said),
    )
    source = source_of(said["input"], said["format"])
    sys.exit(RegretRun(plan, source, learners, said["json"], said["plot"]).execute())
