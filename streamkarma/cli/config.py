"""Options from a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from streamkarma.cli.typos import nearest, note_unknown_keys, options_of


def _load(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    """Make the file's values the defaults of the command."""
    if value is None:
        return
    try:
        content = tomllib.loads(Path(value).read_text(encoding="utf-8"))
    except OSError as error:
        raise click.UsageError(f"cannot read --config {value}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--config {value} is not TOML: {error}") from error
    # A table named like the command wins over what stands outside of any table.
    own = content.get(str(ctx.info_name), {})
    general = {k: v for k, v in content.items() if not isinstance(v, dict)}
    known = options_of(ctx.command)
    unknown = sorted(k for k in own if k.replace("-", "_") not in known)
    if unknown:
        hint = nearest(unknown[0].replace("-", "_"), known)
        raise click.UsageError(f"--config {value}: {ctx.info_name} has no option {unknown[0]!r}{hint}")
    note_unknown_keys(ctx, value, content)
    values = {k.replace("-", "_"): _pairs(v) for k, v in {**general, **own}.items()}
    ctx.default_map = {known[n][0]: not v if known[n][1] else v for n, v in values.items() if n in known}


def _pairs(value: Any) -> Any:
    """A table within the command's table, as the option takes it: NAME=VALUE, repeated."""
    if not isinstance(value, dict):
        return value
    return [f"{k}={str(v).lower() if isinstance(v, bool) else v}" for k, v in value.items()]


config_option: Callable[[Any], Any] = click.option(
    "--config",
    type=click.Path(dir_okay=False),
    is_eager=True,
    expose_value=False,
    callback=_load,
    help="TOML file with options, in a table named like the command.",
)
