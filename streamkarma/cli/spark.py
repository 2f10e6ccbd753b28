"""backfill and stream."""

from __future__ import annotations

import sys
from typing import Any

import click

from streamkarma.cli import options as shared
from streamkarma.cli import plans
from streamkarma.cli.config import config_option
from streamkarma.cli.declaring import option
from streamkarma.cli.typos import Command
from streamkarma.cli.value_types import above_zero, setting
from streamkarma.errors import UsageError
from streamkarma.parameters.running import RUNNING

#: What only learning has.
_OF_LEARNING = ("model", "warm", "tail", "fresh", "task", "learner", "unlabelled", "positive")


@click.command(cls=Command)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@config_option
@shared.spark
@click.option(
    "--partitions",
    metavar="N",
    type=click.IntRange(1),
    help="Parts, each of which learns by itself.  [default: as many as Spark has cores, of 16 MiB or more]",
)
@click.option(
    "--warm",
    metavar="N",
    type=click.IntRange(0),
    default=0,
    help="First records, learned in order before the parts, which go on from there.",
)
@click.option(
    "--tail",
    metavar="N",
    type=click.IntRange(0),
    default=0,
    help="Last records, learned in order after the parts.",
)
@shared.names
@option(RUNNING["task"])
@option(RUNNING["unlabelled"])
@shared.positive
@option(RUNNING["learner"])
@shared.parameters
@click.option(
    "--model",
    metavar="PATH",
    help="Model file, written at the end; if it exists, the parts go on from it.",
)
@click.option("--fresh", is_flag=True, help="Begin a new model, even if there is one at --model.")
@click.option("--predict", metavar="MODEL", help="Score with this model, and learn nothing.")
@click.option("--output", metavar="PATH", help="With --predict: a new folder for the predictions.")
@shared.bad_records
@shared.summary
@shared.strictness
def backfill(**said: Any) -> None:
    """Learn one model of all that has happened, on Spark.

    PATH is a file, a folder or a pattern of JSON lines (.gz and .zst are read as they are) or of Parquet
    (.parquet), which every machine of the cluster can read. A first pass looks at all records: names, classes
    and how numbers are distributed. In a second one each part learns by itself, and what the parts have
    learned is merged.
    """
    from streamkarma.spark.files import files_of
    from streamkarma.spark.inputs import Inputs
    from streamkarma.spark.session import check_installed, started

    check_installed()
    files = files_of(list(said["paths"]))
    job = _scoring(said) if said["predict"] is not None else _learning(said)
    with started("streamkarma backfill", said["master"], dict(said["spark"])) as spark:
        job.run(Inputs.of_files(spark, files, said["partitions"], said["max_record_bytes"]))


def _learning(said: dict[str, Any]) -> Any:
    from streamkarma.runtime.plan import Plan
    from streamkarma.spark.backfilling import Backfill

    if said["model"] is None:
        raise UsageError("give --model, where the model is to be written, or --predict")
    if said["output"] is not None:
        raise UsageError("--output has no meaning without --predict")
    plan = Plan(
        model=said["model"],
        options=plans.learner_options(said),
        **{name: said[name] for name in ("task", "positive", "unlabelled", "learner", "fresh")},
        **_shared(said),
    )
    return Backfill(plan, said["warm"], said["tail"])


def _scoring(said: dict[str, Any]) -> Any:
    from streamkarma.runtime.plan import Plan
    from streamkarma.spark.scoring import Scoring

    given = [name for name in _OF_LEARNING if said[name]]
    options = plans.learner_options(said)
    threshold = options.pop("threshold", None)
    if given or options:
        name = (given or list(options))[0].replace("_", "-")
        raise UsageError(f"--{name} has no meaning with --predict")
    if said["output"] is None:
        raise UsageError("--predict needs --output, a new folder for the predictions")
    plan = Plan(
        model=said["predict"],
        learn=False,
        options={} if threshold is None else {"threshold": threshold},
        **_shared(said),
    )
    return Scoring(plan, said["output"])


def _shared(said: dict[str, Any]) -> dict[str, Any]:
    """What learning and scoring have in common, by the names of a plan."""
    return {
        "fields": plans.field_names(said),
        "predictions": None,
        "fail": said["on_error"] == "fail",
        **{name: said[name] for name in ("dead_letters", "summary", "strict", "quiet")},
    }


#: Spark's own part for Kafka, by the version of Scala that the wheel has.
_KAFKA = "org.apache.spark:spark-sql-kafka-0-10_2.13"


@click.command("stream", cls=Command)
@click.argument("topics", metavar="TOPIC...", nargs=-1, required=True)
@config_option
@shared.spark
@click.option("--brokers", metavar="HOST:PORT,...", required=True, help="Some of the brokers.")
@click.option(
    "--checkpoint",
    metavar="PATH",
    required=True,
    help="Folder of all that is needed to go on, which every machine of the cluster sees.",
)
@click.option(
    "--from",
    "from",
    type=click.Choice(["earliest", "latest"]),
    default="earliest",
    show_default=True,
    help="Where a partition begins that was never read.",
)
@click.option(
    "--every",
    metavar="S",
    type=above_zero,
    default=10.0,
    show_default=True,
    help="Seconds between the beginnings of two batches.",
)
@click.option("--max-batch", metavar="N", type=click.IntRange(1), help="Most records of a batch.")
@click.option("--until-end", is_flag=True, help="Stop at the offsets that stand at the start.")
@click.option(
    "-X",
    "--kafka",
    metavar="NAME=VALUE",
    multiple=True,
    type=setting,
    help="A setting of Spark's Kafka client, such as security.protocol=SSL; repeatable.",
)
@shared.names
@option(RUNNING["task"])
@option(RUNNING["unlabelled"])
@shared.positive
@option(RUNNING["learner"])
@shared.parameters
@click.option(
    "--model",
    metavar="PATH",
    help="Model file of all partitions, written after each batch. One that is there before is its base.",
)
@click.option(
    "--predictions", metavar="PATH", help="Folder for predictions, a file for each batch and partition."
)
@click.option("--dead-letters", metavar="PATH", help="Folder for records that cannot be used, as well.")
@option(RUNNING["max_record_bytes"])
@shared.summary
@shared.strictness
def stream_topics(**said: Any) -> None:
    """Predict and learn the events of Kafka topics, on Spark.

    Each partition keeps a model of its own, and the merged model of all partitions after one batch answers
    in the next. After a crash, run the same command again: nothing is lost, and nothing learned or written
    twice.
    """
    from streamkarma.runtime.plan import Plan
    from streamkarma.spark.session import check_installed, started
    from streamkarma.spark.streaming import Stream, Subscription

    check_installed()
    how = ("brokers", "checkpoint", "every", "until_end")
    read = Subscription(
        said["topics"],
        start=said["from"],
        most=said["max_batch"],
        longest=said["max_record_bytes"],
        settings=dict(said["kafka"]),
        **{name: said[name] for name in how},
    )
    plan = Plan(
        fields=plans.field_names(said),
        options=plans.learner_options(said),
        **{
            name: said[name] for name in ("model", "task", "positive", "unlabelled", "learner", "predictions")
        },
        **{name: said[name] for name in ("dead_letters", "summary", "strict", "quiet")},
    )
    job = Stream(plan, read)
    with started("streamkarma stream", said["master"], dict(said["spark"]), _KAFKA) as spark:
        code = job.run(spark)
    sys.exit(code)
