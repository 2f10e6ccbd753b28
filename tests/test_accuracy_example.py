from __future__ import annotations

import gzip
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from streamkarma import KARMAClassifier
from tests import forked

EXAMPLES = Path(__file__).parents[1] / "examples"
QUICK = ("karma", "river-adagrad-0.1", "river-impute")


@pytest.fixture
def accuracy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The program as a module, with its folder on the path as when it is run."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return import_module("accuracy")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with stays of four, one, three and two events, and a table of ten rows."""
    stays = [1, 1, 1, 1, 2, 3, 3, 3, 4, 4]
    with gzip.open(tmp_path / "physionet2012_events.jsonl.gz", "wt") as file:
        for minute, stay in enumerate(stays):
            event = {"x": {"HR": 60 + 7 * minute % 31}, "y": stay % 2, "p": stay, "t": minute}
            file.write(json.dumps(event) + "\n")
    with gzip.open(tmp_path / "weather_aus.csv.gz", "wt") as file:
        file.write("Date,Rain,Wind,target\n")
        for day in range(10):
            file.write(f"2007-11-{day:02},{day if day % 3 else ''},{'NW' if day % 2 else ''},")
            file.write("Yes\n" if day % 4 == 1 else "No\n")
    return tmp_path


class Recorder:
    """A rival that records its calls and their order."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def predict(self, x: dict[str, Any]) -> float:
        self.calls.append(("predict", x["t"]))
        return 0.5

    def learn(self, x: dict[str, Any], y: bool) -> None:
        self.calls.append(("learn", x["t"]))


def test_a_stay_is_predicted_to_its_end_before_any_of_it_is_learned(accuracy: Any, data: Path) -> None:
    stream = accuracy.sources(data, None)["physionet2012_events"]()
    recorder = Recorder()
    accuracy.rival_chances(recorder, accuracy.steps(stream))
    assert recorder.calls == [
        (call, minute)
        for stay in ([0, 1, 2, 3], [4], [5, 6, 7], [8, 9])
        for call in ("predict", "learn")
        for minute in stay
    ]
    assert stream.labels == [True] * 4 + [False] + [True] * 3 + [False] * 2


@pytest.mark.parametrize("block", [1, 3, 4096])
def test_blocks_give_what_one_call_for_each_event_gives(
    accuracy: Any, data: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    stream = accuracy.sources(data, None)["physionet2012_events"]()
    monkeypatch.setattr(accuracy, "BLOCK", block)

    class OneByOne:
        model = KARMAClassifier()

        def predict(self, x: dict[str, Any]) -> float:
            return self.model.predict_proba_one(x).get(True, 0.5)

        def learn(self, x: dict[str, Any], y: bool) -> None:
            self.model.learn_one(x, y)

    expected = accuracy.rival_chances(OneByOne(), accuracy.steps(stream))
    chances = accuracy.karma_chances(KARMAClassifier(), accuracy.steps(stream))
    assert chances.tolist() == expected.tolist()
    # The first stay affects predictions from the second on, not before.
    assert (chances[:4] == 0.5).all()
    assert chances[4] > 0.5


def test_an_empty_cell_is_missing_and_the_date_no_attribute(accuracy: Any, data: Path) -> None:
    stream = accuracy.sources(data, None)["weather_aus"]()
    assert stream.events[:5] == [
        {},
        {"Rain": 1.0, "Wind": "NW"},
        {"Rain": 2.0},
        {"Wind": "NW"},
        {"Rain": 4.0},
    ]
    assert stream.labels[:6] == [False, True, False, False, False, True]


@pytest.mark.parametrize("learner", QUICK)
def test_what_comes_later_does_not_show_in_a_prediction(accuracy: Any, data: Path, learner: str) -> None:
    for name in ("weather_aus", "physionet2012_events"):
        stream = accuracy.sources(data, None)[name]()
        whole = accuracy.chances_of(learner, stream)
        assert ((whole >= 0.0) & (whole <= 1.0)).all()
        flipped = stream._replace(labels=stream.labels[:5] + [not y for y in stream.labels[5:]])
        assert accuracy.chances_of(learner, flipped)[:6].tolist() == whole[:6].tolist()
        assert accuracy.chances_of(learner, flipped)[8:].tolist() != whole[8:].tolist()


def test_the_measures_are_those_of_their_definitions(accuracy: Any) -> None:
    rng = np.random.default_rng(5)
    chances = np.concatenate([rng.random(300), [0.0, 1.0, 0.5]])
    labels = rng.random(303) < chances**2
    found = accuracy.measures(chances, labels.tolist())
    pairs = chances[labels][:, None] - chances[~labels]
    assert found["auc"] == pytest.approx((pairs > 0).mean() + (pairs == 0).mean() / 2)
    assert found["errors"] == ((chances > 0.5) != labels).sum() == round(303 * found["error"])
    recalls = (chances[labels] > 0.5).mean(), (chances[~labels] <= 0.5).mean()
    assert found["balanced_accuracy"] == pytest.approx(np.mean(recalls))
    inside = np.clip(np.where(labels, chances, 1 - chances), 1e-15, 1)
    assert found["log_loss"] == pytest.approx(-np.log(inside).mean())
    bins = [(chances >= i / 15) & ((chances < (i + 1) / 15) | (i == 14)) for i in range(15)]
    gaps = [each.sum() * abs(chances[each].mean() - labels[each].mean()) for each in bins if each.any()]
    assert found["ece"] == pytest.approx(sum(gaps) / 303)


def test_one_class_only_has_no_auc_and_no_balanced_accuracy(accuracy: Any) -> None:
    assert accuracy.measures(np.full(4, 0.25), [False] * 4).keys() == {"errors", "error", "log_loss", "ece"}


def test_the_table_and_the_file_have_the_same_rows(tmp_path: Path) -> None:
    learners = [*QUICK, "complete vectors"]
    file = tmp_path / "rows.json"
    options = [*(f"--learners={learner}" for learner in learners), "--only=blocks", "--events=1000"]
    done = forked.run([*options, f"--json={file}"], b"", tmp_path, script=EXAMPLES / "accuracy.py")
    assert done.returncode == 0, done.stderr
    _, _, *lines = done.stdout.decode().splitlines()
    rows = json.loads(file.read_bytes())
    assert [row["learner"] for row in rows] == learners
    for line, row in zip(lines, rows, strict=True):
        assert line.startswith(
            f"| blocks | {row['learner']} | 1,000 of 50,000 | {row['errors']} | {row['error']:.4f} |"
        )
    # 0.05 of the labels are noise, and half of the informative values are missing.
    *online, hindsight = [row["error"] for row in rows]
    assert 0.03 < hindsight < 0.09 < min(online)
    assert max(online) < 0.2


def test_what_is_not_installed_is_named_once_and_left_out(
    accuracy: Any, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if it were not installed, whether it is or not.
    monkeypatch.setitem(sys.modules, "vowpalwabbit", None)
    options = ["--only=weather_aus", "--only=physionet2012_events", "--learners=vw-xm"]
    done = CliRunner().invoke(accuracy.main, [f"--data={data}", "--learners=river-sgd-0.1", *options])
    assert done.exit_code == 0
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == ["vw-xm is left out"]
    assert [line.split(" | ")[1] for line in done.stdout.splitlines()[2:]] == ["river-sgd-0.1"] * 2


def test_a_stream_of_no_given_folder_is_wrong_usage(accuracy: Any) -> None:
    done = CliRunner().invoke(accuracy.main, ["--only=adult"])
    assert done.exit_code == 2
    assert "adult: give its folder with --data or --streams" in done.stderr
