"""Values that are not measurements: words for missing values, sentinels, and outliers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamkarma import ExplicitKARMAClassifier
from streamkarma.errors import UsageError
from streamkarma.estimators.persistence import load, save
from tests.conftest import Program
from tests.encoding import encoder, items

#: Readings around 60.
RNG = np.random.default_rng(7)
READINGS = [{"t": float(value)} for value in RNG.normal(60.0, 2.0, 300)]


def learned(records: list[dict[str, Any]], **options: Any) -> ExplicitKARMAClassifier:
    model = ExplicitKARMAClassifier(**options)
    for n, record in enumerate(records):
        model.learn_one(record, n % 2 == 0)
    return model


def with_sentinel(value: float) -> list[dict[str, Any]]:
    return [{"t": value} if n % 10 == 9 else record for n, record in enumerate(READINGS)]


@pytest.mark.parametrize("value", [-9999, 1e10, 0.0])
def test_a_number_far_from_all_others_that_comes_back_counts_as_missing(value: float) -> None:
    by = encoder(scale=True)
    for record in with_sentinel(value):
        items(by, record)
    # t and its mark; only the mark is observed.
    assert by.attributes[0] == "t"
    mark = by.entries().index(("t.sentinel", f"{value:.0f}")) + 1
    assert items(by, {"t": value}, learned=False) == [(mark, 1.0)]
    assert by.mean_and_deviation(1) == pytest.approx((60.0, 2.0), abs=0.5)
    assert next(line for line in by.notices() if "recurs" in line).startswith("attribute t: ")


def test_the_time_since_the_event_before_is_no_sentinel() -> None:
    # Most events share their time with others; a gap of a day is far from that, and recurs.
    model = learned([{"at": f"2026-01-{1 + n // 150:02d}T00:00:00Z"} for n in range(3000)])
    assert "at.sentinel" not in model.values
    assert "sentinels" not in model.values["at"]


def test_what_follows_a_number_that_was_the_same_so_far_is_no_sentinel() -> None:
    rng = np.random.default_rng(8)
    numbers = [{"year": 2010 + n // 700, "t": float(rng.normal(60, 3))} for n in range(1400)]
    model = learned(numbers)
    assert "sentinels" not in model.values["year"]
    # Once other values are known, one far from them is a sentinel.
    model = learned([{"t": -9999.0 if n % 10 == 0 else 0.0 if n % 3 else float(n)} for n in range(1400)])
    assert model.values["t"]["sentinels"] > 100


def test_sentinels_are_not_looked_for_where_nobody_wants_them() -> None:
    model = learned(with_sentinel(-9999.0), sentinels=False)
    assert "t.sentinel" not in model.values
    assert model.values["t"]["far"] > 20


def test_numbers_that_are_given_are_missing_from_the_first_on() -> None:
    model = learned([{"t": -1, "u": 1.0}, {"t": 60.5, "u": -1}, {"t": -1, "u": 2.0}], sentinel={"t": -1})
    assert model.values["t"] == {"values": 1, "sentinels": 1}
    assert model.values["t.sentinel"] == {"values": 2}
    assert model.values["u"] == {"values": 3}


def test_what_never_comes_back_is_marked_and_does_not_move_the_scale() -> None:
    by = encoder(scale=True)
    wild = [{"t": 1e5 + n} if n % 30 == 29 else record for n, record in enumerate(READINGS)]
    for record in wild:
        items(by, record)
    assert by.mean_and_deviation(1) == pytest.approx((60.0, 2.0), abs=0.5)
    high = by.entries().index(("t.far_high", "marked")) + 1
    assert items(by, {"t": 7e7}, learned=False) == [(high, 1.0)]


@pytest.mark.parametrize("word", ["", "  ", "NA", "n/a", "NULL", "None", "nan", "?", "-"])
def test_words_for_nothing_are_missing(word: str) -> None:
    by = encoder()
    items(by, {"k": "red"})
    assert items(by, {"k": word}) == []
    assert by.tallies()[1].tolist() == [1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]


def test_other_words_can_be_given_for_nothing() -> None:
    model = learned([{"k": "Missing"}, {"k": "none"}, {"k": "red"}], na=["missing"])
    assert model.values["k"]["values"] == 2


def test_texts_that_spell_numbers_are_counted() -> None:
    model = learned([{"t": f"{record['t']:.3f}"} for record in READINGS])
    # The attribute was not known at its first value.
    assert model.values["t"] == {"values": 300, "spelled": 299}


def test_a_model_goes_on_with_what_it_knows_of_sentinels(tmp_path: Path) -> None:
    records = with_sentinel(-9999.0)
    whole, resumed = learned(records), learned(records[:45])
    save(resumed, tmp_path / "m.karma")
    resumed = load(tmp_path / "m.karma")
    for n, record in enumerate(records[45:], 45):
        resumed.learn_one(record, n % 2 == 0)
    assert resumed.values == whole.values
    assert resumed.predict_proba_one({"t": 61.0}) == whole.predict_proba_one({"t": 61.0})


def test_what_is_predicted_is_what_will_be_learned() -> None:
    model = ExplicitKARMAClassifier()
    for n, record in enumerate(with_sentinel(-9999.0)):
        before = model.decision_one(record)
        assert model.run(model.read([record], [True]), [n % 2 == 0], [1.0]).scores[0, 0] == before


def test_the_command_line_counts_them_and_says_so(streamkarma: Program, tmp_path: Path) -> None:
    records = [
        {**record, "k": "NA" if n % 3 else "red", "y": n % 2}
        for n, record in enumerate(with_sentinel(-9999.0))
    ]
    options = ("--learner", "explicit", "--model", "m.karma", "--summary", "s.json")
    run = streamkarma("learn", *options, records=records)
    assert run.stderr.count("-9999 recurs far from all other values") == 1
    summary = json.loads((tmp_path / "s.json").read_text())
    shown = streamkarma("inspect", "m.karma", "--json").rows[0]["values"]
    assert summary["set_aside"]["k"] == {"nothing": 200}
    assert shown["t"]["sentinels"] == summary["set_aside"]["t"]["sentinels"] > 20


def test_what_is_observed_is_a_share_of_all_events_that_taught(streamkarma: Program) -> None:
    records = [{"t": float(n), "y": n % 2} if n % 10 == 0 else {"t": float(n)} for n in range(100)]
    streamkarma("learn", "--learner", "subspace", "--model", "m.karma", records=[*records, {"u": 1.0}])
    shown = streamkarma("inspect", "m.karma", "--json").rows[0]["values"]
    assert shown["t"]["observed"] == pytest.approx(100 / 101)


@pytest.mark.parametrize(
    "options",
    [
        {"na": "NA"},
        {"na": 5},
        {"sentinel": {"t": "x"}},
        {"sentinel": {"t": [1, 2, 3, 4, 5]}},
        {"sentinel": [1]},
    ],
)
def test_rules_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        ExplicitKARMAClassifier(**options)
