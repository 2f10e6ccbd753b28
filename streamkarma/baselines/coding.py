"""From events, as streams have them, to the tables that batch methods take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from streamkarma.baselines.tables import Floats
from streamkarma.events.flatten import flatten
from streamkarma.events.values import as_number, is_missing

Event = Mapping[str, Any]


class EventCoder(TransformerMixin, BaseEstimator):
    """Events as rows of a float array: a number has one column, a string one per category.

    What is missing (no key, None, NaN) is NaN in all columns of its attribute. A category is 1 in
    its own column and 0 in the others; one that was not there at ``fit`` is 0 in all of them:
    observed, and none of those known. A name that was not there at all is left out.

    Attributes
    ----------
    names_
        A list of pairs: the attribute of each column, and its category, None for a number.
    attributes_
        Array of shape (columns,): number of each column's attribute, as ``BatchKARMAClassifier``
        takes it.

    Examples
    --------
    >>> coder = EventCoder().fit([{"temp": 3.0, "wind": "N"}, {"wind": "S"}])
    >>> coder.names_
    [('temp', None), ('wind', 'N'), ('wind', 'S')]
    >>> coder.transform([{"temp": 5, "wind": "W"}, {"wind": "S"}]).tolist()
    [[5.0, 0.0, 0.0], [nan, 0.0, 1.0]]
    """

    def fit(self, X: Iterable[Event], y: Any = None) -> Self:
        """Learn names and categories from events; ``y`` is not used.

        Raises
        ------
        RecordError
            For a value that is neither number nor string, or infinite.
        ValueError
            If no event has an attribute.
        """
        found: set[tuple[str, str]] = set()
        numeric: set[str] = set()
        for event in X:
            for name, value in _observed(event):
                if isinstance(value, str):
                    found.add((name, value))
                else:
                    as_number(name, value)
                    numeric.add(name)
        pairs: list[tuple[str, str | None]] = [*((name, None) for name in numeric), *found]
        if not pairs:
            raise ValueError("no event has an attribute: there is nothing to make columns of")
        self.names_ = sorted(pairs, key=lambda pair: (pair[0], pair[1] is not None, pair[1] or ""))
        self.attributes_ = np.unique([name for name, _ in self.names_], return_inverse=True)[1]
        return self

    def transform(self, X: Iterable[Event]) -> Floats:
        """An array of shape (events, columns), NaN for what is missing."""
        check_is_fitted(self)
        place = {pair: column for column, pair in enumerate(self.names_)}
        categories: dict[str, list[int]] = {}
        for column, (name, category) in enumerate(self.names_):
            if category is not None:
                categories.setdefault(name, []).append(column)
        rows = []
        for event in X:
            row = np.full(len(self.names_), np.nan)
            for name, value in _observed(event):
                # Observed: none of the categories, but the one that it is.
                row[categories.get(name, [])] = 0.0
                at = place.get((name, value if isinstance(value, str) else None))
                if at is not None:
                    row[at] = 1.0 if isinstance(value, str) else as_number(name, value)
            rows.append(row)
        return np.array(rows).reshape(len(rows), len(self.names_))


def _observed(event: Event) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in flatten(dict(event)).items() if not is_missing(value)]
