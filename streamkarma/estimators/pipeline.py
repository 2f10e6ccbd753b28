"""From records to scores: an encoder and a learner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma._engine import (
    Encoded,
    Encoder,
    Translation,
    is_prose,
    merge,
)
from streamkarma.arrays import Arrays, Floats
from streamkarma.core.learner import Learner, Rates, Units
from streamkarma.core.mixture import Calibrated, Mixture
from streamkarma.core.tickets import LateLabels, TicketRegistry
from streamkarma.errors import RecordError
from streamkarma.estimators.settings import EntityRules, Rules, averaging_window
from streamkarma.events.values import Record, fits, is_missing
from streamkarma.printable import shown

#: What the encoder counts for each attribute, in the order of its columns.
TALLIES = ("values", "spelled", "nothing", "sentinels", "far", "clipped", "rare", "prose", "tags")

#: What is counted for entities.
ENTITY_COUNTS = ("entities", "entity_bytes", "entities_forgotten")

#: Maximum number of characters kept of a text, at least as many as the engine searches for words.
LONGEST_TEXT = 1 << 14
#: Larger weights are clipped to this, so that the model stays finite.
HEAVIEST = 1e15


def check_weight(weight: Any) -> float:
    """``weight`` as a float of 0 or more and at most HEAVIEST, or RecordError."""
    if isinstance(weight, float) and weight == 1.0:
        return 1.0  # nearly always
    try:
        number = float(weight)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not 0.0 <= number < float("inf"):
        raise RecordError(f"the weight must be a finite number of 0 or more, not {shown(weight)}")
    return min(number, HEAVIEST)


def clipped_weights(weights: Sequence[float] | Floats) -> Floats:
    """A new array of weights of 0 or more, at most HEAVIEST."""
    return np.minimum(np.asarray(weights, np.float64), HEAVIEST)


class Pipeline:
    """An encoder and a learner, advanced together.

    Parameters
    ----------
    learner
        The learner.
    scale, max_attributes, max_coordinates, max_name_bytes, half_life
        As in the estimators.
    rules
        What stands for a missing value.
    rates
        Number of classes with target statistics of categories: 1 for two classes or a regression; 0 for none.
    regression
        Whether labels are targets.
    entity_rules
        How events are assigned to entities; None if entities are not tracked.
    """

    def __init__(
        self,
        learner: Learner,
        scale: bool,
        max_attributes: int,
        max_coordinates: int,
        max_name_bytes: int,
        half_life: float | None,
        rules: Rules | None = None,
        rates: int = 0,
        regression: bool = False,
        entity_rules: EntityRules | None = None,
    ) -> None:
        self.longest = averaging_window(half_life)
        self.longest_name = max_name_bytes
        self.learner = learner
        if rates:
            learner.rates = Rates(rates, regression, scale, self.longest)
        #: Recognises late labels; only mixtures and calibrated learners need it.
        self.ticket_registry = TicketRegistry() if isinstance(learner, (Mixture, Calibrated)) else None
        bounds = max_attributes, max_coordinates, max_name_bytes
        self.encoder = Encoder(*bounds, scale, self.longest, rules, rates, terms=learner.takes_terms)
        if entity_rules is not None:
            self.encoder.follow(entity_rules)
        #: The events passed to the learner last.
        self.encoded: Encoded
        self._late: LateLabels

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("encoded", "_late")}

    def read(
        self, records: Sequence[Record], learned: Sequence[bool], labels: Sequence[Any] | None = None
    ) -> Encoded:
        """Encode records; those ``learned`` update the statistics, and their names are kept.

        Entities remember the ``labels`` of those learned.

        Raises
        ------
        RecordError
            If one of them is invalid; then none is encoded.
        """
        events = Encoded()
        known = None if labels is None else list(labels)
        self.encoder.read_dicts(list(records), list(learned), events, awaiting=True, labels=known)
        return events

    def read_table(
        self, names: list[Any], table: Floats, learned: Sequence[bool], labels: Sequence[Any] | None = None
    ) -> Encoded:
        """Encode the rows of a table like ``read``; NaN is missing."""
        events = Encoded()
        known = None if labels is None else list(labels)
        self.encoder.read_table(names, table, list(learned), events, awaiting=True, labels=known)
        return events

    def one(
        self,
        record: Record,
        label: float,
        weight: float,
        given: Any = None,
        unit: tuple[float, float, float] | None = None,
    ) -> list[float]:
        """Predict, then learn, one event.

        Parameters
        ----------
        record
            The event.
        label, weight
            As in ``Learner.run``; with weight 0 the event is only predicted.
        given
            The raw label, for the memory of its entity.
        unit
            In a regression: the target before it was standardised, and the centre and spread of the score.

        Returns
        -------
        Its scores from before it was learned.

        Raises
        ------
        RecordError
            If the event is invalid.
        """
        registry = None if self.ticket_registry is None else self.ticket_registry.engine
        return self.encoder.step(record, label, weight, self.learner.engine, registry, given, unit)

    @property
    def ticket(self) -> NDArray[np.uint64]:
        """Ticket of the last event passed to ``one``, as an array."""
        return np.array([self.encoder.ticket], np.uint64)

    def take(
        self,
        events: Encoded,
        labelled: NDArray[np.bool_],
        awaiting: NDArray[np.bool_],
        late: LateLabels | None = None,
    ) -> None:
        """Take encoded events for ``run``: those that are ``labelled``, and those still ``awaiting`` it.

        Events without a ticket in ``late`` are recognised by their content.
        """
        self.encoded = events
        tickets, observed, shared = LateLabels.none(len(events)) if late is None else late
        if self.ticket_registry is not None:
            unknown = tickets == 0
            tickets = tickets + self.ticket_registry.tickets(events, labelled & unknown, awaiting & unknown)
        self._late = LateLabels(tickets, observed, shared)

    @property
    def tickets(self) -> NDArray[np.uint64]:
        """Tickets of the events taken last, see ``core.tickets``."""
        return self._late.tickets

    def run(
        self,
        part: slice,
        labels: Floats,
        weights: Floats,
        external_scores: Floats | None = None,
        units: Units | None = None,
    ) -> tuple[Floats, Floats]:
        """Predict, then learn, a part of the events taken last.

        Parameters
        ----------
        part
            Which of them.
        labels, weights
            As in ``Learner.run``, for these events.
        external_scores, units
            As in ``Learner.run``.
        """
        late, bounds = self._late.part(part), (part.start, part.stop)
        return self.learner.run(self.encoded, labels, weights, late, external_scores, bounds, units)

    def scores(self, events: Encoded, unit: tuple[float, float] = (0.0, 1.0)) -> Floats:
        """Scores of events by the current model, shape (T, C); ``unit`` is their centre and spread.

        The model does not change, except that a mixture remembers its predictions.
        """
        none = np.zeros(len(events), np.bool_)
        self.take(events, none, ~none)
        count = len(events)
        missing, nothing = np.full(count, np.nan), np.zeros(count)
        units = missing, np.full(count, unit[0]), np.full(count, unit[1])
        return self.run(slice(0, count), missing, nothing, units=units)[0]

    def worth_keeping(self, record: dict[str, Any]) -> dict[str, Any]:
        """A flat record without the values that will not be used when it is learned later.

        Missing values are dropped; names and categories that are too long are dropped and counted as ignored.
        Prose is cut to the length that is searched for words.
        """
        kept = {}
        for name, value in record.items():
            if is_missing(value):
                continue
            if fits(name, self.longest_name) and isinstance(value, str) and is_prose(value):
                kept[name] = value[:LONGEST_TEXT]
            elif fits(name, self.longest_name) and fits(value, self.longest_name):
                kept[name] = value
            else:
                self.encoder.ignore(name, value if isinstance(value, str) else None)
        return kept

    def summary(self) -> dict[str, Any]:
        """Sizes and counters of the model."""
        attributes, coordinates = self.encoder.sizes
        return {
            "attributes": attributes,
            "coordinates": coordinates,
            "evicted": self.encoder.evicted,
            **self._entities(),
            **self.learner.summary(),
        }

    def _entities(self) -> dict[str, int]:
        """How many entities are remembered, if they are tracked."""
        counts = self.encoder.entity_counts
        return {} if counts is None else dict(zip(ENTITY_COUNTS, counts, strict=True))

    def values(self) -> dict[str, dict[str, int]]:
        """What happened to the values of each attribute, see ``KARMABase.values``."""
        counts = self.encoder.tallies().tolist()
        return {
            name: {what: count for what, count in zip(TALLIES, counts[at], strict=False) if count}
            for at, name in self.encoder.attribute_names.items()
        }

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Everything learned, as JSON and arrays."""
        encoder = self.encoder
        header = {"entries": encoder.entries(), "ignored": encoder.ignored, "evicted": encoder.evicted}
        awaiting_tickets = self.ticket_registry.arrays() if self.ticket_registry is not None else {}
        return header, {**encoder.arrays(), **awaiting_tickets, **self.learner.arrays()}

    def take_over(self, other: Pipeline) -> None:
        """Take the names and statistics of another pipeline, and restart the learner after as many steps."""
        rates, self.encoder = self.encoder.rates, other.encoder
        self.encoder.rates, self.encoder.terms = rates, self.learner.takes_terms
        self.learner.restart(other.learner.steps)
        if self.ticket_registry is not None and other.ticket_registry is not None:
            self.ticket_registry = other.ticket_registry

    def merge(
        self, parts: Sequence[Pipeline], targets: Sequence[tuple[float, float]] | None = None
    ) -> list[Translation]:
        """Merge what parts have learned since each was a copy of this one.

        Parameters
        ----------
        parts
            Pipelines with the same settings, whose classes are numbered as here.
        targets
            In a regression: the result of ``Target.merge``, for this pipeline and each part.

        Returns
        -------
        How the encoders of this pipeline and of each part have changed.

        Raises
        ------
        ValueError
            If they cannot be merged.
        """
        models = [(part.encoder, part.learner.engine) for part in parts]
        translations = merge((self.encoder, self.learner.engine), models, targets)
        if self.ticket_registry is not None:
            self.ticket_registry = TicketRegistry()
        return translations

    def restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Restore a ``state``.

        Raises
        ------
        ValueError
            If the parts of the state are inconsistent.
        """
        entries = [None if entry is None else (entry[0], entry[1]) for entry in header["entries"]]
        self.encoder.restore(entries, header["ignored"], header["evicted"], arrays)
        if self.ticket_registry is not None:
            self.ticket_registry.restore(arrays)
        self.learner.restore(arrays, self.encoder.attribute_count, self.encoder.coordinate_count)
