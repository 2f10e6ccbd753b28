"""One event through a core learner, in one compiled call from a Python dict to the score.

What an event goes through are *stages*, compiled functions of what they hold: one for every expert and
one for their mixture. They run the very loops that blocks run through, on a block of one event whose
arrays stay where they are, so that the bits are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from streamkarma.core import completing, karma, reading, rounds
from streamkarma.core.bayes import mix_numbers, mix_several, mix_two
from streamkarma.core.held import Held, Object, address_of, borrowed, call, entry, pointer
from streamkarma.core.jit import compiled, locked
from streamkarma.core.loss import logistic
from streamkarma.core.moments import encode_into
from streamkarma.core.passes import Floats
from streamkarma.core.space import DUE, EVENTS, WIDE
from streamkarma.core.waiting import LATE, note
from streamkarma.events.block import Block

if TYPE_CHECKING:
    from streamkarma.core.learning import Core

#: What a stage says: there was no room and nothing is done; done; done, and something is due.
NO_ROOM, DONE, OVERDUE = range(3)

#: Where an event came to, in place of the number of a stage: through, not read, delay not known.
THROUGH, UNREAD, UNTIMED = -1, -2, -3


class Event(NamedTuple):
    """The event that all stages see, in arrays for one.

    Attributes
    ----------
    block
        As of ``Core.run``, encoded.
    labels, weights
        Shape (1,): as of ``Core.run``.
    counts
        Shape (1,): the weight in a mixture; see ``Mixture.run``.
    """

    block: Block
    labels: Floats
    weights: Floats
    counts: Floats


class Stage:
    """A compiled step of an event's way.

    Parameters
    ----------
    core
        Whose step it is.
    event
        What goes through it.
    run
        Compiled: takes the address of ``parts``, the event, the scores and a place for the loss, and
        returns NO_ROOM, DONE or OVERDUE.
    parts
        Makes the tuple of what the step needs; it is asked again whether these are still the same.
    when_due
        Called after OVERDUE.

    Attributes
    ----------
    scores
        Shape (1, C): what was said of the last event before it was learned.
    """

    def __init__(self, core: Core, event: Event, run: Callable[[Any], int],
                 parts: Callable[[], tuple[Any, ...]],
                 when_due: Callable[[], None] | None = None) -> None:  # fmt: skip
        self.scores = np.zeros((1, core.classes))
        self._core, self._event = core, event
        self._make, self._parts = parts, parts()
        self._when_due = when_due
        self._held = Held((self._parts, event, self.scores, np.zeros(1)))
        self.places = address_of(run, self._held), self._held.address

    def is_current(self) -> bool:
        """Whether the learner still has the arrays that are held."""
        return all(map(is_, self._make(), self._parts))

    def mend(self, said: int) -> None:
        """Do what compiled code could not."""
        event = self._event
        if said == NO_ROOM:
            self.scores[:] = self._core.run(event.block, event.labels, event.weights)[0]
        elif self._when_due is not None:
            self._when_due()


class Way:
    """From a dict to a score: reading, encoding and the stages of a core learner.

    Parameters
    ----------
    names
        Coordinates by name.
    owners
        Shape (K,): the attribute of each coordinate; what is in ``names`` and not here is not known.
    numeric, moments, scale, longest
        As of ``moments.encode``.
    waiting
        The notebook of a ``Waiting``; None if nobody needs to know how late labels come.
    core
        A learner with room for all K.
    """

    def __init__(self, names: dict[Any, int], owners: NDArray[np.int32], numeric: NDArray[np.bool_],
                 moments: Floats, scale: bool, longest: float, waiting: NDArray[np.uint64] | None,
                 core: Core) -> None:  # fmt: skip
        self.raw, block = _block_of_one(len(owners)), _block_of_one(len(owners))
        self._event = Event(block, np.zeros(1), np.zeros(1), np.zeros(1))
        self.stages = core.single(self._event) or []
        if not self.stages:
            return
        cursor, self._kept = np.zeros(3, np.int64), names
        #: Where the last event came to, what the stage there said; and what is waited for by its key.
        self._told, self._key = np.zeros(2, np.int64), np.zeros(1, np.uint64)
        places = np.array([stage.places for stage in self.stages], np.int64)
        self.scores = self.stages[-1].scores
        source = id(names), reading.kinds(), cursor, cursor.ctypes.data, owners, self.raw
        encoding = numeric, moments, np.zeros(1, np.bool_), scale, longest
        notebook = np.zeros(3, np.uint64) if waiting is None else waiting
        asked = waiting is not None, notebook, self._key, self.raw.values.view(np.uint64)
        self._held = Held((source, encoding, asked, self._event, places, self._told, self.scores))
        self.address = self._held.address
        self.run = entry(_run, self._held.kind, Object(), numba.types.float64, numba.types.float64)
        self._go_on = entry(_go_on, self._held.kind, numba.types.int64)

    @property
    def said(self) -> int:
        """What stopped the last event there."""
        return int(self._told[1])

    @property
    def where(self) -> int:
        """The stage where the last event stopped, or THROUGH, UNREAD, UNTIMED."""
        return int(self._told[0])

    @property
    def key(self) -> int:
        """What the event is known by while it waits for its label."""
        return int(self._key[0])

    def go_on(self, delay: float = 0.0) -> float:
        """On with an event that was stopped; what is returned is as of ``run``."""
        if self.where == UNTIMED:
            self._event.counts[0] = self._event.weights[0] / (1.0 + delay)
            return float(self._go_on(self.address, 0))
        self.stages[self.where].mend(self.said)
        return float(self._go_on(self.address, self.where + 1))


def _block_of_one(room: int) -> Block:
    """A block for one event of up to ``room`` items."""
    return Block(np.zeros(2, np.int64), np.zeros(room, np.int32), np.zeros(room, np.int32), np.zeros(room))


@locked
def _run(lent: Any, record: int, label: float, weight: float) -> float:
    """Predict, then learn, an event.

    Parameters
    ----------
    lent
        What a ``Way`` holds.
    record
        A Python object.
    label, weight
        As of ``Core.run``, but the weight is above 0.

    Returns
    -------
    The logistic function of the first score; NaN, and ``where`` says more, if the event was stopped.
    """
    source, encoding, asked, event, _, told, _ = borrowed(lent)
    size = reading.read(pointer(record), *source)
    if size < 0:
        told[0], told[1] = UNREAD, size
        return np.nan
    numeric, moments, is_learned, scale, longest = encoding
    waits, notebook, key, bits = asked
    learned = not np.isnan(label)
    event.labels[0], event.weights[0], event.counts[0] = label, weight, weight
    raw, is_learned[0] = source[-1], learned
    encode_into(event.block, raw, numeric, moments, is_learned, scale, True, longest)
    if waits and note(notebook, key, raw, bits, learned) == LATE:
        told[0] = UNTIMED
        return np.nan
    return _go_on(lent, 0)


@locked
def _go_on(lent: Any, first: int) -> float:
    """The stages from the ``first``."""
    _, _, _, _, places, told, scores = borrowed(lent)
    for s in range(first, len(places)):
        said = call(places[s, 0], places[s, 1])
        if said != DONE:
            told[0], told[1] = s, said
            return np.nan
    told[0] = THROUGH
    return logistic(scores[0, 0])


@compiled
def run_support(lent: Any) -> int:
    """Support vectors."""
    (vectors, rule, average), event, scores, losses = borrowed(lent)
    return karma.run_block(vectors, rule, event.block, event.labels, event.weights, average, 0, scores,
                           losses)  # fmt: skip


@compiled
def run_explicit(lent: Any) -> int:
    """Explicit weights."""
    (form, shares, step, known, clock, weights, spread), event, scores, losses = borrowed(lent)
    return rounds.run_block(form, shares, step, known, clock, weights, spread, event.block, event.labels,
                            event.weights, 0, scores, losses)  # fmt: skip


@compiled
def run_subspace(lent: Any) -> int:
    """A subspace."""
    (setting, space, model), event, scores, losses = borrowed(lent)
    done = completing.run_block(setting, space, model, event.block, event.labels, event.weights, False, 0,
                                scores, losses)  # fmt: skip
    due = done == DONE and space.clock[WIDE] == 0.0 and space.clock[EVENTS] >= space.clock[DUE]
    return OVERDUE if due else done


@compiled
def run_mixing(lent: Any) -> int:
    """A mixture of the scores of experts, all of one shape."""
    (said, regression, calibration, blend, memory), event, mixed, losses = borrowed(lent)
    scores = np.empty((len(said), 1, mixed.shape[1]))
    for e in range(len(said)):
        scores[e] = said[e]
    if regression:
        mix_numbers(scores, event.labels, event.counts, calibration, blend, memory, mixed, losses)
    elif mixed.shape[1] > 1:
        mix_several(scores, event.labels, event.counts, calibration, blend, memory, mixed, losses)
    else:
        mix_two(scores, event.labels, event.counts, calibration, blend, memory, mixed, losses)
    return DONE
