"""River models in the mixture: called once, saved without pickle, and refused if that is impossible."""

from __future__ import annotations

import copy
import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import (
    base,
    compose,
    drift,
    dummy,
    ensemble,
    facto,
    forest,
    imblearn,
    linear_model,
    multiclass,
    naive_bayes,
    neighbors,
    optim,
    preprocessing,
    rules,
    stats,
    tree,
)

from streamkarma import KARMAMixtureClassifier, KARMAMixtureRegressor, load, save
from streamkarma.errors import ModelFileError, UsageError
from streamkarma.estimators import river_state

Event = tuple[dict[str, Any], Any]

NUMBERS = compose.SelectType(int, float)
LEAVES = {"grace_period": 40, "delta": 0.05}

#: Models that can be saved, as the page on learners lists them.
CLASSIFIERS: dict[str, base.Classifier] = {
    "logistic regression": NUMBERS | preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    "adam": NUMBERS | linear_model.LogisticRegression(optimizer=optim.Adam()),
    "one hot": preprocessing.OneHotEncoder() | linear_model.LogisticRegression(l2=0.01),
    "min max": NUMBERS | preprocessing.MinMaxScaler() | linear_model.Perceptron(),
    "passive aggressive": NUMBERS | linear_model.PAClassifier(),
    "softmax": NUMBERS | linear_model.SoftmaxRegression(),
    "one against rest": NUMBERS | multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
    "gaussian": NUMBERS | naive_bayes.GaussianNB(),
    "bernoulli": NUMBERS | naive_bayes.BernoulliNB(),
    "tree": tree.HoeffdingTreeClassifier(**LEAVES),
    "adaptive tree": tree.HoeffdingAdaptiveTreeClassifier(**LEAVES, seed=1),
    "fast tree": tree.ExtremelyFastDecisionTreeClassifier(**LEAVES),
    "gradient tree": NUMBERS | tree.SGTClassifier(),
    "forest": forest.ARFClassifier(n_models=2, **LEAVES, seed=1),
    "Mondrian": NUMBERS | forest.AMFClassifier(n_estimators=2, seed=1),
    "patches": ensemble.SRPClassifier(n_models=2, model=tree.HoeffdingTreeClassifier(**LEAVES), seed=1),
    "bagging": ensemble.BaggingClassifier(tree.HoeffdingTreeClassifier(**LEAVES), n_models=2, seed=1),
    "leveraging": ensemble.LeveragingBaggingClassifier(NUMBERS | naive_bayes.GaussianNB(), 2, seed=1),
    "boosting": ensemble.AdaBoostClassifier(tree.HoeffdingTreeClassifier(**LEAVES), n_models=2, seed=1),
    "neighbours": NUMBERS | neighbors.KNNClassifier(engine=neighbors.LazySearch(window_size=90)),
    "graph": NUMBERS | neighbors.KNNClassifier(engine=neighbors.SWINN(maxlen=90, warm_up=50, seed=1)),
    "sampler": imblearn.RandomUnderSampler(
        NUMBERS | linear_model.LogisticRegression(), {True: 0.5, False: 0.5}, seed=1
    ),
    "drift": drift.DriftRetrainingClassifier(NUMBERS | linear_model.LogisticRegression(), drift.binary.DDM()),
    "prior": dummy.PriorClassifier(),
}
REGRESSORS: dict[str, base.Regressor] = {
    "linear regression": NUMBERS | preprocessing.StandardScaler() | linear_model.LinearRegression(),
    "Bayes": NUMBERS | linear_model.BayesianLinearRegression(),
    "passive aggressive": NUMBERS | linear_model.PARegressor(),
    "target": NUMBERS | preprocessing.TargetStandardScaler(linear_model.LinearRegression()),
    "tree": NUMBERS | tree.HoeffdingTreeRegressor(**LEAVES),
    "adaptive tree": NUMBERS | tree.HoeffdingAdaptiveTreeRegressor(**LEAVES, seed=1),
    "forest": NUMBERS | forest.ARFRegressor(n_models=2, **LEAVES, seed=1),
    "Mondrian": NUMBERS | forest.AMFRegressor(n_estimators=2, seed=1),
    "rules": NUMBERS | rules.AMRules(n_min=40, delta=0.05),
    "neighbours": NUMBERS | neighbors.KNNRegressor(engine=neighbors.LazySearch(window_size=90)),
}
EVERY = [*CLASSIFIERS.values(), *REGRESSORS.values()]
NAMES = [*(f"classifier {name}" for name in CLASSIFIERS), *(f"regressor {name}" for name in REGRESSORS)]


def stream(events: int, regression: bool, seed: int = 100) -> list[Event]:
    """Numbers and a category; the label is nonlinear, and changes half-way."""
    draw = random.Random(seed)
    made = []
    for t in range(events):
        x: dict[str, Any] = {f"x{j}": draw.gauss(0.0, 1.0) for j in range(4)}
        score = x["x0"] * x["x1"] + (x["x2"] if t < events // 2 else -x["x2"])
        x["colour"] = "red" if score + draw.gauss(0.0, 1.0) > 0.0 else "blue"
        made.append((x, score if regression else score > 0.0))
    return made


def asked(model: Any, x: dict[str, Any]) -> Any:
    return model.predict_one(x) if isinstance(model, base.Regressor) else model.predict_proba_one(x)


def learned(model: Any, events: list[Event]) -> Any:
    for x, y in events:
        model.learn_one(x, y)
    return model


def as_file(models: list[Any]) -> tuple[Any, Any]:
    header, arrays = river_state.write(models)
    return json.loads(json.dumps(header, allow_nan=False)), arrays


# Saved and loaded.


@pytest.mark.parametrize("model", EVERY, ids=NAMES)
def test_a_model_goes_on_as_if_it_had_never_been_saved(model: Any) -> None:
    regression = model in REGRESSORS.values()
    events = stream(400, regression)
    one = learned(model.clone(), events[:250])
    header, arrays = as_file([one])
    (other,) = river_state.read(header, arrays)
    assert as_file([other])[0] == header
    ask = "predict_one" if regression else "predict_proba_one"
    for x, y in events[250:]:
        assert repr(getattr(one, ask)(x)) == repr(getattr(other, ask)(x))
        one.learn_one(x, y)
        other.learn_one(x, y)


@pytest.mark.parametrize("regression", [False, True])
def test_a_mixture_is_saved_with_its_extra_experts(tmp_path: Path, regression: bool) -> None:
    names, kinds = ("tree", "neighbours"), REGRESSORS if regression else CLASSIFIERS
    experts: list[Any] = [kinds[name] for name in names]
    kind: Any = KARMAMixtureRegressor if regression else KARMAMixtureClassifier
    mixture = kind(extra_experts=experts)
    events = stream(200, regression)
    learned(mixture, events[:120])
    save(mixture, tmp_path / "model")
    loaded: Any = load(tmp_path / "model")
    save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    for x, y in events[120:]:
        assert asked(mixture, x) == asked(loaded, x)
        mixture.learn_one(x, y)
        loaded.learn_one(x, y)
    assert loaded.weights == mixture.weights
    assert asked(loaded.clone(), events[0][0]) == asked(mixture.clone(), events[0][0])


class Mine(base.Classifier):
    """Not a class of river."""

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Nothing to learn."""

    def predict_proba_one(self, x: dict[Any, Any], **_: Any) -> dict[Any, float]:
        return {}


@pytest.mark.parametrize(
    ("expert", "where"),
    [
        (Mine(), "Mine: the model itself is of type .*Mine, which cannot be written"),
        (NUMBERS | facto.FMClassifier(), "Pipeline: .*_rng is of type numpy.*RandomState"),
        (
            NUMBERS | preprocessing.RobustScaler() | linear_model.LogisticRegression(),
            "Pipeline: .*median.*RsQuantile",
        ),
        (
            compose.FuncTransformer(lambda x: x) | linear_model.LogisticRegression(),
            "Pipeline: .*func is the function .*lambda",
        ),
    ],
)
def test_what_cannot_be_written_is_refused_in_a_line(tmp_path: Path, expert: Any, where: str) -> None:
    mixture = KARMAMixtureClassifier(extra_experts=[dummy.PriorClassifier(), expert])
    learned(mixture, [({"a": 1.0}, True), ({"a": 2.0}, False)])
    with pytest.raises(UsageError, match=f"cannot save extra expert 2, {where}.*; save a model") as raised:
        save(mixture, tmp_path / "model")
    assert "\n" not in str(raised.value)
    assert not list(tmp_path.iterdir())


# Files from elsewhere.


def test_another_version_of_river_is_named() -> None:
    header, arrays = as_file([dummy.PriorClassifier()])
    with pytest.raises(ValueError, match=r"of river 0.1, and this is river .*; install river==0.1"):
        river_state.read({**header, "river": "0.1"}, arrays)


def _class(name: str, **attributes: Any) -> list[Any]:
    return [{"object": name, "attributes": attributes}]


PRIOR = "river.dummy.PriorClassifier"


@pytest.mark.parametrize(
    "nodes",
    [
        _class("os.system"),
        _class("river.datasets.Phishing"),
        _class("river.datasets.base.RemoteDataset"),
        _class("river.compat.sklearn_to_river.SKL2RiverClassifier"),
        _class("river.base.classifier.Classifier"),
        _class("river.tree.base.collections"),
        _class("river.tree.hoeffding_tree.HoeffdingTree.learn_one"),
        _class("river.no.such.Thing"),
        _class(""),
        [{"object": 1, "attributes": {}}],
        _class(PRIOR, learn_one=1),
        _class(PRIOR, __class__={"class": PRIOR}),
        _class(PRIOR, counts={"ref": 1}),
        _class(PRIOR, counts={"ref": -1}),
        _class(PRIOR, counts={"ref": 0}),
        _class(PRIOR, parent={"ref": 0}),
        _class(PRIOR, counts={"named": "eval"}),
        _class(PRIOR, counts={"class": "builtins.eval"}),
        _class(PRIOR, counts={"method": "__init__"}),
        _class(PRIOR, counts={"method": "no_such"}),
        _class(PRIOR, counts={"static": [PRIOR, "learn_one"]}),
        _class(PRIOR, counts={"partial": [{"partial": [{"named": "eval"}, {"tuple": []}, []]}, 1, []]}),
        _class(PRIOR, counts={"scalar": ["O", 1]}),
        _class(PRIOR, counts={"float": "1e400"}),
        _class(PRIOR, counts=[1]),
        [{"array": 0, "transposed": False}],
        [{"generator": None}],
        [{"adwin": []}],
        [{"adwin": [0.002, 32, 5, 5.0, 10.0, [0.0] * 4, [0] * 4, []]}],
        [{"adwin": [0.002, 32, 10**9, 5.0, 10.0, [0.0] * 4, [0] * 4, [[0, [], []]]]}],
        [{"adwin": [0.002, 32, 1, 5.0, 10.0, [0.0, 0.0, 9.0, 0.0], [0] * 4, [[1, [0.0] * 2, [0.0] * 2]]]}],
        [{"vector": [["a", "b"]]}],
        [{"vector": [["a", {"tuple": []}]]}],
        [{"dict": [["a", 1], ["a", 2]]}],
        [{"dict": [[{"ref": 0}, 1]]}],
        [{"pickle": "gASVAA=="}],
        [{"list": [{"ref": 1}]}, {"list": [{"ref": 0}]}],
        [],
        [None],
        None,
    ],
)
def test_what_is_no_state_of_a_model_is_refused(nodes: Any) -> None:
    header, arrays = as_file([dummy.PriorClassifier()])
    with pytest.raises((ValueError, KeyError, TypeError, IndexError, AttributeError)):
        river_state.read({**header, "nodes": nodes}, arrays)


def test_a_file_has_experts_that_predict_what_the_mixture_does(tmp_path: Path) -> None:
    mixture: Any = KARMAMixtureRegressor(extra_experts=[dummy.StatisticRegressor(stats.Mean())])
    header, arrays = mixture.state()
    header["external"] = river_state.write([dummy.PriorClassifier()])[0]
    mixture.state = lambda: (header, arrays)
    with pytest.raises(ModelFileError, match="extra_experts must be river regressors, not PriorClassifier"):
        save(mixture, tmp_path / "model")


def test_any_change_is_refused_or_harmless() -> None:
    """Parts of a state exchanged at random make a model or one of these errors, never anything else."""
    header, arrays = as_file([learned(CLASSIFIERS["adaptive tree"].clone(), stream(120, False))])
    draw = random.Random(100)
    for _ in range(300):
        broken = copy.deepcopy(header)
        one, other = draw.choice(broken["nodes"]), draw.choice(broken["nodes"])
        key = draw.choice(list(one))
        one[key] = draw.choice([None, 0, "a", [], {}, {"ref": draw.randrange(50)}, *other.values()])
        with suppress(ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError):
            river_state.read(broken, arrays)


# Called once, and given weight.


class Counted(linear_model.LogisticRegression):
    """Counts how often it is asked."""

    times = 0

    def predict_proba_one(self, x: Any, **more: Any) -> Any:
        Counted.times += 1
        return super().predict_proba_one(x, **more)


class CountedRegressor(linear_model.LinearRegression):
    """Counts how often it is asked."""

    times = 0

    def predict_one(self, x: Any) -> Any:
        CountedRegressor.times += 1
        return super().predict_one(x)


@pytest.mark.parametrize("regression", [False, True])
def test_an_event_is_asked_about_once(regression: bool) -> None:
    counted: Any = CountedRegressor if regression else Counted
    kind: Any = KARMAMixtureRegressor if regression else KARMAMixtureClassifier
    events = [({name: x[name] for name in ("x0", "x1")}, y) for x, y in stream(60, regression)]
    one, many, whole = (kind(extra_experts=[counted()]) for _ in range(3))
    counted.times = 0
    for x, y in events:
        asked(one, x)
        one.learn_one(x, y)
    assert counted.times == len(events)
    many.learn_many(pd.DataFrame([x for x, _ in events]), pd.Series([y for _, y in events]))
    assert counted.times == 2 * len(events)
    encoded = whole.read([x for x, _ in events], [True] * len(events))
    whole.run(encoded, [whole.check_label(y) for _, y in events], [1.0] * len(events))
    assert counted.times == 3 * len(events)
    probe = {"x0": 0.5, "x1": 1.0}
    assert asked(one, probe) == asked(many, probe) == asked(whole, probe)
    # River's models recognise numbers by their type.
    asked(one, {"x0": 0.5, "x1": True})
    assert counted.times == 3 * len(events) + 4


def jagged(x: dict[Any, Any]) -> float:
    """A target that no expert finds by itself."""
    return 1000.0 + x["x0"] * x["x1"] + x["x2"] + (1000.0 * x["x0"]) % 2.0


class Knowing(base.Regressor):
    """Predicts the target, or, if not sound, values such as NaN and infinity."""

    def __init__(self, sound: bool = True) -> None:
        self.sound = sound
        self.calls = 0

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Nothing to learn."""

    def predict_one(self, x: dict[Any, Any]) -> Any:
        self.calls += 1
        wrong = float("nan"), float("inf"), -1e300, np.float64(3.0)
        return jagged(x) if self.sound else wrong[self.calls % len(wrong)]


def test_a_regressor_that_knows_the_target_is_listened_to() -> None:
    events = [(x, jagged(x)) for x, _ in stream(600, True)]
    mixture = KARMAMixtureRegressor(extra_experts=[Knowing(), Knowing(sound=False)])
    errors = []
    for x, y in events:
        errors.append(abs(mixture.predict_one(x) - y))
        mixture.learn_one(x, y)
    assert np.mean(errors[300:]) < 0.2
    assert np.mean(errors[300:]) < np.mean(errors[:50]) / 3
    assert mixture.weights["other 1"] + mixture.weights["blend"] > 0.9
    assert mixture.weights["other 2"] < 0.01


@pytest.mark.parametrize("kind", [KARMAMixtureClassifier, KARMAMixtureRegressor])
def test_experts_are_of_the_kind_of_the_mixture(kind: Any) -> None:
    wrong: Any = REGRESSORS["Bayes"] if kind is KARMAMixtureClassifier else CLASSIFIERS["prior"]
    with pytest.raises(UsageError, match="extra_experts must be river"):
        kind(extra_experts=[wrong])
    for no_list in (5, {}):
        with pytest.raises(UsageError, match="extra_experts must be None or a list of river models"):
            kind(extra_experts=no_list)


@pytest.mark.parametrize("kind", [KARMAMixtureClassifier, KARMAMixtureRegressor])
def test_no_extra_experts_are_saved_as_well(tmp_path: Path, kind: Any) -> None:
    mixture = kind(extra_experts=[])
    mixture.learn_one({"a": 1.0}, 1.0)
    save(mixture, tmp_path / "model")
    assert asked(load(tmp_path / "model"), {"a": 1.0}) == asked(mixture, {"a": 1.0})


class Mute(base.Classifier):
    """Never predicts anything."""

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Nothing to learn."""

    def predict_proba_one(self, x: dict[Any, Any]) -> Any:
        return None


@pytest.mark.parametrize("regression", [False, True])
def test_an_expert_may_have_no_answer_yet(regression: bool) -> None:
    # The forest returns None until it has learned.
    late = NUMBERS | forest.AMFRegressor(n_estimators=2, seed=1)
    mixture: Any = (
        KARMAMixtureRegressor(extra_experts=[late])
        if regression
        else KARMAMixtureClassifier(extra_experts=[Mute()])
    )
    for x, y in stream(50, regression):
        asked(mixture, x)
        mixture.learn_one(x, y)
    assert 0.0 < mixture.weights["other 1"] < 1.0


WEIGHED = [tree.HoeffdingTreeClassifier(**LEAVES), NUMBERS | linear_model.LogisticRegression()]
UNWEIGHED = [naive_bayes.GaussianNB(), ensemble.BaggingClassifier(naive_bayes.GaussianNB(), 2, seed=1)]


@pytest.mark.parametrize("class_weight", [None, {True: 3.0}])
@pytest.mark.parametrize("in_one_run", [False, True])
def test_weights_reach_the_models_that_take_them(in_one_run: bool, class_weight: Any) -> None:
    draw = random.Random(4)
    events = [({"a": draw.gauss(0, 1)}, draw.random() < 0.4, draw.choice([0, 0.5, 4])) for _ in range(60)]
    model = KARMAMixtureClassifier(extra_experts=[*WEIGHED, *UNWEIGHED], class_weight=class_weight)
    alone = [each.clone() for each in (*WEIGHED, *UNWEIGHED)]
    for x, y, w in events:
        factor = 3.0 if class_weight and y else 1.0
        for each in alone if w > 0 else []:
            # River's pipelines and trees accept a weight; wrappers that only pass it on might not.
            each.learn_one(x, y, **({"w": w * factor} if alone.index(each) < 2 else {}))
    if in_one_run:
        xs, ys, ws = map(list, zip(*events, strict=True))
        model.learn_many(pd.DataFrame(xs), ys, ws)
    else:
        for x, y, w in events:
            model.learn_one(x, y, w)
    for own, other in zip(model._external.models, alone, strict=True):
        assert own.predict_proba_one({"a": 0.3}) == other.predict_proba_one({"a": 0.3})


def test_weights_reach_regressors() -> None:
    model = KARMAMixtureRegressor(extra_experts=[linear_model.LinearRegression()])
    alone = linear_model.LinearRegression()
    for t in range(30):
        model.learn_one({"a": t % 5}, t % 7, w=t % 3)
        if t % 3:
            alone.learn_one({"a": t % 5}, t % 7, w=t % 3)
    assert model._external.models[0].predict_one({"a": 2}) == alone.predict_one({"a": 2})


def test_what_missing_attributes_would_change_is_explained() -> None:
    model = KARMAMixtureClassifier(extra_experts=[linear_model.LogisticRegression()])
    for t in range(60):
        model.learn_one({"a": t % 7 - 3.0, "b": t % 5 - 2.0}, t % 7 > 3)
    assert list(model.explain_one({"a": 2.0}).missing) == ["b"]
