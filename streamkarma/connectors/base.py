"""The interface between runs and connectors.

A connector is a folder beside this file: it has a `Source`, and a `Sink` if predictions go to the same
system. For each attempt a run opens a `Reader` of the source, which yields `RecordBlock`s. How far these were
learned is the reader's `Position`; it is saved in the model file, and the next reader resumes there. What a
reader needs from the run is in `Context`.

A connector decides when to commit, since only it knows the cost of a commit and when one must not wait.
The run decides what a commit means for the model and its files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

from streamkarma.connectors.histogram import Counts
from streamkarma.connectors.records import RecordPosition, Records
from streamkarma.connectors.rows import Rows

Given = ParamSpec("Given")
Got = TypeVar("Got")

#: How far a source was learned, as JSON: sections of the model file by name. Each connector has
#: sections of its own, and leaves the others alone.
Position = dict[str, Any]


class RetriableError(Exception):
    """Work since the last commit is discarded; a new reader can resume from there."""


class RecordBlock(NamedTuple):
    """Some records in a row.

    Attributes
    ----------
    records
        The records, at least one.
    learned
        Called, after each part of them, with the number of records learned so far.
    divisible
        False if they must be learned all at once, since there is no position between them.
    part
        Their part of the source, where each part has its own model.
    answered
        Whether predictions for them were made before, so that they are only learned.
    """

    records: Records
    learned: Callable[[int], None]
    divisible: bool = True
    part: str | None = None
    answered: bool = False


class DeadLetter(NamedTuple):
    """A record that cannot be used: index in its block, position, reason, value."""

    at: int
    position: RecordPosition
    error: str
    value: bytes


class Sink(Protocol):
    """Receives predictions and dead letters, in addition to files; final with the reader's next commit."""

    @property
    def takes_predictions(self) -> bool:
        """Whether it accepts predictions."""

    @property
    def takes_dead_letters(self) -> bool:
        """Whether it accepts dead letters."""

    def write_predictions(self, rows: Rows, at: Sequence[int]) -> None:
        """Write predictions; ``at`` has, for each row, the index of its record in the last block."""

    def write_dead_letter(self, letter: DeadLetter) -> None:
        """Write a record of the last block that was rejected."""


class ModelStore(Protocol):
    """Where processes that share their models store them as bytes, one for each part of the source."""

    @property
    def name(self) -> str:
        """Its name in messages."""

    def agree(self, base: bytes | None) -> bytes:
        """The base of all models: the stored one, or else ``base``, which is then stored.

        Raises
        ------
        UsageError
            If none is stored, and ``base`` is None.
        """

    def keep(self, part: str, model: bytes, events: int) -> None:
        """Store the model of a part, which has learned ``events`` events, with the reader's next commit."""

    def others(self) -> dict[str, list[bytes]]:
        """The latest models of the parts of other processes, newest first for each part."""


class Context(Protocol):
    """What a run provides to its reader."""

    @property
    def model_path(self) -> str:
        """Where the model is kept, for messages."""

    @property
    def kept(self) -> Mapping[str, Any]:
        """The sections of the model file, by name; empty for a new model."""

    @property
    def missing_words(self) -> Sequence[str]:
        """The words that stand for a missing value, ignoring case and surrounding blanks."""

    @property
    def text_label(self) -> str | None:
        """The label, if ``none`` and ``-`` may be classes, since the user did not list words. Else None."""

    @property
    def events(self) -> int:
        """Events counted by this run."""

    @property
    def last(self) -> int:
        """The number of the last event, counted over the model's whole life."""

    @property
    def interval(self) -> int:
        """Maximum number of events between two checkpoints or reports; longer blocks are split there."""

    @property
    def pending(self) -> int:
        """Maximum number of events that wait for late labels."""

    @property
    def checkpoint_due(self) -> bool:
        """Whether enough events were learned for the model to be written."""

    def checkpoint(self) -> None:
        """Write the model, with the reader's `Position`."""

    def number_from(self, number: int) -> None:
        """Set the number of the next event."""

    def sync_rows(self) -> None:
        """Sync the rows written to files to disk."""

    def load_part(self, part: str, models: Sequence[bytes]) -> int:
        """Continue a part's model from the first of these that can be used, or else from the base.

        Returns its index, or the number of models if none could be used.
        """

    def save_part(self, part: str) -> None:
        """Write a part's model at the next checkpoint, even if it learns nothing until then."""

    def committed(self) -> None:
        """Everything learned so far is committed."""

    def say(self, line: str) -> None:
        """Print a line for the user."""

    def stopped(self) -> bool:
        """Whether the user wants to stop."""

    def interruptible(
        self, wait: Callable[Given, Got], waits_for: Callable[[], int | None] = ...
    ) -> Callable[Given, Got]:
        """``wait``, which raises InterruptedError once the user wants to stop.

        ``waits_for`` returns the file descriptor it waits for, or None.
        """


class ReaderFigures(NamedTuple):
    """Figures of a reader, for monitoring.

    Attributes
    ----------
    assigned
        Whether it has anything to read.
    lag
        Topic, number and, for each partition that is read, the number of records waiting.
    durations
        Counts of durations, by name.
    problem
        Why nothing can be read at the moment, in words; None if it can.
    """

    assigned: bool = True
    lag: Sequence[tuple[str, int, int]] = ()
    durations: Mapping[str, Counts] = MappingProxyType({})
    problem: str | None = None


class Reader(ABC):
    """One attempt to read a source, starting at the model's position.

    Attributes
    ----------
    sink
        Where predictions and dead letters go in addition to files, or None.
    store
        Where models are stored if each part has its own; None if there is a single model, in a file.
    """

    sink: Sink | None = None
    store: ModelStore | None = None

    @abstractmethod
    def resume(self, kept: Position | None) -> None:
        """Resume at a position; None if nothing was learned before.

        Raises
        ------
        ModelFileError
            If the sections are not those of this connector.
        RunError
            If the source is not the one that was learned from.
        """

    def replay(self) -> Iterator[RecordBlock]:
        """Yield what was committed but is not in the model: it is learned, but not committed again."""
        yield from ()

    @abstractmethod
    def blocks(self) -> Iterator[RecordBlock | None]:
        """Yield blocks to the end of the source, and None whenever nothing is available.

        Raises
        ------
        InterruptedError
            If the user wants to stop.
        RetriableError
            If a new reader may succeed.
        RunError
            If the source cannot be read.
        """

    @abstractmethod
    def maybe_commit(self) -> None:
        """Commit what was learned if it is due; called after each part of a block, and each None."""

    @abstractmethod
    def commit(self) -> None:
        """Commit everything learned, and write the model."""

    @abstractmethod
    def snapshot(self) -> Position:
        """How far the source was learned."""

    def figures(self) -> ReaderFigures:
        """The reader's figures."""
        return ReaderFigures()


class Source(ABC):
    """Where events come from.

    Attributes
    ----------
    path
        The local file it reads, which must not be written to; None if there is none.
    rewinds
        Whether records after the model's position are read again.
    shared
        Whether several processes may work for one model. A new one takes over from an older one, so the
        model is written by commits alone; and since an attempt may have to be repeated, there is a model
        file even if the user wants none.
    sharers
        Which processes may work for one model, in words: the others do not notice each other.
    keeps_models
        Whether its readers have a `ModelStore`.
    timestamped
        Whether each record has a time.
    dead_letter_hint
        What to tell the user about rejected records: which option keeps them, or where they are.
    """

    path: str | None = None
    rewinds: bool = True
    shared: bool = False
    sharers: str = ""
    keeps_models: bool = False
    timestamped: bool = False
    dead_letter_hint: str = "--dead-letters keeps them all"

    @abstractmethod
    def open(self, context: Context) -> AbstractContextManager[Reader]:
        """Open a reader. From now on, older processes of the same model write nothing more.

        Parameters
        ----------
        context
            The run.

        Raises
        ------
        InterruptedError, RetriableError, RunError
            As `Reader.blocks`; also on exit, for errors within the block.
        """

    def summary(self) -> dict[str, Any]:
        """The source's part of a run's summary, as JSON."""
        return {}
