"""Labels that come later: matched by id, learned in label order, bounded, and kept."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma import KARMAClassifier
from streamkarma.checkpoint import from_json_lines
from streamkarma.connectors.records import Records
from streamkarma.errors import UsageError
from streamkarma.estimators.persistence import load_with_run, save, to_bytes
from streamkarma.runtime.fields import Fields
from streamkarma.runtime.pending import Pending, PendingEvent, PriorPrediction
from streamkarma.runtime.task import TaskModel
from tests.cluster import Cluster, events, lines
from tests.conftest import Program
from tests.loops import Kept, kept, run_of

LABELS = {"binary": [0, 1], "multiclass": ["x", "y", "z"], "regression": [0.5, 2.25, -3.0]}


def made(labels: list[Any], n: int, seed: int = 0) -> list[dict[str, Any]]:
    """Labelled events of three attributes."""
    rng = random.Random(seed)
    return [
        {
            "id": i,
            **{a: round(rng.gauss(0, 1), 3) for a in "abc" if rng.random() < 0.7},
            "y": rng.choice(labels),
        }
        for i in range(n)
    ]


def without(record: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}


def a_loop(
    pending: Pending | None, task: str = "auto", printed: bool = True, unlabelled: bool = True, **options: Any
) -> Kept:
    task_model = TaskModel(task, {"budget": 20, **options}, None, lambda _: None, "karma")
    return kept(task_model, printed, Fields(id="id"), pending, unlabelled)


def state(loop: Kept) -> Any:
    header, arrays = loop.loop.task_model.model.state()
    return header, {name: array.tobytes() for name, array in arrays.items()}


def split(loop: Kept) -> tuple[Any, Any]:
    """The state of the encoder, and that of the learner."""
    arrays = dict(state(loop)[1])
    return {name: arrays.pop(name) for name in ("moments", "levels", "tallies", "once", "uses")}, arrays


def late(given: list[dict[str, Any]], rng: random.Random) -> tuple[list[dict[str, Any]], list[int]]:
    """Events without labels and label records, each after its event; and the order of labels."""
    waiting: list[dict[str, Any]] = []
    stream: list[dict[str, Any]] = []
    order: list[int] = []
    for event in [*given, *[None] * (3 * len(given))]:
        if event is not None:
            stream.append(without(event, "y"))
            waiting.append(event)
        for _ in range(rng.randrange(3)):
            if waiting:
                labelled = waiting.pop(rng.randrange(len(waiting)))
                stream.append({"id": labelled["id"], "y": labelled["y"]})
                order.append(labelled["id"])
    return stream, order


@pytest.mark.parametrize("task", LABELS)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), cuts=st.lists(st.integers(0, 120), max_size=6))
def test_late_labels_teach_as_in_their_order(task: str, seed: int, cuts: list[int]) -> None:
    events_ = made(LABELS[task], 40, seed)
    stream, order = late(events_, random.Random(seed))
    loop, ignoring = a_loop(Pending(1000), task, scale=False), a_loop(Pending(1000), task, unlabelled=False)
    named = {"a": 0.0, "b": 0.0, "c": 0.0}
    loop.feed(lines([named]))
    ends = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    for begin, end in pairwise(ends):
        loop.feed(lines(stream[begin:end]), begin + 2)
        ignoring.feed(lines(stream[begin:end]), begin + 1)
    # If events without a label are ignored, they are learned as if they came with it.
    direct = a_loop(None, task)
    direct.feed(lines([events_[i] for i in order]))
    assert state(ignoring) == state(direct)
    # Otherwise names and scales are learned when events arrive, and the rest in the order of the labels.
    arrived, labelled = (a_loop(None, task, scale=False) for _ in range(2))
    arrived.feed(lines([named, *(without(event, "y") for event in events_)]))
    labelled.feed(lines([named, *(events_[i] for i in order)]))
    encoder, learner = split(loop)
    assert (encoder, learner) == (split(arrived)[0], split(labelled)[1])
    # The loss is that of the original prediction.
    first = {row["id"]: row for row in loop.rows if "target" not in row}
    for row in loop.rows:
        if "target" in row:
            said = first[row["id"]]
            assert {k: row[k] for k in ("prediction", "score") if k in row} == {
                k: said[k] for k in ("prediction", "score") if k in said
            }
            if task == "regression":
                assert row["loss"] == pytest.approx((said["prediction"] - row["target"]) ** 2)
            elif task == "binary" and "probability" in said:
                p = said["probability"] if said["prediction"] == row["target"] else 1 - said["probability"]
                assert row["loss"] == pytest.approx(-math.log(p))
    assert [row["n"] for row in loop.rows] == list(range(1, len(stream) + 2))
    mean = loop.loop.evaluator.mean_loss
    losses = [row["loss"] for row in loop.rows if "loss" in row]
    assert mean == pytest.approx(sum(losses) / len(losses))


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    cuts=st.lists(st.integers(0, 120), max_size=6),
    limit=st.integers(1, 6),
    seconds=st.none() | st.floats(1.0, 20.0),
)
def test_how_records_are_cut_never_shows_however_tight_the_bounds(
    seed: int, cuts: list[int], limit: int, seconds: float | None
) -> None:
    rng = random.Random(seed)
    stream, _ = late(made([0, 1], 40, seed), rng)
    # Clocks of several partitions: time may go back, too.
    times = [10.0 * (i // 4) * 0.3 + rng.uniform(-15.0, 15.0) for i in range(len(stream))]

    def after(ends: list[int]) -> Any:
        loop = a_loop(Pending(limit, seconds), "binary")
        for begin, end in pairwise(sorted({0, len(stream), *(end % (len(stream) + 1) for end in ends)})):
            loop.loop.feed(_at(times[begin:end], stream[begin:end]))
        assert loop.loop.pending is not None
        return state(loop), loop.rows, loop.loop.pending.state(), loop.loop.pending.summary()

    assert after(cuts) == after([]) == after(list(range(200)))


@pytest.mark.parametrize("seconds", [None, 1e6])
@pytest.mark.parametrize("task", ["binary", "regression"])
def test_a_late_label_ends_no_batch_unless_its_event_is_in_it(
    monkeypatch: pytest.MonkeyPatch, task: str, seconds: float | None
) -> None:
    # A batch of two records costs nearly as much as one of twenty.
    stream: list[dict[str, Any]] = []
    for event in made([0, 1], 600, 0):
        stream.append(without(event, "y"))
        if len(stream) >= 100:
            label = len(stream) % 2 if task == "binary" else len(stream) / 7
            stream.append({"id": len(stream) // 2 - 50, "y": label})
    loop = a_loop(Pending(1000, seconds), task)
    batches: list[int] = []
    run = loop.loop._run
    monkeypatch.setattr(loop.loop, "_run", lambda batch: (batches.append(len(batch.labels)), run(batch)))
    loop.feed(lines(stream))
    assert loop.loop.pending is not None
    assert loop.loop.pending.matched > 400
    assert sum(batches) == len(loop.rows)
    assert len(batches) < 20


def test_labels_turn_out_to_be_numbers_while_events_wait() -> None:
    loop = a_loop(Pending(10))
    loop.feed(lines([{"id": 1, "a": 1}, {"id": 2, "a": 2}, {"id": 2, "y": 0}, {"id": 1, "y": 3.5}]))
    loop.feed(lines([{"id": 3, "a": 3}, {"id": 3, "y": 2}]))
    assert [row["target"] for row in loop.rows if "target" in row] == [0, 3.5, 2]
    # While labels were classes no number was predicted: it is predicted now, before the label is learned.
    assert loop.rows[3]["prediction"] == 0.0
    assert loop.rows[3]["loss"] == 3.5**2
    assert loop.rows[5]["prediction"] == loop.rows[4]["prediction"]


@pytest.mark.parametrize("pending", [[], ["--id", "id", "--pending", "50"]])
@pytest.mark.parametrize("unlabelled", ["learn", "ignore"])
@pytest.mark.parametrize(
    ("task", "labels"), [("binary", [0, 1]), ("multiclass", ["a", "b", "c"]), ("regression", [1.5, 2.5, 3])]
)
def test_a_task_that_is_open_may_be_said_later(
    streamkarma: Program, pending: list[str], unlabelled: str, task: str, labels: list[Any]
) -> None:
    rng = random.Random(1)
    events = [{"id": i, "a": rng.gauss(0, 1), "b": rng.gauss(0, 1)} for i in range(80)]
    labelled = [{**each, "y": labels[i % len(labels)]} for i, each in enumerate(events)]
    answers = [{"id": each["id"], "y": each["y"]} for each in labelled[20:40]] if pending else []
    arguments = ["learn", *pending, "--unlabelled", unlabelled]
    rest = [*answers, *labelled[40:]]
    streamkarma(*arguments, "--model", "told", records=events[:40])
    streamkarma(*arguments, "--model", "whole", records=[*events[:40], *rest])
    later = streamkarma(*arguments, "--model", "told", "--task", task, records=rest)
    assert later.code == 0, later.stderr
    named = [json.loads(streamkarma("inspect", m, "--json").stdout) for m in ("told", "whole")]
    assert [each["task"] for each in named] == [task, task]
    again = streamkarma(*arguments, "--model", "told", "--task", "auto", records=labelled)
    assert again.rows == streamkarma(*arguments, "--model", "whole", records=labelled).rows
    other = streamkarma(
        *arguments, "--model", "told", "--task", "binary" if task != "binary" else "regression"
    )
    assert (other.code, other.stderr.count("\n")) == (2, 1)
    assert f"told was made for the task {task}, not" in other.stderr


def test_what_does_not_fit_a_task_that_is_said_later(streamkarma: Program, tmp_path: Path) -> None:
    unlabelled = [{"id": 1, "a": 1.0}]
    for option, value in (("--loss", "hinge"), ("--positive", "a"), ("--threshold", "0.4")):
        streamkarma("learn", "--model", "m" + option, option, value, records=unlabelled)
        told = streamkarma("learn", "--model", "m" + option, "--task", "regression", records=unlabelled)
        assert (told.code, told.stderr.count("\n")) == (2, 1)
        assert option in told.stderr
    save(KARMAClassifier(), tmp_path / "python")
    told = streamkarma("learn", "--model", "python", "--task", "regression", records=unlabelled)
    assert (told.code, told.stderr.count("\n")) == (2, 1)
    assert streamkarma("learn", "--model", "python", "--task", "binary", records=unlabelled).code == 0


def test_resuming_with_events_that_wait(streamkarma: Program, tmp_path: Path) -> None:
    stream, _ = late(made([0, 1], 120), random.Random(3))
    arguments = ("learn", "--id", "id", "--pending", "50")
    whole = streamkarma(*arguments, "--model", "whole", records=stream)
    first = streamkarma(*arguments, "--model", "parts", records=stream[:90])
    # Options given once need not be given again.
    second = streamkarma("learn", "--model", "parts", records=stream[90:])
    assert first.rows + second.rows == whole.rows
    assert (tmp_path / "parts").read_bytes() != b""
    one, two = (json.loads(streamkarma("inspect", m, "--json").stdout) for m in ("whole", "parts"))
    assert without(one, "path") == without(two, "path")


def test_what_does_not_match_is_counted(streamkarma: Program, tmp_path: Path) -> None:
    records = [
        {"id": 1, "a": 1.0},
        {"id": 2, "a": 2.0},
        {"id": 3, "a": 3.0},  # evicts the first
        {"id": 1, "y": 1},  # too late
        {"id": 3, "y": 0},
        {"id": 9, "y": 1},  # early
        {"id": 9, "a": 4.0},
        {"id": 2, "a": 2.5},  # again: the older one expires
        {"id": 2, "y": 1, "a": 77.0},  # the event's attributes are used, not the label's
        {"id": 8, "y": 0, "a": 5.0},  # an event that has its label
        {"a": 6.0, "y": 1},  # no id
        {"id": 3},
    ]
    done = streamkarma("learn", "--id", "id", "--pending", "2", "--summary", "s", records=records)
    summary = json.loads((tmp_path / "s").read_text())
    assert summary["pending"] == {"matched": 3, "unmatched": 1, "expired": 2, "waiting": 1}
    assert (summary["events"], summary["learned"], summary["unlabelled"]) == (10, 5, 5)
    assert "labels unmatched" in done.stderr
    assert [row["n"] for row in done.rows] == list(range(1, 11))


def test_time_is_a_bound_too() -> None:
    pending = Pending(10, seconds=60.0)
    loop = a_loop(pending)
    for time, record in ((0.0, {"id": 1, "a": 1}), (50.0, {"id": 2, "a": 1}), (70.0, {"id": 1, "y": 1})):
        # The time is that of the record.
        loop.loop.feed(_at([time], [record]))
    assert pending.summary() == {"matched": 0, "unmatched": 1, "expired": 1, "waiting": 1}


def test_a_lower_limit_holds_for_what_waited_before() -> None:
    loop = a_loop(pending := Pending(5), "binary")
    loop.feed(lines([{"id": n, "a": 1.0} for n in range(5)] + [{"id": n, "y": 1} for n in range(10, 15)]))
    assert pending.sizes() == {"events": 5, "labels": 5}
    pending.limit = 2
    loop.feed(lines([{"id": 5, "a": 1.0}, {"id": 15, "y": 0}]))
    assert pending.sizes() == {"events": 2, "labels": 2}
    assert (pending.expired, pending.summary()["unmatched"]) == (4, 6)


def test_what_has_no_time_came_when_the_record_before_it_did() -> None:
    loop = a_loop(pending := Pending(10, seconds=60.0))
    records = [{"id": n, "a": 1} for n in range(4)]
    loop.loop.feed(_at([1e9, None, 1e9 + 50, None], records))
    assert (pending.expired, pending.sizes()["events"]) == (0, 4)
    # A clock that is far ahead does not stay there.
    loop.loop.feed(_at([2e9, 1e9, 1e9 + 61, None], [{"id": 9}, {"id": 10}, {"id": 11}, {"id": 12}]))
    assert (pending.expired, pending.clock) == (5, 1e9 + 61)


def _at(times: Sequence[float | None], records: list[dict[str, Any]]) -> Records:
    return Records(lines(records), len(records), lambda i: {"line": i}, {}, time=times.__getitem__)


STAMPS = [f"2026-03-01T00:{t // 60:02}:{t % 60:02}Z" for t in range(200)]


def _timed(form: str) -> list[dict[str, Any]]:
    """A stream of records with times in one of the forms, some of them without."""
    stream, _ = late(made([0, 1], 80, 1), random.Random(1))
    stream += [{"id": -i, "a": 1.0} for i in range(1, 6)]
    forms = {"number": lambda t: 1.5e9 + t, "text": STAMPS.__getitem__}
    return [{**record, "at": forms[form](t) if t % 9 else None} for t, record in enumerate(stream)]


@pytest.mark.parametrize("form", ["number", "text"])
def test_time_may_be_an_attribute_and_equal_runs_are_equal(tmp_path: Path, form: str) -> None:
    stream = _timed(form)
    found = []
    for name, cut in (("one", 160), ("two", 160), ("parts", 61)):
        for part in (stream[:cut], stream[cut:]):
            path = tmp_path / "input"
            path.write_bytes(b"".join(line + b"\n" for line in lines(part)))
            run_of(input=str(path), model=str(tmp_path / name), learner="explicit", quiet=True,
                     predictions=str(tmp_path / f"{name}.rows"), pending=50, pending_seconds=3.0,
                     fields={"id": "id", "time": "at"}).execute()  # fmt: skip
        model, kept, arrays = load_with_run(tmp_path / name)
        # Lines are counted from the beginning of a file: with two parts, those of the second are stored.
        assert kept.pop("input")["lines"] == len(stream) - (cut if cut < len(stream) else 0)
        del kept["outputs"]
        save(model, tmp_path / name, kept, arrays)
        found.append((tmp_path / name).read_bytes())
    assert found[0] == found[1] == found[2]
    model, kept, arrays = load_with_run(tmp_path / "one")
    assert "at" not in model.vocabulary.attributes
    # Some events have expired, and none that waits is older than the bound.
    assert 0 < model.steps < 70
    waits = [time for _, time, *_ in from_json_lines(arrays["pending.events"])]
    assert waits
    assert min(waits) >= kept["pending"]["clock"] - 3.0


def test_without_a_time_equal_runs_are_equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: pytest.fail("the clock was asked"))
    stream, _ = late(made([0, 1], 40, 1), random.Random(1))
    path = tmp_path / "input"
    path.write_bytes(b"".join(line + b"\n" for line in lines(stream)))
    for name in ("one", "two"):
        run_of(
            str(path), model=str(tmp_path / name), learner="explicit", quiet=True, predictions=None,
            pending=50, fields={"id": "id"},
        ).execute()  # fmt: skip
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("unlabelled", ["learn", "ignore"])
def test_more_may_wait_than_a_header_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unlabelled: str
) -> None:
    monkeypatch.setattr("streamkarma.checkpoint.LONGEST_HEADER", 20_000)
    given = made([0, 1], 600, 1)
    unlabelled_events = [without(each, "y") for each in given]
    answers = [{"id": each["id"], "y": each["y"]} for each in given]
    parts = {
        "first": [*answers[500:], *unlabelled_events[:400]],
        "second": [*unlabelled_events[400:], *answers[:500]],
    }
    parts["whole"] = parts["first"] + parts["second"]
    for name, records in parts.items():
        (tmp_path / name).write_bytes(b"".join(line + b"\n" for line in lines(records)))

    def run(part: str, model: str) -> bytes:
        run_of(
            str(tmp_path / part), model=str(tmp_path / model), learner="explicit", quiet=True,
            predictions=None, pending=500, unlabelled=unlabelled, fields={"id": "id"},
        ).execute()  # fmt: skip
        return (tmp_path / model).read_bytes()

    run("whole", "m")
    run("first", "n")
    # Older files had waiting events in the header.
    model, kept, arrays = load_with_run(tmp_path / "n")
    for name in ("events", "labels"):
        kept["pending"][name] = list(from_json_lines(arrays.pop(f"pending.{name}")))
    monkeypatch.setattr("streamkarma.checkpoint.LONGEST_HEADER", 2_000_000)
    save(model, tmp_path / "old", kept, arrays)
    assert run("second", "n") == run("second", "old")
    ended = [load_with_run(tmp_path / name) for name in "mn"]
    assert to_bytes(ended[0][0]) == to_bytes(ended[1][0])
    assert [len(arrays["pending.events"]) for _, _, arrays in ended] == [0, 0]


@pytest.mark.parametrize(
    "text", [b"[", b"[1]\n", b"[NaN]\n", b"5\n", b'{"a": 1, "a": 1}\n', b"[" * 100_000 + b"\n", b"\xff\n"]
)
@pytest.mark.parametrize("what", ["events", "labels"])
def test_a_model_whose_pending_events_are_none(
    streamkarma: Program, tmp_path: Path, what: str, text: bytes
) -> None:
    stream = [{"id": 1, "a": 1.0}, {"id": 2, "y": 1}]
    streamkarma("learn", "--id", "id", "--pending", "5", "--model", "m", records=stream)
    model, run, arrays = load_with_run(tmp_path / "m")
    save(model, tmp_path / "m", run, arrays | {f"pending.{what}": np.frombuffer(text, np.uint8)})
    for command in (["inspect", "m"], ["learn", "--model", "m"]):
        refused = streamkarma(*command)
        assert (refused.code, refused.stderr.count("\n")) == (1, 1) or refused.code == 2, refused.stderr
        assert "m has no valid list of pending events" in refused.stderr


def test_a_bound_in_time_needs_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "input"
    path.write_bytes(b'{"id": 1, "a": 2.0}\n')
    plan: dict[str, Any] = {"learner": "explicit", "predictions": None, "pending": 5, "pending_seconds": 3.0}
    with pytest.raises(UsageError, match="--pending-seconds needs --time NAME"):
        run_of(str(path), **plan, fields={"id": "id"})
    run_of(str(path), **plan, fields={"id": "id", "time": "now"}).execute()
    assert "this machine's clock, so equal runs may give different results" in capsys.readouterr().err


@pytest.mark.parametrize("time", ["soon", True, -1, [1], "0001-01-01", {"a": 1}])
def test_a_time_that_is_none_is_a_bad_record(time: Any) -> None:
    loop = kept(TaskModel("auto", {}, None, lambda _: None, "explicit"), fields=Fields(id="id", time="at"),
                pending=Pending(5))  # fmt: skip
    loop.feed(lines([{"id": 1, "a": 1.0, "at": time}, {"id": 2, "a": 1.0, "at": None}]))
    reason = f"the time must be seconds since 1970 or ISO 8601, not {time!r}"
    assert [row["error"] for row in loop.dead] == [reason]
    assert len(loop.rows) == 1


def test_a_label_that_cannot_be_leaves_the_event_waiting(streamkarma: Program) -> None:
    records = [
        {"id": 1, "a": 1.0, "y": True},
        {"id": 2, "a": 1.0},
        {"id": 2, "y": {"no": 1}},
        {"id": 2, "y": False},
    ]
    done = streamkarma("learn", "--id", "id", "--pending", "5", "--dead-letters", "-", records=records)
    assert [row.get("target") for row in done.rows if "n" in row] == [True, None, False]
    assert [row["line"] for row in done.rows if "line" in row] == [3]


@pytest.mark.parametrize(
    ("of_event", "of_label", "same"),
    [("4", "4.0", True), ("4.0", "4", True), ("4e0", "4", True), ("-0.0", "0", True), ("4.5", "45e-1", True),
     ("10000000000000000", "1e16", True), ("9007199254740993", "9007199254740992.0", False),
     ("4.5", "4", False), ('"4"', "4.0", False), ("true", "1.0", False), ("1e300", "1e300", True)],
)  # fmt: skip
def test_a_number_finds_the_integer_that_it_equals(of_event: str, of_label: str, same: bool) -> None:
    pending = Pending(9)
    loop = a_loop(pending)
    for line in (f'{{"id": {of_event}, "a": 1}}', f'{{"id": {of_label}, "y": 1}}'):
        loop.feed([line.encode()])
    assert pending.matched == same


def test_pending_needs_an_id(streamkarma: Program) -> None:
    done = streamkarma("learn", "--pending", "5")
    assert (done.code, "need --id NAME" in done.stderr) == (2, True)


def test_labels_from_a_topic(cluster: Cluster) -> None:
    given = events(600)
    rng = random.Random(0)
    order = list(range(600))
    rng.shuffle(order)
    source, labels, output = cluster.topic("in"), cluster.topic("labels"), cluster.topic("out")
    arguments = [source, "--label-topic", labels, "--output-topic", output, "--id", "id", "--model", "m"]
    # Late labels make a difference to a mixture, and to scales.
    arguments += ["--learner", "karma", "--unlabelled", "ignore"]
    cluster.put(source, [without(event, "y") for event in given])
    cluster.attach(*arguments, "--until-end", "--pending", "700")
    assert cluster.kept("m")["pending"]["limit"] == 700
    cluster.put(labels, [{"id": i, "y": given[i]["y"]} for i in order[:300]])
    cluster.attach(*arguments, "--until-end")
    cluster.put(labels, [{"id": i, "y": given[i]["y"]} for i in order[300:]])
    cluster.put(labels, [{"id": 7777, "y": 1}, {"id": 1}, {"y": 1}])
    said = cluster.attach(*arguments, "--until-end", "--summary", "s")
    cluster.learn(lines([given[i] for i in order]), "--id", "id", "--learner", "karma")
    assert cluster.state("m") == cluster.state("reference.karma")
    assert cluster.kept("m")["pending"]["limit"] == 700
    summary = json.loads((cluster.folder / "s").read_text())
    assert summary["pending"] == {"matched": 300, "unmatched": 1, "expired": 0, "waiting": 0}
    assert summary["rejected"] == 2
    assert f"topic {labels}, partition 0, offset 601: a label record without 'y'" in said
    rows = cluster.rows(output)
    assert [row["n"] for row in rows] == list(range(1, 1201))
    assert [row["id"] for row in rows[600:]] == order


@pytest.mark.parametrize(("task", "label"), [("binary", "no"), ("multiclass", "no"), ("regression", 2.5)])
def test_a_task_that_is_said_once_labels_come(cluster: Cluster, task: str, label: str | float) -> None:
    source, labels, output = cluster.topic("in"), cluster.topic("labels"), cluster.topic("out")
    given = events(30, labelled=False)
    cluster.put(source, given)
    arguments = [source, "--label-topic", labels, "--id", "id", "--model", "m", "--output-topic", output]
    arguments += ["--until-end"]
    cluster.attach(*arguments)
    answers: list[dict[str, Any]] = [{"id": i, "y": label} for i in range(30)]
    cluster.put(labels, answers)
    cluster.attach(*arguments, "--task", task)
    reference = ["--id", "id", "--pending", "10000"]
    cluster.learn(lines(given), *reference)
    cluster.learn(lines(answers), *reference, "--task", task)
    assert cluster.state("m") == cluster.state("reference.karma")
    assert cluster.kept("m")["task"]["task"] == task
    assert [row["target"] for row in cluster.rows(output)[30:]] == [label] * 30


def test_labels_by_key_and_before_their_events(cluster: Cluster) -> None:
    from tests.cluster import Record

    source, labels = cluster.topic("in"), cluster.topic("labels")
    cluster.put(labels, [Record(b'{"y": %d}' % (i % 2), key=b"%d" % i) for i in range(50)])
    arguments = [source, "--label-topic", labels, "--with-key", "key", "--id", "key", "--model", "m"]
    cluster.attach(*arguments, "--until-end")
    assert cluster.kept("m")["events"] == 0
    cluster.put(source, [Record(b'{"a": %d}' % i, key=b"%d" % i) for i in range(50)])
    cluster.attach(*arguments, "--until-end")
    cluster.learn([b'{"a": %d, "y": %d}' % (i, i % 2) for i in range(50)])
    assert cluster.state("m") == cluster.state("reference.karma")


@pytest.mark.parametrize("labels_only", [False, True])
def test_a_label_is_one_whatever_metadata_its_record_has(labels_only: bool) -> None:
    task_model = TaskModel("binary", {"entity": "key"}, None, lambda _: None, "explicit")
    loop = kept(task_model, fields=Fields(id="id"), pending=(pending := Pending(9)))
    given = [({"id": 1, "a": 1.0}, "k"), ({"a": 2.0}, "k"), ({"y": 1}, "k"), ({"id": 7, "y": 0}, "l")]
    for n, (record, key) in enumerate(given):
        metadata = [{"key": key, "at": 1e9 + n, "trace": f"t{n}"}]
        records = Records(lines([record]), 1, lambda _: {}, {}, metadata, labels_only and "y" in record)
        loop.loop.feed(records)
    loop.loop.feed(Records(lines([{"id": 7, "a": 3.0}]), 1, lambda _: {}, {}, [{"key": "l", "at": 2e9}]))
    assert pending.summary() == {"matched": 3, "unmatched": 0, "expired": 0, "waiting": 0}
    assert [row.get("target") for row in loop.rows] == [None, None, 1, 1, 0]
    assert not loop.dead


def test_labels_that_turn_out_to_be_numbers_after_their_events_were_scored() -> None:
    loop = a_loop(Pending(9))
    loop.feed(lines([{"id": 1, "a": 1.0}, {"id": 2, "a": 2.0}, {"id": 1, "y": 3.75}, {"id": 2, "y": 4.5}]))
    assert loop.loop.task_model.name == "regression"
    assert [row.get("target") for row in loop.rows] == [None, None, 3.75, 4.5]


def test_an_event_with_a_wrong_time_does_not_keep_others_from_expiring() -> None:
    pending = Pending(1000, seconds=100.0)
    event = PendingEvent(1.0, PriorPrediction({}, [0.5], 2), 1, {"x": 1.0})
    for n, time in enumerate([1e9, *(200.0 * n for n in range(1, 21))]):
        now = pending.turn_to(time)
        pending.expire(now)
        pending.make_room(b"%d" % n)
        pending.keep(b"%d" % n, event, now)
        pending.keep_label(b"label %d" % n, True, now)
    assert (pending.expired, pending.unmatched, pending.sizes()) == (19, 19, {"events": 2, "labels": 2})
    # Those that have found their label do not expire, nor do later ones with the same id.
    pending.resolve(b"20")
    pending.keep(b"20", event, pending.turn_to(4200.0))
    pending.expire(4250.0)
    assert pending.event_of(b"20") is event


def test_what_came_before_any_time_was_known_came_at_the_first() -> None:
    pending = Pending(10, seconds=10.0)
    event = PendingEvent(1.0, PriorPrediction({}, [0.5], 2), 1, {"x": 1.0})
    pending.keep(b"1", event, pending.tick(None))
    pending.expire(pending.tick(1.7e9))
    assert pending.event_of(b"1") is event
    pending.expire(pending.tick(1.7e9 + 11))
    assert pending.event_of(b"1") is None
