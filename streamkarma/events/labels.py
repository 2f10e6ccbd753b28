"""Class labels, as indices in the order of their first occurrence."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from streamkarma.errors import RecordError
from streamkarma.events.values import LONGEST_NAME, fits
from streamkarma.printable import shown

#: Instead of an index: no label, and a label without an index yet.
NONE, NEW = -1, -2

#: Kinds of labels in a column; INTEGER is a number without a point or an exponent, LONG one with more digits
#: than a float represents.
NO_LABEL, NUMBER, BOOLEAN, INTEGER, TEXT, LONG = range(6)

Label = bool | int | float | str
_PLAIN = frozenset({bool, int, float, str})
#: By kind, since True is not equal to 1 here, unlike in Python.
_TYPES: dict[str, frozenset[type]] = {
    "boolean": frozenset({bool}),
    "number": frozenset({int, float}),
    "string": frozenset({str}),
}


class LabelColumn(Sequence[Label | None]):
    """Consecutive labels, as arrays.

    Parameters
    ----------
    values
        Shape (T,): each as a number, a string or a LONG one as its index in ``classes``; NaN for no label.
    kinds
        Shape (T,): NO_LABEL, NUMBER, BOOLEAN, INTEGER, TEXT or LONG.
    classes
        The classes that these indices refer to.

    Examples
    --------
    >>> labels = LabelColumn(np.array([1.0, np.nan, 2.5]), np.int32([INTEGER, NO_LABEL, NUMBER]), [])
    >>> list(labels), labels.indices([1, 3])
    ([1, None, 2.5], array([ 0, -1, -2]))
    """

    def __init__(
        self, values: NDArray[np.float64], kinds: NDArray[np.int32], classes: Sequence[Label]
    ) -> None:
        self.values = values
        self.kinds = kinds
        self._classes = classes

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, at: int) -> Label | None: ...

    @overload
    def __getitem__(self, at: slice) -> LabelColumn: ...

    def __getitem__(self, at: int | slice) -> Label | LabelColumn | None:
        if isinstance(at, slice):
            return LabelColumn(self.values[at], self.kinds[at], self._classes)
        if self.kinds[at] == NO_LABEL:
            return None
        value = self.values[at].item()
        if self.kinds[at] >= TEXT:
            return self._classes[int(value)]
        form: Callable[[float], Label] = {NUMBER: float, BOOLEAN: bool, INTEGER: int}[int(self.kinds[at])]
        return form(value)

    def indices(self, known: Sequence[Label]) -> NDArray[np.int64]:
        """Index of each label among those known, which begin with the classes; NONE for no label, NEW for an
        unknown one."""
        found = np.where(self.kinds == NO_LABEL, NONE, NEW)
        placed = self.kinds >= TEXT
        found[placed] = self.values[placed]
        boolean = self.kinds == BOOLEAN
        number = ~(placed | boolean)
        for i, label in enumerate(known):
            if not isinstance(label, str) and label == float(label):
                same_kind = boolean if isinstance(label, bool) else number
                found[same_kind & (self.values == label)] = i
        return found

    def plain(self) -> NDArray[Any] | list[Label | None]:
        """The labels as given: an array if all are of one kind, of NaN if there are none."""
        forms = (INTEGER, np.int64), (BOOLEAN, np.bool_), (NUMBER, np.float64), (NO_LABEL, np.float64)
        for kind, form in forms:
            if (self.kinds == kind).all():
                return self.values.astype(form)
        return list(self)


def labelled(labels: Sequence[Label | None]) -> NDArray[np.bool_]:
    """Mask of the events that have a label."""
    if isinstance(labels, LabelColumn):
        return np.not_equal(labels.kinds, NO_LABEL)
    return np.array([y is not None for y in labels], np.bool_)


def numbers(labels: Sequence[Label | None]) -> NDArray[np.float64]:
    """Numeric labels as an array, NaN for no label."""
    if isinstance(labels, LabelColumn):
        return labels.values
    return np.array([math.nan if y is None else y for y in labels], np.float64)


class Labels:
    """The classes seen so far.

    The first boolean adds both: one of False and True implies the other.

    Parameters
    ----------
    most
        Maximum number of classes.
    longest
        Maximum length in bytes of a label that is a string.

    Examples
    --------
    >>> labels = Labels(most=3)
    >>> labels.enter(labels.check("spam"))
    >>> labels.indices(["spam", "ham", None]).tolist()
    [0, -2, -1]
    >>> labels.check(3.5)
    Traceback (most recent call last):
    streamkarma.errors.RecordError: the label 3.5 is a number, but the labels so far are strings
    """

    def __init__(self, most: int, longest: int = LONGEST_NAME) -> None:
        self.most = most
        self.longest = longest
        self.known: list[Label] = []
        self._indices: dict[Label, int] = {}
        self._types: frozenset[type] = _PLAIN

    def check(self, label: Any) -> Label:
        """``label`` as a plain Python value.

        Raises
        ------
        RecordError
            If it cannot be a class, is of another kind than those so far, or is new when ``most`` are known.
        """
        if isinstance(label, np.generic):
            label = label.item()
        if not isinstance(label, (bool, int, float, str)):
            raise RecordError(f"a label must be a boolean, a number or a string, not {_article(label)}")
        if isinstance(label, (int, float)) and not abs(label) <= sys.float_info.max:
            raise RecordError(f"the label {shown(label)} is not finite")
        kind = _kind(label)
        if self.known and kind != _kind(self.known[0]):
            text, so_far = shown(label), _kind(self.known[0])
            raise RecordError(f"the label {text} is a {kind}, but the labels so far are {so_far}s")
        if label not in self._indices:
            self._check_new(label)
        return label

    def _check_new(self, label: Label) -> None:
        text = shown(label)
        if not fits(label, self.longest):
            raise RecordError(f"the label {text} is longer than {self.longest:,} bytes")
        if len(self.known) >= self.most:
            raise RecordError(f"the label {text} would be class {self.most + 1} of at most {self.most}")

    def indices(self, labels: Sequence[Label | None]) -> NDArray[np.int64]:
        """Index of each checked label; NONE for no label, NEW for one not entered."""
        if isinstance(labels, LabelColumn):
            return labels.indices(self.known)
        find = self._indices.get
        return np.array([NONE if y is None else find(y, NEW) for y in labels], np.int64)

    def index(self, label: Any) -> int:
        """Index of a label, checked or not; NEW for one not entered, not of a plain type, or of another
        kind."""
        if type(label) not in self._types and isinstance(label, np.generic):
            label = label.item()
        return self._indices.get(label, NEW) if type(label) in self._types else NEW

    def enter(self, label: Label | None) -> None:
        """Give a checked label an index."""
        if label is not None and not self.known:
            self._types = _TYPES[_kind(label)]
        for new in (False, True) if isinstance(label, bool) else (label,):
            if new is not None and new not in self._indices:
                self._indices[new] = len(self.known)
                self.known.append(new)

    def joined(self, others: Sequence[Labels]) -> Labels:
        """These classes and those of others: these keep their indices, the others follow in ascending order.

        Raises
        ------
        RecordError
            If a class of another is not accepted here.

        Examples
        --------
        >>> one, two = Labels(most=9), Labels(most=9)
        >>> one.enter("spam")
        >>> two.enter("ham")
        >>> Labels(most=9).joined([one, two]).known
        ['ham', 'spam']
        """
        joined = Labels(self.most, self.longest)
        new = {(_kind(label), label) for other in others for label in other.known}
        for label in [*self.known, *(label for _, label in sorted(new))]:
            joined.enter(joined.check(label))
        return joined

    def places(self, other: Labels) -> list[int]:
        """The index that each class of another has here; then the remaining indices, if any.

        Examples
        --------
        >>> all_of_them, some = Labels(most=9), Labels(most=9)
        >>> for label in "abc":
        ...     all_of_them.enter(label)
        >>> some.enter("b")
        >>> all_of_them.places(some)
        [1, 0, 2]
        """
        places = [self._indices[label] for label in other.known]
        return places + sorted(set(range(max(2, len(self.known)))) - set(places))


def _kind(label: Label) -> str:
    if isinstance(label, str):
        return "string"
    return "boolean" if isinstance(label, bool) else "number"


def _article(value: Any) -> str:
    kinds = {dict: "an object", list: "an array", type(None): "null"}
    return kinds.get(type(value), f"a {type(value).__name__}")
