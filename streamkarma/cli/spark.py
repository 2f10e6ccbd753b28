"""backfill and stream: learn past events, and score topics, on Spark."""

from __future__ import annotations

import sys
from typing import Any

import click

from streamkarma.cli import brokers as connection
from streamkarma.cli import options as shared
from streamkarma.cli import plans
from streamkarma.cli.config import config_option
from streamkarma.cli.declaring import option
from streamkarma.cli.typos import Command
from streamkarma.cli.value_types import above_zero, setting
from streamkarma.errors import UsageError, meaningless_without
from streamkarma.parameters.learning import SCORED
from streamkarma.parameters.running import RUNNING

#: Options for learning only.
_OF_LEARNING = ("model", "warm", "tail", "fresh", "task", "learner", "unlabelled", "positive")


@click.command(cls=Command)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@config_option
@shared.spark
@click.option(
    "--partitions",
    metavar="N",
    type=click.IntRange(1),
    help="Number of parts, each learned separately.  [default: one per core of Spark, of 16 MiB or more]",
)
@click.option(
    "--warm",
    metavar="N",
    type=click.IntRange(0),
    default=0,
    help="Number of first records to learn in order before the parts, which continue from there.",
)
@click.option(
    "--tail",
    metavar="N",
    type=click.IntRange(0),
    default=0,
    help="Number of last records to learn in order after the parts.",
)
@shared.names
@shared.learned
@click.option(
    "--model",
    metavar="PATH",
    help="Model file, written at the end; if it exists, the parts continue from it.",
)
@click.option("--fresh", is_flag=True, help="Start a new model even if --model exists.")
@click.option("--predict", metavar="MODEL", help="Score with this model, without learning.")
@click.option("--output", metavar="PATH", help="With --predict: a new folder for the predictions.")
@shared.bad_records
@shared.summary
@shared.strictness
def backfill(**options: Any) -> None:
    """Learn one model from past events, on Spark.

    PATH is a file, a folder or a pattern of JSON lines (.gz and .zst files are decompressed) or of Parquet
    (.parquet), which every machine of the cluster can read. A first pass collects the names, the classes and
    the distributions of numbers from all records. In a second pass each part is learned separately, and the
    results are merged.
    """
    from streamkarma.spark.files import files_of
    from streamkarma.spark.inputs import Inputs
    from streamkarma.spark.session import check_installed, started

    check_installed()
    files = files_of(list(options["paths"]))
    job = _scoring(options) if options["predict"] is not None else _learning(options)
    with started("streamkarma backfill", options["master"], dict(options["spark"])) as spark:
        job.run(Inputs.of_files(spark, files, options["partitions"], options["max_record_bytes"]))


def _learning(options: dict[str, Any]) -> Any:
    from streamkarma.runtime.plan import Plan
    from streamkarma.spark.backfilling import Backfill

    if options["model"] is None:
        raise UsageError("give --model, the file to write the model to, or --predict")
    if options["output"] is not None:
        raise meaningless_without("--output", "--predict")
    plan = Plan(
        model=options["model"],
        options=plans.learner_options(options),
        **{name: options[name] for name in ("task", "positive", "unlabelled", "learner", "fresh")},
        **_shared(options),
    )
    return Backfill(plan, options["warm"], options["tail"])


def _scoring(options: dict[str, Any]) -> Any:
    from streamkarma.runtime.plan import Plan
    from streamkarma.spark.scoring import Scoring

    given = [name for name in _OF_LEARNING if options[name]]
    given += [name for name in plans.learner_options(options) if name not in SCORED]
    if given:
        name = given[0].replace("_", "-")
        raise UsageError(
            f"--{name} has no meaning with --predict, which learns nothing; leave one of them out"
        )
    if options["output"] is None:
        raise UsageError("--predict needs --output, a new folder for the predictions")
    plan = Plan(
        model=options["predict"],
        learn=False,
        options=plans.scoring(options),
        **_shared(options),
    )
    return Scoring(plan, options["output"])


def _shared(options: dict[str, Any]) -> dict[str, Any]:
    """What learning and scoring have in common, keyed as in ``Plan``."""
    return {
        "fields": plans.field_names(options),
        "predictions": None,
        "fail": options["on_error"] == "fail",
        **{name: options[name] for name in ("dead_letters", "summary", "strict", "quiet")},
    }


#: Spark's Kafka connector, for the version of Scala in Spark's wheel.
_KAFKA = "org.apache.spark:spark-sql-kafka-0-10_2.13"


@click.command("stream", cls=Command)
@click.argument("topics", metavar="TOPIC...", nargs=-1, required=True)
@config_option
@shared.spark
@connection.brokers
@click.option(
    "--checkpoint",
    metavar="PATH",
    required=True,
    help="Folder for all state needed to resume, visible to every machine of the cluster.",
)
@click.option(
    "--from",
    "from",
    type=click.Choice(["earliest", "latest"]),
    default="earliest",
    show_default=True,
    help="Where to start partitions that have not been read before.",
)
@click.option(
    "--every",
    metavar="S",
    type=above_zero,
    default=10.0,
    show_default=True,
    help="Seconds between the starts of two batches.",
)
@click.option("--max-batch", metavar="N", type=click.IntRange(1), help="Maximum number of records per batch.")
@connection.until_end
@click.option(
    "-X",
    "--kafka",
    metavar="NAME=VALUE",
    multiple=True,
    type=setting,
    help="A setting of Spark's Kafka client, such as security.protocol=SSL; repeatable.",
)
@shared.names
@shared.learned
@click.option(
    "--model",
    metavar="PATH",
    help="Model file of all partitions, written after each batch. If it exists at the start, it is the base.",
)
@click.option(
    "--predictions", metavar="PATH", help="Folder for predictions, one file per batch and partition."
)
@click.option(
    "--dead-letters",
    metavar="PATH",
    help="Folder for records that cannot be used: one file per batch and partition.",
)
@option(RUNNING["max_record_bytes"])
@shared.summary
@shared.strictness
def stream_topics(**options: Any) -> None:
    """Predict and learn the events of Kafka topics, on Spark.

    Each partition has its own model, and the merged model of all partitions after one batch makes the
    predictions in the next. After a crash, run the same command again: nothing is lost, and nothing is
    learned or written twice.
    """
    from streamkarma.runtime.plan import Plan
    from streamkarma.spark.session import check_installed, started
    from streamkarma.spark.streaming import Stream, Subscription

    check_installed()
    how = ("brokers", "checkpoint", "every", "until_end")
    read = Subscription(
        options["topics"],
        start=options["from"],
        most=options["max_batch"],
        longest=options["max_record_bytes"],
        settings=dict(options["kafka"]),
        **{name: options[name] for name in how},
    )
    plan = Plan(
        fields=plans.field_names(options),
        options=plans.learner_options(options),
        **{
            name: options[name]
            for name in ("model", "task", "positive", "unlabelled", "learner", "predictions")
        },
        **{name: options[name] for name in ("dead_letters", "summary", "strict", "quiet")},
    )
    job = Stream(plan, read)
    with started("streamkarma stream", options["master"], dict(options["spark"]), _KAFKA) as spark:
        code = job.run(spark)
    sys.exit(code)
