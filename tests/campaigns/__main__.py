"""The long form of the campaigns, from the root of the repository: ``python -m tests.campaigns``."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

import click

from tests.campaigns import campaigns

MODULES = campaigns()


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1, type=click.Choice(list(MODULES)))
@click.option("--tries", type=click.IntRange(min=1), help="How many.  [default: as many as the module says]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
def main(names: tuple[str, ...], tries: int | None, seed: int) -> None:
    """Run the long form of all campaigns, or of those named."""
    all_held = True
    for name in names or MODULES:
        all_held &= _run(name, tries or MODULES[name].LONG, seed)
    sys.exit(0 if all_held else 1)


def _run(name: str, tries: int, seed: int) -> bool:
    """Run one campaign and print its line; returns whether it passed."""
    folder = Path(tempfile.mkdtemp(prefix=f"campaign-{name}-"))
    begin = time.monotonic()
    try:
        MODULES[name].run(tries, seed, folder)
    except Exception as error:
        traceback.print_exc()
        outcome = f"FAILED in {folder}: {error}"
    else:
        shutil.rmtree(folder)
        outcome = "held"
    seconds = time.monotonic() - begin
    click.echo(f"{name}  {tries:,} tries  seed {seed}  {seconds:,.0f} s  {outcome}")
    return outcome == "held"


if __name__ == "__main__":
    main(prog_name="python -m tests.campaigns")
