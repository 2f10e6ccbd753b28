"""Entities on the command line: the names, the options, files, threads, and a model that is followed on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Program
from tests.test_entities import Records, carried, stream


def labelled(count: int = 200, seed: int = 0) -> Records:
    """Devices' events with their labels, and a time that goes on by ten seconds."""
    records, labels = stream(count, seed)
    pairs = zip(records, labels, strict=True)
    return [{**record, "at": 10.0 * n, "why": label} for n, (record, label) in enumerate(pairs, 1)]


def before(records: Records, carry: str = "fill") -> Records:
    """The same carried by the reference, which knows nothing of labels."""
    plain = [{name: value for name, value in each.items() if name != "why"} for each in records]
    pairs = zip(carried(plain, carry, "at"), records, strict=True)
    return [{**each, "why": record["why"]} for each, record in pairs]


def told(streamkarma: Program, *arguments: str, events: Records) -> list[Any]:
    """The predictions, without how many attributes were observed."""
    done = streamkarma("learn", "--target", "why", *arguments, records=events)
    assert done.code == 0, done.stderr
    return [{name: value for name, value in row.items() if name != "observed"} for row in done.rows]


@pytest.mark.parametrize("carry", ["fill", "last"])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_predictions_are_those_of_carrying_before(streamkarma: Program, carry: str, workers: str) -> None:
    events = labelled()
    ours = told(streamkarma, "--entity", "device", "--time", "at", "--carry", carry, "--workers", workers,
                events=events)  # fmt: skip
    assert ours == told(streamkarma, events=before(events, carry))


def test_the_entity_may_be_no_attribute(streamkarma: Program) -> None:
    events = labelled()
    ours = told(streamkarma, "--entity", "device", "--time", "at", "--ignore", "device", events=events)
    assert ours == told(streamkarma, "--ignore", "device", events=before(events))


def test_a_run_that_is_resumed_is_the_one_that_was_not_stopped(streamkarma: Program, tmp_path: Path) -> None:
    events, options = labelled(), ["--entity", "device", "--time", "at", "--ignore", "device"]
    whole = told(streamkarma, *options, "--model", "whole", events=events)
    first = told(streamkarma, *options, "--model", "parts", events=events[:77])
    rest = told(streamkarma, *options, "--model", "parts", events=events[77:])
    assert first + rest == whole
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


def test_predict_follows_a_stream_from_what_the_model_remembers(streamkarma: Program) -> None:
    events = labelled()
    told(streamkarma, "--entity", "device", "--model", "m", events=events[:150])
    device = {"device": events[150]["device"]}

    def score(*given: dict[str, Any]) -> float:
        return float(streamkarma("predict", "m", records=given).rows[-1]["score"])

    # A value that was only predicted is there for the next event, and the model is as it was.
    alone = score(device)
    assert score({**device, "x": 9.0}, device) != alone
    assert score(device) == alone


def test_what_is_remembered_is_told(streamkarma: Program, tmp_path: Path) -> None:
    told(streamkarma, "--entity", "device", "--max-entities", "4", "--model", "m", events=labelled())
    model = json.loads(streamkarma("inspect", "m", "--json").stdout)["model"]
    assert model["entities"] == 4
    assert model["entities_forgotten"] > 0
    assert model["entity_bytes"] > 0


def test_wrong_uses_are_one_line(streamkarma: Program) -> None:
    for options, match in (
        (["--carry", "all"], "Invalid value for '--carry'"),
        (["--entity", "d", "--time", "d"], "cannot be both the entity and the time"),
        (["--carry-for", "5"], "need an entity"),
    ):
        done = streamkarma("learn", *options)
        assert done.code == 2
        assert match in done.stderr
