"""regret: a stream at rest against the offline baselines."""

from __future__ import annotations

import sys
from typing import Any

import click

from streamkarma.cli import options as shared
from streamkarma.cli.config import config_option
from streamkarma.errors import UsageError


@click.command()
@click.argument("input", default="-")
@config_option
@shared.fields
@shared.tasks
@shared.learner
@click.option(
    "--regret",
    "--baselines",
    "baselines",
    metavar="NAMES",
    default="fast",
    show_default=True,
    help="Offline baselines to compare with: names with commas, all or fast.",
)
@shared.comparison
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

    Runs the learner over INPUT (a file of JSON lines, or - for standard input) as learn does, and
    asks each baseline at 256, 512, 1024, … events and at the end what it would have suffered on the
    very same events.
    """
    from streamkarma.runtime.plan import Plan
    from streamkarma.runtime.regretting import Regretting

    if said["baselines"].strip() in ("", "none"):
        raise UsageError("--baselines none leaves nothing to compare with; name some, or fast, or all")
    plan = Plan(
        input=said["input"],
        fields=shared.field_names(said),
        predictions=None,
        quiet=said["quiet"],
        regret=said["baselines"],
        **shared.compared(said),
    )
    sys.exit(Regretting(plan, said["json"], said["plot"]).execute())
