"""Events that the scanner can read, ready for a step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from streamkarma.estimators.regression import LARGEST_TARGET
from streamkarma.events.labels import BOOLEAN, NEW, TEXT, LabelColumn
from streamkarma.runtime.gathered import Ready, shown_labels
from streamkarma.runtime.task import Tasked
from streamkarma.sinks.rows import Json
from streamkarma.sources.names import ID, Names
from streamkarma.sources.records import Records

#: So many new names since the last try are worth a new table at once: more come at the beginning
#: of a stream, and still more will.
_FEW = 8


class Scanning:
    """Reads the common records, of names and labels that a model knows by now.

    Parameters
    ----------
    tasked
        The model and its task.
    roles
        What names that are no attributes are for.
    """

    def __init__(self, tasked: Tasked, roles: Mapping[str, int]) -> None:
        self._tasked = tasked
        self._names = Names(roles)
        self._has_ids = ID in roles.values()
        self._coordinates = 0

    def ahead(self, records: Records) -> None:
        """Scan records that will be wanted later; another thread may do so."""
        if records.plain:
            records.scan_ahead(self._names.table)

    def ready(self, records: Records, at: int, most: int) -> Ready | None:
        """The events from a record on, up to the first that needs a closer look, and up to so many; None
        if it is the first."""
        if not records.plain:
            return None
        model = self._tasked.model
        classes = getattr(model, "classes", ())
        count = model.vocabulary.coordinate_count
        if count - self._coordinates <= _FEW:
            self._names.update(model.vocabulary, classes)
        self._coordinates = count
        scanned = records.scan(at, self._names.table)
        labels = LabelColumn(scanned.labels, scanned.kinds, classes)
        fit = min(self._fitting(labels), most)
        if not fit:
            return None
        some, labels = scanned.head(fit), labels[:fit]
        batch = model.batch()
        batch.fill(some.starts, some.coordinates, some.values)
        ids = Json(records.texts(some.ids) if self._has_ids else [])
        return Ready(batch, labels, some.weights, shown_labels(labels.plain()), ids, range(at, at + fit))

    def _fitting(self, labels: LabelColumn) -> int:
        """How many labels there are before the first that needs a closer look."""
        if self._tasked.predicts_numbers:
            number = (labels.kinds != BOOLEAN) & (labels.kinds != TEXT)
            fit = number & ~(np.abs(labels.values) > LARGEST_TARGET)
        else:
            fit = labels.indices(getattr(self._tasked.model, "classes", ())) != NEW
        return len(labels) if fit.all() else int(fit.argmin())
