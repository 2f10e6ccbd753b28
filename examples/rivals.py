"""Other online learners for streams with missing attributes, behind one small interface.

A rival is asked for a probability once for each event, and told its label later:

    rival = RIVALS["river-adagrad"]({"temp": float, "wind": str})
    chance = rival.predict({"temp": 21.5})
    rival.learn({"temp": 21.5}, True)

What is missing is absent from the event. river comes with streamkarma; Vowpal Wabbit is
``pip install vowpalwabbit``, and ImportError without it.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any, Protocol

from river import base, compose, forest, linear_model, optim, preprocessing, stats

Event = dict[Any, Any]

#: One of river's, or a pipeline of them, which is of another type.
Transformer = Any

#: Name and type, float or str, of every attribute of a stream. Only imputing asks for them.
Kinds = dict[str, type]


class Rival(Protocol):
    """What predicts an event before it is told the label."""

    def predict(self, x: Event) -> float:
        """Probability that the label is True; each event is asked for once, then learned."""

    def learn(self, x: Event, y: bool) -> None:
        """Learn an event."""


class River:
    """A river classifier behind a river transformer.

    In a pipeline of river's the transformer first sees an event when its label has come. Here it
    learns as soon as the event is there, so that the event itself is among what its numbers are
    scaled by, when it is predicted and when it is learned.
    """

    def __init__(self, transformer: Transformer, classifier: base.Classifier) -> None:
        self.transformer = transformer
        self.classifier = classifier

    def predict(self, x: Event) -> float:
        self.transformer.learn_one(x)
        chances = self.classifier.predict_proba_one(self.transformer.transform_one(x))
        # A forest knows only the classes that it has seen.
        return float(chances.get(True, 0.0 if chances else 0.5))

    def learn(self, x: Event, y: bool) -> None:
        self.classifier.learn_one(self.transformer.transform_one(x), y)


class VowpalWabbit:
    """Vowpal Wabbit's logistic regression, progressive, by its text format.

    Values are in the namespace x, a category as ``name=category``; the namespace m has the name of
    every attribute that is there.

    Parameters
    ----------
    transformer
        What happens to an event first.
    options
        As on the command line. ``-q xm`` gives each value a weight for every other attribute
        that may be there, which is the feature space of KARMA with gamma 2.
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
    """Text without what separates features in Vowpal Wabbit's format."""
    return text.replace(" ", "_").replace(":", "_").replace("|", "_")


def as_it_is() -> Transformer:
    """No change."""
    return compose.Discard()


def standardised() -> Transformer:
    """Numbers by their running mean and variance, the event itself included; categories one-hot."""
    # Zeros for the categories that do not hold would change nothing in a linear model but the time.
    categories = compose.SelectType(str) | preprocessing.OneHotEncoder(drop_zeros=True)
    return (compose.SelectType(Number) | preprocessing.StandardScaler()) + categories


def imputed(kinds: Kinds) -> Transformer:
    """Running means and most frequent categories for what is missing, then ``standardised``."""
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
