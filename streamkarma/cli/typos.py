"""Unknown names on the command line, in the environment and in a --config file, with suggestions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click

from streamkarma import log
from streamkarma.parameters.learning import LEARNING
from streamkarma.parameters.running import RUNNING
from streamkarma.parameters.words import LOG_FORMATS

#: Where warnings about a --config file are kept until they can be printed.
_FOUND = "streamkarma.typos"
#: How similar a name must be to one of ours if nothing else shows that it is meant for this program.
_NEAR = 0.9
#: What options are called in other programs, by their names here; any of them may also end in "_column".
_ALSO_CALLED = {
    "target": ("label", "labels", "y", "class", "response", "outcome"),
    "ignore": ("drop", "exclude", "skip", "drop_columns", "ignore_columns"),
    "id": ("row_id",),
    "time": ("timestamp", "date"),
    "entity": ("entity_id", "group_by"),
    "weight": ("weights", "sample_weight", "importance"),
    "positive": ("positive_class", "positive_label", "pos_label"),
    "na": ("na_values", "missing_values", "null", "nan"),
    "format": ("csv", "json", "tsv", "parquet", "input_format"),
    "learner": ("algorithm", "method", "estimator"),
    "model": ("save", "load", "state", "model_file"),
    "predictions": ("output", "out", "output_file"),
    "workers": ("threads", "num_threads", "jobs", "n_jobs", "cores"),
    "brokers": ("broker", "bootstrap_server", "bootstrap_servers", "bootstrap"),
    "group": ("group_id", "consumer_group"),
    "from": ("offset", "from_beginning", "auto_offset_reset"),
}


class Command(click.Command):
    """A command that complains about unknown names."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; of an option that has another name here, or only in other commands, say so."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if why := _elsewhere(ctx, error.option_name):
                what = f"{ctx.info_name} has no option {error.option_name}"
                raise click.UsageError(what + why, ctx) from error
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        log.use(ctx.params.get("log_format") or LOG_FORMATS[0])
        if not ctx.params.get("quiet"):
            for line in (*ctx.meta.get(_FOUND, ()), *_in_environment(self, ctx, os.environ)):
                log.write(f"warning: {line}")
        return super().invoke(ctx)


def note_unknown_keys(ctx: click.Context, path: str, content: Mapping[str, Any]) -> None:
    """Note options and tables in a file that belong to no command.

    An option outside any table applies to every command that has it.
    """
    commands = _commands(ctx)
    options = {name for command in commands.values() for name in options_of(command)}
    found = ctx.meta.setdefault(_FOUND, [])
    for name, value in content.items():
        if isinstance(value, dict) and name not in commands:
            found.append(f"--config {path}: there is no command {name}{nearest(name, commands)}")
        elif not isinstance(value, dict) and name.replace("-", "_") not in options:
            found.append(f"--config {path}: no command has an option {name}{nearest(name, options)}")


def options_of(command: click.Command) -> dict[str, tuple[str, bool]]:
    """By long option, dashes as underscores: its parameter, and whether it negates it."""
    return {
        option.lstrip("-").replace("-", "_"): (str(parameter.name), option in parameter.secondary_opts)
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
        if option.startswith("--")
    }


def nearest(name: str, known: Iterable[str], least: float = 0.6) -> str:
    """The most similar known name, as a question; empty if none is similar."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), 1, least)
    return f"; did you mean {near[0]}?" if near else ""


def _elsewhere(ctx: click.Context, option: str) -> str:
    """What to give instead of an option that a command lacks; empty if nothing comes close."""
    name = option[2:].replace("-", "_")
    own = options_of(ctx.command)
    for here, elsewhere in _ALSO_CALLED.items():
        if here in own and name.removesuffix("_column") in (here, *elsewhere):
            return f"; did you mean --{here.replace('_', '-')}?"
    others = [other for other, each in _commands(ctx).items() if name in options_of(each)]
    declared = (*LEARNING.values(), *RUNNING.values())
    stored = {each.option.replace("-", "_") for each in declared if each.stored}
    arguments = [each.name for each in ctx.command.params if isinstance(each, click.Argument)]
    if name in arguments:
        return f"; it is an argument: {ctx.info_name} {name.upper()}"
    if "model" in arguments and name.removeprefix("no_") in stored:
        return "; give it to learn, which stores it in the model"
    return f"; it is an option of {', '.join(others)}" if others else ""


def _commands(ctx: click.Context) -> Mapping[str, click.Command]:
    group = ctx.parent.command if ctx.parent is not None else None
    return group.commands if isinstance(group, click.Group) else {}


def _in_environment(command: click.Command, ctx: click.Context, names: Iterable[str]) -> Iterator[str]:
    prefix = ctx.auto_envvar_prefix
    if prefix is None:
        return
    known = {f"{prefix}_{str(parameter.name).upper()}" for parameter in command.params}
    known.update(*(parameter.envvar or () for parameter in command.params))
    program = prefix.removesuffix(str(ctx.info_name).upper())
    others = tuple(f"{program}{other.upper()}_" for other in _commands(ctx) if other != ctx.info_name)
    for name in sorted(names):
        if name.startswith(program) and not name.startswith(others) and name not in known:
            least = 0.6 if name.startswith(f"{prefix}_") else _NEAR
            hint = nearest(name, known, least)
            if hint or name.startswith(f"{prefix}_"):
                yield f"{name} in the environment is not an option of {ctx.info_name}{hint}"
