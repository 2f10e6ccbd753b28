"""What a run reports: the model it resumes, input of no use, and options that do not fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streamkarma import ExplicitKARMAClassifier, save
from streamkarma.cli import cli
from streamkarma.errors import RunError, UsageError
from tests.loops import run_of

EVENTS = [{"a": t % 7 - 3.0, "b": float(t % 3), "y": t % 7 > 3} for t in range(60)]

#: What to do with JSON that is not in lines.
IN_LINES = "each line must be one JSON object: jq -c . converts objects, jq -c '.[]' arrays of objects"


class Runs:
    """Runs in a folder, in this process."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def __call__(self, records: Any, **plan: Any) -> tuple[int, str]:
        """The exit code, and standard error."""
        lines = [json.dumps(r).encode() if isinstance(r, dict) else r for r in records]
        path = self.folder / "input"
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        usual: dict[str, Any] = {"learner": "explicit", "predictions": None, "input": str(path)}
        if plan.pop("model", False):
            usual["model"] = str(self.model)
        self._capsys.readouterr()
        code = run_of(**{**usual, **plan}).execute()
        return code, self._capsys.readouterr().err

    @property
    def model(self) -> Path:
        return self.folder / "m.karma"


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Runs:
    return Runs(tmp_path, capsys)


def lines_with(text: str, said: str) -> list[str]:
    return [line for line in said.splitlines() if text in line]


def test_going_on_with_a_model_is_said_and_fresh_begins_anew(run: Runs) -> None:
    assert not lines_with("resuming", run(EVENTS, model=True)[1])
    once = run.model.read_bytes()
    assert lines_with("resuming", run(EVENTS, model=True)[1]) == [f"resuming {run.model} at event 61"]
    assert not lines_with("resuming", run(EVENTS, model=True, quiet=True)[1])
    assert not lines_with("resuming", run(EVENTS, model=True, learn=False, learner=None)[1])
    assert run.model.read_bytes() != once
    # Parameters may differ from before if nothing is resumed.
    assert not lines_with("resuming", run(EVENTS, model=True, fresh=True, options={"gamma": 1})[1])
    assert not lines_with("resuming", run(EVENTS, model=True, fresh=True)[1])
    assert run.model.read_bytes() == once


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("records", "plan", "warning"),
    [
        ([{"a": 1.0, "label": t % 2} for t in range(50)], {"target": "labels"},
         "no event had the target labels, so no label was learned; did you mean label?"),
        ([{"a": 1.0, "m": {"Label": True}}], {"target": "m.label"},
         "no event had the target m.label, so no label was learned; did you mean m.Label?"),
        ([{"temp": 1.0, "wind": None}], {},
         "no event had the target y, so no label was learned; see --target, and the names temp, wind"),
        ([b"a,b,y", b"1,2,3"], {}, "none of 2 records could be used; a table needs --format csv"),
        ([b"a\tb\ty", b"1\t2\t3"], {}, "none of 2 records could be used; a table needs --format csv"),
        ([b"once, I think,", b"upon a time"], {}, "none of 2 records could be used"),
        ([b"{'a': 1, 'y': 2}"] * 2, {}, "none of 2 records could be used"),
        ([{"a": 1, "y": "red"}] * 3, {"task": "regression"}, "none of 3 records could be used"),
        ([b'{"a": 1,', b'"y": 0}'], {}, f"none of 2 records could be used; {IN_LINES}"),
        ([b'[{"a": 1, "y": 0},', b'{"a": 2, "y": 1}]'], {}, f"none of 2 records could be used; {IN_LINES}"),
        ([b'[{"a": 1, "y": 0}]'], {}, f"none of 1 records could be used; {IN_LINES}"),
        ([], {}, "no records: the input is empty"),
        ([b"", b" "], {}, "no records: the input is empty"),
    ],
)  # fmt: skip
def test_a_run_of_no_use_says_why(run: Runs, strict: bool, records: Any, plan: Any, warning: str) -> None:
    fields = {name: value for name, value in plan.items() if name == "target"}
    rest = {name: value for name, value in plan.items() if name != "target"}
    if strict:
        with pytest.raises(RunError) as caught:
            run(records, fields=fields, strict=True, **rest)
        assert str(caught.value) == warning
        return
    code, said = run(records, fields=fields, **rest)
    assert (code, lines_with("warning", said)) == (0, [f"warning: {warning}"])
    assert not lines_with("warning", run(records, fields=fields, quiet=True, **rest)[1])


@pytest.mark.parametrize(
    ("records", "plan"),
    [
        (EVENTS, {}),
        ([{"a": 1.0}, *EVENTS], {}),
        ([b"no", *EVENTS], {}),
        ([{"id": 1, "a": 1.0}, {"id": 2, "y": 1}], {"pending": 5, "fields": {"id": "id"}}),
    ],
)
def test_a_run_of_some_use_says_nothing(run: Runs, records: Any, plan: Any) -> None:
    code, said = run(records, strict=True, **plan)
    assert (code, lines_with("warning", said)) == (0, [])


def test_nothing_new_is_no_empty_input(run: Runs) -> None:
    assert run(EVENTS, model=True)[0] == 0
    code, said = run(EVENTS, model=True, resume=True, strict=True)
    assert (code, lines_with("warning", said)) == (0, [])


def test_to_score_needs_no_target(run: Runs) -> None:
    run(EVENTS, model=True)
    unlabelled = [{"a": 1.0}] * 5
    assert run(unlabelled, model=True, learn=False, learner=None, strict=True)[0] == 0
    for records, complaint in (([b"no"], "none of 1 records could be used"), ([], "no records")):
        with pytest.raises(RunError, match=complaint):
            run(records, model=True, learn=False, learner=None, strict=True)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"target": "b"}, "was made with target y, not b"),
        ({"target": "other"}, "was made with target y, not other"),
        ({"id": "other"}, "was made with id who, not other"),
        ({"weight": "a"}, "was made with weight none, not a"),
        ({"ignore": ("z",)}, "was made with ignore c, not z"),
        ({"ignore": ("c", "a")}, "was made with ignore c, not a, c"),
        ({"time": "a"}, "was made with time none, not a"),
        ({"target": "y", "id": "who", "ignore": ("c",)}, None),
        # Names that were never attributes may be left out from now on.
        ({"weight": "w", "ignore": ("c", "d")}, None),
    ],
)
def test_a_model_goes_on_with_the_attributes_it_has(run: Runs, fields: Any, complaint: str | None) -> None:
    made = {"id": "who", "ignore": ("c",)}
    run(EVENTS, model=True, fields=made)
    if complaint is None:
        assert run(EVENTS, model=True, fields=fields)[0] == 0
        return
    with pytest.raises(UsageError, match=complaint + "; leave the option out or start another model"):
        run(EVENTS, model=True, fields=fields)
    # Other names may be given for scoring, and as long as nothing was learned.
    assert run(EVENTS, model=True, learn=False, learner=None, fields=fields)[0] == 0
    run([{"a": 1.0}], model=True, fresh=True, fields={"target": "wrong"}, unlabelled="ignore")
    assert run(EVENTS, model=True, fields=fields)[0] == 0


def test_a_model_made_in_python_has_no_target_to_contradict(run: Runs) -> None:
    model = ExplicitKARMAClassifier()
    model.learn_one({"a": 1.0}, True)
    save(model, run.model)
    assert run([{"a": 1.0, "label": False}], model=True, fields={"target": "label"})[0] == 0


@pytest.mark.parametrize("every", [1, 7, 40, 100])
def test_reports_come_after_as_many_events_as_asked_for(run: Runs, every: int) -> None:
    """Events, not lines: some lines are none."""
    records: list[Any] = [{**EVENTS[t % 60], **({"new": 1} if t % 13 == 0 else {})} for t in range(200)]
    for at in (150, 60, 59, 3):
        records[at:at] = [b"no", b""]
    run(records, model=True, fresh=True)
    expected = run.model.read_bytes()
    said = run(records, model=True, fresh=True, report_every=every)[1]
    reports = [int(line.split()[0]) for line in lines_with("/s  ", said)]
    assert reports == list(range(every, 201, every))
    assert run.model.read_bytes() == expected
    saved: list[int] = []
    again = run_of(input=str(run.folder / "input"), model=str(run.model), learner="explicit", fresh=True,
                     predictions=None, checkpoint_every=every, quiet=True)  # fmt: skip
    save_now = again.session.save

    def noted(**more: Any) -> None:
        saved.append(again.session.loop.counters.events)
        save_now(**more)

    again.session.save = noted
    again.execute()
    assert saved[: 200 // every] == list(range(every, 201, every))
    assert run.model.read_bytes() == expected


def test_events_of_weight_0_are_counted(run: Runs) -> None:
    records = [{**event, "w": t % 4 / 2} for t, event in enumerate(EVENTS)]
    for record in records[:10]:
        record["y"] = None
    summary = run.folder / "s"
    said = run(records, fields={"weight": "w"}, summary=str(summary))[1]
    found = json.loads(summary.read_text())
    assert (found["events"], found["unlabelled"], found["zero_weight"], found["learned"]) == (60, 10, 12, 38)
    assert lines_with("weight 0", said)[0].split() == ["weight", "0", "12"]
    assert not lines_with("weight 0", run(EVENTS)[1])


@pytest.mark.parametrize("learner", ["karma", "explicit", "subspace"])
def test_memory_is_one_figure(run: Runs, learner: str, capsys: pytest.CaptureFixture[str]) -> None:
    summary = run.folder / "s"
    records = [{**event, "c": f"v{t % 40}"} for t, event in enumerate(EVENTS)]
    said = run(records, model=True, learner=learner, summary=str(summary))[1]
    figure = json.loads(summary.read_text())["model"]["bytes"]
    assert lines_with("memory", said)[0].split() == ["memory", f"{figure:,}", "bytes"]
    cli.main(["inspect", str(run.model), "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["model"]["bytes"] == figure
    cli.main(["inspect", str(run.model)], standalone_mode=False)
    assert lines_with("memory in", capsys.readouterr().out)[0].split() == [
        "memory",
        "in",
        "bytes",
        str(figure),
    ]


BOOLEANS = [{"a": t % 5, "y": t % 2 == 0} for t in range(20)]
NUMBERS = [{"a": t % 5, "y": t / 4 + 0.1} for t in range(20)]
LATE_NUMBERS = [{"a": 1.0, "y": 0}, {"a": 2.0, "y": 0}, *NUMBERS]


@pytest.mark.parametrize("learner", [None, "karma", "explicit", "subspace", "auto"])
@pytest.mark.parametrize(
    "options",
    [
        {"loss": "absolute"}, {"loss": "hinge"}, {"loss": "squared"}, {"rho": "auto"}, {"update": "sgd"},
        {"rho": "auto", "gamma": "auto"}, {"r": 2.0}, {"indicators": True}, {"budget": 3}, {"gamma": 3},
        {"normalize": False}, {"eta": 0.1}, {"pruning": "oldest"}, {"horizon": 5}, {"table_bits": 8},
        {"rho": "auto", "loss": "huber"}, {"rho": "auto", "loss": "hinge"},
    ],
    ids=str,
)  # fmt: skip
def test_an_option_fits_the_stream_or_ends_the_run(run: Runs, options: Any, learner: str | None) -> None:
    """No option on the command line makes every event be rejected."""
    for records in (BOOLEANS, NUMBERS, LATE_NUMBERS, [{"a": 1.0, "y": "u"}, {"a": 2.0, "y": "v"}]):
        summary = run.folder / "s"
        try:
            run(records, learner=learner, options=options, summary=str(summary), model=True, fresh=True)
        except UsageError:
            assert not run.model.exists()
        else:
            assert json.loads(summary.read_text())["rejected"] == 0
            run.model.unlink()


@pytest.mark.parametrize(
    ("records", "plan", "complaint"),
    [
        (
            BOOLEANS,
            {"options": {"loss": "absolute"}},
            "--loss absolute is for numbers, and the labels are b",
        ),
        (
            LATE_NUMBERS,
            {"options": {"loss": "hinge"}},
            "the labels imply regression, but --loss hinge is for",
        ),
        (LATE_NUMBERS, {"positive": "1"}, "the labels imply regression, for which --positive has no meaning"),
    ],
)
def test_what_an_option_does_not_fit_is_named(run: Runs, records: Any, plan: Any, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        run(records, learner="karma", **plan)


def test_a_label_of_another_kind_is_a_bad_record_once_something_was_learned(run: Runs) -> None:
    said = run([*NUMBERS, {"a": 1.0, "y": True}], learner="karma", options={"loss": "absolute"})[1]
    assert lines_with("first rejected", said)


def test_a_record_that_stops_the_run_is_no_warning_beside_it(run: Runs) -> None:
    with pytest.raises(RunError, match="line 1: not JSON"):
        run([b"no"], fail=True)


def test_weights_of_a_mixture_are_shown_by_what_they_are(
    run: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    said = run(EVENTS, model=True, learner="auto", report_every=50)[1]
    report, table = lines_with("mean weight of the last 1,000 events: ", said), said.split("events:\n")
    assert len(report) == 1
    shown = [line.split()[-1] for line in table[1].split("weight of last labels")[0].splitlines()]
    assert sum(map(float, shown)) == pytest.approx(1.0, abs=0.01)
    cli.main(["inspect", str(run.model)], standalone_mode=False)
    line = lines_with("experts (mean weight of the last 1,000 events)", capsys.readouterr().out)[0]
    assert all(weight in line for weight in shown)


@pytest.mark.parametrize("events", [[], [b'{"x": 1}']])
def test_no_weights_are_shown_where_nothing_was_learned(run: Runs, events: list[bytes]) -> None:
    assert "weight" not in run(events, learner="auto")[1]


def test_offsets_are_shown_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "m")
    save(ExplicitKARMAClassifier(), path, {"kafka": {"clicks": {"0": 502, "1": 10**7}}})
    cli.main(["inspect", path], standalone_mode=False)
    assert lines_with("clicks", capsys.readouterr().out) == ["  clicks             0 502, 1 10000000"]
