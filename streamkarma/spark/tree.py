"""Merges the models of parts in a tree, a few at a time on the cluster, instead of all in one place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from streamkarma.errors import StreamkarmaError
from streamkarma.spark.states import State, merged
from streamkarma.spark.tasks import PROBLEM, ROW_SCHEMA, Row, batch_of, check, collected

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: Number of models merged at a time.
FAN_IN = 8
#: The kind of a row with a state.
STATE = "state"


def merged_parts(parts: DataFrame, base: bytes, names: Sequence[str]) -> State:
    """The state of all parts, numbered from 0.

    Parameters
    ----------
    parts
        A row with the state of each.
    base
        Bytes of the state from which all of them started.
    names
        The names of the parts.

    Raises
    ------
    RunError
        If a part could not be processed, or the states could not be merged.
    """
    rows = parts
    while len(names) > FAN_IN:
        grouped = rows.selectExpr(f"part div {FAN_IN} as above", *rows.columns)
        rows = grouped.groupBy("above").applyInArrow(partial(_merge_group, base, names), ROW_SCHEMA)
        names = names[::FAN_IN]
    return merged_rows(base, collected(rows), names)


def merged_rows(base: bytes, rows: list[Row], names: Sequence[str]) -> State:
    """The state of a few parts, merged here; see ``merged_parts``. Without any, that is the base."""
    if not rows:
        return State.from_bytes(base, "the base")
    last = merge_rows(base, names, rows)
    check(last)
    return State.from_bytes(last.data, "the merged model")


def merge_rows(base: bytes, names: Sequence[str], rows: list[Row]) -> Row:
    """Merge the rows of some parts into one, numbered by their group."""
    rows = sorted(rows)
    above = rows[0].part // FAN_IN
    problem = next((row for row in rows if row.kind == PROBLEM), None)
    if problem is not None:
        return problem._replace(part=above)
    if len(rows) == 1:
        return rows[0]._replace(part=above)
    try:
        own = [names[row.part] for row in rows]
        states = [State.from_bytes(row.data, name) for name, row in zip(own, rows, strict=True)]
        return Row(above, STATE, merged(State.from_bytes(base, "the base"), states, own).to_bytes())
    except StreamkarmaError as error:
        return Row(above, PROBLEM, str(error).encode())


def _merge_group(base: bytes, names: Sequence[str], table: pa.Table) -> pa.Table:
    import pyarrow as pa

    rows = [Row(each["part"], each["kind"], each["data"]) for each in table.to_pylist()]
    return pa.Table.from_batches([batch_of([merge_rows(base, names, rows)])])
