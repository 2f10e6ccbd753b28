"""Who looks on while a run goes."""

from __future__ import annotations

from collections.abc import Callable

from streamkarma.connectors.base import Reader
from streamkarma.runtime.output import Output
from streamkarma.runtime.session import Session


class Observer:
    """Is told, in the run's own thread, how it goes; this one takes no interest."""

    def begin(self, say: Callable[[str], None]) -> None:
        """The run begins; ``say`` takes a line for the user."""

    def watch(self, output: Output) -> Output:
        """The output of a loop, with this one looking on."""
        return output

    def turned(self, session: Session, reader: Reader) -> None:
        """A part of the stream was learned, or there is nothing at the moment."""

    def saved(self, path: str | None, seconds: float) -> None:
        """The model was written, which took so long; without a path, to where models are shared."""

    def failed(self) -> None:
        """An attempt to read the source has failed, and there will be another."""
