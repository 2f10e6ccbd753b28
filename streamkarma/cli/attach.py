"""attach."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from streamkarma.cli import brokers as connection
from streamkarma.cli import options as shared
from streamkarma.cli import plans
from streamkarma.cli.config import config_option
from streamkarma.cli.declaring import option
from streamkarma.cli.typos import Command
from streamkarma.errors import UsageError
from streamkarma.parameters.learning import LEARNING
from streamkarma.parameters.running import RUNNING

#: Events that wait for their labels, where a topic of labels is given and nothing else is said.
PENDING = 10_000


@click.command(cls=Command)
@click.argument("topics", metavar="TOPIC...", nargs=-1, required=True)
@config_option
@connection.brokers
@click.option(
    "--group",
    metavar="NAME",
    required=True,
    help="Consumer group; its partitions are shared by its processes.",
)
@click.option(
    "--from",
    "from",
    type=click.Choice(["earliest", "latest"]),
    default="earliest",
    show_default=True,
    help="Where a partition begins that neither the model nor the group knows, or whose topic was recreated.",
)
@click.option("--output-topic", metavar="TOPIC", help="Where predictions go, each exactly once.")
@click.option(
    "--dead-letter-topic", metavar="TOPIC", help="Where records that cannot be used go, as they were."
)
@click.option("--label-topic", metavar="TOPIC", help="Where labels come from that come later, by --id.")
@click.option(
    "--share",
    metavar="TOPIC",
    help="Compacted topic by which the processes of the group share what they learn, with a model of each "
    "partition; it is made if need be. There is no --model then.",
)
@click.option(
    "--base",
    metavar="PATH",
    type=click.Path(exists=True, dir_okay=False),
    help="With --share: the model that all partitions go on from.  [default: an empty one]",
)
@option(RUNNING["share_every"])
@click.option(
    "--no-learn",
    is_flag=True,
    help="Only predict, with the --model that another process writes; a new one is loaded when it is there.",
)
@click.option("--until-end", is_flag=True, help="Stop at the offsets that stand at the start.")
@click.option("--max-events", metavar="N", type=click.IntRange(min=1), help="Stop after so many events.")
@connection.metadata
@connection.settings
@shared.fields
@shared.keeping
@shared.predictions("-, or none with --output-topic")
@shared.output
@shared.explain
def attach(**said: Any) -> None:
    """Predict and learn the events of Kafka topics, each once.

    TOPIC is a name, or several, or one regular expression for whole names. The model file
    holds the offsets it has learned up to; with --output-topic the predictions, and these
    offsets, are committed in transactions, so that a reader of committed records sees each
    prediction once, whatever happens to this process. Records without a value (tombstones)
    are skipped.

    With --no-learn the model is only read, and the offsets are the group's.
    """
    from streamkarma.connectors.kafka.source import Attachment, TopicSource
    from streamkarma.runtime.plan import Plan

    learns = not said["no_learn"]
    if learns:
        _check_share(said)
        if said["label_topic"] is not None and said["pending"] == 0:
            raise UsageError("--label-topic has no meaning with --pending 0")
    else:
        _check_scoring(said)
    at = Attachment(
        topics=said["topics"],
        brokers=said["brokers"],
        group=said["group"],
        start=said["from"],
        output_topic=said["output_topic"],
        dead_letter_topic=said["dead_letter_topic"],
        label_topic=said["label_topic"],
        until_end=said["until_end"],
        settings=said["kafka"],
        connect_timeout=said["connect_timeout"],
        metadata=connection.metadata_of(said),
        max_record_bytes=said["max_record_bytes"],
        entity=said["entity"],
        share=said["share"],
        learn=learns,
        row_fields=connection.row_fields_of(said, learns),
    )
    printed = "-" if said["output_topic"] is None else None
    plan = Plan(**plans.outputs(said, printed), **(_learning if learns else _scoring)(said))
    plan = plan._replace(max_events=said["max_events"], explaining=plans.strongest(said))
    plans.execute(plan, TopicSource(at, plan.model if learns else None), said["metrics"])


def _learning(said: dict[str, Any]) -> dict[str, Any]:
    """What a plan says only of learning."""
    pending = 0 if said["label_topic"] is None else PENDING
    shares = {name: said[name] for name in ("base", "share_every")}
    return {**plans.learning(said), **shares, "pending_default": pending}


def _scoring(said: dict[str, Any]) -> dict[str, Any]:
    """What it says of scoring alone."""
    return {"model": said["model"], "learn": False, "follow": True, "options": plans.threshold(said)}


#: What has no meaning with models that are shared, and why.
_NOT_SHARED = {
    "model": "the models are in the topic, and streamkarma pull writes them to a file",
    "label_topic": "a partition's model learns from that partition alone",
    "pending": "labels that come later are learned by one process with a --model",
    "refit": "refits depend on when they are finished, and models that are shared must not",
}


def _check_share(said: dict[str, Any]) -> None:
    """UsageError if options contradict --share, or have no meaning without it."""
    if said["share"] is None:
        plans.check_alone(("base", "share_every"), "share")
        return
    for name, why in _NOT_SHARED.items():
        if said[name]:
            raise UsageError(f"--{name.replace('_', '-')} cannot be combined with --share: {why}")
    if said["regret"] != RUNNING["regret"].default:
        raise UsageError("--regret cannot be combined with --share: baselines would see a part of the stream")


#: What decides how a model learns, or is compared, and nothing of how it is scored with.
_ONLY_LEARNING = {
    *("share", "base", "share_every", "label_topic", "checkpoint_every", "pending", "pending_seconds"),
    *("regret", "regret_memory", "regret_seconds"),
    *("learner", "task", "positive", "unlabelled", "share_label"),
    *(declared.flag or name for name, declared in LEARNING.items()),
} - {"threshold"}


def _check_scoring(said: dict[str, Any]) -> None:
    """UsageError if options contradict --no-learn."""
    if said["model"] is None:
        raise UsageError("--no-learn needs --model, the file of a model that has learned")
    context = click.get_current_context()
    for parameter in context.command.params:
        name = str(parameter.name)
        given = context.get_parameter_source(name) is not ParameterSource.DEFAULT
        if name in _ONLY_LEARNING and given and said[name] not in (None, ()):
            raise UsageError(
                f"{parameter.opts[0]} has no meaning with --no-learn: the model is as it was learned"
            )
