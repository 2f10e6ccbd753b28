"""Quality of the learners: mixed, calibrated, beside guests, and on streams that change."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from river import base, naive_bayes

from streamkarma import (
    ExplicitKARMAClassifier,
    KARMAClassifier,
    KARMAMixtureClassifier,
    KARMAMixtureRegressor,
    SubspaceClassifier,
)
from streamkarma.estimators.experts import experts
from streamkarma.estimators.results import probabilities
from streamkarma.synthetic import StreamSpec, records
from tests.test_learners import FORMS, Event, in_one_run, made, said, what_it_says

Floats = NDArray[np.float64]

STREAMS = {
    "lowrank": StreamSpec(seed=100, noise=0.05),
    "mnar": StreamSpec(seed=101, missing="mnar"),
    "blocks": StreamSpec(seed=102, blocks=5, noise=0.05),
}


def labelled(plan: StreamSpec, count: int) -> list[Event]:
    return [(row, row.pop("y")) for row in records(plan, count)]


# The mixture.


@pytest.mark.parametrize("name", STREAMS)
def test_the_mixture_loses_little_to_each_learner(name: str) -> None:
    stream = labelled(STREAMS[name], 4000)
    mixture = KARMAMixtureClassifier()
    loss = in_one_run(mixture, stream).losses.mean()
    for kind in (ExplicitKARMAClassifier, SubspaceClassifier, KARMAClassifier):
        assert loss <= in_one_run(kind(), stream).losses.mean() + 0.02
    assert sum(mixture.weights.values()) == pytest.approx(1.0)
    assert list(mixture.weights) == [
        *[name for name in experts(1, 0.0, False) if name != "naive bayes"],
        "blend",
    ]


def test_the_weights_of_a_regression_have_names_too() -> None:
    mixture = KARMAMixtureRegressor()
    assert set(mixture.weights.values()) == {1 / len(mixture.weights)}
    in_one_run(mixture, labelled(StreamSpec(task="regression", seed=100), 300))
    assert sum(mixture.weights.values()) == pytest.approx(1.0)
    assert list(mixture.weights) == [*experts(1, 0.0, True), "transformed target", "blend"]


class Counting(base.Classifier):
    """Predicts ``yes`` or ``no`` by whether the number of attributes it sees is odd."""

    def __init__(self, sure: float = 0.99, yes: Any = True, no: Any = False) -> None:
        self.sure = sure
        self.yes = yes
        self.no = no

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Nothing to learn."""

    def predict_proba_one(self, x: dict[Any, Any], **_: Any) -> dict[Any, float]:
        return (
            {self.yes: self.sure, self.no: 1 - self.sure}
            if len(x) % 2
            else {self.no: self.sure, self.yes: 1 - self.sure}
        )


class Babbling(base.Classifier):
    """Predicts anything, including NaN and labels that do not exist, with certainty."""

    def __init__(self) -> None:
        self.said = 0

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Nothing to learn."""

    def predict_proba_one(self, x: dict[Any, Any], **_: Any) -> dict[Any, float]:
        self.said = (self.said * 5 + len(x)) % 7
        return ({}, {True: 1.0}, {False: 1.0, True: 0.0}, {True: float("nan")}, {"none": 1.0}, {True: 1e300})[
            self.said % 6
        ]


def odd(plan: StreamSpec, count: int) -> list[Event]:
    """Labels for whether an odd number of attributes is observed; missing ones are None, NaN or left out."""
    stream = [({**x, "gone": None, "nan": float("nan")}, y) for x, y in labelled(plan, count)]
    return [(x, (len(x) - 2) % 2 == 1) for x, _ in stream]


def test_a_guest_that_knows_the_label_is_listened_to() -> None:
    mixture = KARMAMixtureClassifier(extra_experts=[Babbling(), Counting()])
    result = in_one_run(mixture, odd(StreamSpec(seed=100), 800))
    assert list(mixture.weights)[-3:] == ["other 1", "other 2", "blend"]
    assert sum(mixture.weights.values()) == pytest.approx(1.0)
    # The blend may be more confident than the guest.
    *others, guest, blend = mixture.weights.values()
    assert guest + blend > 0.9
    assert guest > 10 * max(others)
    assert result.losses[200:].mean() < 0.1


def test_a_guest_that_says_anything_does_no_harm() -> None:
    stream = [(x, bool(y)) for x, y in labelled(StreamSpec(seed=100, noise=0.05), 1500)]
    alone, beside = KARMAMixtureClassifier(), KARMAMixtureClassifier(extra_experts=[Babbling()])
    loss = in_one_run(alone, stream).losses.mean()
    assert in_one_run(beside, stream).losses.mean() < loss + 0.01
    assert beside.weights["other 1"] < 0.01


def test_a_guest_may_know_one_of_several_classes() -> None:
    odds = odd(StreamSpec(seed=100), 900)
    stream = [(x, "odd" if y else ("even", "other")[t % 2]) for t, (x, y) in enumerate(odds)]
    mixture = KARMAMixtureClassifier(extra_experts=[Counting(0.98, "odd", "even")])
    result = in_one_run(mixture, stream)
    found = probabilities(result.scores[300:], 3).argmax(axis=1)
    first = mixture.classes.index("odd")
    assert ((found == first) == (result.targets[300:] == first)).mean() > 0.97


def test_guests_are_copies_and_clones_of_a_mixture_have_new_ones() -> None:
    guest = naive_bayes.GaussianNB()
    mixture = KARMAMixtureClassifier(extra_experts=[guest])
    stream = [
        (x, "abc"[int(y) + (t > 100 and t % 3 == 0)])
        for t, (x, y) in enumerate(labelled(StreamSpec(seed=100), 200))
    ]
    spoken = what_it_says(mixture, stream)
    assert guest.predict_proba_one(stream[0][0]) == {}
    assert what_it_says(mixture.clone(), stream) == spoken
    assert what_it_says(KARMAMixtureClassifier(extra_experts=[guest]), stream) == spoken
    twin = copy.deepcopy(mixture)
    mixture.learn_one(stream[0][0], "b")
    assert said(twin, stream[0][0]) != said(mixture, stream[0][0])
    whole = KARMAMixtureClassifier(extra_experts=[guest])
    in_one_run(whole, stream)
    assert said(whole, stream[0][0]) == said(twin, stream[0][0])


# Calibration.


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("kind", [ExplicitKARMAClassifier, SubspaceClassifier, KARMAMixtureClassifier])
def test_probabilities_mean_what_they_say(kind: Any, noise: float) -> None:
    result = in_one_run(kind(), labelled(StreamSpec(seed=100, noise=noise), 6000))
    chances = probabilities(result.scores, 2)[:, 1]
    bins = np.minimum((chances * 15).astype(int), 14)
    off = [abs((chances - result.targets)[bins == b].sum()) for b in range(15)]
    assert sum(off) / len(chances) < 0.05


# Drift.

CHANGE, END, SEEDS = 2500, 4000, range(100, 102)

every_kind = pytest.mark.parametrize("form", FORMS)


#: Learners that follow changes without forgetting.
MOVING = ("constant", "neighbors", "forest", "boosting", "mixture")


def drifting(form: str, task: str, **options: Any) -> Any:
    # With its default rho, sgd still takes its largest steps when these streams end: nothing to forget.
    return made(form, task, **({"rho": 0.01} if form == "sgd" else {}), **options)


def plan(task: Any, seed: int, **changes: Any) -> StreamSpec:
    return StreamSpec(attributes=8, rank=3, observed=0.7, task=task, seed=seed)._replace(**changes)


def losses_after(form: str, task: str, streams: list[list[Event]], forget: float | None) -> float:
    """Mean loss over the events after the change."""
    after = [in_one_run(drifting(form, task, forget=forget), stream).losses[CHANGE:] for stream in streams]
    return float(np.mean(after))


@every_kind
@pytest.mark.parametrize("task", ["binary", "regression"])
def test_forgetting_follows_weights_that_change_sign(form: str, task: str) -> None:
    def flipped(seed: int) -> list[Event]:
        stream = labelled(plan(task, seed), END)
        turned = [(x, 1 - y if task == "binary" else -y) for x, y in stream]
        return stream[:CHANGE] + turned[CHANGE:]

    streams = [flipped(seed) for seed in SEEDS]
    kept = losses_after(form, task, streams, None)
    # Some adapt whether or not they forget, and lose a little by forgetting.
    assert losses_after(form, task, streams, 500.0) < (1.1 if form in MOVING else 0.9) * kept


PATTERNS: dict[str, dict[str, Any]] = {"mnar": {"missing": "mnar"}, "blocks": {"blocks": 4}}

#: Loss that forgetting may add where only the pattern of missing values changes. The weights for complete
#: data are as right as before: the explicit form, with weights for the observed values, gains; learners that
#: complete events lose, since correlations were learned better while values were missing at random.
LOST = {
    ("arow", "mnar"): -0.03,
    ("hashed", "mnar"): -0.02,
    ("subspace", "mnar"): 0.06,
    ("factor", "mnar"): 0.06,
}


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("form", ["arow", "hashed", "sgd", "subspace", "factor", "mixture"])
def test_forgetting_bears_a_change_of_what_is_missing(form: str, pattern: str) -> None:
    streams = [
        labelled(plan("binary", seed), CHANGE)
        + labelled(plan("binary", seed, **PATTERNS[pattern]), END)[CHANGE:]
        for seed in SEEDS
    ]
    kept = losses_after(form, "binary", streams, None)
    assert losses_after(form, "binary", streams, 500.0) <= kept + LOST.get((form, pattern), 0.02)
