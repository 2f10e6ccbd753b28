"""Reading ahead in one thread while another one processes.

The engine lets other threads run while it learns, so with two cores the next lines are read on one while the
events before them are learned on the other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from queue import Empty, Queue
from typing import Generic, TypeVar

Item = TypeVar("Item")

#: Number of blocks read ahead: enough that neither side waits for occasional delays of the other.
DEPTH = 2
#: How long to wait for the reader at the end. One that is itself waiting for input is abandoned.
_PATIENCE_SECONDS = 0.2
#: How often a wait for an item checks whether to stop. A signal handler must not raise there: it could leave
#: the queue locked for good.
_WAKE_SECONDS = 0.1


class Prefetch(Generic[Item]):
    """Items of an iterator that runs in a thread of its own, in order.

    Parameters
    ----------
    items
        The iterator to run.
    stopped
        Whether to stop waiting.
    depth
        Maximum number of items read ahead.

    Examples
    --------
    >>> ahead = Prefetch(iter([1, 2]), stopped=lambda: False)
    >>> [item for item in ahead.items() if item is not None]
    [1, 2]
    >>> ahead.close()
    """

    def __init__(self, items: Iterator[Item], stopped: Callable[[], bool], depth: int = DEPTH) -> None:
        self._items = items
        self._stopped = stopped
        self._ready: Queue[Item | BaseException | None] = Queue(depth)
        self._closed = False
        # A daemon: input that never arrives must not keep the program from ending.
        self._thread = threading.Thread(target=self._read, name="reader", daemon=True)
        self._thread.start()

    def items(self) -> Iterator[Item | None]:
        """Yield the items, and None whenever none has arrived for a while.

        Raises
        ------
        InterruptedError
            If it is time to stop.
        BaseException
            What the iterator raised.
        """
        while not self._stopped():
            try:
                item = self._ready.get(timeout=_WAKE_SECONDS)
            except Empty:
                yield None
                continue
            if isinstance(item, BaseException):
                raise item
            if item is None:
                return
            yield item
        raise InterruptedError

    def close(self) -> None:
        """Drop the items read ahead, and end the thread."""
        self._closed = True
        try:
            while True:
                self._ready.get_nowait()
        except Empty:
            self._thread.join(_PATIENCE_SECONDS)

    def _read(self) -> None:
        try:
            for item in self._items:
                self._ready.put(item)
                if self._closed:
                    return
            self._ready.put(None)
        except BaseException as error:  # any exception is raised in the other thread
            self._ready.put(error)
