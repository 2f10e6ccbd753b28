"""What a run and a connector ask of each other.

A connector is a folder beside this file: it has a `Source`, and a `Sink` if predictions go to the same
system. For each attempt a run opens a `Reader` of the source, which yields `Block`s of records. How far
these were learned is the reader's `Position`; it is kept in the model file, and the next reader resumes
there. What a reader needs of the run is in `Context`.

A connector decides when to commit, since only it knows what a commit costs and when one must not wait.
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
    """What was done since the last commit does not count; a new reader can resume from there."""


class Block(NamedTuple):
    """Some records in a row.

    Attributes
    ----------
    records
        The records, at least one.
    learned
        Told, after each part of them, how many of the first ones have been learned.
    divisible
        False if they have to be learned all at once, since there is no position between them.
    part
        What part of the source they are of, where each part has a model of its own.
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
    """Where predictions and dead letters go beside files; both count with the reader's next commit."""

    @property
    def takes_predictions(self) -> bool:
        """Whether it wants predictions."""

    @property
    def takes_dead_letters(self) -> bool:
        """Whether it wants dead letters."""

    def write_predictions(self, rows: Rows, at: Sequence[int]) -> None:
        """Write predictions; ``at`` has, for each row, the index of its record in the last block."""

    def write_dead_letter(self, letter: DeadLetter) -> None:
        """Write a record of the last block that was rejected."""


class ModelStore(Protocol):
    """Where processes that share their models keep them, one of each part of the source, as bytes."""

    @property
    def name(self) -> str:
        """What it is called in messages."""

    def agree(self, base: bytes | None) -> bytes:
        """What all models begin as: what is there, or else ``base``, which is there from now on.

        Raises
        ------
        UsageError
            If there is nothing, and ``base`` is None.
        """

    def keep(self, part: str, model: bytes, events: int) -> None:
        """Keep the model of a part, which has learned so many events, with the reader's next commit."""

    def others(self) -> dict[str, list[bytes]]:
        """The last models of the parts that are not this process's, each part's newest first."""


class Context(Protocol):
    """What a run offers its reader."""

    @property
    def model_path(self) -> str:
        """Where the model is kept, for messages."""

    @property
    def kept(self) -> Mapping[str, Any]:
        """What the model file keeps, by section; nothing for a new model."""

    @property
    def missing_words(self) -> Sequence[str]:
        """The words that stand for a missing value, case and blanks around them aside."""

    @property
    def events(self) -> int:
        """Events counted by this run."""

    @property
    def last(self) -> int:
        """The number of the last event, counted over the model's whole life."""

    @property
    def interval(self) -> int:
        """Most events between two checkpoints or reports; longer blocks are cut there."""

    @property
    def checkpoint_due(self) -> bool:
        """Whether so many events were learned that the model should be written."""

    def checkpoint(self) -> None:
        """Write the model, with the reader's `Position`."""

    def number_from(self, number: int) -> None:
        """Give the next event this number."""

    def sync_rows(self) -> None:
        """Have the rows that were written to files outlive a failure of the machine."""

    def load_part(self, part: str, models: Sequence[bytes]) -> int:
        """Have a part's model go on from the first of these that can be used, or else from the base.

        Returns its index, the number of models if none could be used.
        """

    def committed(self) -> None:
        """All that was learned so far counts, whatever happens next."""

    def say(self, line: str) -> None:
        """Tell the user something."""

    def stopped(self) -> bool:
        """Whether the user wants to stop."""

    def interruptible(
        self, wait: Callable[Given, Got], waits_for: Callable[[], int | None] = ...
    ) -> Callable[Given, Got]:
        """``wait``, which raises InterruptedError once the user wants to stop.

        ``waits_for`` returns the file descriptor it waits for, None if that is none.
        """


class ReaderFigures(NamedTuple):
    """Numbers of a reader, for whoever watches the run.

    Attributes
    ----------
    assigned
        Whether there is anything for it to read.
    lag
        Topic, number and, for each partition that is read, how many records wait there.
    durations
        How long things have taken, by name.
    """

    assigned: bool = True
    lag: Sequence[tuple[str, int, int]] = ()
    durations: Mapping[str, Counts] = MappingProxyType({})


class Reader(ABC):
    """One attempt to read a source, from the model's position on.

    Attributes
    ----------
    sink
        Where predictions and dead letters go beside files, or None.
    store
        Where models are kept if each part has its own; None if one model of all is kept in a file.
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

    def replay(self) -> Iterator[Block]:
        """Yield what was committed and is not in the model: it is learned, and not committed again."""
        yield from ()

    @abstractmethod
    def blocks(self) -> Iterator[Block | None]:
        """Yield blocks to the end of the source, and None whenever there is nothing at the moment.

        Raises
        ------
        InterruptedError
            If the user wants to stop.
        RetriableError
            If a new reader may do better.
        RunError
            If the source cannot be read.
        """

    @abstractmethod
    def maybe_commit(self) -> None:
        """Commit what was learned if it is time to; called after each part of a block, and each None."""

    @abstractmethod
    def commit(self) -> None:
        """Commit all that was learned, and have the model written."""

    @abstractmethod
    def snapshot(self) -> Position:
        """How far it was learned."""

    def figures(self) -> ReaderFigures:
        """How it does."""
        return ReaderFigures()


class Source(ABC):
    """Where events come from.

    Attributes
    ----------
    path
        The local file it reads, which nothing may be written to; None if there is none.
    rewinds
        Whether records that came after the model's position are read again.
    shared
        Whether several processes may work for one model. One that starts takes over from an older one,
        so the model is written by commits alone; and since an attempt may have to be made again, there is
        a model file even where the user wants none.
    keeps_models
        Whether its readers have a `ModelStore`.
    timestamped
        Whether each record says when it happened.
    dead_letter_hint
        What the user is told of rejected records: what keeps them, or where they are.
    """

    path: str | None = None
    rewinds: bool = True
    shared: bool = False
    keeps_models: bool = False
    timestamped: bool = False
    dead_letter_hint: str = "--dead-letters keeps them all"

    @abstractmethod
    def open(self, context: Context, failures: int) -> AbstractContextManager[Reader]:
        """Open a reader. From here on, older processes of the same model write nothing more.

        Parameters
        ----------
        context
            The run.
        failures
            How many attempts have failed since the last commit.

        Raises
        ------
        InterruptedError, RetriableError, RunError
            As `Reader.blocks`; also on the way out, for what went wrong in between.
        """

    def summary(self) -> dict[str, Any]:
        """What the summary of a run says of the source, as JSON."""
        return {}
