"""Batch learners alongside an online one: a sample of the stream, a schedule, and their predictions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from streamkarma.arrays import Arrays, Floats, part_of, with_prefix
from streamkarma.checkpoint import natural
from streamkarma.core.learner import ANY
from streamkarma.events.block import Block
from streamkarma.events.lasting_indices import LastingIndices
from streamkarma.events.reservoir import Reservoir
from streamkarma.refit.background import BackgroundRefit
from streamkarma.refit.ensemble import Ensemble

#: The first fit begins after this many events with a label. Fewer hardly suffice for a tree with leaves of
#: 20 rows, the default of LightGBM and scikit-learn.
FIRST = 128
#: A fit on the first n events is used from event n + n / DELAY on, and waited for there, so that the same
#: stream gives the same predictions, however fast the machine is. On two generated streams and two tables an
#: eighth cost up to 15 % more errors than a sixteenth (31 against 27 on one of the tables).
DELAY = 16


#: Values are clipped to this, so that their squares stay finite.
LARGEST = 1e100


def next_fit_after(events: int) -> int:
    """Number of events at which the next fit begins: powers of two, and half-way between them.

    At powers of two alone there were up to 13 % more errors.

    Examples
    --------
    >>> next_fit_after(128), next_fit_after(192)
    (192, 256)
    """
    is_power = events & (events - 1) == 0
    return events + events // 2 if is_power else events + events // 3


class Refits:
    """Batch learners, refitted in another process after 128, 192, 256, 384, … events.

    Parameters
    ----------
    names
        The learners to fit, see ``names.NAMES``.
    memory
        Maximum number of events kept for fitting; beyond that, a uniform sample of all.
    regression
        Whether labels are numbers.

    Attributes
    ----------
    fitted
        Number of events in the last fit, by name; 0 without one.
    problems
        Why the last fit failed, by name.
    """

    def __init__(self, names: list[str], memory: int, regression: bool) -> None:
        self.names, self.regression = names, regression
        self.fitted = dict.fromkeys(names, 0)
        self.problems: dict[str, str] = {}
        self._reservoir = Reservoir(memory)
        self._indices = LastingIndices()
        self._next = FIRST
        self._ensembles: dict[str, Ensemble] = {}
        #: The sample of the current fit, until that is used; its events are those when the fit began.
        self._sample: Reservoir | None = None
        self._fit: BackgroundRefit | None = None
        self._block: Block

    def begin(self, block: Block) -> None:
        """Set the events for ``run``; call for every block, even if its events are only predicted.

        Values are raw: standardised by a running scale, equal ones would differ from event to event.
        """
        cut = block._replace(values=np.clip(block.values, -LARGEST, LARGEST))
        self._block = self._indices.block(cut)

    def run(self, part: slice, targets: Floats, weights: Floats, classes: int) -> Floats:
        """Predict part of the current block, then keep its events for fitting.

        Parameters
        ----------
        part
            Which events of the block.
        targets
            Shape (T,), for these events: numbers of classes or targets, NaN for an event that is not learned.
        weights
            Shape (T,).
        classes
            Number of scores: 1 for up to two classes and for a regression.

        Returns
        -------
        Scores of shape (names, T, classes), from before each event was learned; for a regression in the units
        of the target. NaN before the first fit.
        """
        scores = np.full((len(self.names), part.stop - part.start, classes), np.nan)
        learned = np.flatnonzero(~np.isnan(targets) & (weights > 0.0))
        at = taken = 0
        while at < len(targets):
            room = self._boundary() - self._reservoir.events
            rows = learned[taken : taken + room]
            # A fit begins or is used right after the event that completes its number.
            end = int(rows[-1]) + 1 if len(rows) == room else len(targets)
            self._predict(part.start + at, scores[:, at:end])
            facts = np.column_stack([targets[rows], weights[rows], np.zeros((len(rows), 2))])
            self._reservoir.add(self._block, rows + part.start, facts)
            self._move_on()
            at, taken = end, taken + len(rows)
        return scores

    def _predict(self, begin: int, scores: Floats) -> None:
        """Fill in the scores of the events from ``begin`` on."""
        for number, name in enumerate(self.names):
            if (ensemble := self._ensembles.get(name)) is not None:
                X = ensemble.rows(self._block, begin, begin + scores.shape[1])
                scores[number] = ensemble.scores(X, scores.shape[2])

    def _boundary(self) -> int:
        """The number of events at which a fit begins or is used next."""
        return self._next if self._sample is None else self._due(self._sample)

    def _due(self, sample: Reservoir) -> int:
        return sample.events + sample.events // DELAY

    def _move_on(self) -> None:
        """Start a fit, or use one, if it is due."""
        if self._reservoir.events < self._boundary():
            return
        if self._sample is not None:
            self._use(self._sample)
        else:
            self._next = next_fit_after(self._next)
            self._sample = Reservoir.restored(*self._reservoir.state())
            self._start(self._sample)

    def _start(self, sample: Reservoir) -> None:
        self._fit = BackgroundRefit(sample.snapshot(), self.names, self.regression)

    def _use(self, sample: Reservoir) -> None:
        """Wait for the fit, and predict with it from now on, or with the previous one if it failed."""
        assert self._fit is not None
        found, self.problems = self._fit.wait()
        self._ensembles |= found
        self.fitted |= dict.fromkeys(found, sample.events)
        self._sample = self._fit = None

    @property
    def bytes(self) -> int:
        """The memory of the events kept and of the trees."""
        samples = [self._reservoir] if self._sample is None else [self._reservoir, self._sample]
        return sum(each.bytes for each in samples) + sum(each.bytes for each in self._ensembles.values())

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Everything, as JSON and arrays; a running fit is restarted by ``restore``."""
        header: dict[str, Any] = {
            "indices": self._indices.state(),
            "next": self._next,
            "fitted": self.fitted,
            "problems": self.problems,
            "samples": [],
        }
        arrays: Arrays = {}
        for number, sample in enumerate([self._reservoir, *([self._sample] if self._sample else [])]):
            kept, own = sample.state()
            header["samples"].append(kept)
            arrays |= with_prefix(f"{number}.", own)
        for name, ensemble in self._ensembles.items():
            arrays |= with_prefix(f"{name}.", ensemble.state())
        return header, arrays

    def restore(self, header: dict[str, Any], arrays: Arrays, classes: int) -> None:
        """Restore a ``state``; ``classes`` is the number known, 0 in a regression.

        Raises
        ------
        ValueError, KeyError, TypeError
            If its parts contradict each other.
        """
        samples = [
            Reservoir.restored(kept, part_of(arrays, f"{number}."))
            for number, kept in enumerate(header["samples"][:2])
        ]
        reservoir, sample = samples[0], samples[1] if len(samples) > 1 else None
        upcoming, last, due = natural(header["next"]), 0, FIRST
        while due < upcoming:
            last, due = due, next_fit_after(due)
        begun = 0 if sample is None else sample.events
        fits = (
            due == upcoming
            and reservoir.limit == self._reservoir.limit
            and last <= reservoir.events < upcoming
            and (sample is None or (begun == last > 0 and reservoir.events < self._due(sample)))
        )
        fitted = {name: natural(header["fitted"][name], last) for name in self.names}
        if not fits:
            raise ValueError("the sample for refits contradicts the events seen")
        self._indices = LastingIndices.restored(header["indices"])
        self._reservoir, self._next, self._sample, self.fitted = reservoir, upcoming, sample, fitted
        self._ensembles = {
            name: Ensemble.restored(part_of(arrays, f"{name}.")) for name, events in fitted.items() if events
        }
        for each in self._ensembles.values():
            if bool(len(each.classes)) == self.regression or int(each.classes.max(initial=-1)) >= classes:
                raise ValueError("the trees of a refit are for other labels")
        self.problems = {str(name): str(why) for name, why in dict(header["problems"]).items()}
        if self._fit is not None:
            self._fit.close()
        self._fit = None
        if sample is not None:
            self._start(sample)

    def __getstate__(self) -> dict[str, Any]:
        settings = self.names, self._reservoir.limit, self.regression
        return {"settings": settings, "state": self.state()}

    def __setstate__(self, given: dict[str, Any]) -> None:
        Refits.__init__(self, *given["settings"])
        header, arrays = given["state"]
        self.restore(header, arrays, ANY)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = type(self).__new__(type(self))
        copied.__setstate__(self.__getstate__())
        memo[id(self)] = copied
        return copied
