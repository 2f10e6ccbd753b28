"""merge."""

from __future__ import annotations

import click

from streamkarma.cli.config import config_option
from streamkarma.cli.typos import Command


@click.command(cls=Command)
@click.argument("models", nargs=-1, required=True)
@config_option
@click.option(
    "--base", metavar="PATH", help="The model that all of them went on from.  [default: an empty one]"
)
@click.option("--model", required=True, metavar="PATH", help="Where the merged model is written.")
@click.option("--quiet", is_flag=True, help="Nothing on stderr but errors.")
def merge(models: tuple[str, ...], base: str | None, model: str, quiet: bool) -> None:
    """Make one model of several that learned apart.

    MODELS are files of models with the same options, for instance from several machines. They may have met
    names and classes in any order. The merged model learns on like any other.
    """
    from streamkarma.runtime.merging import merge_files

    def say(line: str) -> None:
        if not quiet:
            click.echo(line, err=True)

    merged = merge_files(models, base, model, say)
    say(f"{model}: {len(models)} models with {merged.steps:,} events learned")
