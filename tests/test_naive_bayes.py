"""The mixture's expert for the words of texts and for tags."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from streamkarma import ExplicitKARMAClassifier, KARMAMixtureClassifier, KARMAMixtureRegressor, merge
from streamkarma.estimators.persistence import load, save
from tests.conftest import Program

#: Words, a third of which are drawn from those of the class.
WORDS = [f"word{number}" for number in range(400)]


def sentences(count: int, seed: int, classes: int = 2) -> Iterator[tuple[dict[str, Any], str]]:
    """Texts of three to nine words, and their class."""
    rng = random.Random(seed)
    for _ in range(count):
        label = rng.randrange(classes)
        own = WORDS[label::classes]
        words = [rng.choice(own if rng.random() < 0.3 else WORDS) for _ in range(rng.randint(3, 9))]
        yield {"text": " ".join(words)}, "abc"[label]


class Reference:
    """Multinomial naive Bayes on words and pairs of words."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.classes: Counter[str] = Counter()

    def terms(self, text: str) -> set[str]:
        words = text.split()
        return {*words, *(f"{one} {two}" for one, two in pairwise(words))}

    def predict(self, text: str) -> str | None:
        total = sum(self.classes.values())

        def score(label: str) -> float:
            share = self.classes[label] / total
            known = [self.counts[term] for term in self.terms(text) if term in self.counts]
            says = (math.log((own[label] + share) / (own.total() + 1) / share) for own in known)
            return math.log(share) + sum(says)

        return max(sorted(self.classes), key=score) if total else None

    def learn(self, text: str, label: str) -> None:
        self.classes[label] += 1
        for term in self.terms(text):
            self.counts[term][label] += 1


def weights(model: Any) -> dict[str, float]:
    """The mean weights of the experts that have made a prediction."""
    return dict(model.summary()["experts"])


def labels_of_terms(model: Any) -> float:
    """The number of labels of all terms together."""
    arrays = model.state()[1]
    (own,) = (name for name in arrays if name.endswith("key_counts") and not name.startswith("rates."))
    return float(arrays[own].sum())


def learned(events: Iterator[tuple[dict[str, Any], str]], model: Any = None) -> Any:
    model = model or KARMAMixtureClassifier()
    for x, label in events:
        model.learn_one(x, label)
    return model


@pytest.mark.parametrize("classes", [2, 3])
def test_the_mixture_is_not_behind_naive_bayes(classes: int) -> None:
    model, reference = KARMAMixtureClassifier(), Reference()
    errors = [0, 0]
    for x, label in sentences(1500, 1, classes):
        errors[0] += model.predict_one(x) != label
        errors[1] += reference.predict(x["text"]) != label
        model.learn_one(x, label)
        reference.learn(x["text"], label)
    assert errors[0] <= 1.03 * errors[1]
    assert weights(model)["naive bayes"] > 0


def test_it_exists_only_where_there_are_texts_or_tags() -> None:
    rng = random.Random(3)
    numbers = learned(
        ({"x": rng.random(), "who": f"u{rng.randrange(99)}"}, rng.choice("ab")) for _ in range(300)
    )
    assert "naive bayes" not in weights(numbers)
    tags = learned(({"tags": rng.sample(WORDS, 3)}, rng.choice("ab")) for _ in range(60))
    assert "naive bayes" in weights(tags)
    # Other learners and regressions do not see terms.
    for model in (ExplicitKARMAClassifier(), KARMAMixtureRegressor()):
        for n, (x, _) in enumerate(sentences(60, 2)):
            model.learn_one(x, n % 2)
        sizes = model.read([x], [False]).arrays()[0]
        own = KARMAMixtureClassifier()
        for n, (x, _) in enumerate(sentences(60, 2)):
            own.learn_one(x, n % 2)
        assert sizes[1] < own.read([x], [False]).arrays()[0][1]


def test_an_event_that_is_only_predicted_admits_no_expert() -> None:
    rng = random.Random(5)
    numbers = [({"x": rng.random()}, rng.choice("ab")) for _ in range(60)]
    # Labels of tags are counted from the next one on.
    tags = [({"x": rng.random(), "tags": [word]}, rng.choice("ab")) for word in WORDS[:33]]
    one, other = (learned(iter(tags + numbers[:30])) for _ in range(2))
    # Both wait for the label of an event.
    assert one.predict_proba_one({"x": 0.5, "tags": WORDS[:2]})
    assert other.predict_proba_one({"x": 0.5})
    learned(iter(numbers[30:]), one)
    learned(iter(numbers[30:]), other)
    assert one.predict_proba_one({"x": 0.25}) == other.predict_proba_one({"x": 0.25})
    assert weights(one) == weights(other)
    assert "naive bayes" not in weights(one)
    one.learn_one({"x": 0.5, "tags": WORDS[:2]}, "a")
    assert "naive bayes" in weights(one)


@pytest.mark.parametrize("classes", [2, 3])
def test_blocks_and_resumed_models_equal_single_events(classes: int, tmp_path: Path) -> None:
    events = list(sentences(300, 4, classes))
    one, block = KARMAMixtureClassifier(), KARMAMixtureClassifier()
    for n, (x, label) in enumerate(events):
        if n == 170:
            save(one, tmp_path / "model")
            one = load(tmp_path / "model")
        one.learn_one(x, label)
    block.learn_many([x for x, _ in events], [label for _, label in events])
    assert one.predict_proba_one(events[0][0]) == block.predict_proba_one(events[0][0])
    assert weights(one) == weights(block)
    assert weights(one)["naive bayes"] > 0


def test_merged_models_know_the_tags_of_all() -> None:
    def baskets(seed: int) -> Iterator[tuple[dict[str, Any], str]]:
        rng = random.Random(seed)
        for _ in range(200):
            label = rng.randrange(2)
            yield {"tags": rng.sample(WORDS[label:100:2], 2) + rng.sample(WORDS[:100], 2)}, "ab"[label]

    base = KARMAMixtureClassifier()
    base.learn_many([{"tags": [word]} for word in WORDS[:100]] * 2, ["a", "b"] * 100)
    parts = [learned(baskets(seed), deepcopy(base)) for seed in (2, 3)]
    both = merge(parts, base=base)
    assert both.steps == base.steps + 400
    known = [labels_of_terms(model) for model in (base, *parts, both)]
    assert known[3] - known[0] == known[1] + known[2] - 2 * known[0] > 1500
    assert weights(both)["naive bayes"] > 0


def test_late_labels_are_learned_with_the_words_of_their_events(streamkarma: Program) -> None:
    events = [{"id": n, **x, "y": label} for n, (x, label) in enumerate(sentences(600, 7))]
    late: list[dict[str, Any]] = []
    for n, event in enumerate(events):
        late.append({name: value for name, value in event.items() if name != "y"})
        if n >= 40:
            late.append({"id": n - 40, "y": events[n - 40]["y"]})
    options = ["learn", "--id", "id", "--pending", "100", "--summary", "-"]
    summary = streamkarma(*options, records=late).rows[-1]
    assert summary["pending"]["matched"] == 560
    assert summary["metrics"]["error_rate"] < 0.45
    assert summary["model"]["experts"]["naive bayes"] > 0


def test_contributions_of_a_text_add_up() -> None:
    model = learned(sentences(400, 1))
    x = {"text": "word2 word4 word6 word8", "other": 1.0}
    explained = model.explain_one(x, missing=False)
    assert "text" in explained.contributions
    total = sum(explained.contributions.values()) + explained.constant
    assert total == pytest.approx(explained.score, abs=1e-6)
