from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamkarma import KARMAClassifier, KARMARegressor, checkpoint, load, save
from streamkarma.checkpoint import FORMAT
from streamkarma.errors import ModelFileError, UsageError
from streamkarma.estimators.persistence import from_bytes, to_bytes
from streamkarma.runtime.describe import describe
from streamkarma.synthetic import StreamSpec, records
from tests.loops import run_of

#: The format as written in a file, and others of the same length.
WRITTEN, NEWER = b'"format": %d' % FORMAT, b'"format":%d0' % FORMAT
OLDEST = WRITTEN.replace(b"%d" % FORMAT, b"1".rjust(len(str(FORMAT))))

STREAMS = {
    task: [(row, row.pop("y")) for row in records(StreamSpec(attributes=6, rank=3, task=task), 120)]
    for task in ("binary", "multiclass", "regression")
}


def learned(task: str, events: int = 60, **options: Any) -> Any:
    model: Any = (KARMARegressor if task == "regression" else KARMAClassifier)(**options)
    for x, y in STREAMS[task][:events]:
        model.learn_one({**x, "colour": "red" if "x0" in x else "blue"}, y)
    return model


@pytest.mark.parametrize("task", STREAMS)
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("stop", [0, 1, 7, 60])
def test_resuming_is_never_having_stopped(tmp_path: Path, task: str, average: bool, stop: int) -> None:
    one = learned(task, stop, budget=10, average=average)
    save(one, tmp_path / "model")
    other = load(tmp_path / "model")
    for model in (one, other):
        for x, y in STREAMS[task][stop:]:
            model.learn_one(x, y)
    save(one, tmp_path / "one")
    save(other, tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    for x, _ in STREAMS[task][:20]:
        assert one.predict_one(x) == other.predict_one(x)


def test_bytes_are_those_of_a_file(tmp_path: Path) -> None:
    model = learned("binary")
    save(model, tmp_path / "model", {"events": 60}, {"kept": np.arange(3)})
    data = to_bytes(model, {"events": 60}, {"kept": np.arange(3)})
    assert data == (tmp_path / "model").read_bytes()
    again, run, arrays = from_bytes(data, "part 3")
    assert (to_bytes(again), run, list(arrays["kept"])) == (to_bytes(model), {"events": 60}, [0, 1, 2])
    for broken in (b"", data[:100], data[:-1], data + b"x", data[:200] + b"!" + data[201:]):
        with pytest.raises(ModelFileError, match="^part 3 "):
            from_bytes(broken, "part 3")


def test_names_and_labels_of_other_kinds(tmp_path: Path) -> None:
    model = KARMAClassifier()
    model.learn_one({1: 2.0, "a": "x", 2.5: 1.0}, 0)
    model.learn_one({"a": "y"}, 1.5)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.classes == [0, 1.5]
    assert again.predict_one({1: 3.0, "a": "x"}) == model.predict_one({1: 3.0, "a": "x"})


@pytest.mark.parametrize("name", [b"b", ("a", b"b"), ("a", "b"), (1, 2), frozenset("a")])
def test_what_has_no_form_in_json_is_refused(tmp_path: Path, name: Any) -> None:
    model = KARMAClassifier()
    model.learn_one({"a": 1.0, name: 1.0}, True)
    with pytest.raises(UsageError, match="names and labels must be strings"):
        save(model, tmp_path / "model")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"gamma": np.int64(3), "budget": np.int32(9)}, {"gamma": 3, "budget": 9}),
        ({"scale": np.False_, "normalize": 1}, {"scale": False, "normalize": True}),
        ({"sentinel": {"a": np.array([1.0, 2.0])}}, {"sentinel": {"a": [1.0, 2.0]}}),
    ],
)
def test_parameters_of_numpy_are_saved_as_what_they_are(
    tmp_path: Path, given: dict[str, Any], kept: dict[str, Any]
) -> None:
    model = KARMAClassifier(**given)
    model.learn_one({"a": 1.5, np.int64(7): 2.0}, True)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert {name: getattr(again, name) for name in kept} == kept
    assert again.predict_one({"a": 1.0, 7: 1.0}) == model.predict_one({"a": 1.0, 7: 1.0})


@pytest.mark.parametrize("value", ["no", None, 2, [True]])
def test_what_is_neither_true_nor_false_is_refused_at_once(value: Any) -> None:
    with pytest.raises(UsageError, match="normalize must be True or False, not"):
        KARMAClassifier(normalize=value)


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    save(learned("binary"), tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    for size in [*range(200), *range(200, len(content), 997), len(content) - 1]:
        (tmp_path / "cut").write_bytes(content[:size])
        with pytest.raises(ModelFileError, match="is not a streamkarma model|truncated|altered"):
            load(tmp_path / "cut")


@settings(max_examples=150, deadline=None)
@given(at=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_every_altered_bit_is_refused(tmp_path_factory: Any, at: int, bit: int) -> None:
    folder = tmp_path_factory.mktemp("altered")
    save(learned("binary", 5), folder / "model")
    content = bytearray((folder / "model").read_bytes())
    content[at % len(content)] ^= 1 << bit
    (folder / "model").write_bytes(content)
    with pytest.raises(ModelFileError):
        load(folder / "model")


def resealed(path: Path, old: bytes, new: bytes) -> None:
    """Change the file and correct its checksum, as an attacker would."""
    content = path.read_bytes()[:-32]
    assert old in content
    content = content.replace(old, new, 1)
    path.write_bytes(content + hashlib.sha256(content).digest())


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (WRITTEN, NEWER, f"has format {FORMAT}0, this program reads up to {FORMAT}; upgrade"),
        (WRITTEN, OLDEST, "has format 1, of an older streamkarma, and cannot be used"),
        (b'"kind": "KARMAC', b'"kind": "XARMAC', "not a model this program can use"),
        (b'"gamma": 2', b'"gamma": 0', "gamma must be an integer"),
        (b'"<i4"', b'"|O1"', "its arrays do not match its header"),
        (b'"ignored": 0', b'"ignored":{}', "not a model this program can use"),
        (b'["x1", null]', b'["x0", null]', "cannot hold 'x0'"),
        (b'"classes": [', b'"klasses": [', "not a model this program can use"),
    ],
)
def test_well_sealed_nonsense_is_refused(tmp_path: Path, old: bytes, new: bytes, reason: str) -> None:
    save(learned("binary"), tmp_path / "model")
    resealed(tmp_path / "model", old, new)
    with pytest.raises(ModelFileError, match=reason):
        load(tmp_path / "model")


def test_a_run_beside_the_model_that_is_none(tmp_path: Path) -> None:
    save(learned("binary"), tmp_path / "model", {"task": {"task": "auto"}})
    with pytest.raises(ModelFileError, match="was not written by streamkarma learn"):
        describe(str(tmp_path / "model"))
    save(learned("binary"), tmp_path / "model", {"fields": {"colour": 1}})
    with pytest.raises(ModelFileError, match="was not written by streamkarma learn"):
        run_of(model=str(tmp_path / "model"))


@pytest.mark.parametrize("task", ["auto", "binary", "multiclass"])
def test_a_task_is_not_open_where_the_labels_settle_it(tmp_path: Path, task: str) -> None:
    state = {"task": task, "settled": False, "positive": None, "options": {}}
    for labels in ([True], ["red"], [1, 2]):
        model = KARMAClassifier()
        for label in labels:
            model.learn_one({"a": 1.0}, label)
        save(model, tmp_path / "model", {"task": state})
        with pytest.raises(ModelFileError, match="was not written by streamkarma learn"):
            describe(str(tmp_path / "model"))


@pytest.mark.parametrize("content", [b"", b"hello", b"\x80\x04pickle", b"PK\x03\x04"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ModelFileError, match="is not a streamkarma model"):
        load(tmp_path / "model")


def test_a_missing_file_and_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot read the model .*: No such file"):
        load(tmp_path / "none")
    with pytest.raises(ModelFileError, match="cannot write the model to .*: No such file"):
        save(KARMAClassifier(), tmp_path / "no" / "model")


def test_a_failed_write_leaves_the_old_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(learned("binary", 5), tmp_path / "model")
    before = (tmp_path / "model").read_bytes()

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ModelFileError, match="No space left on device"):
        save(learned("binary", 10), tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


def test_only_own_models_are_saved(tmp_path: Path) -> None:
    class Child(KARMAClassifier):
        """A model that ``load`` does not support."""

    with pytest.raises(UsageError, match="can save KARMAClassifier, KARMARegressor.*, not Child"):
        save(Child(), tmp_path / "model")


def test_arrays_keep_shape_and_type(tmp_path: Path) -> None:
    # After an odd number of bytes, nothing is where the processor expects it.
    arrays = {
        "bytes": np.ones(7, np.uint8),
        "a": np.zeros((0, 3)),
        "b": np.arange(6, dtype=np.int32).reshape(2, 3),
        "c": np.array(2.5),
    }
    checkpoint.write(tmp_path / "file", {"x": [1, None]}, arrays)
    header, again = checkpoint.read(tmp_path / "file")
    assert header["x"] == [1, None]
    assert all(array.flags.aligned for array in again.values())
    for name, array in arrays.items():
        assert again[name].dtype == array.dtype
        assert again[name].shape == array.shape
        assert again[name].tolist() == array.tolist()
