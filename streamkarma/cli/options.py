"""The options that commands share."""

from __future__ import annotations

import click

from streamkarma.cli.declaring import Decorator, option, together
from streamkarma.cli.value_types import above_zero, setting
from streamkarma.parameters.learning import LEARNING
from streamkarma.parameters.running import RUNNING

format = option(RUNNING["format"])

explain = option(RUNNING["explain"])

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
    """Where predictions go besides a topic; the default, in words, is settled by ``plans.outputs``."""
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
        help="Exit with 1 if there was no record, none could be used, or none had the target to learn from.",
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

tasks = together(option(RUNNING["task"]), option(RUNNING["unlabelled"]), positive)

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
    option(RUNNING["share_label"]),
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
