"""Options that have no meaning without another one, and names given two purposes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Program

RECORDS = [{"a": t % 5 - 2.0, "b": t % 3, "w": 1, "y": t % 5 > 1} for t in range(20)]

LONELY = [
    ("learn --pending-seconds 5", "--pending-seconds", "--pending"),
    ("learn --pending 0 --pending-seconds 5", "--pending-seconds", "--pending"),
    ("learn --share-label off", "--share-label", "--entity and --pending"),
    ("learn --share-label off --entity a", "--share-label", "--entity and --pending"),
    ("learn --share-label off --id a --pending 3", "--share-label", "--entity and --pending"),
    ("learn --refit-memory 100", "--refit-memory", "--refit"),
    ("learn --max-entities 5", "--max-entities", "--entity"),
    ("learn --carry last", "--carry", "--entity"),
    ("learn --carry-for 5", "--carry-for", "--entity"),
    ("learn --model m --carry-for 5", "--carry-for", "--entity"),
    ("learn --model m --max-entities 100000", "--max-entities", "--entity"),
    ("learn --checkpoint-every 3", "--checkpoint-every", "--model"),
    ("learn --fresh", "--fresh", "--model"),
    ("learn --regret-memory 50", "--regret-memory", "--regret"),
    ("learn --regret none --regret-seconds 5", "--regret-seconds", "--regret"),
    ("regret --max-entities 5", "--max-entities", "--entity"),
    ("predict m -X a=b", "--kafka", "--brokers"),
    ("predict m --connect-timeout 3", "--connect-timeout", "--brokers"),
    ("profile -X a=b", "--kafka", "--brokers"),
    ("explain m --predictions p", "--predictions", "INPUT"),
    ("explain m --format csv", "--format", "INPUT"),
    ("attach t --brokers localhost:1 --group g --share-every 3", "--share-every", "--share"),
]

TWICE = [
    *(f"learn --{option} y" for option in ("id", "weight", "time", "entity", "full", "ignore")),
    *(f"predict m --{option} y" for option in ("id", "weight", "full")),
    *(f"regret --{option} y" for option in ("id", "ignore")),
    *(f"profile --target y --{option} y" for option in ("id", "ignore")),
    *(f"learn --weight w --{option} w" for option in ("id", "time", "entity", "full")),
]


@pytest.fixture
def program(streamkarma: Program) -> Program:
    assert streamkarma("learn", "--model", "m", "--learner", "explicit", records=RECORDS).code == 0
    return streamkarma


@pytest.mark.parametrize(("command", "option", "needed"), LONELY)
def test_an_option_without_the_one_it_needs_is_refused(
    program: Program, command: str, option: str, needed: str
) -> None:
    done = program(*command.split(), records=RECORDS)
    assert (done.code, done.stdout) == (2, b"")
    end = (
        f"add {needed}, or leave {option} out" if needed[0] == "-" else "name a file, or - for standard input"
    )
    assert done.stderr == f"streamkarma: {option} has no meaning without {needed}; {end}\n"


@pytest.mark.parametrize("command", TWICE)
def test_a_name_has_one_purpose(program: Program, command: str) -> None:
    done = program(*command.split(), records=RECORDS)
    assert (done.code, done.stdout) == (2, b"")
    name = command.split()[-1]
    assert done.stderr.endswith(f" are both {name}; name another attribute\n")


@pytest.mark.parametrize(
    "command",
    [
        # The time of an event may also be its id.
        "learn --id a --time a --ignore a",
        "learn --id a --pending 3 --time b --pending-seconds 5",
        "learn --entity a --pending 3 --share-label off",
        "learn --regret zero --regret-memory 50",
        "learn --model m --fresh --checkpoint-every 5",
        "learn --kind a=number --kind a=number",
        # Its values are read, although it is ignored.
        "learn --entity a --ignore a --kind a=number --sentinel a=-1",
        # Scoring without the labels.
        "predict m --ignore y",
        "profile --ignore y",
        "explain m --json --window 5",
    ],
)
def test_what_has_a_meaning_is_taken(program: Program, command: str) -> None:
    assert program(*command.split(), records=RECORDS).code == 0


def test_what_waits_for_labels_goes_on_waiting(program: Program) -> None:
    late = ["learn", "--model", "late", "--id", "a", "--time", "b", "--learner", "explicit"]
    assert program(*late, "--pending", "3", records=RECORDS[:9]).code == 0
    assert program(*late, "--pending-seconds", "3", records=RECORDS[9:]).code == 0


def test_a_file_for_all_commands_may_say_more_than_one_of_them_needs(
    program: Program, tmp_path: Path
) -> None:
    (tmp_path / "all.toml").write_text('target = "y"\nid = "a"\nsummary = "s.json"\n')
    for command in ("learn", "explain m", "explain m -"):
        assert program(*command.split(), "--config", "all.toml", records=RECORDS).code == 0
    (tmp_path / "all.toml").write_text("carry-for = 3\n")
    assert program("learn", "--config", "all.toml", records=RECORDS).code == 2


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("learn --kind y=text", "--kind y=… has no effect: --target y is not an attribute"),
        ("learn --target b --kind b=text", "--kind b=… has no effect: --target b is not an attribute"),
        ("learn --id b --kind b=text", "--kind b=… has no effect: --id b is not an attribute"),
        ("learn --weight w --kind w=text", "--kind w=… has no effect: --weight w is not an attribute"),
        ("learn --ignore a --kind a=text", "--kind a=… has no effect: --ignore a is not an attribute"),
        ("learn --full a --kind a=text", "--kind a=… has no effect: --full a is not an attribute"),
        ("regret --kind y=text", "--kind y=… has no effect: --target y is not an attribute"),
        ("learn --sentinel y=-1", "--sentinel y=… has no effect: --target y is not an attribute"),
        (
            "learn --kind a=text --kind a=number",
            "--kind a=text and a=number contradict each other; leave one out",
        ),
        (
            "learn --model m --fresh --resume-input",
            "--fresh starts a new model, and --resume-input continues one; leave one out",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(program: Program, command: str, complaint: str) -> None:
    done = program(*command.split(), records=RECORDS)
    assert (done.code, done.stdout, done.stderr) == (2, b"", f"streamkarma: {complaint}\n")


def test_a_script_may_set_what_a_model_needs_whether_it_keeps_one_or_not(
    program: Program, tmp_path: Path
) -> None:
    (tmp_path / "all.toml").write_text("checkpoint-every = 3\nfresh = true\n")
    environment = {"STREAMKARMA_LEARN_CHECKPOINT_EVERY": "3", "STREAMKARMA_LEARN_FRESH": "1"}
    assert program("learn", "--config", "all.toml", records=RECORDS).code == 0
    assert program("learn", env=environment, records=RECORDS).code == 0


def test_a_row_that_is_not_written_explains_nothing(program: Program) -> None:
    done = program("learn", "--explain", "3", "--no-predictions", records=RECORDS)
    complaint = "--explain has no meaning with --no-predictions; leave one of them out"
    assert (done.code, done.stderr) == (2, f"streamkarma: {complaint}\n")
