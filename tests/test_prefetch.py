"""Reading in one thread, working in another."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from streamkarma.connectors.jsonlines.prefetch import Prefetch


def never() -> bool:
    return False


def rest(ahead: Prefetch[int]) -> list[int]:
    items = [item for item in ahead.items() if item is not None]
    ahead.close()
    return items


def first(ahead: Prefetch[int]) -> int:
    return next(item for item in ahead.items() if item is not None)


def test_the_order_is_kept() -> None:
    assert rest(Prefetch(iter(range(1000)), never, depth=3)) == list(range(1000))


def test_no_more_is_read_than_has_room() -> None:
    read: list[int] = []
    third = threading.Event()

    def items() -> Iterator[int]:
        for item in range(100):
            read.append(item)
            if item == 3:
                third.set()
            yield item

    ahead = Prefetch(items(), never, depth=2)
    assert first(ahead) == 0
    # Two wait, and the reader holds one more meanwhile.
    assert third.wait(10)
    ahead.close()
    assert len(read) <= 6


def test_what_goes_wrong_is_raised_where_it_is_waited_for_and_after_what_came_before() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise EOFError("damaged")

    ahead = Prefetch(items(), never)
    assert first(ahead) == 1
    with pytest.raises(EOFError, match="damaged"):
        first(ahead)
    ahead.close()


def test_closing_ends_a_reader_that_has_no_room() -> None:
    before = threading.active_count()
    ahead = Prefetch(iter(range(1000)), never, depth=1)
    assert first(ahead) == 0
    ahead.close()
    assert threading.active_count() == before


def test_closing_does_not_wait_for_input_that_never_comes() -> None:
    come = threading.Event()

    def items() -> Iterator[int]:
        yield 1
        come.wait()

    ahead = Prefetch(items(), never)
    assert first(ahead) == 1
    ahead.close()
    come.set()


def test_who_waits_for_input_that_never_comes_is_told_to_stop() -> None:
    come, stop = threading.Event(), threading.Event()

    def items() -> Iterator[int]:
        yield 1
        stop.set()
        come.wait()

    with pytest.raises(InterruptedError):
        rest(Prefetch(items(), stop.is_set))
    come.set()
