"""Converts events and data frames with categories to numeric tables for batch methods."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from streamkarma.arrays import Floats
from streamkarma.events.flatten import flatten
from streamkarma.events.frames import is_frame, records_of
from streamkarma.events.values import as_number, is_missing

#: The observed values of an event: names with strings or numbers.
Observed = list[tuple[Hashable, str | float]]


class EventCoder(TransformerMixin, BaseEstimator):
    """Encodes events as rows of a float array: one column per number, one per category of a string.

    Events are dicts (nested names are joined by dots), or the rows of a data frame of pandas, polars or
    another library supported by narwhals. Missing values (no key, None, NaN, NA, NaT, null) are NaN in all
    columns of their attribute. A category is 1 in its own column and 0 in the others; a category not seen in
    ``fit`` is 0 in all of them. Names not seen in ``fit`` are ignored, and the order of a frame's columns
    does not matter.

    Attributes
    ----------
    names_
        A list of pairs: the attribute of each column and its category, None for a number.
    attributes_
        Array of shape (columns,): index of each column's attribute, as ``BatchKARMAClassifier`` and
        ``mcar_test`` expect it.

    Examples
    --------
    >>> coder = EventCoder().fit([{"temp": 3.0, "wind": "N"}, {"wind": "S"}])
    >>> coder.names_
    [('temp', None), ('wind', 'N'), ('wind', 'S')]
    >>> coder.transform([{"temp": 5, "wind": "W"}, {"wind": "S"}]).tolist()
    [[5.0, 0.0, 0.0], [nan, 0.0, 1.0]]

    In front of any of the methods, for frames with text:

    >>> from sklearn.pipeline import make_pipeline
    >>> from streamkarma.baselines import ImputedClassifier
    >>> model = make_pipeline(EventCoder(), ImputedClassifier("mean", C=1.0))
    >>> model.fit([{"wind": "N"}, {"wind": "S"}, {}], ["cold", "warm", "warm"]).predict([{"wind": "N"}])
    array(['cold'], dtype='<U4')
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.dict = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Iterable[Mapping[str, Any]], y: Any = None) -> Self:
        """Learn names and categories.

        Parameters
        ----------
        X
            Events as dicts, or a data frame.
        y
            Not used.

        Returns
        -------
        self

        Raises
        ------
        RecordError
            A ValueError: a value is neither a number nor a string, or is infinite.
        ValueError
            If no event has an attribute, or ``X`` is neither events nor a frame.

        Examples
        --------
        >>> EventCoder().fit([{"temp": 3.0, "wind": "N"}]).names_
        [('temp', None), ('wind', 'N')]
        """
        self._learn(_events(X))
        return self

    def fit_transform(self, X: Iterable[Mapping[str, Any]], y: Any = None) -> Floats:
        """``fit`` and ``transform`` the same events, which are iterated over only once.

        Parameters
        ----------
        X, y
            As in ``fit``.

        Returns
        -------
        As by ``transform``.

        Examples
        --------
        >>> EventCoder().fit_transform({"temp": t} for t in (3.0, None)).tolist()
        [[3.0], [nan]]
        """
        events = _events(X)
        self._learn(events)
        return self._coded(events)

    def transform(self, X: Iterable[Mapping[str, Any]]) -> Floats:
        """Encode events.

        Parameters
        ----------
        X
            Events as dicts, or a data frame.

        Returns
        -------
        Array of shape (events, columns), NaN for missing values.

        Raises
        ------
        RecordError
            A ValueError: a value is neither a number nor a string, or is infinite.
        ValueError
            If ``X`` is neither events nor a frame.

        Examples
        --------
        >>> coder = EventCoder().fit([{"temp": 3.0, "wind": "N"}])
        >>> coder.transform([{"temp": 5.0}]).tolist()
        [[5.0, nan]]
        """
        check_is_fitted(self)
        return self._coded(_events(X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns.

        Parameters
        ----------
        input_features
            Not used; scikit-learn passes it.

        Returns
        -------
        Array of shape (columns,): the attribute's name for a number, ``"wind=N"`` for a category.

        Examples
        --------
        >>> EventCoder().fit([{"temp": 3.0, "wind": "N"}]).get_feature_names_out().tolist()
        ['temp', 'wind=N']
        """
        check_is_fitted(self)
        names = [str(name) if category is None else f"{name}={category}" for name, category in self.names_]
        return np.array(names, dtype=object)

    def _learn(self, events: list[Observed]) -> None:
        pairs = {
            (name, value if isinstance(value, str) else None) for event in events for name, value in event
        }
        if not pairs:
            raise ValueError("no event has an attribute, so there are no columns")
        self.names_: list[tuple[Hashable, str | None]] = sorted(pairs, key=_order)
        numbers: dict[Hashable, int] = {}
        self.attributes_ = np.array([numbers.setdefault(name, len(numbers)) for name, _ in self.names_])

    def _coded(self, events: list[Observed]) -> Floats:
        place = {pair: column for column, pair in enumerate(self.names_)}
        categories: dict[Hashable, list[int]] = {}
        for column, (name, category) in enumerate(self.names_):
            if category is not None:
                categories.setdefault(name, []).append(column)
        rows = np.full((len(events), len(self.names_)), np.nan)
        for row, event in zip(rows, events, strict=True):
            for name, _ in event:
                # Observed: 0 for all categories except those of the value.
                row[categories.get(name, [])] = 0.0
            for name, value in event:
                at = place.get((name, value if isinstance(value, str) else None))
                if at is not None:
                    row[at] = 1.0 if isinstance(value, str) else value
        return rows


def _order(pair: tuple[Hashable, str | None]) -> tuple[str, str, bool, str]:
    """Sort key by name and category; column names of frames may be of any types."""
    name, category = pair
    return str(name), type(name).__name__, category is not None, category or ""


def _events(X: Any) -> list[Observed]:
    """The observed values of each event, or of each row of a frame."""
    records = records_of(X) if is_frame(X) else X
    if isinstance(records, (str, bytes, Mapping)) or not isinstance(records, Iterable):
        raise ValueError(f"events are a list of dicts or a data frame, not {_kind(X)}")
    events = []
    for number, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise ValueError(
                f"event {number} is {_kind(record)}, not a dict: EventCoder takes dicts or a data frame;"
                " an array of numbers needs no coding"
            )
        events.append(_observed(record))
    return events


def _observed(record: Mapping[Any, Any]) -> Observed:
    found: Observed = []
    for name, value in flatten(record).items():
        if isinstance(value, str):
            found.append((name, value))
        elif isinstance(value, list):
            found.extend((name, tag) for tag in dict.fromkeys(value))
        elif not is_missing(value):
            number = as_number(name, value)
            if not math.isnan(number):
                found.append((name, number))
    return found


def _kind(thing: Any) -> str:
    return f"of type {type(thing).__name__}"
