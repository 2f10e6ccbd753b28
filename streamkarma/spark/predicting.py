"""Predictions as columns of a frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamkarma._engine import use_threads
from streamkarma.connectors.rows import ABSENT, Rows, plain
from streamkarma.estimators.classification import BaseClassifier
from streamkarma.runtime.output import Output
from streamkarma.runtime.session import resumed
from streamkarma.spark.reading import FrameReader
from streamkarma.spark.states import State

if TYPE_CHECKING:
    import pyarrow as pa

#: Types of columns, as Spark names them.
_NUMBER, _COUNT, _TEXT, _TRUTH = "double", "bigint", "string", "boolean"


def columns_of(state: State) -> dict[str, str]:
    """The columns of a model's predictions, and Spark's names of their types."""
    task_model = resumed("the model", state.model, state.kept, lambda _: None)
    label, is_class = _NUMBER, isinstance(state.model, BaseClassifier)
    if isinstance(state.model, BaseClassifier):
        label = _type_of(state.model.classes)
    columns = {} if state.kept["fields"]["id"] is None else {"id": _TEXT}
    columns |= {"prediction": label}
    columns["score"] = f"map<{_TEXT},{_NUMBER}>" if task_model.name == "multiclass" else _NUMBER
    if is_class and state.model.loss == "logistic":
        columns["probability"] = _NUMBER
    if state.model.coverage is not None:
        columns["set" if is_class else "interval"] = f"array<{label}>"
    return {**columns, "target": label, "loss": _NUMBER, "observed": _COUNT}


def _type_of(classes: Sequence[Any]) -> str:
    kinds = {type(label) for label in classes}
    if kinds == {bool}:
        return _TRUTH
    if kinds == {int} and all(map(_is_count, classes)):
        return _COUNT
    is_number = kinds and kinds <= {int, float} and all(label == float(label) for label in classes)
    return _NUMBER if is_number else _TEXT


def _is_count(number: int) -> bool:
    """Whether it fits into 64 bits."""
    return -(1 << 63) <= number < 1 << 63


@dataclass(frozen=True)
class Predict:
    """Scores the rows of a frame; rows that are not events are left out.

    Attributes
    ----------
    reader
        Reads the rows.
    model
        Bytes of a ``State``.
    columns
        The columns of the result, with their types.
    """

    reader: FrameReader
    model: bytes
    columns: dict[str, str]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A batch of predictions for each batch of rows."""
        use_threads(1)
        ready: list[Rows] = []
        loop = State.from_bytes(self.model, "the model").loop(
            Output(lambda rows, _: ready.append(rows)), learn=False
        )
        for _, chunks in self.reader.read(batches):
            for chunk in chunks:
                loop.feed(chunk.records())
                yield from map(self._batch, ready)
                ready.clear()

    def _batch(self, rows: Rows) -> pa.RecordBatch:
        import pyarrow as pa

        arrays = {}
        for name, kind in self.columns.items():
            values = plain(rows.columns[name]) if name in rows.columns else [ABSENT] * len(rows)
            arrays[name] = pa.array([_fitting(value, kind) for value in values], _arrow_type(kind))
        return pa.RecordBatch.from_pydict(arrays)


def _fitting(value: Any, kind: str) -> Any:
    """A value converted to the type of a column; None if there is none."""
    if value is ABSENT or value is None:
        return None
    if kind == _TEXT:
        return value if isinstance(value, str) else str(value)
    if kind == f"array<{_TEXT}>":
        return list(map(str, value))
    if kind == _COUNT:
        return int(value) if value == int(value) and _is_count(int(value)) else None
    return list(value.items()) if isinstance(value, dict) else value


def _arrow_type(kind: str) -> pa.DataType:
    import pyarrow as pa

    if kind.startswith("array"):
        return pa.list_(_arrow_type(kind.removeprefix("array<").removesuffix(">")))
    if kind.startswith("map"):
        return pa.map_(pa.string(), pa.float64())
    return {_NUMBER: pa.float64(), _COUNT: pa.int64(), _TEXT: pa.string(), _TRUTH: pa.bool_()}[kind]
