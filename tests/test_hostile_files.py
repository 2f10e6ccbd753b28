"""Files that are not models are refused at once, whatever they are and however large."""

from __future__ import annotations

import hashlib
import json
import os
import tracemalloc
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamkarma import checkpoint, load, save
from streamkarma.errors import ModelFileError, UsageError
from streamkarma.estimators.learners import KINDS
from tests.conftest import Program


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/full", "/dev/zero", "/dev/null", tmp_path / "pipe", tmp_path):
        with pytest.raises(ModelFileError, match="is not a regular file, so it is not a streamkarma model"):
            load(path)


@pytest.mark.parametrize(
    ("begin", "reason"),
    [
        (b"", "is not a streamkarma model"),
        (checkpoint.MAGIC + bytes(8), "is altered"),
        (checkpoint.MAGIC + (1 << 31).to_bytes(8, "little"), "has a header of 2,147,483,648 bytes"),
        (checkpoint.MAGIC + b"\xff" * 8, "is truncated"),
    ],
)
def test_a_file_of_three_gigabytes_is_not_read(tmp_path: Path, begin: bytes, reason: str) -> None:
    path = tmp_path / "large"
    path.write_bytes(begin)
    os.truncate(path, 3 << 30)
    tracemalloc.start()
    with pytest.raises(ModelFileError, match=reason):
        load(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 20


#: Beginning of a header with an accepted format.
HEADER = b'{"format": %d, ' % checkpoint.FORMAT


def sealed(path: Path, text: bytes, content: bytes = b"") -> Path:
    """A file with this header and these arrays, and a correct checksum."""
    whole = checkpoint.MAGIC + len(text).to_bytes(8, "little") + text + content
    path.write_bytes(whole + hashlib.sha256(whole).digest())
    return path


@pytest.mark.parametrize(
    "text",
    [
        HEADER + b'"x": NaN, "arrays": []}',
        HEADER + b'"x": -Infinity, "arrays": []}',
        HEADER + b'"x": 1e400, "arrays": []}',
        HEADER + b'"x": 1' + b"0" * 400 + b', "arrays": []}',
        HEADER + b'"x": 1' + b"0" * 5000 + b', "arrays": []}',
        HEADER + b'"x": {"a": 1, "a": 2}, "arrays": []}',
        HEADER + b'"x": ' + b"[" * 100_000 + b"]" * 100_000 + b', "arrays": []}',
        HEADER + b'1: 2, "arrays": []}',
        b'{"format": true, "arrays": []}',
        b'{"format": 0, "arrays": []}',
        b'{"format": %d.0, "arrays": []}' % checkpoint.FORMAT,
        b'{"arrays": []}',
        b"[]",
        b"\xff",
    ],
)
def test_what_is_no_json_of_ours_is_refused(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(ModelFileError, match="is altered; restore it from a copy"):
        checkpoint.read(sealed(tmp_path / "file", text))


@pytest.mark.parametrize(
    "arrays",
    [
        *(None, 1, {}, [1]),
        *([["a", "<f8"]], [["a", "O", [1]]], [[1, "<f8", [1]]], [["a", "<f8", 1]], [["a", "<f8", [-1]]]),
        *([["a", "<f8", [True]]], [["a", "<f8", [1.0]]], [["a", "<f8", [1, 1, 1, 1, 1]]]),
        [["a", "<f8", [0]], ["a", "<f8", [1]]],
        *([["a", "<f8", [1]], ["b", "<f8", [0, size]]] for size in (1 << 62, 10**30)),
        [["a", "<f8", [1 << 62, 1 << 62]]],
    ],
)
def test_arrays_that_are_none_are_refused(tmp_path: Path, arrays: Any) -> None:
    text = json.dumps({"format": checkpoint.FORMAT, "arrays": arrays}).encode()
    with pytest.raises(ModelFileError, match="do not match its header|is truncated or altered"):
        checkpoint.read(sealed(tmp_path / "file", text, bytes(8)))


def test_arrays_larger_than_the_file_are_not_made(tmp_path: Path) -> None:
    text = json.dumps({"format": checkpoint.FORMAT, "arrays": [["a", "<f8", [1 << 20, 1 << 20]]]}).encode()
    with pytest.raises(ModelFileError, match="is truncated or altered"):
        checkpoint.read(sealed(tmp_path / "file", text, bytes(80)))


@pytest.mark.parametrize("kind", KINDS.values())
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("gamma", 10**9),
            ("gamma", 33),
            ("budget", 10**9),
            ("rank", 10**9),
            ("max_pairwise_coordinates", 10**6),
        ),
        *(("rho", 1e300), ("eta", 1e300), ("r", 1e-300), ("shrink", 1e300), ("forget", 1e300)),
        *(("max_attributes", 10**9), ("max_coordinates", 10**9), ("max_name_bytes", 10**9)),
        *(("max_classes", 10**9), ("horizon", 10**30), ("table_bits", 31)),
    ],
)
def test_parameters_have_bounds(kind: Any, name: str, value: Any) -> None:
    if name in signature(kind).parameters:
        with pytest.raises(UsageError):
            kind(**{name: value})


def test_arrays_of_more_classes_than_there_are_make_no_room(tmp_path: Path) -> None:
    model = KINDS["KARMAClassifier"]()
    save(model, tmp_path / "model")
    header, arrays = checkpoint.read(tmp_path / "model")
    arrays = {**arrays, "values": np.zeros((0, 10**9)), "passed": np.zeros((0, 10**9))}
    checkpoint.write(tmp_path / "model", header, arrays)
    with pytest.raises(ModelFileError, match="has more classes than the model"):
        load(tmp_path / "model")


#: Arrays that these bounds do not cover, since they count or sum raw values.
_OF_VALUES = ("moments", "levels")


@pytest.mark.parametrize("name", KINDS)
def test_counts_and_numbers_beyond_any_are_refused_wherever_they_stand(tmp_path: Path, name: str) -> None:
    model, path = KINDS[name](), tmp_path / "model"
    for t in range(40):
        model.learn_one({"a": t % 7 - 3.0, "b": "xyz"[t % 3]}, float(t % 5) if "Reg" in name else t % 2)
    save(model, path)
    header, arrays = checkpoint.read(path)
    for number, (array_name, array) in enumerate(arrays.items()):
        own = array_name.rpartition(".")[2]
        if array.size and array.dtype in (np.int64, np.float64) and own not in _OF_VALUES:
            # One value for each array: there are hundreds of them.
            beyond = (1e251, -1e251) if array.dtype == np.float64 else (2**53 + 1, 2**63 - 1, -(2**63))
            forged = array.copy()
            forged.flat[-1] = beyond[number % len(beyond)]
            checkpoint.write(path, header, {**arrays, array_name: forged})
            with pytest.raises(ModelFileError, match="is not a model this program can use"):
                load(path)
    for counter, called in (("ignored", "ignored values"), ("evicted", "evicted names")):
        checkpoint.write(path, {**header, "learned": {**header["learned"], counter: 2**53 + 1}}, arrays)
        with pytest.raises(ModelFileError, match=f"the number of {called} is invalid"):
            load(path)


def test_the_commands_say_it_in_a_line(streamkarma: Program, tmp_path: Path) -> None:
    for command in (["inspect", "/dev/full"], ["predict", "/dev/zero"], ["learn", "--model", "/dev/zero"]):
        done = streamkarma(*command)
        assert (done.code, done.stdout, done.stderr.count("\n")) == (1, b"", 1)
    done = streamkarma("learn", "--gamma", "1000000")
    assert (done.code, done.stderr.count("\n")) == (2, 1)
    assert "not in the range 1<=x<=32" in done.stderr
