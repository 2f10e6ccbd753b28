"""The functions of ``streamkarma.spark``."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from streamkarma.errors import UsageError
from streamkarma.estimators.learners import KINDS, Model
from streamkarma.parameters.checks import check_word
from streamkarma.parameters.kinds import Integer, as_float
from streamkarma.parameters.learning import LEARNING
from streamkarma.parameters.running import RUNNING
from streamkarma.parameters.words import NOW
from streamkarma.printable import shown
from streamkarma.runtime.fields import Fields
from streamkarma.runtime.plan import NOTHING, Plan
from streamkarma.runtime.session import Session
from streamkarma.spark.session import check_installed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Options of both commands that are fields of a plan with the same name.
_OF_PLAN = frozenset(
    {
        "model",
        "task",
        "positive",
        "learner",
        "unlabelled",
        "dead_letters",
        "summary",
        "strict",
        "quiet",
    }
)
#: Those of one command only.
_OF_BACKFILL = _OF_PLAN | {"fail", "fresh"}
_OF_STREAM = _OF_PLAN | {"predictions"}
#: Names in the rows to score.
_SCORED_FIELDS = ("target", "id", "weight", "ignore")


def backfill(
    data: DataFrame | str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
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
        If an option is unknown or invalid, or Spark is missing.
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

    longest = _longest(options)
    _check_count("partitions", partitions, 1, or_none=True)
    _check_count("warm", warm, 0)
    _check_count("tail", tail, 0)
    named = {"target": target, "quiet": quiet, **options}
    job = Backfill(plan_of(named, _OF_BACKFILL, "streamkarma backfill --help"), warm, tail)
    if isinstance(data, (str, os.PathLike, Sequence)):
        paths = [data] if isinstance(data, (str, os.PathLike)) else data
        files = files_of([os.fspath(path) for path in paths])
        job.run(Inputs.of_files(SparkSession.builder.getOrCreate(), files, partitions, longest))
    else:
        job.run(Inputs.of_frame(data, partitions, longest))
    return job.session.task_model.model


def predict(frame: DataFrame, model: Model | str | os.PathLike[str], **fields: Any) -> DataFrame:
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
        If a field is unknown, ``model`` is no model of streamkarma, or Spark is missing.
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

    if unknown := sorted(set(fields) - set(_SCORED_FIELDS)):
        raise UsageError(f"there is no field {unknown[0]!r}; the fields are {', '.join(_SCORED_FIELDS)}")
    plan = Plan(fields=_fields_of(fields))
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        session = Session(plan._replace(model=path, learn=False), path, lambda _: None)
        state = State.of(session.task_model.model, session.described())
    elif type(model) not in KINDS.values():
        raise UsageError(f"model must be a model of streamkarma or its path, not {shown(model)}")
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
        If an option is unknown or invalid, or differs from the one that the stream was started with.
    RunError
        If the topics cannot be read, or Spark fails.

    Examples
    --------
    >>> attach("events", "localhost:9092", "state", model="my.karma", until_end=True)  # doctest: +SKIP
    """
    check_installed()
    from pyspark.sql import SparkSession

    from streamkarma.spark.streaming import Stream, Subscription

    longest = _longest(options)
    check_word("start", start, ("earliest", "latest"))
    _check_count("most", most, 1, or_none=True)
    if not 0 < as_float(every) < float("inf"):
        raise UsageError(f"every must be a number above 0, not {shown(every)}")
    topics = [topics] if isinstance(topics, str) else topics
    read = Subscription(topics, brokers, checkpoint, start, every, most, until_end, longest, settings)
    named = {"target": target, "quiet": quiet, **options}
    stream = Stream(plan_of(named, _OF_STREAM, "streamkarma stream --help"), read)
    stream.run(SparkSession.builder.getOrCreate())
    return stream.session.task_model.model


def plan_of(options: dict[str, Any], of_plan: Collection[str], listed: str) -> Plan:
    """A plan from options by name.

    Parameters
    ----------
    options
        The options.
    of_plan
        Which fields of a plan may be among them.
    listed
        Where all options are listed.

    Raises
    ------
    UsageError
        If an option is unknown, or has a value that it does not take.
    """
    fields = {name: value for name, value in options.items() if name in Fields._fields and name != "full"}
    # Without entities, the time is not a parameter of the learner.
    timed = "entity" in options and options.get("time") != NOW
    learned = {name: options[name] for name in options if name in LEARNING and (timed or name != "time")}
    known = {name: value for name, value in options.items() if name in of_plan}
    if unknown := sorted(set(options) - set(fields) - set(learned) - set(known)):
        raise UsageError(f"there is no option {unknown[0]!r}; see {listed}")
    for name in ("task", "learner", "unlabelled"):
        words = RUNNING[name].kind
        if isinstance(words, tuple) and known.get(name) is not None:
            check_word(name, known[name], words)
    return Plan(**{"predictions": None, **known}, fields=_fields_of(fields), options=learned)


def _fields_of(names: dict[str, Any]) -> dict[str, Any]:
    """Names of fields, of which ``ignore`` may be a single one."""
    ignore = names.get("ignore")
    return {**names, "ignore": (ignore,)} if isinstance(ignore, str) else names


def _longest(options: dict[str, Any]) -> int:
    """Remove the maximum length of a record from the options."""
    longest = options.pop("max_record_bytes", RUNNING["max_record_bytes"].default)
    _check_count("max_record_bytes", longest, 1)
    return int(longest)


def _check_count(name: str, value: Any, least: int, or_none: bool = False) -> None:
    """Raise UsageError if an option is no integer, or less than ``least``."""
    if not Integer(least).holds(value) and not (or_none and value is None):
        raise UsageError(f"{name} must be {Integer(least)}, not {shown(value)}")
