"""The verdict of a regret report: which offline model is used, and how it compares."""

from __future__ import annotations

import math
from typing import Any

import pytest

from streamkarma.regret.verdict import best_offline, verdict


def row(held_out: float | None, hindsight: float = 0.3, error: float = 0.0, **more: Any) -> dict[str, Any]:
    """A result over 1,000 events, on which the learner's mean loss is 0.5; the error is that of a mean."""
    figures = {
        "events": 1000, "weight": 1000.0, "exact": True,
        "learner_loss": 500.0, "baseline_loss": 1000 * hindsight,
        "held_out_loss": None if held_out is None else 1000 * held_out,
        "held_out_standard_error": None if held_out is None else 1000 * error,
        **more,
    }  # fmt: skip
    return {**figures, "regret": figures["learner_loss"] - figures["baseline_loss"]}


def said(rows: dict[str, dict[str, Any]], events: int = 1000) -> str:
    return verdict("auto", "logistic", rows, events, 0.5)


@pytest.mark.parametrize(
    ("held_out", "standing"), [(0.6, "beats"), (0.4, "loses to"), (0.51, "does not differ measurably from")]
)
def test_what_is_within_two_standard_errors_is_as_good(held_out: float, standing: str) -> None:
    sentence = said({"mean": row(held_out, error=0.01)})
    assert sentence.startswith(f"auto {standing} the best offline linear model (mean, held out): ")
    assert sentence.endswith(" (± 2 standard errors).")
    assert sentence.count(".") - sentence.count("0.") <= 3


def test_the_difference_is_in_per_cent_of_the_loss_of_the_baseline() -> None:
    sentence = said({"mean": row(0.625, error=0.002)})
    assert "its mean logistic loss is 20.0 ± 0.6 % lower" in sentence
    assert "is 0.50 higher." in said({"mean": row(None, hindsight=0.0)})


def test_the_best_linear_model_is_chosen_by_its_held_out_loss() -> None:
    rows = {
        "zero": row(0.45, hindsight=0.2), "mean": row(0.44, hindsight=0.3),
        "trees": row(0.1, hindsight=0.0), "full": row(0.05),
    }  # fmt: skip
    found = best_offline(rows)
    assert found is not None
    assert (found.name, found.loss, found.held_out) == ("mean", 0.44, True)


def test_without_a_linear_one_the_best_of_the_others_counts() -> None:
    sentence = said({"knn": row(0.7), "trees": row(0.6), "karma-batch": row(None, hindsight=0.0)})
    assert sentence.startswith("auto beats the best offline model (trees, held out): ")


def test_hindsight_counts_only_if_it_is_exact_and_linear() -> None:
    assert "(zero, in hindsight): its mean logistic loss is 67 % higher." in said({"zero": row(None)})
    assert best_offline({"zero": row(None, exact=False), "trees": row(None)}) is None


def test_one_that_ended_early_does_not_count_beside_others() -> None:
    early = row(0.01) | {"events": 200}
    assert best_offline({"zero": early, "mean": row(0.4)}).name == "mean"
    assert "over the first 200 events" in said({"zero": early})


@pytest.mark.parametrize("rows", [{}, {"zero": {"events": 9, "problem": "too slow"}},
                                  {"zero": row(math.nan) | {"regret": math.nan}}])  # fmt: skip
def test_without_a_result_it_says_what_there_is(rows: dict[str, dict[str, Any]]) -> None:
    sentence = (
        "auto has a mean logistic loss of 0.5 over 1,000 events; no baseline to compare it with has a result."
    )
    assert said(rows) == sentence


def test_without_events_it_says_so() -> None:
    assert said({}, events=0) == "auto has seen no event with a label."


def test_a_loss_in_hindsight_whose_held_out_fits_failed_is_only_used_for_lack_of_another() -> None:
    late = row(None, hindsight=0.2, held_out_problem="exceeded its 60 seconds")
    rival = best_offline({"gauss": late, "mean": row(0.4)})
    assert rival is not None
    assert rival.name == "mean"
    assert "(gauss, in hindsight)" in said({"gauss": late})
