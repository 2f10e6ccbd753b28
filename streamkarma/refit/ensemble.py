"""Trees as arrays: predictions of a fitted ensemble without the library that fitted it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma._engine import add_trees, logarithms
from streamkarma.arrays import Arrays, Floats
from streamkarma.events.block import Block

#: Types and dimensions of the arrays of a state.
_LAYOUT = {
    "coordinates": ("<i8", 1),
    "attributes": ("<i8", 1),
    "classes": ("<i8", 1),
    "base": ("<f8", 1),
    "unit": ("<f8", 1),
    "roots": ("<i4", 1),
    "outputs": ("<i4", 1),
    "feature": ("<i4", 1),
    "threshold": ("<f8", 1),
    "missing_left": ("|b1", 1),
    "left": ("<i4", 1),
    "right": ("<i4", 1),
    "value": ("<f8", 2),
    "are_shares": ("|b1", 1),
}

#: Score of a class not seen by a fit, relative to the best score: one in a million.
NEVER = -math.log(1e6)
#: Shares of votes are clipped to this distance from 0 and 1.
CLIP = 1e-3


class Ensemble(NamedTuple):
    """A sum of trees.

    Attributes
    ----------
    coordinates, attributes
        Shape (columns,): the coordinate and the attribute of each column.
    classes
        The classes it distinguishes, ascending; empty for a regression.
    base, unit
        Shapes (outputs,) and (1,): the prediction is ``base + unit * sum``.
    roots, outputs
        Shape (trees,): the root of each tree, and the first output that it adds to.
    feature, threshold, missing_left, left, right
        Shape (nodes,): the column of a split, what goes left (values up to the threshold, and missing
        values or not), and both children, which come after their parent; -1 in leaves.
    value
        Shape (nodes, width): what a leaf adds.
    are_shares
        Shape (1,): whether the outputs are shares of votes instead of scores.
    """

    coordinates: NDArray[np.int64]
    attributes: NDArray[np.int64]
    classes: NDArray[np.int64]
    base: Floats
    unit: Floats
    roots: NDArray[np.int32]
    outputs: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: Floats
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: Floats
    are_shares: NDArray[np.bool_]

    def predict(self, X: Floats) -> Floats:
        """Outputs for rows with NaN for missing values, shape (n, outputs)."""
        total = np.zeros((len(X), len(self.base)))
        add_trees(total, np.ascontiguousarray(X), self.roots, self.outputs, self[7:13])
        return self.base + self.unit * total

    def rows(self, block: Block, begin: int, end: int) -> Floats:
        """Events of a block as rows; an observed category is 1 in its column, 0 in those of its siblings."""
        first, last = block.starts[begin], block.starts[end]
        row = np.repeat(np.arange(end - begin), np.diff(block.starts[begin : end + 1]))
        owners, owner = np.unique(self.attributes, return_inverse=True)
        group, is_group = _find(owners, block.attributes[first:last])
        observed = np.zeros((end - begin, len(owners)), np.bool_)
        observed[row[is_group], group[is_group]] = True
        X = np.where(observed[:, owner], 0.0, np.nan)
        column, is_column = _find(self.coordinates, block.coordinates[first:last])
        X[row[is_column], column[is_column]] = block.values[first:last][is_column]
        return X

    def scores(self, X: Floats, classes: int) -> Floats:
        """Scores in the form experts return: of the second of two classes, or of each, shape (n, classes).

        A regression has one, in the units of the target.
        """
        raw = self.predict(X)
        if not len(self.classes):
            return raw
        if self.are_shares[0]:
            raw = _log_shares(raw)
        if classes == 1:
            return raw
        if raw.shape[1] == 1:
            raw = np.column_stack([-raw[:, 0] / 2, raw[:, 0] / 2])
        every = np.full((len(X), classes), NEVER)
        every[:, self.classes] = np.maximum(raw - raw.max(axis=1, keepdims=True), NEVER)
        return every

    @property
    def bytes(self) -> int:
        """The memory of the arrays."""
        return sum(array.nbytes for array in self)

    def state(self) -> Arrays:
        """The arrays by name."""
        return {name: np.asarray(array, _LAYOUT[name][0]) for name, array in self._asdict().items()}

    @classmethod
    def restored(cls, arrays: Arrays) -> Ensemble:
        """From a ``state``; ValueError if its parts contradict each other."""
        # Copies, since arrays from a file may be unaligned, which the engine does not read.
        ensemble = cls(**{name: np.array(arrays[name]) for name in cls._fields})
        nodes, columns, outputs = len(ensemble.feature), len(ensemble.coordinates), len(ensemble.base)
        fits = (
            [(array.dtype.str, array.ndim) for array in ensemble] == list(_LAYOUT.values())
            and all(len(each) == nodes for each in ensemble[7:13])
            and len(ensemble.attributes) == columns
            and len(ensemble.roots) == len(ensemble.outputs)
            and outputs == _outputs(ensemble.classes)
            and (len(ensemble.unit), len(ensemble.are_shares)) == (1, 1)
            and columns > 0
            and _is_ascending(ensemble.coordinates)
            and _is_ascending(ensemble.classes)
            and 1 <= ensemble.value.shape[1] <= outputs
            and all(np.isfinite(each).all() for each in (ensemble.base, ensemble.unit, ensemble.value))
            and _is_within(ensemble.roots, nodes)
            and _is_within(ensemble.outputs, outputs - ensemble.value.shape[1] + 1)
        )
        if not fits or not _are_trees(ensemble, nodes, columns):
            raise ValueError("the trees of a refit contradict each other")
        return ensemble


def _outputs(classes: NDArray[np.int64]) -> int:
    return len(classes) if len(classes) > 2 else 1


def _are_trees(ensemble: Ensemble, nodes: int, columns: int) -> bool:
    """Whether children come after their parents and columns exist."""
    inner = np.flatnonzero(ensemble.left >= 0)
    children = np.concatenate([ensemble.left[inner], ensemble.right[inner]])
    return bool(
        (children > np.concatenate([inner, inner])).all()
        and (children < nodes).all()
        and _is_within(ensemble.feature[inner], columns)
        and not np.isnan(ensemble.threshold[inner]).any()
    )


def _is_within(indices: NDArray[Any], end: int) -> bool:
    return bool(((indices >= 0) & (indices < end)).all())


def _is_ascending(indices: NDArray[np.int64]) -> bool:
    return bool((indices >= 0).all() and (np.diff(indices) > 0).all())


def _find(ascending: NDArray[Any], wanted: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The index of each wanted value, and whether it is present at all."""
    at = np.searchsorted(ascending, wanted)
    inside = at < len(ascending)
    found = np.zeros(len(wanted), np.bool_)
    found[inside] = ascending[at[inside]] == wanted[inside]
    return at, found


def _log_shares(shares: Floats) -> Floats:
    """Log-odds of one share, or logarithms of several."""
    cut = np.clip(shares, CLIP, 1.0 - CLIP)
    return logarithms(cut) if shares.shape[1] > 1 else logarithms(cut) - logarithms(1.0 - cut)
