"""Convert the rows of a CSV file to JSON lines, in order.

    python examples/csv_events.py weather.csv.gz --ignore Date | streamkarma learn --target target

The first row has the names. A cell that parses as a number is a number, an empty one is missing, anything
else is a category. `.gz` files are decompressed.
"""

from __future__ import annotations

import csv
import gzip
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click
import orjson


def cell(text: str) -> float | str | None:
    """The value of a cell.

    >>> cell("1.5"), cell("NW"), cell("")
    (1.5, 'NW', None)
    """
    try:
        return float(text)
    except ValueError:
        return text or None


def events(path: Path, ignored: tuple[str, ...] = ()) -> Iterator[dict[str, float | str]]:
    """The rows, without missing and ignored cells."""
    opened = partial(gzip.open, path, "rt") if path.suffix == ".gz" else path.open
    with opened(newline="") as file:
        for row in csv.DictReader(file):
            cells = ((name, cell(text)) for name, text in row.items() if name not in ignored)
            yield {name: value for name, value in cells if value is not None}


@click.command(help=__doc__.splitlines()[0])
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--ignore", multiple=True, metavar="NAME", help="Column left out; repeatable.")
def main(path: Path, ignore: tuple[str, ...]) -> None:
    for event in events(path, ignore):
        sys.stdout.buffer.write(orjson.dumps(event) + b"\n")


if __name__ == "__main__":
    main()
