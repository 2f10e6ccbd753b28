"""The functions of ``streamkarma.spark``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from streamkarma.errors import UsageError
from streamkarma.estimators.learners import Model
from streamkarma.parameters.learning import LEARNING
from streamkarma.parameters.running import RUNNING
from streamkarma.parameters.words import NOW
from streamkarma.runtime.fields import Fields
from streamkarma.runtime.plan import NOTHING, Plan
from streamkarma.runtime.session import Session
from streamkarma.spark.session import check_installed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Options that are fields of a plan with the same name.
_OF_PLAN = frozenset(
    {
        "model",
        "task",
        "positive",
        "learner",
        "unlabelled",
        "predictions",
        "dead_letters",
        "summary",
        "fail",
        "fresh",
        "quiet",
    }
)


def backfill(
    data: DataFrame | str | Sequence[str],
    target: str = RUNNING["target"].default,
    *,
    partitions: int | None = None,
    warm: int = 0,
    tail: int = 0,
    quiet: bool = True,
    **options: Any,
) -> Model:
    """Learn one model from past events, on all machines of a Spark cluster.

    The first of two passes collects the names, the classes, and the distribution of numbers from all records.
    In the second, each part is learned separately, and the results are merged.

    Parameters
    ----------
    data
        A frame with one event per row, null for missing values; or a frame of JSON lines, as returned by
        ``spark.read.text``. Or paths of JSON lines, compressed or not, or Parquet: files, folders or
        patterns, which the machines read themselves. The data must not change between the two passes.
    target
        The attribute that is the label.
    partitions
        The number of parts; for a frame, at most its number of partitions.
    warm, tail
        Number of records learned on the driver, in order, before and after the parts.
    quiet
        Whether to print nothing on standard error.
    options
        The options of ``streamkarma backfill``: ``learner``, ``task``, ``id``, ``ignore``, ``weight``,
        ``model``, and the learner's parameters.

    Returns
    -------
    The model, which can be trained further, saved and copied like any other.

    Raises
    ------
    UsageError
        If an option is unknown or Spark is missing.
    RunError
        If the data cannot be read, or Spark fails.

    Examples
    --------
    >>> from streamkarma import save
    >>> model = backfill("past/*.jsonl.gz", target="y", partitions=64)  # doctest: +SKIP
    >>> save(model, "my.karma")  # doctest: +SKIP
    """
    check_installed()
    from pyspark.sql import SparkSession

    from streamkarma.spark.backfilling import Backfill
    from streamkarma.spark.files import files_of
    from streamkarma.spark.inputs import Inputs

    longest = options.pop("max_record_bytes", RUNNING["max_record_bytes"].default)
    job = Backfill(plan_of({"target": target, "quiet": quiet, **options}), warm, tail)
    if isinstance(data, (str, Sequence)):
        paths = [data] if isinstance(data, str) else data
        files = files_of(list(paths))
        job.run(Inputs.of_files(SparkSession.builder.getOrCreate(), files, partitions, longest))
    else:
        job.run(Inputs.of_frame(data, partitions, longest))
    return job.session.task_model.model


def predict(frame: DataFrame, model: Model | str, **fields: Any) -> DataFrame:
    """Score the rows of a frame.

    Parameters
    ----------
    frame
        One event per row, null for missing values; or JSON lines, as returned by ``spark.read.text``.
    model
        A model, or its path.
    fields
        ``target``, ``id``, ``weight`` and ``ignore``, if they differ from those the model was trained with.

    Returns
    -------
    A lazy frame with a row for each row that is an event: ``id`` as text, if there is one, ``prediction``,
    ``score`` (by class if there are more than two), ``probability``, ``set`` or ``interval``, ``target``,
    ``loss`` and ``observed``, as in the rows of ``streamkarma predict``.

    Raises
    ------
    UsageError
        If a field is unknown or Spark is missing.
    ModelFileError
        If the file is not a model.

    Examples
    --------
    >>> frame = spark.read.parquet("past/2026-11.parquet")  # doctest: +SKIP
    >>> predict(frame, "my.karma").write.parquet("scores")  # doctest: +SKIP
    """
    check_installed()
    from streamkarma.spark.predicting import Predict, columns_of
    from streamkarma.spark.reading import FrameReader, is_text
    from streamkarma.spark.states import State

    plan = plan_of(fields)
    if isinstance(model, str):
        session = Session(plan._replace(model=model, learn=False), model, lambda _: None)
        state = State.of(session.task_model.model, session.described())
    else:
        names = {**Fields()._asdict(), **plan.fields}
        state = State.of(model, {"fields": names, "events": 0, "unlabelled": "learn", "share_label": "on"})
    columns = columns_of(state)
    reader = FrameReader(is_text(frame), RUNNING["max_record_bytes"].default)
    schema = ", ".join(f"`{name}` {kind}" for name, kind in columns.items())
    return frame.mapInArrow(Predict(reader, state.to_bytes(), columns), schema)


def attach(
    topics: str | Sequence[str],
    brokers: str,
    checkpoint: str,
    target: str = RUNNING["target"].default,
    *,
    start: str = "earliest",
    every: float = 10.0,
    most: int | None = None,
    until_end: bool = False,
    settings: Mapping[str, str] = NOTHING,
    quiet: bool = True,
    **options: Any,
) -> Model:
    """Predict and learn the events of Kafka topics on Spark, until they end or a signal arrives.

    Each partition has its own model, and the merged model of all partitions makes the predictions. After a
    crash nothing is lost or learned twice: restart with the same ``checkpoint``.

    Parameters
    ----------
    topics
        The names of the topics.
    brokers
        Bootstrap servers, ``HOST:PORT,...``.
    checkpoint
        A folder for all state needed to resume, visible to every machine.
    target
        The attribute that is the label.
    start
        Where to start partitions that have not been read before: ``earliest`` or ``latest``.
    every
        Seconds between the starts of two batches.
    most
        Maximum number of records per batch.
    until_end
        Whether to stop at the end offsets seen at start-up.
    settings
        Settings of Spark's Kafka client, by name: ``security.protocol`` and others.
    quiet
        Whether to print nothing on standard error.
    options
        The options of ``streamkarma stream``, as for ``backfill``; ``predictions`` and ``dead_letters`` are
        folders.

    Returns
    -------
    The model of all partitions.

    Raises
    ------
    UsageError
        If an option is unknown, or differs from the one that the stream was started with.
    RunError
        If the topics cannot be read, or Spark fails.

    Examples
    --------
    >>> attach("events", "localhost:9092", "state", model="my.karma", until_end=True)  # doctest: +SKIP
    """
    check_installed()
    from pyspark.sql import SparkSession

    from streamkarma.spark.streaming import Stream, Subscription

    longest = options.pop("max_record_bytes", RUNNING["max_record_bytes"].default)
    names = [topics] if isinstance(topics, str) else topics
    read = Subscription(names, brokers, checkpoint, start, every, most, until_end, longest, settings)
    stream = Stream(plan_of({"predictions": None, "target": target, "quiet": quiet, **options}), read)
    stream.run(SparkSession.builder.getOrCreate())
    return stream.session.task_model.model


def plan_of(options: dict[str, Any]) -> Plan:
    """A plan from options by name.

    Raises
    ------
    UsageError
        If an option is unknown.
    """
    fields = {name: value for name, value in options.items() if name in Fields._fields and name != "full"}
    # Without entities, the time is not a parameter of the learner.
    timed = "entity" in options and options.get("time") != NOW
    learned = {name: options[name] for name in options if name in LEARNING and (timed or name != "time")}
    known = {name: value for name, value in options.items() if name in _OF_PLAN}
    if unknown := sorted(set(options) - set(fields) - set(learned) - set(known)):
        raise UsageError(f"there is no option {unknown[0]!r}; see streamkarma backfill --help")
    return Plan(**{"predictions": None, **known}, fields=fields, options=learned)
