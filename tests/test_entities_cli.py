"""Entities on the command line: the names, the options, files, threads, and resumed models."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamkarma import load
from tests.conftest import Program
from tests.test_entities import Records, carried, stream


def labelled(count: int = 200, seed: int = 0) -> Records:
    """Events of devices with their labels, and times ten seconds apart."""
    records, labels = stream(count, seed)
    pairs = zip(records, labels, strict=True)
    return [{**record, "at": 10.0 * n, "why": label} for n, (record, label) in enumerate(pairs, 1)]


def before(records: Records, carry: str = "fill") -> Records:
    """The same, with values carried by the reference."""
    plain = [{name: value for name, value in each.items() if name != "why"} for each in records]
    labels = [record["why"] for record in records]
    pairs = zip(carried(plain, carry, "at", labels=labels), records, strict=True)
    return [{**each, "why": record["why"]} for each, record in pairs]


def told(streamkarma: Program, *arguments: str, events: Records) -> list[Any]:
    """The predictions, without the number of observed attributes."""
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


@pytest.mark.parametrize("late", [(), ("--pending", "9")])
def test_the_entity_is_no_attribute_of_a_regression_that_shows_by_its_labels(
    streamkarma: Program, late: tuple[str, ...]
) -> None:
    events = [{**each, "why": n % 7 + 0.5} for n, each in enumerate(labelled())]
    arguments = ("--entity", "device", "--time", "at", "--ignore", "device", *late)
    ours = told(streamkarma, *arguments, events=events)
    assert ours == told(streamkarma, *arguments, "--task", "regression", events=events)


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

    # A value of an event that was only predicted is carried to the next; the model is unchanged.
    alone = score(device)
    assert score({**device, "x": 9.0}, device) != alone
    assert score(device) == alone


def test_predict_may_name_the_entity_of_the_model(streamkarma: Program) -> None:
    told(streamkarma, "--entity", "device", "--model", "m", events=labelled(50))
    told(streamkarma, "--model", "nobody", events=labelled(50))
    rows = streamkarma("predict", "m", records=labelled(9)).rows
    assert streamkarma("predict", "m", "--entity", "device", records=labelled(9)).rows == rows
    for model, entity in (("m", "device"), ("nobody", "none")):
        done = streamkarma("predict", model, "--entity", "other", records=labelled(9))
        assert done.code == 2
        said = f"{model} was made with entity {entity}, not other; leave the option out"
        assert done.stderr == f"streamkarma: {said}\n"


def test_what_is_remembered_is_told(streamkarma: Program, tmp_path: Path) -> None:
    options = ["--target", "why", "--entity", "device", "--max-entities", "4", "--model", "m"]
    done = streamkarma("learn", *options, "--summary", "s", records=labelled())
    summary = json.loads((tmp_path / "s").read_text())["model"]
    assert re.search(rf"memory of entities +{summary['entity_bytes']:,} bytes\n", done.stderr)
    model = json.loads(streamkarma("inspect", "m", "--json").stdout)["model"]
    assert model["entities"] == 4
    assert model["entities_forgotten"] > 0
    assert model["entity_bytes"] > 0


def test_wrong_uses_are_one_line(streamkarma: Program) -> None:
    for options, match in (
        (["--carry", "all"], "Invalid value for '--carry'"),
        (["--entity", "d", "--time", "d"], "cannot be both the entity and the time"),
        (["--carry-for", "5"], "--carry-for has no meaning without --entity"),
        (["--no-carry-labels"], "--no-carry-labels has no meaning without --entity"),
        (["--carry-labels"], ": --carry-labels has no meaning without --entity"),
    ):
        done = streamkarma("learn", *options)
        assert done.code == 2
        assert match in done.stderr


def test_labels_that_are_identifiers_are_left_out_by_what_carries_them(streamkarma: Program) -> None:
    events = [{"user": f"u{i % 3}", "item": f"i{i}", "y": f"c{i}"} for i in range(400)]
    done = streamkarma("learn", "--learner", "sgd", "--entity", "user", "--task", "multiclass",
                       "--no-predictions", records=events)  # fmt: skip
    hints = [line for line in done.stderr.splitlines() if "identifier" in line]
    assert [line.rsplit("(", 1)[1] for line in hints] == [
        "--ignore item leaves it out)", "--no-carry-labels leaves it out)",
    ]  # fmt: skip


def stays(count: int = 60, seed: int = 3) -> list[tuple[str, Records, bool]]:
    """Patients, their measurements in one to six messages each, and their outcomes."""
    rng = np.random.default_rng(seed)
    found = []
    for n in range(count):
        ill = bool(rng.random() < 0.5)
        measured = [
            {"stay": f"s{n}", "abc"[int(rng.integers(3))]: float(rng.normal() + (ill - 0.5))}
            for _ in range(int(rng.integers(1, 7)))
        ]
        found.append((f"s{n}", measured, ill))
    return found


def with_labels(given: list[tuple[str, Records, bool]]) -> Records:
    return [record for stay, events, ill in given for record in (*events, {"stay": stay, "y": ill})]


NAMED = ("--entity", "stay", "--pending", "100")
LATE = (*NAMED, "--ignore", "stay")


def test_a_label_of_an_entity_teaches_all_that_waits(streamkarma: Program, tmp_path: Path) -> None:
    given = stays()
    done = streamkarma("learn", *LATE, "--summary", "s", records=with_labels(given))
    assert done.code == 0, done.stderr
    settled = [row for row in done.rows if "target" in row]
    assert [row["target"] for row in settled] == [ill for _, events, ill in given for _ in events]
    summary = json.loads((tmp_path / "s").read_text())
    assert summary["pending"] == {"matched": len(settled), "unmatched": 0, "expired": 0, "waiting": 0}
    assert summary["learned"] == len(settled)


@pytest.mark.parametrize("costs", [(), ("--class-weight", "balanced", "--threshold", "balanced")])
def test_a_label_counts_as_one_and_is_reported_as_one(
    streamkarma: Program, tmp_path: Path, costs: tuple[str, ...]
) -> None:
    given, late = stays(), (*LATE, *costs)
    streamkarma("learn", *late, "--model", "shared", "--summary", "s", records=with_labels(given))
    # The same with the fractions as weights, and with a label for each event, at once.
    by_hand = [
        record
        for stay, events, ill in given
        for record in (
            *({**event, "id": f"{stay} {n}", "w": 1.0 / len(events)} for n, event in enumerate(events)),
            *({"id": f"{stay} {n}", "y": ill} for n in range(len(events))),
        )
    ]
    streamkarma("learn", *late, "--id", "id", "--weight", "w", "--model", "parts", "--learner", "explicit",
                records=by_hand)  # fmt: skip
    streamkarma("learn", *late, "--model", "alone", "--learner", "explicit", records=with_labels(given))
    (head, one), (other_head, other) = (load(tmp_path / name).state() for name in ("alone", "parts"))
    assert np.array_equal(one["0.weights"], other["0.weights"])
    assert head.get("costs") == other_head.get("costs")
    summary = json.loads((tmp_path / "s").read_text())
    rows = [row for row in streamkarma("learn", *late, records=with_labels(given)).rows if "target" in row]
    ends = np.cumsum([len(events) for _, events, _ in given]) - 1
    wrong = [rows[end]["prediction"] != ill for end, (_, _, ill) in zip(ends, given, strict=True)]
    assert summary["per_label"]["labels"] == len(given)
    assert summary["per_label"]["last"]["error_rate"] == pytest.approx(np.mean(wrong))
    assert set(summary["per_label"]["mean"]) >= {"error_rate", "log_loss", "auc"}


def test_labels_are_ranked_by_scores_where_there_are_no_probabilities(
    streamkarma: Program, tmp_path: Path
) -> None:
    given = stays()
    options = ("--learner", "karma", "--loss", "hinge", "--summary", "s")
    done = streamkarma("learn", *LATE, *options, records=with_labels(given))
    rows = [row for row in done.rows if "target" in row]
    ends = np.cumsum([len(events) for _, events, _ in given]) - 1
    both = next(n for n in range(len(given)) if len({ill for _, _, ill in given[:n]}) == 2)
    said = [(rows[end].get("score"), ill) for end, (_, _, ill) in zip(ends, given, strict=True)][both:]
    pairs = [(a, b) for a, ill in said for b, well in said if ill and not well]
    last = json.loads((tmp_path / "s").read_text())["per_label"]["last"]
    auc = np.mean([(a > b) + (a == b) / 2 for a, b in pairs])
    assert last["auc"] == pytest.approx(auc, abs=0.01)
    assert "f1" in last


@pytest.mark.parametrize("costs", [(), ("--threshold", "balanced")])
@pytest.mark.parametrize("labels", [(0, 1), ("a", "b", "c")])
def test_the_mean_counts_labels_from_before_two_classes_are_known(
    streamkarma: Program, tmp_path: Path, labels: tuple[Any, ...], costs: tuple[str, ...]
) -> None:
    outcomes = [labels[0]] * 20 + [labels[n % len(labels)] for n in range(20)]
    given = [
        (f"s{n}", [{"stay": f"s{n}", "a": labels.index(y) + 0.1 * t} for t in range(3)], y)
        for n, y in enumerate(outcomes)
    ]
    learn = ("learn", *LATE, *costs, "--learner", "explicit", "--summary", "s")
    done = streamkarma(*learn, records=with_labels(given))
    rows = [row for row in done.rows if "target" in row]
    said = [[row.get("prediction") for row in rows[at : at + 3]] for at in range(0, len(rows), 3)]
    most = [max(each, key=each.count) for each in said]
    wrong = [one != y for one, y in zip(most, outcomes, strict=True)]
    per_label = json.loads((tmp_path / "s").read_text())["per_label"]
    assert per_label["labels"] == len(outcomes)
    assert per_label["mean"]["error_rate"] == pytest.approx(np.mean(wrong))
    assert 0 < sum(wrong) < 20


@pytest.mark.parametrize("label", [0, 1])
def test_labels_that_turn_out_to_be_numbers_are_counted_as_such(
    streamkarma: Program, tmp_path: Path, label: int
) -> None:
    outcomes = [label] * 5 + [2.5, label, 4]
    # The predictions of events that wait for a number are made again, one after another: here for only one.
    given = [
        (stay, events[: 1 if y == 2.5 else None], y)
        for (stay, events, _), y in zip(stays(len(outcomes)), outcomes, strict=True)
    ]
    # One that has waited since before anything was learned; its first prediction differs from the next.
    records = [*given[2][1][:1], *with_labels(given)]
    found = []
    for task in ("auto", "regression"):
        learn = ("learn", *LATE, "--unlabelled", "ignore", "--learner", "karma", "--task", task)
        assert streamkarma(*learn, "--summary", "s", records=records).code == 0
        found.append(json.loads((tmp_path / "s").read_text())["per_label"])
    assert found[0]["labels"] == len(outcomes)
    for name in ("last", "mean"):
        assert found[0][name] == pytest.approx(found[1][name])


@pytest.mark.parametrize("options", [(), ("--unlabelled", "ignore"), ("--share-label", "off")])
def test_a_name_is_not_credited_with_the_label_that_its_events_share(
    streamkarma: Program, tmp_path: Path, options: tuple[str, ...]
) -> None:
    once = with_labels(stays())
    options = (*options, "--explain", "3", "--model", "m", "--fresh")
    rows = streamkarma("learn", *NAMED, *options, records=once).rows
    assert rows == streamkarma("learn", *LATE, *options, records=once).rows
    # Of a name that had a label something is known.
    rows = streamkarma("learn", *NAMED, *options, records=2 * once).rows
    assert "stay" in load(tmp_path / "m").vocabulary.attributes
    assert rows[: len(once)] == streamkarma("learn", *LATE, *options, records=2 * once).rows[: len(once)]
    # Only what waits may share its label.
    streamkarma("learn", *NAMED, *options, records=[{**each, "y": True} for each in once])
    assert "stay" in load(tmp_path / "m").vocabulary.attributes


def test_events_wait_through_a_restart_with_what_was_carried(streamkarma: Program, tmp_path: Path) -> None:
    records = 2 * with_labels(stays(30))
    for options in (LATE, NAMED, (*LATE, "--unlabelled", "ignore"), (*NAMED, "--unlabelled", "ignore")):
        whole = streamkarma("learn", *options, "--model", "whole", "--fresh", records=records).rows
        first = streamkarma("learn", *options, "--model", "parts", "--fresh", records=records[:100])
        rest = streamkarma("learn", *options, "--model", "parts", records=records[100:])
        assert first.rows + rest.rows == whole
        assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


def test_no_event_sees_its_label_or_a_later_value(streamkarma: Program) -> None:
    given = stays(30)
    other = [(stay, events, not ill if n > 20 else ill) for n, (stay, events, ill) in enumerate(given)]
    changed = [{**event, "a": 9.0} for event in given[25][1]]
    other[25] = (given[25][0], changed, other[25][2])
    one, two = (streamkarma("learn", *LATE, records=with_labels(each)).rows for each in (given, other))

    def asked(rows: Records) -> Records:
        return [row for row in rows if "target" not in row][: len(with_labels(given[:22])) - 22]

    assert asked(one) == asked(two)


def test_a_label_of_an_entity_with_nothing_waiting_is_unmatched(streamkarma: Program, tmp_path: Path) -> None:
    records = [{"stay": "a", "x": 1.0}, {"stay": "b", "y": True}, {"stay": "a", "y": True}]
    streamkarma("learn", *LATE, "--summary", "s", records=records)
    summary = json.loads((tmp_path / "s").read_text())["pending"]
    assert summary == {"matched": 1, "unmatched": 1, "expired": 0, "waiting": 0}


def test_the_entity_of_a_label_may_be_nested(streamkarma: Program) -> None:
    records = with_labels(stays())
    nested = [{"s": {"tay": each["stay"]}, **each} for each in records]
    for each in nested:
        del each["stay"]
    flat = streamkarma("learn", "--entity", "stay", "--pending", "100", records=records).rows
    assert streamkarma("learn", "--entity", "s.tay", "--pending", "100", records=nested).rows == flat
    assert len(flat) > len(records)


@pytest.mark.parametrize("nobody", [None, "NA", " ", "x" * 1025, -1, "-1.0", ["a"]])
def test_events_of_nobody_get_no_label_of_an_entity(
    streamkarma: Program, tmp_path: Path, nobody: Any
) -> None:
    records = [{"stay": nobody, "x": 1.0}, {"stay": "a", "x": 2.0}, {"stay": nobody, "y": True}]
    done = streamkarma("learn", *LATE, "--sentinel", "stay=-1", "--summary", "s", records=records)
    # Like a record that has nothing but a label, this is an event with its label.
    assert [row.get("target") for row in done.rows] == [None, None, True]
    summary = json.loads((tmp_path / "s").read_text())
    assert summary["pending"] == {"matched": 0, "unmatched": 0, "expired": 0, "waiting": 1}
    assert summary["model"]["entities"] == 1


def test_a_time_that_is_none_makes_no_bad_record_unless_a_wait_is_bounded_by_it(
    streamkarma: Program, tmp_path: Path
) -> None:
    records = [{"stay": "a", "x": 1.0, "at": at} for at in (1e9, "1000000001.5", "soon", -1)]
    late = (*LATE, "--time", "at", "--summary", "s")
    for more, rejected in (((), 0), (("--pending-seconds", "9"), 2)):
        streamkarma("learn", *late, *more, records=records)
        summary = json.loads((tmp_path / "s").read_text())
        assert (summary["rejected"], summary["pending"]["waiting"]) == (rejected, 4 - rejected)


@pytest.mark.parametrize("task", ["multiclass", "regression"])
def test_labels_of_entities_may_be_classes_or_numbers(
    streamkarma: Program, tmp_path: Path, task: str
) -> None:
    given = [
        (stay, events, {"multiclass": "abc"[n % 3], "regression": float(n % 5)}[task])
        for n, (stay, events, _) in enumerate(stays())
    ]
    records = [r for stay, events, label in given for r in (*events, {"stay": stay, "y": label})]
    done = streamkarma("learn", *LATE, "--task", task, "--summary", "s", records=records)
    assert done.code == 0, done.stderr
    per_label = json.loads((tmp_path / "s").read_text())["per_label"]
    assert per_label["labels"] == len(given)
    rows = [row for row in done.rows if "target" in row]
    ends = np.cumsum([len(events) for _, events, _ in given]) - 1
    if task == "regression":
        away = [abs(rows[end]["prediction"] - rows[end]["target"]) for end in ends]
        assert per_label["last"]["mae"] == pytest.approx(np.mean(away))
    else:
        wrong = [rows[end]["prediction"] != rows[end]["target"] for end in ends]
        assert per_label["last"]["error_rate"] == pytest.approx(np.mean(wrong))
