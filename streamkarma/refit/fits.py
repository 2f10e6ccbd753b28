"""Fits of batch learners, and their trees as arrays. Imports the libraries, so only a worker needs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Floats
from streamkarma.events.reservoir import TARGET, WEIGHT, ReservoirSnapshot
from streamkarma.refit.ensemble import Ensemble

#: Minimum number of rows in a leaf of a random forest: with fewer, each tree would be as large as the sample.
MIN_LEAF = 5
#: Trees of a random forest, and rounds of boosting: the defaults of the libraries.
TREES = 100


class Sample(NamedTuple):
    """The data of a fit.

    Attributes
    ----------
    X
        Rows with NaN for missing values.
    y
        Numbers of the classes from 0 on without gaps, or targets of mean 0 and variance 1.
    weights
        The weight of each row.
    classes
        Number of classes; 0 for a regression.
    """

    X: Floats
    y: Floats
    weights: Floats
    classes: int


class Trees(NamedTuple):
    """The parts of the sum of trees of a fit, see ``Ensemble``."""

    base: Floats
    roots: list[int]
    outputs: list[int]
    nodes: dict[str, NDArray[Any]]
    are_shares: bool
    share: float


def fit(name: str, snapshot: ReservoirSnapshot, regression: bool) -> Ensemble | None:
    """Fit a batch learner to the events of a sample; None if there is only one class.

    Parameters
    ----------
    name
        One of ``refit.names.NAMES``.
    snapshot
        The events.
    regression
        Whether labels are numbers.

    Raises
    ------
    ValueError
        If the table would be too large.
    """
    X, attributes, coordinates = snapshot.table()
    y, weights = snapshot.facts[:, TARGET], snapshot.facts[:, WEIGHT]
    centre, unit, classes = 0.0, 1.0, np.zeros(0, np.int64)
    if regression:
        centre, unit = float(y.mean()), float(y.std()) or 1.0
        y = (y - centre) / unit
    else:
        classes = np.unique(y).astype(np.int64)
        y = np.searchsorted(classes, y).astype(np.float64)
        if len(classes) < 2:
            return None
    trees = _FITS[name](Sample(X, y, weights, len(classes)))
    return Ensemble(
        coordinates=coordinates,
        attributes=attributes,
        classes=classes,
        base=centre + unit * trees.base,
        unit=np.array([unit * trees.share]),
        roots=np.array(trees.roots, np.int32),
        outputs=np.array(trees.outputs, np.int32),
        are_shares=np.array([trees.are_shares]),
        **trees.nodes,
    )


def _lightgbm(sample: Sample) -> Trees:
    """Gradient boosting of LightGBM, with its own defaults."""
    import lightgbm

    objective = {0: "regression", 2: "binary"}.get(sample.classes, "multiclass")
    settings = {
        "objective": objective,
        "num_class": sample.classes if objective == "multiclass" else 1,
        "num_threads": 1,
        "deterministic": True,
        "force_col_wise": True,
        "seed": 0,
        "verbosity": -1,
    }
    data = lightgbm.Dataset(sample.X, sample.y, weight=sample.weights, params={"verbosity": -1})
    found = lightgbm.train(settings, data, TREES).dump_model()
    every = found["num_tree_per_iteration"]
    roots, rows = [], _Rows()
    for tree in found["tree_info"]:
        roots.append(rows.add(tree["tree_structure"], _of_lightgbm))
    outputs = [number % every for number in range(len(roots))]
    return Trees(np.zeros(every), roots, outputs, rows.arrays(), False, 1.0)


def _of_lightgbm(node: dict[str, Any]) -> tuple[Any, ...]:
    if "leaf_value" in node:
        return (), (0, 0.0, False), [node["leaf_value"]]
    threshold = float(node["threshold"])
    # If no row lacked the attribute, LightGBM treats missing values as 0.
    missing_left = node["default_left"] if node["missing_type"] == "NaN" else threshold >= 0.0
    return (node["left_child"], node["right_child"]), (node["split_feature"], threshold, missing_left), [0.0]


def _boosting(sample: Sample) -> Trees:
    """Histogram gradient boosting of scikit-learn, with its own defaults but no early stopping."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    made = HistGradientBoostingClassifier if sample.classes else HistGradientBoostingRegressor
    model = made(max_iter=TREES, early_stopping=False, random_state=0)
    model.fit(sample.X, sample.y, sample_weight=sample.weights)
    rounds = model._predictors
    trees = [tree.nodes for each in rounds for tree in each]
    roots, rows = [], _Rows()
    for nodes in trees:
        roots.append(
            rows.extend(
                np.where(nodes["is_leaf"], -1, nodes["left"].astype(np.int64)),
                np.where(nodes["is_leaf"], -1, nodes["right"].astype(np.int64)),
                nodes["feature_idx"],
                nodes["num_threshold"],
                nodes["missing_go_to_left"] != 0,
                nodes["value"][:, np.newaxis],
            )
        )
    outputs = [number for each in rounds for number in range(len(each))]
    return Trees(np.ravel(model._baseline_prediction), roots, outputs, rows.arrays(), False, 1.0)


def _forest(sample: Sample) -> Trees:
    """A random forest of scikit-learn that splits on missing values as on any others."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    made = RandomForestClassifier if sample.classes else RandomForestRegressor
    model = made(n_estimators=TREES, min_samples_leaf=MIN_LEAF, random_state=0)
    # It uses single precision, in which large values that differ only slightly would be equal.
    centre, unit = _centres_and_units(sample.X)
    model.fit((sample.X - centre) / unit, sample.y, sample_weight=sample.weights)
    roots, rows = [], _Rows()
    for each in model.estimators_:
        tree = each.tree_
        value = tree.value[:, 0, 1:] if sample.classes == 2 else tree.value[:, 0, :]
        inner = tree.children_left >= 0
        feature = np.where(inner, tree.feature, 0)
        roots.append(
            rows.extend(
                tree.children_left,
                tree.children_right,
                feature,
                np.where(inner, centre[feature] + unit[feature] * tree.threshold, 0.0),
                tree.missing_go_to_left != 0,
                value,
            )
        )
    base = np.zeros(sample.classes if sample.classes > 2 else 1)
    return Trees(base, roots, [0] * len(roots), rows.arrays(), sample.classes > 0, 1.0 / len(roots))


def _centres_and_units(X: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each column, 1 where that is 0; every column has a value."""
    unit = np.nanstd(X, axis=0)
    return np.nanmean(X, axis=0), np.where(unit > 0.0, unit, 1.0)


class _Rows:
    """The nodes of all trees, one tree after another."""

    def __init__(self) -> None:
        self._parts: list[tuple[NDArray[Any], ...]] = []
        self._count = 0

    def extend(
        self,
        left: NDArray[Any],
        right: NDArray[Any],
        feature: NDArray[Any],
        threshold: NDArray[Any],
        missing_left: NDArray[Any],
        value: NDArray[Any],
    ) -> int:
        """Add a tree with its root as the first node; returns the index of the root."""
        begin = self._count
        left, right = (np.where(each >= 0, each + begin, -1) for each in (left, right))
        self._parts.append((left, right, feature, threshold, missing_left, value))
        self._count += len(left)
        return begin

    def add(self, root: Any, read: Callable[[Any], tuple[Any, ...]]) -> int:
        """Add a tree of objects; ``read`` returns the children, split and value of a node."""
        nodes, links, splits, values = [root], [], [], []
        # Children come after their parents.
        for node in nodes:
            children, split, value = read(node)
            links.append((len(nodes), len(nodes) + 1) if children else (-1, -1))
            nodes.extend(children)
            splits.append(split)
            values.append(value)
        feature, threshold, missing_left = map(np.array, zip(*splits, strict=True))
        left, right = np.array(links).T
        return self.extend(left, right, feature, threshold, missing_left, np.array(values, np.float64))

    def arrays(self) -> dict[str, NDArray[Any]]:
        left, right, feature, threshold, missing_left, value = map(
            np.concatenate, zip(*self._parts, strict=True)
        )
        return {
            "feature": feature.astype(np.int32),
            "threshold": threshold.astype(np.float64),
            "missing_left": missing_left.astype(np.bool_),
            "left": left.astype(np.int32),
            "right": right.astype(np.int32),
            "value": value.astype(np.float64),
        }


_FITS: dict[str, Callable[[Sample], Trees]] = {
    "lightgbm": _lightgbm,
    "boosting": _boosting,
    "trees": _forest,
}
