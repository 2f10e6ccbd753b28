"""Observers of a run."""

from __future__ import annotations

from collections.abc import Callable

from streamkarma.connectors.base import Reader
from streamkarma.runtime.output import Output
from streamkarma.runtime.session import Session


class Observer:
    """Callbacks of a run, called in its thread; the base class does nothing."""

    def begin(self, say: Callable[[str], None]) -> None:
        """The run begins; ``say`` prints a line for the user."""

    def watch(self, output: Output) -> Output:
        """The output of a loop, wrapped so that it can be observed."""
        return output

    def progressed(self, session: Session, reader: Reader) -> None:
        """A part of the stream was learned, or there is currently no input."""

    def saved(self, path: str | None, seconds: float) -> None:
        """The model was written, in ``seconds``; without a path, to the store of shared models."""

    def failed(self) -> None:
        """An attempt to read the source has failed and will be repeated."""
