"""Model files modified by somebody who can also fix the checksum."""

from __future__ import annotations

import copy
import hashlib
import json
import random
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma import checkpoint
from streamkarma.connectors.kafka.journal import positions_from
from streamkarma.connectors.records import Records
from streamkarma.errors import ModelFileError, StreamkarmaError
from streamkarma.replacing import backup_of
from streamkarma.runtime.describe import describe
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.session import Session

TRIES = (
    "a real model file of any learner and task, one to three of its fields or arrays changed, with a valid "
    "checksum"
)
PROMISE = (
    "it is refused in one line, or it is described, explains, predicts, learns and is saved; no traceback, "
    "no warning, at most 300 MB more memory, at most a second of work"
)
SHORT = 500
LONG = 200_000

#: What a try may cost: megabytes beyond what models of this size need anyway, and seconds of CPU time, with a
#: margin for collecting garbage.
MOST_MEGABYTES, MOST_SECONDS = 300, 2.0

Json = Any


class Sample(NamedTuple):
    """A decoded model file."""

    header: dict[str, Json]
    arrays: dict[str, NDArray[Any]]


class Raw:
    """A literal piece of JSON that no JSON writer would write."""

    def __init__(self, text: str) -> None:
        self.text = text


#: More than the 32 from which on labels are counted by word.
_WORDS = ["rain", "sun", "wind", "snow", "fog", *(f"word{n}" for n in range(50))]


def _records(task: str, count: int) -> list[dict[str, Any]]:
    rng = random.Random(1)
    labels: dict[str, Callable[[], Any]] = {
        "binary": lambda: rng.random() < 0.5,
        "multiclass": lambda: rng.choice(["red", "green", "blue"]),
        "regression": lambda: rng.gauss(0.0, 3.0),
        "none": lambda: None,
    }
    made = []
    for i in range(count):
        record: dict[str, Any] = {f"x{k}": rng.gauss(0.0, 1.0) for k in range(4) if rng.random() < 0.6}
        record |= {"kind": rng.choice("abc"), "id": i, "who": rng.randrange(5)}
        record |= {
            "at": 1.7e9 + 600.0 * i,
            "said": " ".join(rng.choices(_WORDS, k=4)),
            "has": _WORDS[: i % 3],
        }
        if rng.random() < 0.8:
            record["y"] = labels[task]()
        made.append(record)
    return made


_ENTITIES = {"entity": "who", "time": "at", "carry_labels": True}
_KINDS: list[dict[str, Any]] = [
    {"learner": "karma"},
    {"learner": "karma", "options": {"budget": 5, "average": True}},
    {"learner": "karma", "options": {"budget": None, "gamma": 3, "normalize": False, "forget": 5.0}},
    {"learner": "karma", "options": {"rho": "auto", "loss": None}},
    {"learner": "explicit"},
    {"learner": "explicit", "options": {"gamma": 3, "table_bits": 8}},
    {"learner": "explicit", "options": {"update": "sgd"}},
    {"learner": "explicit", "options": {"update": "adagrad", "forget": 5.0}},
    {"learner": "subspace"},
    {"learner": "subspace", "options": {"indicators": True, "max_pairwise_coordinates": 1, "rank": 3}},
    {"learner": "bins", "options": {"table_bits": 8}},
    {"learner": "sgd", "options": {"forget": 5.0}},
    {"learner": "forest", "options": {"trees": 3}},
    {"learner": "boosting", "options": {"window": 100}},
    {"learner": "neighbors", "options": {"window": 20, "neighbors": 3}},
    {"learner": "auto", "options": {"budget": 8}},
    {"learner": "auto", "options": {"budget": 8, "carry": "last", "coverage": 0.9, **_ENTITIES}},
    {"learner": "bins", "options": {"table_bits": 8, "carry_for": 3600.0, **_ENTITIES}},
    {"learner": "explicit", "options": {"class_weight": "balanced", "threshold": "balanced"}},
]
#: Options that regressors do not have.
_OF_CLASSES = ("class_weight", "threshold")


def samples(folder: Path) -> list[Sample]:
    """A model of every learner and task, with all state saved by the command line."""
    made = []
    for number, kind in enumerate(_KINDS):
        for task in ("binary", "multiclass", "regression"):
            options = dict(kind.get("options", {}))
            if "loss" in options:
                options["loss"] = "huber" if task == "regression" else "hinge"
            if task == "regression":
                options = {name: value for name, value in options.items() if name not in _OF_CLASSES}
            path = str(folder / f"{number}{task}")
            more: dict[str, Any] = {} if number % 2 else {"pending": 9, "regret": "zero", "regret_memory": 30}
            plan = Plan(model=path, task=task, fields={"id": "id", "ignore": ("x9",)}, quiet=True,
                        learner=kind["learner"], options=options, **more)  # fmt: skip
            session = Session(plan, path, lambda line: None)
            session.loop.feed(_block(_records(task, 40)))
            session.save(kafka={"topic": {"0": 17, "1": 4}})
            session.close()
            made.append(Sample(*checkpoint.read(Path(path))))
    return made


def _block(records: list[dict[str, Any]]) -> Records:
    values = [json.dumps(record).encode() for record in records]
    return Records(values, len(values), lambda i: {"line": i + 1})


def run(tries: int, seed: int, folder: Path) -> None:
    """See ``TRIES`` and ``PROMISE``; a failure names the seed of its try."""
    models = samples(folder)
    path = folder / "forged"
    with warnings.catch_warnings():
        # A warning breaks the promise, and pytest's filters do not apply outside of it.
        warnings.simplefilter("error")
        for sample in models:
            _write(path, sample)
            assert _use(path) is None, "a model that nobody changed is refused"
        for own_seed in range(seed, seed + tries):
            rng = random.Random(own_seed)
            sample = _copy(rng.choice(models))
            changes = [_change(rng, sample) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
            _write(path, sample)
            backup_of(path).unlink(missing_ok=True)
            attempt(path, f"seed {own_seed}: {sample.header.get('kind')}: {'; '.join(changes)}")


def attempt(path: Path, told: str) -> None:
    """Use a file, and check what it costs.

    The memory is how much this use adds to the most that the process ever had: earlier ones may not have been
    collected yet.
    """
    begin, before = time.process_time(), _megabytes()
    try:
        refused = _use(path)
    except Exception as error:
        raise AssertionError(f"{told}: {error!r}") from error
    seconds, megabytes = time.process_time() - begin, _megabytes() - before
    assert refused is None or ("\n" not in refused and len(refused) < 1000), f"{told}: {refused}"
    assert seconds < MOST_SECONDS, f"{told}: {seconds:.1f} seconds"
    assert megabytes < MOST_MEGABYTES, f"{told}: {megabytes:.0f} MB"


def _use(path: Path) -> str | None:
    """Use a model file in every way; returns the line by which it is refused, or None."""
    try:
        session = Session(Plan(model=str(path), quiet=True, regret="zero"), str(path), lambda line: None)
        _positions(session)
        describe(str(path))
        session.task_model.model.explain_one({"x0": 1.0})
        session.loop.feed(_block(_records("none", 2)))
        task = "binary" if session.task_model.name == "auto" else session.task_model.name
        session.loop.feed(_block(_records(task, 7)))
        session.save()
        session.close()
    except StreamkarmaError as error:
        return str(error)
    return None


def _positions(session: Session) -> None:
    """Read the positions like a run on a topic."""
    try:
        positions_from(session.kept.get("kafka", {}))
    except (AttributeError, TypeError, ValueError) as error:
        raise ModelFileError("no list of offsets") from error


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _copy(sample: Sample) -> Sample:
    return Sample(copy.deepcopy(sample.header), dict(sample.arrays))


def _write(path: Path, sample: Sample) -> None:
    raw: list[str] = []

    def mark(value: Any) -> str:
        raw.append(value.text)
        return f"raw {len(raw) - 1}"

    arrays = [[name, array.dtype.str, list(array.shape)] for name, array in sample.arrays.items()]
    text = json.dumps({**sample.header, "arrays": sample.header.get("arrays", arrays)}, default=mark)
    for number, each in enumerate(raw):
        text = text.replace(f'"raw {number}"', each, 1)
    encoded = text.encode()
    content = checkpoint.MAGIC + len(encoded).to_bytes(8, "little") + encoded
    content += b"".join(array.tobytes() for array in sample.arrays.values())
    path.write_bytes(content + hashlib.sha256(content).digest())


_VALUES: list[Json] = [
    None, True, False, 0, 1, -1, 2, 3, 30, 255, 10**6, 2**31, 2**53, 2**63, 10**30, 0.5, -0.5, 1e-320, 1e308,
    "", "0", "auto", "x0", "n" * 5000, "\ud800", [], {}, [[]], [None], {"a": 1}, [1, "a"], {"0": {"0": -1}},
    Raw("NaN"), Raw("-Infinity"), Raw("1e400"), Raw("1" + 400 * "0"), Raw("1" + 5000 * "0"),
    Raw("[" * 5000 + "]" * 5000), Raw('{"a": 1, "a": 2}'),
]  # fmt: skip
_NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-300, 1e300, -1e300, np.nan, np.inf, -np.inf, 2.0**31, 2.0**53]
_INTEGERS = [0, 1, -1, 2, 3, 7, 8, 63, 64, 255, 1000, 2**30, 2**31 - 1, -(2**31), 2**53, 2**62, 2**63 - 1]
_INTEGERS += [-(2**63)]
_NAMES = [
    "0.5",
    "",
    ".",
    "0.",
    "10.weights",
    "run.values",
    "run.",
    "moments",
    "weights",
    "clock",
    "x",
    "999.x",
]


def _change(rng: random.Random, sample: Sample) -> str:
    """Change something, and describe it."""
    if rng.random() < 0.5 or not sample.arrays:
        return _change_header(rng, sample.header)
    return rng.choice([_change_values, _change_values, _change_values, _change_shape, _change_names])(
        rng, sample
    )


def _change_header(rng: random.Random, header: dict[str, Json]) -> str:
    """Change a value in the header; its parts are equally likely, whatever their sizes."""
    where: list[Any] = []
    at: Json = header
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = rng.choice(keys)
        where.append(key)
        inner = at[key]
        if isinstance(inner, (dict, list)) and inner and rng.random() < 0.9:
            at = inner
            continue
        break
    told = ".".join(map(str, where))
    action = rng.random()
    if action < 0.15:
        del at[key]
        return f"{told} deleted"
    if action < 0.25 and isinstance(at, list):
        at.append(copy.deepcopy(at[key]))
        return f"{told} doubled"
    if action < 0.25:
        at[rng.choice(["", "zz", "format", "others"])] = at.pop(key)
        return f"{told} renamed"
    if action < 0.35 and isinstance(inner, (int, float)):
        at[key] = inner * rng.choice([-1, 0.5, 2, 10, 1000, 10**9]) + rng.choice([0, 1, -1])
    else:
        at[key] = copy.deepcopy(rng.choice(_VALUES))
    shown = at[key].text[:20] if isinstance(at[key], Raw) else repr(at[key])[:40]
    return f"{told} = {shown}"


def _change_values(rng: random.Random, sample: Sample) -> str:
    """Change numbers in an array."""
    name = rng.choice(list(sample.arrays))
    array = sample.arrays[name].copy()
    flat = array.reshape(-1)
    if not len(flat):
        return f"{name} is empty"
    places = list(range(len(flat))) if rng.random() < 0.1 else [rng.randrange(len(flat))]
    if rng.random() < 0.1:
        flat[:] = flat[::-1].copy()
        told = f"{name} turned round"
    elif array.dtype == np.float64:
        value = rng.choice([*_NUMBERS, flat[places[0]] * -2.0, flat[places[0]] + 1e-9])
        flat[places] = value
        told = f"{name}[{places[0]}] = {value}"
    elif array.dtype == np.bool_:
        flat.view(np.uint8)[places] = rng.choice([0, 1, 2])
        told = f"{name}[{places[0]}] changed"
    else:
        bits = np.array(
            [rng.choice([*_INTEGERS, int(flat[places[0]]) + rng.choice([-1, 1])]) % 2**64], np.uint64
        )
        flat[places] = bits.astype(array.dtype)[0]
        told = f"{name}[{places[0]}] = {flat[places[0]]}"
    sample.arrays[name] = array
    return told


def _change_shape(rng: random.Random, sample: Sample) -> str:
    """Change the shape or type of an array, with the same number of bytes or another."""
    name = rng.choice(list(sample.arrays))
    array = sample.arrays[name]
    if rng.random() < 0.3:
        kind = rng.choice(checkpoint.TYPES)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            # Casts of NaN and complex numbers warn, which is of no interest.
            warnings.simplefilter("ignore")
            sample.arrays[name] = array.astype(kind)
        return f"{name} as {kind}"
    size = rng.choice([0, 1, 2, array.size, array.size + 1, 2 * array.size, max(array.size - 1, 0)])
    shape = rng.choice(
        [(size,), (1, size), (size, 1), (0, size), (size, 0), (0, 10**9), (2, size), (1, 1, size), ()]
    )
    sample.arrays[name] = np.resize(array, shape) if array.size else np.zeros(shape, array.dtype)
    return f"{name} of shape {shape}"


def _change_names(rng: random.Random, sample: Sample) -> str:
    """Swap, rename, remove or add arrays, or falsify their list."""
    names = list(sample.arrays)
    one, other, action = rng.choice(names), rng.choice(names), rng.random()
    if action < 0.4:
        sample.arrays[one], sample.arrays[other] = sample.arrays[other], sample.arrays[one]
        return f"{one} and {other} exchanged"
    if action < 0.6:
        del sample.arrays[one]
        return f"{one} left out"
    if action < 0.8:
        new = rng.choice([*_NAMES, one + ".x", "0." + one, one.rpartition(".")[2]])
        sample.arrays[new] = sample.arrays.pop(one) if rng.random() < 0.5 else sample.arrays[one]
        return f"{one} as {new!r}"
    listed: list[Json] = [[name, array.dtype.str, list(array.shape)] for name, array in sample.arrays.items()]
    told = _change_header(rng, {"arrays": listed})
    sample.header["arrays"] = listed
    return f"in the header {told}"
