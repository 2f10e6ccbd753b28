from __future__ import annotations

import gzip
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests import forked

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def entities(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The program as a module, with its folder on the path as when it is run."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return import_module("entities")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with stays of three, one, two and two events, and a table of ten rows."""
    with gzip.open(tmp_path / "physionet2012_events.jsonl.gz", "wt") as file:
        for stay, minutes in [(1, (0, 5, 9)), (2, (0,)), (3, (0, 7)), (4, (0, 1))]:
            for minute in minutes:
                event = {"x": {"HR": 60 + 7 * minute}, "y": stay % 2, "p": stay, "t": minute}
                file.write(json.dumps(event) + "\n")
    with gzip.open(tmp_path / "weather_aus.csv.gz", "wt") as file:
        file.write("Date,Location,Rain,target\n")
        for day in range(1, 11):
            file.write(f"2007-11-{day:02},{'AB'[day % 2]},{day if day % 3 else ''},")
            file.write("Yes\n" if day % 4 == 1 else "No\n")
    return tmp_path


def run(name: str, *options: str | Path, records: list[dict[str, Any]] | None = None) -> list[str]:
    """The lines printed by a program that must succeed."""
    lines = "".join(json.dumps(record) + "\n" for record in records or [])
    arguments = [str(option) for option in options]
    done = forked.run(arguments, lines.encode(), EXAMPLES.parent, script=EXAMPLES / name)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().splitlines()


def test_the_last_values_are_filled_in_and_no_label() -> None:
    records: list[dict[str, Any]] = [
        {"id": 1, "who": "a", "x": 1, "y": 0},
        {"id": 2, "who": "b", "z": 2, "y": 1},
        {"id": 3, "who": "a", "x": None, "z": 3},
        {"id": 4, "z": 4},
        {"id": 5, "who": "a", "x": 5},
        {"who": "a", "y": 1},
    ]
    said = run("carry.py", "--entity", "who", "--ignore", "id", records=records)
    filled = [*records[:2], {"id": 3, "who": "a", "x": 1, "z": 3}, records[3],
              {"id": 5, "who": "a", "x": 5, "z": 3}, records[5]]  # fmt: skip
    assert [json.loads(line) for line in said] == filled
    beside = run("carry.py", "--entity", "who", "--ignore", "id", "--last", records=records)
    assert [json.loads(line) for line in beside][2] == {"id": 3, "who": "a", "x.last": 1, "z": 3}


def test_labels_come_after_the_last_event_of_a_stay(data: Path) -> None:
    by_event, by_stay = (
        [
            json.loads(line)
            for line in run("entity_streams.py", "physionet2012", "--data", data, "--labels", of)
        ]
        for of in ("event", "entity")
    )
    assert [record["stay"] for record in by_event[:3]] == [1, 1, 1]
    assert by_event[3:6] == [{"id": n, "y": 1} for n in range(3)]
    assert [record for record in by_stay if "y" in record] == [
        {"stay": stay, "y": stay % 2} for stay in (1, 2, 3, 4)
    ]
    events = [record for record in by_event if "y" not in record]
    assert events == [record for record in by_stay if "y" not in record]
    times = [record["time"] for record in events]
    assert times == sorted(set(times))


def test_an_event_is_learned_with_its_label_only(
    entities: Any, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, float]] = []

    class Recorder:
        def __init__(self, *_: Any) -> None:
            pass

        def predict(self, x: dict[str, Any]) -> float:
            calls.append(("predict", x["HR"]))
            return 0.5

        def learn(self, x: dict[str, Any], y: bool) -> None:
            calls.append(("learn", x["HR"]))

    monkeypatch.setattr(entities, "River", Recorder)
    stream = entities.stays(data, 4)
    assert entities.river(stream, "lr-sgd-0.01") == dict.fromkeys(range(4), 0.5)
    expected = [*[("predict", hr) for hr in (60, 95, 123)], *[("learn", hr) for hr in (60, 95, 123)]]
    assert calls == [*expected, ("predict", 60), ("learn", 60)]


def test_an_entity_counts_by_its_last_prediction(entities: Any, data: Path) -> None:
    stream = entities.stays(data, None)
    # The predictions are wrong except for the last event of each stay.
    chances = {n: 0.1 if died else 0.9 for n, died in stream.labels.items()}
    for last in (2, 3, 5, 7):
        chances[last] = 1.0 - chances[last]
    error, _, auc, by_entity = entities.measures(stream, chances)
    assert error == pytest.approx(4 / 8)
    assert auc < 1.0
    assert by_entity == 1.0


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_table_of_devices() -> None:
    ways = ["complete", "nameless", "carried", "last", "lr-sgd-0.03"]
    options = [f"--only={way}" for way in ways]
    header, _, *rows = run("entities.py", "--events", "4000", *options)
    assert cells(header)[3:] == ["error", "log loss", "AUC", "AUC by entity"]
    errors = {cells(row)[1]: float(cells(row)[3]) for row in rows}
    assert list(errors) == ways
    assert errors["complete"] < errors["carried"] < errors["nameless"] - 0.1
    assert abs(errors["last"] - errors["carried"]) < 0.05
    assert errors["carried"] < errors["lr-sgd-0.03"]


def test_the_table_of_real_streams(data: Path) -> None:
    options = ["--only=auto", "--only=carried", "--only=complete", "--only=lr-named"]
    _, _, *rows = run("entities.py", "--data", data, *options, "--", "--learner", "explicit")
    assert [cells(row)[:2] for row in rows] == [
        [stream, way]
        for stream in ("physionet2012", "weather_aus")
        for way in ("auto", "carried", "lr-named")
    ]
    assert [len(cells(row)) for row in rows] == [7] * 6


@pytest.mark.skipif(sys.platform == "win32", reason="getrusage is not on Windows")
def test_scale_has_a_row_for_each_way_and_each_part() -> None:
    options = ("--entities", "20", "--events", "200", "--rounds", "1", "--most", "50")
    speeds, growth = "\n".join(run("entity_scale.py", *options)).split("| entities | µs an event |")
    ways = [line.split(" | ")[:2] for line in speeds.splitlines()[2:]]
    assert ways == [["| 20", "complete"], ["| 20", "off"]]
    seen = [int(line.split(" | ")[0][2:]) for line in growth.splitlines()[2:]]
    assert seen == [10, 20, 30, 40, 50, 50]
