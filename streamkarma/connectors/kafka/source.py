"""What a process is to do on its topics, and how far it has got."""

from __future__ import annotations

import hashlib
import os
import re
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kafka import TopicPartition

from streamkarma.connectors.kafka.connection import Client, Trouble, connect
from streamkarma.connectors.kafka.consumer import Beside, Topics
from streamkarma.connectors.kafka.settings import Settings
from streamkarma.errors import UsageError
from streamkarma.runtime.destinations import Destinations
from streamkarma.runtime.output import Tally
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.run import Progress
from streamkarma.runtime.signals import StopSignal

#: A connection that was lost is worth a word if nothing has come for so long.
_SILENCE_SECONDS = 5.0


class Attachment(NamedTuple):
    """The topics of a run, and how they are read.

    Attributes
    ----------
    topics
        Names, or one pattern.
    brokers
        ``host:port``, several with commas.
    group
        The consumer group.
    start
        ``earliest`` or ``latest``: where a partition begins of which nothing is known.
    output_topic, dead_letter_topic, label_topic
        Where predictions and bad records go, and where late labels come from; or None.
    until_end
        Whether to stop at the offsets that stood when it started.
    max_events
        How many events to stop after, or None.
    settings
        ``name=value`` of kafka-python's configuration.
    connect_timeout
        Seconds to try to reach the brokers at the start.
    beside
        What beside the value is an attribute.
    """

    topics: Sequence[str]
    brokers: str
    group: str
    start: str = "earliest"
    output_topic: str | None = None
    dead_letter_topic: str | None = None
    label_topic: str | None = None
    until_end: bool = False
    max_events: int | None = None
    settings: Sequence[str] = ()
    connect_timeout: float = 30.0
    beside: Beside = Beside()


class Job:
    """What one worker after another works on, until it is done.

    Parameters
    ----------
    plan, at
        What to run, and on which topics.
    path
        Where the model is kept; a temporary file if it is not to stay.
    files
        Where predictions and dead letters go beside the topics.
    trouble
        What kafka-python complained about.
    stop
        Whether a signal has come.
    progress
        What the user is told.

    Attributes
    ----------
    instance
        A name for the process that keeps this model, the same whenever it is started again.
    patience
        Seconds to wait for the brokers; once they were there, as long as it takes.
    ends
        With ``until_end``: the offsets to stop at.
    tally
        What was counted up to the last commit.
    replayed
        Events that were learned again after a crash.
    lost
        Records a topic no longer had, by ``topic/partition``.
    recreated
        Topics whose id has changed: deleted and recreated.
    tombstones
        Records without a value, which are neither learned nor rejected.
    setbacks
        Setbacks since the last commit.
    """

    def __init__(self, plan: Plan, at: Attachment, path: str, files: Destinations, trouble: Trouble,
                 stop: StopSignal, progress: Progress) -> None:  # fmt: skip
        if not at.group.strip():
            raise UsageError("--group cannot be empty")
        self.plan = plan
        self.at = at
        self.path = path
        self.topics = Topics.of(at.topics, at.label_topic, [at.output_topic, at.dead_letter_topic])
        self.settings = Settings(at.brokers, at.settings, os.environ)
        self.files = files
        self.trouble = trouble
        self.progress = progress
        self.say = progress.say
        self.patience = at.connect_timeout
        self.instance = _instance(plan.model, self.settings.get("group_instance_id"))
        self.ends: dict[TopicPartition, int] | None = None
        self.tally: Tally | None = None
        self.replayed = 0
        self.lost: dict[str, int] = {}
        self.recreated: set[str] = set()
        self.tombstones = self._tombstones_committed = 0
        self.setbacks = 0
        #: Whether a signal has come.
        self.stopped = stop.has_come
        self._heard = time.monotonic()
        self._missed = False

    @property
    def writes(self) -> bool:
        """Whether anything is sent to a topic."""
        return bool(self.topics.avoid)

    def done(self, events: int) -> bool:
        """Whether so many events are all that was asked for, or nobody reads any more."""
        return self.files.unread or (self.at.max_events is not None and events >= self.at.max_events)

    def room(self, events: int, most: int) -> int:
        """How many records may be taken after so many events, of ``most`` that could be."""
        return most if self.at.max_events is None else min(most, self.at.max_events - events)

    def committed(self, tally: Tally) -> None:
        """A commit has come about: this was counted, and whatever went wrong is over."""
        self.tally = tally
        self._tombstones_committed = self.tombstones
        self.setbacks = 0

    def begin_again(self) -> None:
        """What was counted since the last commit is counted again."""
        self.tombstones = self._tombstones_committed

    def connect(self, kind: Callable[..., Client], **arguments: Any) -> Client:
        """Make a client of kafka-python, waiting for the brokers as long as this job does."""

        def make(milliseconds: int) -> Client:
            return kind(**{**arguments, "bootstrap_timeout_ms": milliseconds})

        return connect(make, self.settings, self.trouble, self.patience, self.say, self.stopped)

    def watch(self, heard: bool) -> None:
        """Say once that the brokers have gone, and that they are back."""
        now = time.monotonic()
        if heard:
            if self._missed:
                self.say("the brokers are back")
            self._heard, self._missed = now, False
        elif not self._missed and now - self._heard > _SILENCE_SECONDS and now - self.trouble.at < 1.0:
            self.say(f"no word from {', '.join(self.settings.brokers)} ({self.trouble.connection}); waiting")
            self._missed = True


def _instance(model: str | None, static: str | None) -> str:
    """By which the same model is known again: its place in the group, or else its path.

    It is not kept in the model file, so that the same events make the same bytes. It names
    the producer's transactions and the member of the group, so that after a crash there is
    nothing to wait for, and of two processes that have the same one the older is fenced.
    """
    if static is not None:
        return static
    if model is None:
        return uuid.uuid4().hex
    path = Path(model).resolve()
    stem = re.sub(r"[^a-zA-Z0-9._-]", "_", path.stem)[:100]
    return f"{stem}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}"
