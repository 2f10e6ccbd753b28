"""The options that commands share."""

from __future__ import annotations

import click

from streamkarma.cli.declaring import Decorator, option, together
from streamkarma.cli.value_types import above_zero, setting
from streamkarma.parameters.learning import LEARNING, SCORED
from streamkarma.parameters.running import RUNNING

format = option(RUNNING["format"])

explain = option(RUNNING["explain"])

_others = together(
    click.option("--id", metavar="NAME", help="Attribute copied to the output."),
    click.option("--ignore", metavar="NAME", multiple=True, help="Attribute to leave out; repeatable."),
    click.option("--weight", metavar="NAME", help="Attribute that holds the event's weight."),
)

names = together(option(RUNNING["target"]), _others)

fields = together(
    names,
    click.option("--full", metavar="NAME", help="The complete vector, for --regret full; not learned from."),
)

#: The default of settings stored in a model file, for commands that need one.
_AS_LEARNED = "as the model was learned"

#: The field options of commands that only score.
scored_fields = together(
    option(RUNNING["target"], _AS_LEARNED),
    _others,
    click.option(
        "--full", metavar="NAME", help="Attribute to leave out, as the complete vector was in learning."
    ),
)

scored_parameters = together(*(option(LEARNING[name], _AS_LEARNED) for name in SCORED))

parameters = together(*(option(each) for each in LEARNING.values()))


def predictions(default: str) -> Decorator:
    """Where to write predictions other than to a topic; ``plans.outputs`` applies the default named here."""
    return together(
        click.option(
            "--predictions",
            metavar="PATH",
            help=f"Where to write predictions; - is standard output.  [default: {default}]",
        ),
        click.option(
            "--no-predictions", is_flag=True, help="Write no predictions to standard output or a file."
        ),
    )


bad_records = together(
    click.option("--dead-letters", metavar="PATH", help="Where to write records that cannot be used."),
    click.option(
        "--on-error",
        type=click.Choice(["skip", "fail"]),
        default="skip",
        show_default=True,
        help="What to do with such a record.",
    ),
    option(RUNNING["max_record_bytes"]),
)

summary = click.option("--summary", metavar="PATH", help="Where to write the summary, as JSON.")

quiet = click.option("--quiet", is_flag=True, help="Print only errors to stderr.")

strictness = together(
    click.option(
        "--strict",
        is_flag=True,
        help="Exit with 1 if there were no records, or none could be used, or, when learning, none had the "
        "target.",
    ),
    quiet,
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

tasks = together(
    option(RUNNING["task"]),
    option(RUNNING["unlabelled"]),
    click.option(
        "--positive", metavar="VALUE", help="The positive class.  [default: the greater of the two]"
    ),
)

#: Which task to learn, with which learner.
learned = together(tasks, option(RUNNING["learner"]), parameters)

comparison = together(
    option(RUNNING["regret_memory"]),
    option(RUNNING["regret_seconds"]),
)

keeping = together(
    learned,
    click.option(
        "--model",
        metavar="PATH",
        help="Model file: resumed if it exists, written at checkpoints and at the end. The previous "
        "version is kept as PATH.bak; only one process can learn with it at a time.",
    ),
    option(RUNNING["checkpoint_every"]),
    click.option(
        "--pending",
        metavar="N",
        type=click.IntRange(min=0),
        help="Maximum number of events that wait for their labels, matched by --id or --entity.  "
        "[default: none]",
    ),
    click.option(
        "--pending-seconds",
        metavar="S",
        type=above_zero,
        help="Maximum wait for a label, in seconds: by --time, or on a topic by the records' timestamps.  "
        "[default: no limit]",
    ),
    option(RUNNING["share_label"]),
    option(RUNNING["regret"]),
    comparison,
    option(RUNNING["metrics"]),
)


#: For the commands that run on Spark.
spark = together(
    click.option(
        "--master",
        metavar="URL",
        help="Where Spark runs.  [default: as spark-submit or Spark's settings say, else this machine]",
    ),
    click.option(
        "--spark",
        metavar="NAME=VALUE",
        multiple=True,
        type=setting,
        help="A setting of Spark; repeatable.",
    ),
)


def workers(default: str) -> Decorator:
    """The option for the number of workers, with its default in words."""
    return click.option(
        "--workers",
        metavar="N",
        type=click.IntRange(1, 64),
        help="From 2 on: read and parse beside learning, and learn with up to N experts at once. The results "
        f"are the same.  [default: {default}]",
    )


#: For the commands that read a file or a pipe.
file_workers = workers("2 if there are two cores")
