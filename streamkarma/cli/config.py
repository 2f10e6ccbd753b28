"""Options from a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from streamkarma.cli.typos import nearest, note_unknown_keys, options_of

#: Non-repeatable options that can be a table in a file.
_TAKE_TABLES = frozenset({"class_weight"})
#: Options that take a text which may be a boolean: the name of a class.
_TAKE_BOOLEANS = frozenset({"positive"})


def _load(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    """Make the file's values the defaults of the command."""
    if value is None:
        return
    try:
        content = tomllib.loads(Path(value).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise click.UsageError(f"cannot read --config {value}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--config {value} is not TOML: {error}") from error
    # A table named like the command takes precedence over options outside any table.
    own = content.get(str(ctx.info_name), {})
    if not isinstance(own, dict):
        raise click.UsageError(
            f"--config {value}: {ctx.info_name} is a command; its options belong in [{ctx.info_name}]"
        )
    general = {k: v for k, v in content.items() if not isinstance(v, dict)}
    known = options_of(ctx.command)
    del known["config"]
    unknown = sorted(k for k in own if k.replace("-", "_") not in known)
    if unknown:
        hint = nearest(unknown[0].replace("-", "_"), known)
        raise click.UsageError(f"--config {value}: {ctx.info_name} has no option {unknown[0]!r}{hint}")
    note_unknown_keys(ctx, value, content)
    values = {k.replace("-", "_"): v for k, v in {**general, **own}.items()}
    parameters = {parameter.name: parameter for parameter in ctx.command.params}
    ctx.default_map = {}
    for name, given in values.items():
        if name in known:
            own_name, negated = known[name]
            where = f"--config {value}: {name}"
            _check_text(where, parameters[own_name], given, f"no_{name}" in known)
            written = _as_written(where, parameters[own_name], given)
            ctx.default_map[own_name] = not written if negated else written


def _check_text(where: str, parameter: click.Parameter, value: Any, has_opposite: bool) -> None:
    """Refuse a boolean for a path or another text: a file would be named ``false``."""
    takes_text = isinstance(parameter.type, click.types.StringParamType | click.Path)
    if not takes_text or parameter.name in _TAKE_BOOLEANS:
        return
    given = value if isinstance(value, list) else [value]
    found = next((each for each in given if isinstance(each, bool)), None)
    if found is None:
        return
    name = str(parameter.name).replace("_", "-")
    instead = f"no-{name} = true" if found is False and has_opposite else f'{name} = "…", or leave it out'
    raise click.UsageError(f"{where} must be a text, not {_text(found)}; write {instead}")


def _as_written(where: str, parameter: click.Parameter, value: Any) -> Any:
    """A value as it would be given on the command line, so that it is checked in the same way."""
    is_table = isinstance(value, dict)
    if is_table:
        # A table within the command's table is NAME=VALUE, repeated.
        value = [f"{name}={_text(each)}" for name, each in value.items()]
    if getattr(parameter, "multiple", False):
        if isinstance(value, list) and any(isinstance(each, list | dict) for each in value):
            raise click.UsageError(f"{where} must be a list of values, not of lists or tables")
        return [_text(each) for each in value] if isinstance(value, list) else [_text(value)]
    if is_table and parameter.name in _TAKE_TABLES:
        return value  # by class, in parts: a name may have a comma in it
    if isinstance(value, list):
        raise click.UsageError(f"{where} takes one value")
    if getattr(parameter, "is_flag", False):
        if not isinstance(value, bool):
            raise click.UsageError(f"{where} must be true or false, not {_text(value)}")
        return value
    return _text(value)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


config_option: Callable[[Any], Any] = click.option(
    "--config",
    type=click.Path(dir_okay=False),
    is_eager=True,
    expose_value=False,
    callback=_load,
    help="TOML file with options, in a table named like the command.",
)
