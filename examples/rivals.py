"""Other online learners for streams with missing attributes, behind a small interface.

A rival predicts the probability of each event once, and learns its label later:

    rival = RIVALS["river-adagrad"]({"temp": float, "wind": str})
    chance = rival.predict({"temp": 21.5})
    rival.learn({"temp": 21.5}, True)

Missing attributes are absent from the event. river is installed with streamkarma; Vowpal Wabbit needs
``pip install vowpalwabbit``, and raises ImportError without it.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any, Protocol

from river import base, compose, forest, linear_model, optim, preprocessing, stats

Event = dict[Any, Any]

#: A river transformer, or a pipeline of them, which has another type.
Transformer = Any

#: Name and type, float or str, of every attribute of a stream; only imputation needs them.
Kinds = dict[str, type]


class Rival(Protocol):
    """A learner that predicts each event before it learns the label."""

    def predict(self, x: Event) -> float:
        """The probability that the label is True; called once for each event before it is learned."""

    def learn(self, x: Event, y: bool) -> None:
        """Learn an event."""


class River:
    """A river classifier behind a river transformer.

    In a river pipeline, the transformer first sees an event when its label has arrived. Here it learns as
    soon as the event arrives, so that the scaling includes the event itself, both for predicting and for
    learning.
    """

    def __init__(self, transformer: Transformer, classifier: base.Classifier) -> None:
        self.transformer = transformer
        self.classifier = classifier

    def predict(self, x: Event) -> float:
        self.transformer.learn_one(x)
        chances = self.classifier.predict_proba_one(self.transformer.transform_one(x))
        # A forest has probabilities only for the classes that it has seen.
        return float(chances.get(True, 0.0 if chances else 0.5))

    def learn(self, x: Event, y: bool) -> None:
        self.classifier.learn_one(self.transformer.transform_one(x), y)


class VowpalWabbit:
    """Vowpal Wabbit's logistic regression, progressive, via its text format.

    Values are in the namespace x, with categories as ``name=category``; the namespace m has the name of every
    observed attribute.

    Parameters
    ----------
    transformer
        Transforms each event first.
    options
        As on the command line. ``-q xm`` gives each value a weight for every other attribute that may be
        observed, which is the feature space of KARMA with gamma 2.
    """

    def __init__(self, transformer: Transformer, options: str) -> None:
        from vowpalwabbit import Workspace

        self.transformer = transformer
        self.workspace = Workspace(f"--loss_function logistic --link logistic --quiet {options}")

    def predict(self, x: Event) -> float:
        self.transformer.learn_one(x)
        return float(self.workspace.predict(self.text(x)))

    def learn(self, x: Event, y: bool) -> None:
        self.workspace.learn(("1 " if y else "-1 ") + self.text(x))

    def text(self, x: Event) -> str:
        """An event without its label."""
        values = self.transformer.transform_one(x)
        return f"|x {' '.join(map(feature, values, values.values()))} |m {' '.join(map(word, x))}"


def feature(name: str, value: float | str) -> str:
    """A value in Vowpal Wabbit's text format."""
    return f"{word(name)}={word(value)}" if isinstance(value, str) else f"{word(name)}:{value}"


def word(text: str) -> str:
    """Text without the separators of Vowpal Wabbit's format."""
    return text.replace(" ", "_").replace(":", "_").replace("|", "_")


def as_it_is() -> Transformer:
    """No change."""
    return compose.Discard()


def standardised() -> Transformer:
    """Numbers standardised by running means and variances, including the event itself; categories one-hot."""
    # Zeros for the other categories would only cost time in a linear model.
    categories = compose.SelectType(str) | preprocessing.OneHotEncoder(drop_zeros=True)
    return (compose.SelectType(Number) | preprocessing.StandardScaler()) + categories


def imputed(kinds: Kinds) -> Transformer:
    """Imputation by running means and most frequent categories, then ``standardised``."""
    imputers = [(name, stats.Mode() if kind is str else stats.Mean()) for name, kind in kinds.items()]
    absent = dict.fromkeys(kinds)
    return compose.FuncTransformer(absent.__or__) | preprocessing.StatImputer(*imputers) | standardised()


def logistic(optimizer: optim.base.Optimizer) -> base.Classifier:
    """river's logistic regression; a missing attribute adds nothing to the score."""
    return linear_model.LogisticRegression(optimizer)


RIVALS: dict[str, Callable[[Kinds], Rival]] = {
    "river-sgd-0.01": lambda _: River(standardised(), logistic(optim.SGD(0.01))),
    "river-sgd-0.1": lambda _: River(standardised(), logistic(optim.SGD(0.1))),
    "river-adagrad-0.1": lambda _: River(standardised(), logistic(optim.AdaGrad(0.1))),
    "river-impute": lambda kinds: River(imputed(kinds), linear_model.LogisticRegression()),
    "river-arf": lambda _: River(as_it_is(), forest.ARFClassifier(seed=0)),
    "vw": lambda _: VowpalWabbit(as_it_is(), ""),
    "vw-scaled": lambda _: VowpalWabbit(standardised(), ""),
    "vw-xm": lambda _: VowpalWabbit(as_it_is(), "-q xm"),
    "vw-xm-scaled": lambda _: VowpalWabbit(standardised(), "-q xm"),
}
