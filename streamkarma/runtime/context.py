"""The state of a run, and the interface it offers to its readers."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from streamkarma.connectors.base import Reader
from streamkarma.parameters.words import MISSING_WORDS
from streamkarma.runtime.destinations import Destinations
from streamkarma.runtime.observer import Observer
from streamkarma.runtime.output import Totals
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.session import Session
from streamkarma.runtime.shared_session import SharedSession
from streamkarma.runtime.signals import StopSignal

#: Unless the user says otherwise, the model is written after this many events, but not before this many
#: seconds have passed: a fast stream would spend a fifth of its time on it.
_EVENTS, _SECONDS = 10_000, 1.0

Given = ParamSpec("Given")
Got = TypeVar("Got")


class RunContext:
    """The state of a run across its attempts: the `Context` of its readers.

    Parameters
    ----------
    plan
        The plan.
    session
        The initial session: the model and its loop.
    stop
        Reports whether a signal has arrived.
    observer
        The observer.
    say
        Called with a line for the user.
    saves
        Whether checkpoints save anything: a model, or the offsets of a shared source.

    Attributes
    ----------
    session
        The model and its loop; each attempt on a shared source has its own.
    path
        Where the model is saved, or None.
    reader
        The reader of this attempt.
    destinations
        The output files, once they are open.
    next_checkpoint
        Number of events at which the model should be written.
    totals
        The counts up to the last commit.
    failures
        Number of failed attempts since the last commit.
    """

    reader: Reader

    def __init__(
        self,
        plan: Plan,
        session: Session,
        stop: StopSignal,
        observer: Observer,
        say: Callable[[str], None],
        saves: bool,
    ) -> None:
        self._plan, self._stop, self._observer, self._say = plan, stop, observer, say
        self.session = session
        self.path = plan.model
        self.destinations: Destinations | None = None
        #: If nothing is saved, no block is split for a checkpoint.
        self._checkpoint_every = (plan.checkpoint_every or _EVENTS) if saves else sys.maxsize
        self._least_seconds = 0.0 if plan.checkpoint_every else _SECONDS
        self.next_checkpoint = self._checkpoint_every
        self._checkpointed = time.monotonic()
        self.totals: Totals | None = None
        self.failures = 0

    @property
    def model_path(self) -> str:
        """Where the model is saved."""
        return str(self.path)

    @property
    def kept(self) -> Mapping[str, Any]:
        """The state saved in the model file."""
        return self.session.kept

    @property
    def missing_words(self) -> Sequence[str]:
        """The words that stand for a missing value."""
        words = self.session.task_model.model.na
        return MISSING_WORDS if words is None else words

    @property
    def text_label(self) -> str | None:
        """The label, if ``none`` and ``-`` may be classes."""
        return self.session.fields.target if self.session.task_model.model.na is None else None

    @property
    def events(self) -> int:
        """Events counted by this run."""
        return self.session.loop.counters.events

    @property
    def last(self) -> int:
        """The number of the last event, over the whole life of the model."""
        return self.session.loop.last

    @property
    def interval(self) -> int:
        """Maximum number of events between two checkpoints or reports."""
        return min(self._checkpoint_every, self._plan.report_every or sys.maxsize)

    @property
    def pending(self) -> int:
        """Maximum number of events that wait for late labels."""
        pending = self.session.pending
        return 0 if pending is None else pending.limit

    @property
    def checkpoint_due(self) -> bool:
        """Whether enough events were learned for the model to be written."""
        if self.events < self.next_checkpoint:
            return False
        return time.monotonic() - self._checkpointed >= self._least_seconds

    def checkpoint(self) -> None:
        """Write the model, with the reader's position."""
        began = time.monotonic()
        self.session.save(**self.reader.snapshot())
        self._observer.saved(self.path, time.monotonic() - began)
        self.postpone_checkpoint()

    def postpone_checkpoint(self) -> None:
        """Schedule the next checkpoint, counting from now."""
        self.next_checkpoint = self.events + self._checkpoint_every
        self._checkpointed = time.monotonic()

    def number_from(self, number: int) -> None:
        """Set the number of the next event."""
        self.session.loop.number_from(number)

    def sync_rows(self) -> None:
        """Sync the rows written to files to disk."""
        if self.destinations is not None:
            self.destinations.sync()

    def load_part(self, part: str, models: Sequence[bytes]) -> int:
        """Continue a part's model from the first usable one of these, or else from the base."""
        assert isinstance(self.session, SharedSession)
        return self.session.load(part, models)

    def save_part(self, part: str) -> None:
        """Write a part's model at the next checkpoint, even if it learns nothing until then."""
        assert isinstance(self.session, SharedSession)
        self.session.mark_unsaved(part)

    def committed(self) -> None:
        """Mark everything learned so far as committed."""
        self.totals = self.session.loop.totals()
        self.failures = 0

    def say(self, line: str) -> None:
        """Print a line for the user."""
        self._say(line)

    def stopped(self) -> bool:
        """Whether a signal has arrived."""
        return self._stop.has_come()

    def interruptible(
        self, wait: Callable[Given, Got], waits_for: Callable[[], int | None] = lambda: None
    ) -> Callable[Given, Got]:
        """``wait``, wrapped so that it raises InterruptedError once a signal has arrived."""
        return self._stop.unless(wait, waits_for)
