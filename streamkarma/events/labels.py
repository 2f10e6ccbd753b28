"""Class labels, as indices in the order in which they came."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.errors import RecordError

#: In place of an index: no label, and a label that has none yet.
NONE, NEW = -1, -2

Label = bool | int | float | str
_PLAIN = frozenset({bool, int, float, str})


class Labels:
    """The classes seen so far.

    The first boolean brings both: of False and True nobody needs to be told the other.

    Parameters
    ----------
    most
        Most classes.

    Examples
    --------
    >>> labels = Labels(most=3)
    >>> labels.enter(labels.check("spam"))
    >>> labels.indices(["spam", "ham", None]).tolist()
    [0, -2, -1]
    >>> labels.check(3.5)
    Traceback (most recent call last):
    streamkarma.errors.RecordError: the label 3.5 is a number, where labels so far are strings
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.known: list[Label] = []
        self._indices: dict[Label, int] = {}

    def check(self, label: Any) -> Label:
        """``label`` as a plain Python value.

        Raises
        ------
        RecordError
            If it is none that a class can have, of another kind than those so far, or new
            where ``most`` are known.
        """
        if isinstance(label, np.generic):
            label = label.item()
        if not isinstance(label, (bool, int, float, str)):
            raise RecordError(f"a label must be a boolean, a number or a string, not {_article(label)}")
        if isinstance(label, float) and not math.isfinite(label):
            raise RecordError(f"the label {label!r} is not finite")
        if label not in self._indices and self.known:
            if _kind(label) != _kind(self.known[0]):
                raise RecordError(
                    f"the label {label!r} is a {_kind(label)}, "
                    f"where labels so far are {_kind(self.known[0])}s"
                )
            if len(self.known) >= self.most:
                raise RecordError(
                    f"the label {label!r} would be class {self.most + 1} of at most {self.most}"
                )
        return label

    def indices(self, labels: Sequence[Label | None]) -> NDArray[np.int64]:
        """Index of each checked label, NONE where there is none, NEW for one not entered."""
        find = self._indices.get
        return np.array([NONE if y is None else find(y, NEW) for y in labels], np.int64)

    def index(self, label: Any) -> int:
        """Index of a label, checked or not; NEW for one not entered, and for what is not plain enough."""
        if isinstance(label, np.generic):
            label = label.item()
        return self._indices.get(label, NEW) if type(label) in _PLAIN else NEW

    def enter(self, label: Label | None) -> None:
        """Give a checked label an index."""
        for new in (False, True) if isinstance(label, bool) else (label,):
            if new is not None and new not in self._indices:
                self._indices[new] = len(self.known)
                self.known.append(new)


def _kind(label: Label) -> str:
    if isinstance(label, str):
        return "string"
    return "boolean" if isinstance(label, bool) else "number"


def _article(value: Any) -> str:
    kinds = {dict: "an object", list: "an array", type(None): "null"}
    return kinds.get(type(value), f"a {type(value).__name__}")
