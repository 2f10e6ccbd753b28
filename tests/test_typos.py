"""Unknown names on the command line, in the environment and in a --config file."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from streamkarma.cli import cli
from streamkarma.cli.typos import _ALSO_CALLED, _in_environment, options_of


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """What ``generate`` with this file and this environment prints to stderr, the file's path as FILE."""

    def say(config: str = "", command: str = "generate", **environment: str) -> list[str]:
        file = tmp_path / "c.toml"
        file.write_text(config)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        arguments = {"generate": ["lowrank", "--events", "0"]}[command]
        cli.main([command, *arguments, "--config", str(file)], standalone_mode=False)
        return capsys.readouterr().err.replace(str(file), "FILE").splitlines()

    return say


def test_what_is_known_is_no_matter(said) -> None:
    config = """
    gamma = 2
    no-scale = true
    seed = 3
    [generate]
    rank = 2
    [learn]
    no-predictions = true
    [attach.kafka]
    sasl_mechanism = "PLAIN"
    """
    environment = {
        "STREAMKARMA_GENERATE_RANK": "3", "STREAMKARMA_LEARN_GAMMA": "2", "STREAMKARMA_ATTACH_GROUP": "g",
        "STREAMKARMA_KAFKA_SASL_PLAIN_PASSWORD": "p", "STREAMKARMA_TEST_KAFKA": "b", "STREAMKARMA_HOME": "/",
        "STREAMKARMA_LEARN_SEED": "not ours to say",
    }  # fmt: skip
    assert said(config, **environment) == []


def test_every_long_name_of_every_option_is_known_in_the_environment() -> None:
    for name, command in cli.commands.items():
        prefix = f"STREAMKARMA_{name.upper()}"
        context = click.Context(command, info_name=name, auto_envvar_prefix=prefix)
        for parameter in command.params:
            for option in (each for each in parameter.opts if each.startswith("--")):
                variable = f"{prefix}_{option[2:].replace('-', '_').upper()}"
                assert list(_in_environment(command, context, [variable])) == []
                with pytest.MonkeyPatch.context() as patch:
                    patch.setenv(variable, "x")
                    assert parameter.resolve_envvar_value(context) == "x"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("STREAMKARMA_GENERATE_RNAK", "; did you mean STREAMKARMA_GENERATE_RANK?"),
        ("STREAMKARMA_GENERATE_QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ", ""),
        ("STREAMKARMA_GENERAT_SEED", "; did you mean STREAMKARMA_GENERATE_SEED?"),
    ],
)
def test_a_name_in_the_environment(said, name: str, hint: str) -> None:
    value = "a secret"
    line = f"warning: {name} in the environment is not an option of generate{hint}"
    assert said(**{name: value}) == [line]


@pytest.mark.parametrize(
    ("config", "warning"),
    [
        ("gammma = 'a secret'", "no command has an option gammma; did you mean gamma?"),
        (
            "check-point-every = 1",
            "no command has an option check-point-every; did you mean checkpoint_every?",
        ),
        ("zzzz = 1", "no command has an option zzzz"),
        ("[lern]\ngamma = 3", "there is no command lern; did you mean learn?"),
        ("[kafka]\nsasl_mechanism = 'PLAIN'", "there is no command kafka"),
    ],
)
def test_a_name_in_a_file(said, config: str, warning: str) -> None:
    assert said(config) == [f"warning: --config FILE: {warning}"]


def test_an_unknown_name_in_a_commands_own_table_is_refused(said) -> None:
    with pytest.raises(Exception, match="generate has no option 'rankk'; did you mean rank?"):
        said("[generate]\nrankk = 3")


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ("predict m --carry off", "give it to learn, which stores it in the model"),
        ("explain m --no-scale", "give it to learn, which stores it in the model"),
        ("predict --model m", "it is an argument: predict MODEL"),
        ("predict m --learner karma", "give it to learn, which stores it in the model"),
        ("generate lowrank --model m", "it is an option of learn, attach, pull, backfill, stream, merge"),
        ("learn --brokers b", "it is an option of predict, attach, pull, stream, profile"),
        ("learn --group=g", "it is an option of attach"),
    ],
)
def test_an_option_of_another_command(line: str, where: str) -> None:
    command, option = line.split()[0], next(word for word in line.split() if word[0] == "-").split("=")[0]
    with pytest.raises(click.UsageError) as refused:
        cli.main(line.split(), standalone_mode=False)
    assert refused.value.format_message() == f"{command} has no option {option}; {where}"


@pytest.mark.parametrize(
    ("line", "ours"),
    [
        ("learn --label y", "target"),
        ("learn --label-column y", "target"),
        ("profile --target-column=y", "target"),
        ("learn --drop a", "ignore"),
        ("learn --time-column t", "time"),
        ("learn --n-jobs 2", "workers"),
        ("learn --output rows.jsonl", "predictions"),
        ("attach topic --bootstrap-servers localhost:9092", "brokers"),
        ("attach topic --group-id g", "group"),
        ("regret --json-lines", None),
        ("predict m --save other", None),
    ],
)
def test_an_option_with_another_name_in_other_programs(line: str, ours: str | None) -> None:
    option = next(word for word in line.split() if word[0] == "-").split("=")[0]
    with pytest.raises(click.UsageError) as refused:
        cli.main(line.split(), standalone_mode=False)
    assert (f"{option}; did you mean --{ours}?" in refused.value.format_message()) == (ours is not None)


def test_names_of_other_programs_belong_to_one_option_each() -> None:
    names = [name for also in _ALSO_CALLED.values() for name in also]
    assert len(names) == len(set(names))
    known = {name for command in cli.commands.values() for name in options_of(command)}
    assert set(_ALSO_CALLED) <= known


def test_an_option_of_no_command() -> None:
    with pytest.raises(click.NoSuchOption, match="--nothing"):
        cli.main(["learn", "--nothing"], standalone_mode=False)
