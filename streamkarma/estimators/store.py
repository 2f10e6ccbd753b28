"""Models to and from files."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

from streamkarma import checkpoint
from streamkarma.core.learning import Arrays
from streamkarma.errors import ModelFileError, UsageError
from streamkarma.estimators.learners import KINDS, Model
from streamkarma.replacing import backup_of

#: What a model is refused for, whatever in it is not as it says.
_WRONG = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)

#: A reason is cut there: what is wrong may be of any length.
_LONGEST_REASON = 200

#: Begins the names of arrays that are not the model's own.
_BESIDE = "run."


def save(model: Model, path: str | Path, run: dict[str, Any] | None = None,
         arrays: Arrays | None = None) -> None:  # fmt: skip
    """Write a model to a file, atomically; the same model gives the same bytes.

    What was written is read back before it takes the place of the file before, which stays as
    ``PATH.bak``. A file that was there keeps its mode; a symbolic link is followed.

    Parameters
    ----------
    model
        A classifier or regressor of this package.
    path
        Where to; a file that is there is replaced in one step.
    run
        What else to keep, as JSON; the command line keeps its task and counters there.
    arrays
        What else to keep, as arrays by name.

    Raises
    ------
    UsageError
        If a name or label of the model has no form in JSON.
    ModelFileError
        If the file cannot be written, or not be read back.

    Examples
    --------
    >>> import tempfile
    >>> from streamkarma import KARMAClassifier, load, save
    >>> model = KARMAClassifier(gamma=3)
    >>> model.learn_one({"temp": 31.0}, True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, folder + "/model.karma")
    ...     again = load(folder + "/model.karma")
    >>> again.gamma, again.predict_proba_one({}) == model.predict_proba_one({})
    (3, True)
    """
    kind = type(model).__name__
    if KINDS.get(kind) is not type(model):
        raise UsageError(f"can save {', '.join(KINDS)}, not {kind}")
    learned, own = model.state()
    header = {"kind": kind, "params": model._get_params(), "learned": learned, "run": run or {}}
    beside = {_BESIDE + name: array for name, array in (arrays or {}).items()}
    checkpoint.write(Path(path), header, {**own, **beside}, _read)


def load(path: str | Path) -> Model:
    """The model that ``save`` wrote.

    Raises
    ------
    ModelFileError
        If the file is not a whole and unaltered model.
    """
    return load_with_run(path)[0]


def load_with_run(path: str | Path) -> tuple[Model, dict[str, Any], Arrays]:
    """The model, and what was kept beside it as ``run`` and ``arrays``."""
    try:
        return _read(Path(path))
    except ModelFileError as error:
        backup = backup_of(Path(path))
        if not _is_readable(backup):
            raise
        raise ModelFileError(f"{error}; to go back to the one before it: cp {backup} {path}") from error


def _is_readable(path: Path) -> bool:
    try:
        _read(path)
    except ModelFileError:
        return False
    return True


def _read(path: Path) -> tuple[Model, dict[str, Any], Arrays]:
    header, arrays = checkpoint.read(path)
    beside = {name: arrays.pop(name) for name in list(arrays) if name.startswith(_BESIDE)}
    try:
        model = _made(header["kind"], header["params"])
        _check_classes(header["learned"], arrays)
        model.restore(header["learned"], arrays)
        kept = {name.removeprefix(_BESIDE): array for name, array in beside.items()}
        return model, dict(header["run"]), kept
    except _WRONG as error:
        reason = " ".join(str(error).split())[:_LONGEST_REASON]
        raise ModelFileError(f"{path} is not a model this program can use: {reason}") from error
    except MemoryError as error:
        raise ModelFileError(f"the model {path} does not fit into memory") from error


def _made(kind: str, params: dict[str, Any]) -> Model:
    """An empty model; ValueError, or whatever its constructor raises, if these are no parameters."""
    for name, parameter in signature(KINDS[kind]).parameters.items():
        if isinstance(parameter.default, bool) and not isinstance(params.get(name, True), bool):
            raise ValueError(f"{name} is neither true nor false")
    if params.get("others") is not None:
        raise ValueError("models from elsewhere are in no file")
    return KINDS[kind](**params)


def _check_classes(learned: dict[str, Any], arrays: Arrays) -> None:
    """ValueError if arrays are for more classes than there are: what has no bytes of its own makes room."""
    most = max(1, len(learned.get("classes", ())))
    for name, array in arrays.items():
        own = name.rpartition(".")[2]
        axis = {"values": 1, "passed": 1, "offsets": 1, "slack": 1, "weights": 0, "spread": 0}.get(own)
        if axis is not None and array.ndim == 2 and array.shape[axis] > most:
            raise ValueError(f"{own} of more classes than there are")
