"""Attributes that have several values at once: words of a text, and tags."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamkarma import ExplicitKARMAClassifier, KARMAMixtureClassifier
from streamkarma._engine import Encoder, is_prose
from streamkarma.errors import RecordError
from streamkarma.estimators.persistence import load, save
from streamkarma.estimators.pipeline import TALLIES
from tests.conftest import Program
from tests.encoding import encoded, encoder, items
from tests.test_kinds import FEW, RARE

WORDS = ["rain", "Sun", "wind", "snow", "FOG", "hail"]
texts = st.lists(st.sampled_from(WORDS), min_size=3, max_size=8).map(" ".join)
tags = st.lists(st.sampled_from(WORDS), max_size=8)
values = st.one_of(texts, tags, st.sampled_from(["rain", "1.5", "n/a", "2026-11-22"]))


def ample(**options: Any) -> Encoder:
    return encoder(10_000, 10_000, 1 << 20, **options)


def named(by: Encoder, record: Any, learned: bool = True) -> dict[tuple[Any, str | None], float]:
    return {by.describe(coordinate): value for coordinate, value in items(by, record, learned)}


@given(texts)
def test_a_text_is_the_sum_of_its_words(text: str) -> None:
    by = ample()
    counts = Counter(text.lower().split())
    norm = math.sqrt(sum(count * count for count in counts.values()))
    found = named(by, {"said": text})
    assert found == pytest.approx({("said", word): count / norm for word, count in counts.items()})
    # A single word gives what it adds, except for the norm.
    together: Counter[tuple[Any, str | None]] = Counter()
    for word, count in counts.items():
        alone = named(by, {"said": [word]}, learned=False)
        together.update({name: value * count / norm for name, value in alone.items()})
    assert found == pytest.approx(dict(together))


@given(tags)
def test_tags_are_a_set_whatever_the_container(found: list[str]) -> None:
    forms = [found, found[::-1], tuple(found)] + ([set(found)] if len(set(found)) == len(found) else [])
    rows = [named(ample(), {"tags": form}) for form in forms]
    assert all(row == rows[0] for row in rows)
    assert set(rows[0]) == {("tags", tag) for tag in found}
    assert not found or sum(value * value for value in rows[0].values()) == pytest.approx(1.0)


def test_what_else_is_in_an_array_is_numbered() -> None:
    found = named(ample(), {"a": ["x", 1.5, {"b": 2}, "y"]})
    half = math.sqrt(0.5)
    expected = {("a", "x"): half, ("a", "y"): half, ("a.1", None): 1.5, ("a.2.b", None): 2.0}
    assert found == pytest.approx(expected)


@given(st.lists(st.dictionaries(st.sampled_from(["a", "b"]), values), max_size=12), st.integers(0, 12))
def test_it_does_not_matter_how_the_input_is_cut(records: list[dict[str, Any]], cut: int) -> None:
    one, other, single = ample(), ample(), ample()
    whole = encoded(one, records)
    parts = [encoded(other, records[:cut]), encoded(other, records[cut:])]
    alone = [encoded(single, [record]) for record in records]
    for by, blocks in ((other, parts), (single, alone)):
        assert whole.coordinates.tolist() == [k for block in blocks for k in block.coordinates.tolist()]
        assert whole.values.tolist() == [x for block in blocks for x in block.values.tolist()]
        assert by.tallies().tolist() == one.tallies().tolist()


@given(st.lists(st.tuples(values, st.booleans()), max_size=20))
def test_what_is_predicted_leaves_no_trace_and_looks_as_it_will(stream: list[tuple[Any, bool]]) -> None:
    one, other = ample(), ample()
    for value, learned in stream:
        before = encoded(one, [{"a": value}], learned=False)
        if learned:
            after = encoded(one, [{"a": value}])
            encoded(other, [{"a": value}])
            assert sorted(before.values.tolist()) == pytest.approx(sorted(after.values.tolist()))
            # An attribute with several items counts once.
            assert len(set(before.attributes.tolist())) == len(set(after.attributes.tolist()))
    assert one.entries() == other.entries()
    # The last columns are of times: an event is compared with the one before, even if that was not learned.
    counts = len(TALLIES)
    assert one.tallies()[:, :counts].tolist() == other.tallies()[:, :counts].tolist()
    assert one.arrays()["once"].tolist() == other.arrays()["once"].tolist()


def test_words_without_a_place_are_rare_until_they_come_again() -> None:
    by = ample()
    encoded(by, [{"said": " ".join(f"w{n}" for n in range(FEW))}])
    assert named(by, {"said": "two new words"}) == pytest.approx({("said", RARE): 1.0})
    third = 1 / math.sqrt(3)
    found = named(by, {"said": "two other words"})
    assert found == pytest.approx({("said", RARE): third, ("said", "two"): third, ("said", "words"): third})
    assert by.tallies()[1, 6] == 4


def test_a_pair_of_words_has_a_place_when_it_comes_for_the_fourth_time() -> None:
    by = ample()
    rows = [named(by, {"said": "new york new jersey"}) for _ in range(6)]
    pairs = {("said", "new york"), ("said", "york new"), ("said", "new jersey")}
    assert [pairs & row.keys() for row in rows] == [set(), set(), set(), set(), pairs, pairs]


def test_an_attribute_is_a_text_as_long_as_half_of_its_values_are_prose() -> None:
    by = ample()
    assert named(by, {"a": "Never mind"}) == {("a", "Never mind"): 1.0}
    assert len(named(by, {"a": "it rains cats"})) == len(named(by, {"a": "and it pours"})) == 3
    # Now short values are split into words, too.
    assert len(named(by, {"a": "Never mind"})) == 2
    for n in range(9):
        encoded(by, [{"a": f"name {n}"}])
    assert named(by, {"a": "Never mind"}) == {("a", "Never mind"): 1.0}
    assert by.kinds() == {1: "category"}


def test_user_is_notified_once_about_text() -> None:
    by = ample()
    encoded(by, [{"said": f"event number {n}"} for n in range(300)])
    (line,) = by.notices()
    assert line.startswith("attribute said: most values have three words or more")
    assert line.endswith("(--kind said=category keeps them whole)")
    assert by.kinds() == {1: "text"}


@pytest.mark.parametrize(
    "text", ["今日は雨が降りませんね", "a b c", "Это не имя, а фраза", "/var/log/a/b/c/d/e/f"]
)
def test_prose_is_known_in_any_script(text: str) -> None:
    assert is_prose(text)


@pytest.mark.parametrize(
    "text", ["Married-civ-spouse", "New York", "東京", "550e8400-e29b-41d4-a716-446655440000"]
)
def test_names_are_no_prose(text: str) -> None:
    assert not is_prose(text)


def test_words_are_lower_case_in_any_script() -> None:
    found = named(ample(), {"a": "ÉTÉ Straße ΚΌΣΜΟΣ été"})
    assert found.keys() == {("a", "été"), ("a", "straße"), ("a", "κόσμος")}


def test_hostile_texts_and_arrays_are_bounded() -> None:
    by = ample()
    rng = np.random.default_rng(0)
    flood = " ".join(f"w{n:x}" for n in rng.integers(1 << 40, size=200_000))
    block = encoded(by, [{"said": flood, "tags": flood.split(), "x": "y" * 3_000_000}])
    assert len(block.values) <= 1 + 256 + 256 + 1
    # A lone surrogate separates words like any other symbol; all three are new.
    lone = named(by, {"said": "one \ud800 two three"})
    assert ("said", RARE) in lone
    assert lone["said", RARE] == pytest.approx(1.0)


@pytest.mark.parametrize("record", [{"a": ["x"], "a.0": 1, "a.b": 1}, {"a": {"b": ["x"]}, "a.c": ["x"]}])
def test_names_beside_tags_may_be_like_theirs(record: dict[str, Any]) -> None:
    assert len(named(ample(), record)) == sum(1 for _ in record.values())


@pytest.mark.parametrize("record", [{"a.b": "x", "a": {"b": ["y"]}}, {"a": {"b": ["y"]}, "a.b": ["x"]}])
def test_tags_and_another_value_of_one_name_are_refused(record: dict[str, Any]) -> None:
    with pytest.raises(RecordError, match="when joined by dots"):
        encoded(ample(), [record])


def test_json_lines_are_dicts(streamkarma: Program) -> None:
    records = [
        {"said": "Rain, rain, go away" if n % 3 else "ok", "tags": WORDS[: n % 5], "x": ["a", n], "y": n % 2}
        for n in range(300)
    ]
    done = streamkarma("learn", "--learner", "explicit", "--task", "binary", records=records)
    model = ExplicitKARMAClassifier()
    for record, row in zip(records, done.rows, strict=True):
        x = {name: value for name, value in record.items() if name != "y"}
        chance = model.predict_proba_one(x).get(True)
        if chance is not None and "score" in row:
            assert 1 / (1 + math.exp(-row["score"])) == pytest.approx(chance, abs=1e-9)
        model.learn_one(x, bool(record["y"]))
    assert done.rows[-1]["observed"] == 4


@pytest.mark.parametrize("kind", [ExplicitKARMAClassifier, KARMAMixtureClassifier])
def test_a_model_resumes_with_its_texts(kind: Any, tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    whole, resumed = kind(), kind()
    for n in range(200):
        x = {"said": " ".join(rng.choice(WORDS, 5)), "tags": list(rng.choice(WORDS, 2)), "id": f"u{n}"}
        if n == 120:
            save(resumed, tmp_path / "m.karma")
            resumed = load(tmp_path / "m.karma")
        whole.learn_one(x, "rain" in x["said"])
        resumed.learn_one(x, "rain" in x["said"])
    x = {"said": "rain and snow", "tags": ["rain"]}
    assert resumed.predict_proba_one(x) == whole.predict_proba_one(x)
    assert whole.vocabulary.kinds() == resumed.vocabulary.kinds()
    kinds = dict(zip(whole.vocabulary.attributes, whole.vocabulary.kinds().values(), strict=True))
    assert kinds == {
        "id": "category",
        "said": "text",
        "tags": "tags",
        "id.rate": "number",
        "said.rate": "number",
    }


def test_words_are_informative() -> None:
    rng = np.random.default_rng(1)
    model, errors = KARMAMixtureClassifier(), 0
    for n in range(1500):
        words = rng.choice([f"w{k}" for k in range(60)], 8)
        y = bool(sum(int(word[1:]) % 2 for word in words) > 4)
        x = {"said": " ".join(words)}
        errors += n >= 1000 and (model.predict_proba_one(x).get(True, 0.0) > 0.5) != y
        model.learn_one(x, y)
    assert errors / 500 < 0.15
