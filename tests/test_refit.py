"""Batch learners as experts: their trees as arrays, when they are fitted and used, and their state."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from streamkarma import KARMAMixtureClassifier, KARMAMixtureRegressor, load, save, worker_process
from streamkarma.errors import ModelFileError, UsageError
from streamkarma.events.block import Block
from streamkarma.events.reservoir import Reservoir, ReservoirSnapshot
from streamkarma.refit import background, refits
from streamkarma.refit.background import BackgroundRefit
from streamkarma.refit.ensemble import NEVER, Ensemble
from streamkarma.refit.fits import MIN_LEAF, TREES, fit
from streamkarma.refit.names import NAMES
from streamkarma.refit.refits import DELAY, FIRST, Refits
from streamkarma.runtime.fields import Fields
from streamkarma.runtime.pending import Pending
from streamkarma.runtime.task import TaskModel
from tests.cluster import lines
from tests.conftest import Program
from tests.loops import kept

Floats = NDArray[np.float64]

every_task = pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])


def block(events: int, seed: int) -> Block:
    """Five numbers and a category, each observed seven times of ten."""
    rng = np.random.default_rng(seed)
    starts, attributes, coordinates, values = [0], [], [], []
    for _ in range(events):
        for name in np.flatnonzero(rng.random(6) < 0.7):
            attributes.append(name + 1)
            coordinates.append(20 + int(rng.integers(3)) if name == 5 else name + 1)
            values.append(1.0 if name == 5 else float(np.round(rng.normal(), 2)))
        starts.append(len(values))
    return Block(
        np.array(starts), np.array(attributes, np.int32), np.array(coordinates, np.int32), np.array(values)
    )


def labels_of(events: Block, task: str) -> Floats:
    starts = events.starts
    sums = np.array([events.values[a:b].sum() for a, b in pairwise(starts)])
    if task == "regression":
        return 100.0 + 10.0 * sums
    return (sums > 0.0).astype(float) if task == "binary" else np.digitize(sums, [-1.0, 1.0]) * 2.0


def sample(task: str, events: int = 400) -> ReservoirSnapshot:
    """With several classes, labels are 0, 2 and 4: not all classes occur."""
    seen, reservoir = block(events, 100), Reservoir(events)
    weights = 1.0 + np.arange(events) % 2
    facts = np.column_stack([labels_of(seen, task), weights, np.zeros((events, 2))])
    reservoir.add(seen, np.arange(events), facts)
    return reservoir.snapshot()


# Trees as arrays.


def by_library(name: str, snapshot: ReservoirSnapshot, task: str, X: Floats) -> Floats:
    """What the library itself predicts, shape (n, outputs), in units of the target."""
    table, y, weights = snapshot.table()[0], snapshot.facts[:, 0], snapshot.facts[:, 1]
    centre, unit = (y.mean(), y.std()) if task == "regression" else (0.0, 1.0)
    y = (y - centre) / unit
    n = len(X)
    if name == "lightgbm":
        lightgbm = pytest.importorskip("lightgbm", reason="it is an extra")
        several = {"objective": "multiclass", "num_class": 3}
        objectives = {"binary": {"objective": "binary"}, "regression": {}, "multiclass": several}
        settings = {**objectives[task], "verbosity": -1, "num_threads": 1, "deterministic": True, "seed": 0}
        if task == "multiclass":
            y = y / 2
        data = lightgbm.Dataset(table, y, weight=weights, params={"verbosity": -1})
        model = lightgbm.train({**settings, "force_col_wise": True}, data, TREES)
        return np.asarray(model.predict(X, raw_score=True)).reshape(n, -1) * unit + centre
    if name == "boosting":
        made = HistGradientBoostingRegressor if task == "regression" else HistGradientBoostingClassifier
        model = made(max_iter=TREES, early_stopping=False, random_state=0)
    else:
        made = RandomForestRegressor if task == "regression" else RandomForestClassifier
        model = made(TREES, min_samples_leaf=MIN_LEAF, random_state=0)
    if name == "trees":
        # The library uses single precision, in which a large mean would leave no digits for the rest.
        middle, spread = np.nanmean(table, axis=0), np.nanstd(table, axis=0)
        table, X = (table - middle) / spread, (X - middle) / spread
    model.fit(table, y, sample_weight=weights)
    if task == "regression":
        return np.asarray(model.predict(X))[:, np.newaxis] * unit + centre
    if name == "boosting":
        return np.asarray(model.decision_function(X)).reshape(n, -1)
    return np.asarray(model.predict_proba(X))[:, 1 if task == "binary" else 0 :]


@pytest.mark.parametrize("name", NAMES)
def test_values_far_from_zero_are_told_apart(name: str) -> None:
    """Such as timestamps, for which single precision has too few digits."""
    if name == "lightgbm":
        pytest.importorskip("lightgbm", reason="it is an extra")
    seen, reservoir = block(400, 100), Reservoir(400)
    labels = labels_of(seen, "binary")
    shifted = seen._replace(values=np.where(seen.coordinates < 20, 1.7e12 + seen.values, seen.values))
    for each in (seen, shifted):
        reservoir.clear()
        reservoir.add(each, np.arange(400), np.column_stack([labels, np.ones(400), np.zeros((400, 2))]))
        ensemble = fit(name, reservoir.snapshot(), False)
        assert ensemble is not None
        right = (ensemble.predict(ensemble.rows(each, 0, 400))[:, 0] > ensemble.are_shares[0] / 2) == labels
        assert right.mean() > 0.9


@every_task
@pytest.mark.parametrize("name", NAMES)
def test_trees_predict_what_the_library_does(name: str, task: str) -> None:
    if name == "lightgbm":
        pytest.importorskip("lightgbm", reason="it is an extra")
    snapshot = sample(task)
    ensemble = fit(name, snapshot, task == "regression")
    assert ensemble is not None
    later = block(300, 101)
    X = ensemble.rows(later, 0, 300)
    # NaN where nothing was missing, and values between and beyond those seen.
    X[:20] *= 3.0
    X[20:30] = np.nan
    if name == "trees":
        X += 1e-3  # none lies on a threshold, half-way between two that were seen
    assert ensemble.predict(X) == pytest.approx(by_library(name, snapshot, task, X), abs=1e-6)
    again = Ensemble.restored(ensemble.state())
    width = 5 if task == "multiclass" else 1
    whole = again.scores(again.rows(later, 0, 300), width)
    assert whole.shape == (300, width)
    single = [ensemble.scores(ensemble.rows(later, t, t + 1), width)[0] for t in range(300)]
    assert np.array(single).tobytes() == whole.tobytes()


def descended(ensemble: Ensemble, row: Floats) -> Floats:
    """The sum of the trees for one row, by definition."""
    total = np.zeros(len(ensemble.base))
    for node, output in zip(ensemble.roots.tolist(), ensemble.outputs.tolist(), strict=True):
        while ensemble.left[node] >= 0:
            x = row[ensemble.feature[node]]
            left = ensemble.missing_left[node] if np.isnan(x) else x <= ensemble.threshold[node]
            node = int(ensemble.left[node] if left else ensemble.right[node])
        total[output : output + ensemble.value.shape[1]] += ensemble.value[node]
    return ensemble.base + ensemble.unit * total


def test_rows_fall_through_the_trees() -> None:
    ensemble = fit("boosting", sample("multiclass"), False)
    assert ensemble is not None
    X = ensemble.rows(block(40, 102), 0, 40)
    assert ensemble.predict(X).tobytes() == np.array([descended(ensemble, row) for row in X]).tobytes()


def test_rows_of_a_block_are_those_of_the_table() -> None:
    snapshot = sample("binary", 60)
    X, attributes, coordinates = snapshot.table()
    ensemble = fit("boosting", snapshot, False)
    assert ensemble is not None
    assert ensemble.rows(block(60, 100), 0, 60).tobytes() == X.tobytes()
    assert (ensemble.coordinates, ensemble.attributes) == (
        pytest.approx(coordinates),
        pytest.approx(attributes),
    )


def test_classes_that_a_fit_does_not_know_are_never_right() -> None:
    ensemble = fit("trees", sample("multiclass"), False)
    assert ensemble is not None
    scores = ensemble.scores(ensemble.rows(block(50, 103), 0, 50), 6)
    assert (scores[:, [1, 3, 5]] == NEVER).all()
    assert (scores.max(axis=1) == 0.0).all()
    two = fit("trees", sample("binary"), False)
    assert two is not None
    X = two.rows(block(50, 103), 0, 50)
    assert np.array_equal(
        np.sign(two.scores(X, 1)[:, 0]), np.sign(two.scores(X, 3)[:, 1] - two.scores(X, 3)[:, 0])
    )


def test_one_class_is_nothing_to_fit() -> None:
    snapshot = sample("binary")
    snapshot.facts[:, 0] = 1.0
    assert fit("boosting", snapshot, False) is None


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("left", lambda a: np.zeros_like(a)),
        ("left", lambda a: a + len(a)),
        ("right", lambda a: a[:-1]),
        ("feature", lambda a: a + 1000),
        ("feature", lambda a: a - 1000),
        ("feature", lambda a: a.astype(np.int64)),
        ("threshold", lambda a: a * np.nan),
        ("threshold", lambda a: a[:, np.newaxis]),
        ("value", lambda a: a + np.inf),
        ("value", lambda a: np.hstack([a, a])),
        ("value", lambda a: a[:, :0]),
        ("roots", lambda a: a - 1),
        ("roots", lambda a: a + 10**6),
        ("outputs", lambda a: a + 1),
        ("outputs", lambda a: a[:-1]),
        ("base", lambda a: np.zeros(10**6)),
        ("base", lambda a: a * np.nan),
        ("unit", lambda a: np.zeros(0)),
        ("are_shares", lambda a: a[:0]),
        ("classes", lambda a: a[::-1].copy()),
        ("classes", lambda a: a - 1),
        ("coordinates", lambda a: a[::-1].copy()),
        ("coordinates", lambda a: a[:0]),
        ("attributes", lambda a: a[:-1]),
    ],
)
def test_trees_that_contradict_themselves_are_refused(name: str, change: Any) -> None:
    ensemble = fit("boosting", sample("binary", 200), False)
    assert ensemble is not None
    arrays = ensemble.state()
    with pytest.raises(ValueError, match="contradict"):
        Ensemble.restored({**arrays, name: change(arrays[name])})


# When they are fitted, and used.


class Instant:
    """A fit in this process."""

    def __init__(self, snapshot: ReservoirSnapshot, names: list[str], regression: bool) -> None:
        self._made = snapshot, names, regression

    def wait(self) -> tuple[dict[str, Ensemble], dict[str, str]]:
        snapshot, names, regression = self._made
        fitted = {name: fit(name, snapshot, regression) for name in names}
        return {name: each for name, each in fitted.items() if each is not None}, {}

    def close(self) -> None:
        """Nothing is running."""


@pytest.fixture
def instant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refits, "BackgroundRefit", Instant)
    monkeypatch.setattr("streamkarma.refit.fits.TREES", 5)


def stream(task: str, events: int, seed: int = 100) -> list[tuple[dict[str, Any], Any]]:
    """A nonlinear target that no linear model finds; the third class appears late."""
    rng = np.random.default_rng(seed)
    made = []
    for t in range(events):
        x: dict[str, Any] = {f"x{j}": float(rng.normal()) for j in range(4) if rng.random() < 0.9}
        x["colour"] = str(rng.choice(["red", "blue"]))
        above = (x.get("x0", 0.0) > 0.3) != (x.get("x1", 0.0) > 0.3)
        bent = float(above) + (x["colour"] == "red")
        label = {"regression": 50.0 + 9.0 * bent, "binary": above, "multiclass": "abc"[int(bent)]}[task]
        made.append((x, "b" if task == "multiclass" and t < 200 and label == "c" else label))
    return made


def made(task: str, **options: Any) -> Any:
    kind: Any = KARMAMixtureRegressor if task == "regression" else KARMAMixtureClassifier
    return kind(**{"refit": "boosting", **options})


def in_blocks(model: Any, events: list[Any], size: int) -> Floats:
    parts = []
    for at in range(0, len(events), size):
        part = events[at : at + size]
        encoded = model.read([x for x, _ in part], [True] * len(part))
        result = model.run(encoded, [model.check_label(y) for _, y in part], [1.0] * len(part))
        parts.append(result[0].reshape(len(part), -1)[:, 0])
    return np.concatenate(parts)


def test_a_fit_is_used_at_a_stated_event(instant: None) -> None:
    events = stream("binary", 320)
    model = made("binary")
    said = []
    for x, y in events:
        fitted = model.summary()["refits"]["boosting"]
        said.append((model.steps, fitted))
        model.predict_one(x)
        model.learn_one(x, y)
    changes = [
        (at, fitted) for (at, fitted), (_, before) in zip(said[1:], said, strict=False) if fitted != before
    ]
    assert changes == [(at + at // DELAY, at) for at in (FIRST, FIRST * 3 // 2, 2 * FIRST)]


@every_task
def test_blocks_are_single_events(instant: None, task: str) -> None:
    events = stream(task, 420)
    one, other, single = (made(task) for _ in range(3))
    # Scores have other columns before the third class is known, so only those after it are compared.
    assert in_blocks(one, events, 420)[300:].tobytes() == in_blocks(other, events, 37)[300:].tobytes()
    for x, y in events:
        single.predict_one(x)
        single.learn_one(x, y)
    x = events[3][0]
    ask = "predict_one" if task == "regression" else "predict_proba_one"
    assert getattr(one, ask)(x) == getattr(other, ask)(x) == getattr(single, ask)(x)


@every_task
@pytest.mark.parametrize("stop", [100, FIRST + 3, 2 * FIRST + 5, 2 * FIRST + 60])
def test_a_model_goes_on_as_if_it_had_never_been_saved(
    instant: None, tmp_path: Path, task: str, stop: int
) -> None:
    events = stream(task, 420)
    whole, half = made(task, refit_memory=150), made(task, refit_memory=150)
    in_blocks(whole, events[:stop], 64)
    in_blocks(half, events[:stop], 64)
    save(half, tmp_path / "model")
    loaded: Any = load(tmp_path / "model")
    save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    copies = [loaded, copy.deepcopy(half), pickle.loads(pickle.dumps(half))]
    expected = in_blocks(whole, events[stop:], 64)
    for each in copies:
        assert in_blocks(each, events[stop:], 64).tobytes() == expected.tobytes()
        assert each.summary() == whole.summary()


@every_task
def test_a_fit_that_knows_better_is_listened_to(
    instant: None, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamkarma.refit.fits.TREES", 40)
    events = stream(task, 900)
    model = made(task)
    in_blocks(model, events, 100)
    # In the regression our own boosted trees are as good.
    who_knows = ["refit boosting", "blend", *(["boosted trees"] if task == "regression" else [])]
    assert sum(model.weights[name] for name in who_knows) > 0.4
    assert list(model.weights)[-2:] == ["refit boosting", "blend"]


def test_events_without_label_or_weight_are_not_kept() -> None:
    kept = Refits(["boosting"], 10, False)
    kept.begin(block(4, 100))
    targets, weights = np.array([1.0, np.nan, 0.0, 1.0]), np.array([1.0, 1.0, 0.0, 2.0])
    scores = kept.run(slice(0, 4), targets, weights, 1)
    assert np.isnan(scores).all()
    header, arrays = kept.state()
    assert header["samples"][0]["events"] == 2
    assert arrays["0.facts"][:, :2].tolist() == [[1.0, 1.0], [1.0, 2.0]]
    assert kept.bytes > 0


def test_memory_is_bounded(instant: None) -> None:
    model = made("binary", refit_memory=60)
    in_blocks(model, stream("binary", 300), 50)
    assert len(model.state()[1]["refit.0.facts"]) == 60
    assert model.summary()["refits"]["boosting"] > 0


@pytest.mark.parametrize("late", [False, True])
def test_values_are_kept_as_they_came(instant: None, late: bool) -> None:
    """Not as the running scale had standardised them, not even while they wait for their label."""
    model = TaskModel("binary", {"refit": "boosting"}, None, lambda _: None, "auto")
    loop = kept(model, fields=Fields(id="id"), pending=Pending(1000))
    records = [{"id": t, "x": 100.0 + t % 7, "y": t % 3 == 0} for t in range(40)]
    if late:
        labels = [{"id": each["id"], "y": each.pop("y")} for each in records]
        records += labels
    loop.feed(lines(records))
    arrays = model.model.state()[1]
    assert arrays["refit.0.values"].tolist() == [100.0 + t % 7 for t in range(40)]


# In another process.


def test_a_process_fits_what_this_one_would() -> None:
    snapshot = sample("binary", 150)
    fitted, problems = BackgroundRefit(snapshot, ["boosting", "trees"], False).wait()
    assert problems == {}
    for name, ensemble in fitted.items():
        own = fit(name, snapshot, False)
        assert own is not None
        assert all(a.tobytes() == b.tobytes() for a, b in zip(ensemble, own, strict=True))


@pytest.mark.parametrize("killed", [1, 2])
def test_a_process_that_was_ended_is_started_once_more(monkeypatch: pytest.MonkeyPatch, killed: int) -> None:
    begun = []

    def start(module: str) -> subprocess.Popen[bytes]:
        begun.append(worker_process.start(module))
        if len(begun) <= killed:
            begun[-1].kill()
        return begun[-1]

    monkeypatch.setattr(background, "start", start)
    _, problems = BackgroundRefit(sample("binary", 150), ["trees"], False).wait()
    assert problems == ({} if killed == 1 else {"trees": "its process ended early"})
    assert len(begun) == 2


def test_what_fails_is_said_and_the_fit_before_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = sample("binary", 150)
    snapshot.facts[:, 0] = 0.0
    found, problems = BackgroundRefit(snapshot, ["boosting"], False).wait()
    assert (found, problems) == ({}, {"boosting": "the sample has only one class"})
    fit_of_all = BackgroundRefit(sample("binary", 150), ["boosting"], False)
    fit_of_all.close()
    assert fit_of_all.wait() == ({}, {"boosting": "its process ended early"})


# What users may pass.


@pytest.mark.parametrize("refit", ["", "nothing", "trees,trees", "trees,", ["trees"], 1])
def test_names_are_checked(refit: Any) -> None:
    with pytest.raises(UsageError, match="refit must be one or more of") as raised:
        KARMAMixtureClassifier(refit=refit)
    assert "\n" not in str(raised.value)


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamkarma.refit.names.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"needs lightgbm, .* pip install 'streamkarma\[lightgbm\]'"):
        KARMAMixtureRegressor(refit="trees, lightgbm")


@pytest.mark.parametrize("part", ["next", "fitted", "samples", "indices"])
def test_a_file_that_contradicts_itself_is_refused(instant: None, tmp_path: Path, part: str) -> None:
    model = made("binary")
    in_blocks(model, stream("binary", 300), 50)
    header, arrays = model.state()
    wrong = {"next": 300, "fitted": {"boosting": 10**6}, "samples": [], "indices": {}}
    header["refit"] = {**header["refit"], part: wrong[part]}
    model.state = lambda: (header, arrays)
    with pytest.raises(ModelFileError, match="could not be read back"):
        save(model, tmp_path / "model")


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_the_command_line_refits_and_resumes(streamkarma: Program, tmp_path: Path) -> None:
    rows = [{**x, "y": y} for x, y in stream("binary", 330)]
    whole, first, rest = (tmp_path / name for name in ("whole", "first", "rest"))
    whole.write_text(_lines(rows))
    first.write_text(_lines(rows[:133]))
    rest.write_text(_lines(rows[133:]))
    one, two = tmp_path / "one.karma", tmp_path / "two.karma"
    options = ["--refit", "boosting", "--refit-memory", "200", "--quiet"]
    expected = streamkarma("learn", str(whole), "--model", str(one), *options).stdout
    said = streamkarma("learn", str(first), "--model", str(two), *options).stdout
    said += streamkarma("learn", str(rest), "--model", str(two), "--quiet").stdout
    assert said == expected
    shown = [json.loads(streamkarma("inspect", str(path), "--json").stdout) for path in (one, two)]
    assert shown[0]["model"] == shown[1]["model"]
    assert shown[0]["model"]["refits"]["boosting"] == 256
    assert "refit boosting" in shown[0]["model"]["experts"]
