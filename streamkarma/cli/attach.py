"""attach: predict and learn Kafka topics."""

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
from streamkarma.parameters.learning import LEARNING, SCORED
from streamkarma.parameters.running import RUNNING

#: Default of --pending if a topic of labels is given.
PENDING = 10_000


@click.command(cls=Command)
@click.argument("topics", metavar="TOPIC...", nargs=-1, required=True)
@config_option
@connection.brokers
@click.option(
    "--group",
    metavar="NAME",
    required=True,
    help="Consumer group; its processes share the partitions.",
)
@click.option(
    "--from",
    "from",
    type=click.Choice(["earliest", "latest"]),
    default="earliest",
    show_default=True,
    help="Where to start a partition for which neither the model nor the group has an offset, or whose topic "
    "was recreated.",
)
@click.option("--output-topic", metavar="TOPIC", help="Topic for predictions, each written exactly once.")
@click.option(
    "--dead-letter-topic", metavar="TOPIC", help="Topic for records that cannot be used, unchanged."
)
@click.option("--label-topic", metavar="TOPIC", help="Topic of labels that arrive later, matched by --id.")
@click.option(
    "--share",
    metavar="TOPIC",
    help="Compacted topic through which the processes of the group share what they learn, with one model per "
    "partition; created if it does not exist. It replaces --model.",
)
@click.option(
    "--base",
    metavar="PATH",
    type=click.Path(exists=True, dir_okay=False),
    help="With --share: the model from which all partitions start.  [default: an empty one]",
)
@option(RUNNING["share_every"])
@click.option(
    "--no-learn",
    is_flag=True,
    help="Only predict, with the --model that another process writes; new versions are loaded.",
)
@connection.until_end
@click.option("--max-events", metavar="N", type=click.IntRange(min=1), help="Stop after this many events.")
@connection.metadata
@connection.settings
@shared.fields
@shared.keeping
@shared.predictions("-, or none with --output-topic")
@shared.output
@shared.explain
@shared.workers("1")
def attach(**options: Any) -> None:
    """Predict and learn the events of Kafka topics, each once.

    TOPIC is one name or several, or one regular expression that matches whole names. The model
    file holds the offsets it has learned up to; with --output-topic the predictions and these
    offsets are committed in transactions, so that a reader of committed records sees each
    prediction once, whatever happens to this process. Records without a value (tombstones)
    are skipped.

    With --no-learn the model is only read, and the offsets are the group's.
    """
    from streamkarma.connectors.kafka.source import Attachment, TopicSource
    from streamkarma.runtime.plan import Plan

    learns = not options["no_learn"]
    if learns:
        _check_share(options)
        if options["label_topic"] is not None and options["pending"] == 0:
            raise UsageError("--label-topic has no meaning with --pending 0; leave one of them out")
    else:
        _check_scoring(options)
    at = Attachment(
        topics=options["topics"],
        brokers=options["brokers"],
        group=options["group"],
        start=options["from"],
        output_topic=options["output_topic"],
        dead_letter_topic=options["dead_letter_topic"],
        label_topic=options["label_topic"],
        until_end=options["until_end"],
        settings=options["kafka"],
        connect_timeout=options["connect_timeout"],
        metadata=connection.metadata_of(options),
        max_record_bytes=options["max_record_bytes"],
        entity=options["entity"],
        share=options["share"],
        learn=learns,
        row_fields=connection.row_fields_of(options, learns),
    )
    printed = "-" if options["output_topic"] is None else None
    plan = Plan(**plans.outputs(options, printed), **(_learning if learns else _scoring)(options))
    plan = plan._replace(
        workers=options["workers"] or 1,
        max_events=options["max_events"],
        explaining=plans.strongest(options),
    )
    plans.execute(plan, TopicSource(at, plan.model if learns else None), options["metrics"])


def _learning(options: dict[str, Any]) -> dict[str, Any]:
    """The parts of a plan for learning."""
    pending = 0 if options["label_topic"] is None else PENDING
    shares = {name: options[name] for name in ("base", "share_every")}
    return {**plans.learning(options), **shares, "pending_default": pending}


def _scoring(options: dict[str, Any]) -> dict[str, Any]:
    """The parts of a plan for scoring only."""
    return {"model": options["model"], "learn": False, "follow": True, "options": plans.scoring(options)}


#: Options that have no meaning with shared models, and why.
_NOT_SHARED = {
    "model": "the models are in the topic, and streamkarma pull writes them to a file",
    "label_topic": "a partition's model learns from that partition alone",
    "pending": "labels that arrive later are learned by one process with a --model",
    "refit": "refits depend on timing, which shared models must not",
}


def _check_share(options: dict[str, Any]) -> None:
    """UsageError if options contradict --share, or have no meaning without it."""
    if options["share"] is None:
        plans.check_alone(("base", "share_every"), "share")
        return
    for name, why in _NOT_SHARED.items():
        if options[name]:
            raise UsageError(f"--{name.replace('_', '-')} cannot be combined with --share: {why}")
    if options["regret"] != RUNNING["regret"].default:
        raise UsageError("--regret cannot be combined with --share: baselines see only a part of the stream")


#: Options that affect how a model learns or is compared, but not how it scores.
_ONLY_LEARNING = {
    *("share", "base", "share_every", "label_topic", "checkpoint_every", "pending", "pending_seconds"),
    *("regret", "regret_memory", "regret_seconds"),
    *("learner", "task", "positive", "unlabelled", "share_label"),
    *(declared.flag or name for name, declared in LEARNING.items()),
} - set(SCORED)


def _check_scoring(options: dict[str, Any]) -> None:
    """UsageError if options contradict --no-learn."""
    if options["model"] is None:
        raise UsageError("--no-learn needs --model, the file of a trained model")
    context = click.get_current_context()
    for parameter in context.command.params:
        name = str(parameter.name)
        given = context.get_parameter_source(name) is not ParameterSource.DEFAULT
        if name in _ONLY_LEARNING and given and options[name] not in (None, ()):
            raise UsageError(
                f"{parameter.opts[0]} has no meaning with --no-learn, which takes the model as it was "
                "learned; leave one of them out"
            )
