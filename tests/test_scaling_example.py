from __future__ import annotations

import re
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def scaling(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return import_module("scaling")


def test_a_wide_event_has_as_many_attributes_as_a_narrow_one(scaling: Any) -> None:
    for attributes in (20, 1_000):
        events = list(islice(scaling.wide(attributes), 50))
        assert {len(event) for event in events} == {scaling.PRESENT + 1}
        assert {event["y"] for event in events} == {0, 1}
        names = {name for event in events for name in event} - {"y"}
        assert names <= {f"x{place}" for place in range(attributes)}
        assert len(names) > attributes / 2


def test_there_is_a_table_for_each_of_what_might_cost(scaling: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "LEARNERS", {"karma": ["--budget", "64"]})
    for name, values in (("BUDGETS", (16,)), ("OBSERVED", (10,)), ("WIDTHS", (40,)), ("ADDED", {})):
        monkeypatch.setattr(scaling, name, values)
    monkeypatch.setattr(scaling, "VALUES", {"nested": scaling.VALUES["nested"]})
    done = CliRunner().invoke(scaling.main, ["--events", "20000", "--rounds", "1"], catch_exceptions=False)
    assert done.exit_code == 0
    rows = re.findall(r"^ +([\d,]+|nested) +(-?\d+\.\d\d) +\d+$", done.stdout, re.MULTILINE)
    assert [number for number, _ in rows] == ["10,000", "16", "10", "40", "nested"]


def test_each_kind_of_values_is_what_it_says(scaling: Any) -> None:
    plain = list(islice(scaling.usual(), 30))
    for kind in (*scaling.VALUES, *scaling.ADDED):
        events = list(islice(scaling.of_kind(kind), 30))
        assert [event["y"] for event in events] == [event["y"] for event in plain]
        assert (events == plain) == (kind == "numbers")
    assert len({name for event in islice(scaling.of_kind("and a new name"), 30) for name in event}) == 51
    booleans = list(islice(scaling.of_kind("booleans"), 30))
    assert {type(value) for event in booleans for name, value in event.items() if name == "x1"} == {bool}
