"""Fill missing values of JSON lines with the last values of the same entity.

    streamkarma generate devices | python examples/carry.py --entity device | streamkarma learn

This is what ``--entity`` is compared with. Records without the entity pass unchanged, and so do labels on
their own.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Any, BinaryIO

import click
import orjson
from inputs import json_records

Record = dict[str, Any]


def carried(
    records: Iterable[Record], entity: str, left_out: Collection[str] = ("y",), suffix: str = ""
) -> Iterator[Record]:
    """The records, each with the last values of the attributes that it lacks, under their names and a suffix.

    >>> records = [{"device": 1, "a": 5, "y": 0}, {"device": 2, "b": 6}, {"device": 1, "b": 7, "y": 1}]
    >>> list(carried(records, "device"))[-1]
    {'a': 5, 'device': 1, 'b': 7, 'y': 1}
    >>> list(carried(records, "device", suffix=".last"))[-1]
    {'a.last': 5, 'device': 1, 'b': 7, 'y': 1}
    """
    memory: defaultdict[Any, Record] = defaultdict(dict)
    for record in records:
        attributes = {
            name: value
            for name, value in record.items()
            if value is not None and name != entity and name not in left_out
        }
        if record.get(entity) is None or not attributes:
            yield record
            continue
        last = memory[record[entity]]
        missing = {f"{name}{suffix}": value for name, value in last.items() if name not in attributes}
        yield {**missing, **{name: value for name, value in record.items() if value is not None}}
        last |= attributes


@click.command(help=__doc__.splitlines()[0])
@click.argument("records", type=click.File("rb"), default="-")
@click.option("--entity", required=True, metavar="NAME", help="Attribute that names the entity.")
@click.option("--last", is_flag=True, help="Add last values as NAME.last instead of filling in missing ones.")
@click.option("--target", default="y", show_default=True, metavar="NAME", help="The label, never carried.")
@click.option("--ignore", multiple=True, metavar="NAME", help="Attribute never carried; repeatable.")
def main(records: BinaryIO, entity: str, last: bool, target: str, ignore: tuple[str, ...]) -> None:
    suffix = ".last" if last else ""
    for record in carried(json_records(records, orjson.loads), entity, {target, *ignore}, suffix):
        sys.stdout.buffer.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()
