"""Convert the rows of a CSV file to JSON lines, in order.

    python examples/csv_events.py weather.csv.gz --ignore Date | streamkarma learn --target target

The first row has the names. A cell that parses as a number is a number, an empty one is missing, anything
else is a category. `.gz` files are decompressed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click
import orjson
from inputs import table_rows


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
    rows = table_rows(path)
    names = next(rows)
    for row in rows:
        cells = ((name, cell(text)) for name, text in zip(names, row, strict=True) if name not in ignored)
        yield {name: value for name, value in cells if value is not None}


@click.command(help=__doc__.splitlines()[0])
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--ignore", multiple=True, metavar="NAME", help="Column left out; repeatable.")
def main(path: Path, ignore: tuple[str, ...]) -> None:
    for event in events(path, ignore):
        sys.stdout.buffer.write(orjson.dumps(event) + b"\n")


if __name__ == "__main__":
    main()
