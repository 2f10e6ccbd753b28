"""Other online learners for classification and regression behind one interface, for examples/bent.py.

Trees get the events unchanged, without missing values. Neighbours, linear models and others that require all
values get standardised numbers, 0 for missing ones, and an indicator for each category.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from rivals import feature, word
from river import ensemble, forest, linear_model, multiclass, neighbors, stats, tree

Event = dict[str, Any]


class Rival(Protocol):
    """A learner that predicts each event before it learns the label."""

    def predict(self, x: Event) -> Any:
        """A class or a number; None if it cannot predict yet."""

    def learn(self, x: Event, y: Any) -> None:
        """Learn an event."""


class Plain:
    """A river model that gets events unchanged."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, x: Event) -> Any:
        return self.model.predict_one(x)

    def learn(self, x: Event, y: Any) -> None:
        self.model.learn_one(x, y)


class Coded(Plain):
    """A river tree for regression, whose leaves do not accept strings: categories become indicators."""

    def predict(self, x: Event) -> Any:
        return super().predict(coded(x))

    def learn(self, x: Event, y: Any) -> None:
        super().learn(coded(x), y)


def coded(x: Event) -> dict[str, float]:
    """The numbers of an event, and an indicator for each of its categories."""
    return {
        (f"{name}={value}" if isinstance(value, str) else name): (1.0 if isinstance(value, str) else value)
        for name, value in x.items()
    }


class Complete(Plain):
    """A river model that gets a value for every feature; means and variances include the event itself."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.scales: dict[str, stats.Var] = {}
        self.means: dict[str, stats.Mean] = {}
        self.known: dict[str, float] = {}

    def predict(self, x: Event) -> Any:
        for name, value in x.items():
            if not isinstance(value, str):
                self.scales.setdefault(name, stats.Var(0)).update(value)
                self.means.setdefault(name, stats.Mean()).update(value)
        return super().predict(self.complete(x))

    def learn(self, x: Event, y: Any) -> None:
        super().learn(self.complete(x), y)

    def complete(self, x: Event) -> dict[str, float]:
        """Every feature ever seen, 0 where the event lacks it."""
        values = {}
        for name, value in x.items():
            if isinstance(value, str):
                values[f"{name}={value}"] = 1.0
            else:
                deviation = self.scales[name].get() ** 0.5
                values[name] = (value - self.means[name].get()) / deviation if deviation else 0.0
        self.known |= dict.fromkeys(values, 0.0)
        return self.known | values


class VowpalWabbit:
    """Vowpal Wabbit, progressive, with a weight for each pair of a value and an observed attribute."""

    def __init__(self, regression: bool) -> None:
        from vowpalwabbit import Workspace

        self.regression = regression
        self.classes: list[str] = []
        kind = "" if regression else f"--oaa {MOST_CLASSES} --loss_function logistic"
        self.workspace = Workspace(f"--quiet -q xm {kind}")

    def predict(self, x: Event) -> Any:
        said = self.workspace.predict(self.text(x))
        if self.regression:
            return float(said)
        return self.classes[int(said) - 1] if int(said) <= len(self.classes) else None

    def learn(self, x: Event, y: Any) -> None:
        if not self.regression and y not in self.classes:
            self.classes.append(y)
        label = y if self.regression else self.classes.index(y) + 1
        self.workspace.learn(f"{label} {self.text(x)}")

    def text(self, x: Event) -> str:
        """An event without its label."""
        return f"|x {' '.join(map(feature, x, x.values()))} |m {' '.join(map(word, x))}"


#: The number of classes declared to Vowpal Wabbit.
MOST_CLASSES = 32


def linear(regression: bool) -> Any:
    """river's linear or logistic regression with its defaults."""
    if regression:
        return linear_model.LinearRegression()
    return multiclass.OneVsRestClassifier(linear_model.LogisticRegression())


def nearest(regression: bool) -> Any:
    """The ten nearest neighbours among the last 1,000 events."""
    engine = neighbors.LazySearch(window_size=1000)
    if regression:
        return neighbors.KNNRegressor(n_neighbors=10, engine=engine)
    return neighbors.KNNClassifier(n_neighbors=10, engine=engine)


def adaptive_tree(regression: bool) -> Rival:
    """river's Hoeffding adaptive tree."""
    if regression:
        return Coded(tree.HoeffdingAdaptiveTreeRegressor(seed=0))
    return Plain(tree.HoeffdingAdaptiveTreeClassifier(seed=0))


def adaptive_forest(regression: bool) -> Rival:
    """river's adaptive random forest, of ten trees."""
    return Coded(forest.ARFRegressor(seed=0)) if regression else Plain(forest.ARFClassifier(seed=0))


def mondrian_forest(regression: bool) -> Rival:
    """river's aggregated Mondrian forest, of ten trees."""
    return Complete(forest.AMFRegressor(seed=0) if regression else forest.AMFClassifier(seed=0))


def random_patches(regression: bool) -> Rival:
    """river's streaming random patches, of ten trees."""
    return Complete(ensemble.SRPRegressor(seed=0) if regression else ensemble.SRPClassifier(seed=0))


RIVALS: dict[str, Callable[[bool], Rival]] = {
    "logistic regression": lambda regression: Complete(linear(regression)),
    "vw crossed": VowpalWabbit,
    "10-NN": lambda regression: Complete(nearest(regression)),
    "adaptive tree": adaptive_tree,
    "ARF": adaptive_forest,
    "AMF": mondrian_forest,
    "SRP": random_patches,
}
