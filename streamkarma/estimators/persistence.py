"""Saving models to files and loading them."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

from streamkarma import checkpoint
from streamkarma.arrays import Arrays, pop_part, with_prefix
from streamkarma.errors import ModelFileError, UsageError
from streamkarma.estimators.external_experts import WithExternalExperts, restored_experts
from streamkarma.estimators.learners import KINDS, Model
from streamkarma.printable import shown
from streamkarma.replacing import backup_of

#: Errors that an inconsistent file may raise.
_WRONG = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)

#: Reasons are truncated, because they may quote values of any length.
_LONGEST_REASON = 200

#: Prefix of the names of arrays that are not the model's own.
_RUN_PREFIX = "run."


def save(
    model: Model, path: str | Path, run: dict[str, Any] | None = None, arrays: Arrays | None = None
) -> None:
    """Write a model to a file, atomically; the same model gives the same bytes.

    The new file is read back before it replaces the previous one, which is kept as ``PATH.bak``. The mode of
    an existing file is kept; a symbolic link is followed.

    Parameters
    ----------
    model
        A classifier or regressor of this package.
    path
        The file; an existing one is replaced atomically.
    run
        Further state to store, as JSON; the command line stores its task and counters there.
    arrays
        Further arrays to store, by name.

    Raises
    ------
    UsageError
        If a name or label of the model cannot be written as JSON.
    ModelFileError
        If the file cannot be written or read back.

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
    header, content = _content(model, run, arrays)
    checkpoint.write(Path(path), header, content, _read)


def to_bytes(model: Model, run: dict[str, Any] | None = None, arrays: Arrays | None = None) -> bytes:
    """A model as ``save`` would write it to a file; parameters and errors are the same."""
    return checkpoint.to_bytes(*_content(model, run, arrays))


def _content(
    model: Model, run: dict[str, Any] | None, arrays: Arrays | None
) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays that a model is saved as."""
    kind = type(model).__name__
    if KINDS.get(kind) is not type(model):
        raise UsageError(f"can save {', '.join(KINDS)}, not {kind}")
    learned, own = model.state()
    _check_names(learned)
    # Extra experts are part of what was learned.
    params = {**model._get_params(), **({"extra_experts": None} if "external" in learned else {})}
    header = {"kind": kind, "params": params, "learned": learned, "run": run or {}}
    return header, {**own, **with_prefix(_RUN_PREFIX, arrays or {})}


def from_bytes(data: bytes, what: str) -> tuple[Model, dict[str, Any], Arrays]:
    """The model, and the ``run`` and ``arrays``, from the result of ``to_bytes``.

    Parameters
    ----------
    data
        The bytes; their digest is checked, and nothing in them is evaluated.
    what
        The name of their source in messages.

    Raises
    ------
    ModelFileError
        If they are not a complete and unaltered model.
    """
    return _restored(what, *checkpoint.from_bytes(data, what))


def load(path: str | Path) -> Model:
    """The model that ``save`` wrote.

    Parameters
    ----------
    path
        The file. Its digest is checked, and nothing in it is evaluated.

    Returns
    -------
    The classifier or regressor, which predicts and learns on as the saved one would.

    Raises
    ------
    ModelFileError
        If the file cannot be read, or is not a complete and unaltered model.

    Examples
    --------
    >>> import tempfile
    >>> from streamkarma import KARMARegressor, load, save
    >>> model = KARMARegressor()
    >>> model.learn_one({"temp": 31.0}, 2.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, folder + "/model.karma")
    ...     again = load(folder + "/model.karma")
    >>> again.predict_one({"temp": 30.0}) == model.predict_one({"temp": 30.0})
    True
    """
    return load_with_run(path)[0]


def load_with_run(path: str | Path) -> tuple[Model, dict[str, Any], Arrays]:
    """The model, and the ``run`` and ``arrays`` that were saved with it."""
    try:
        return _read(Path(path))
    except ModelFileError as error:
        backup = backup_of(Path(path))
        if not _is_readable(backup):
            raise
        raise ModelFileError(f"{error}; to restore the previous one: cp {backup} {path}") from error


def _is_readable(path: Path) -> bool:
    try:
        _read(path)
    except ModelFileError:
        return False
    return True


def _read(path: Path) -> tuple[Model, dict[str, Any], Arrays]:
    return _restored(str(path), *checkpoint.read(path))


def _restored(what: str, header: dict[str, Any], arrays: Arrays) -> tuple[Model, dict[str, Any], Arrays]:
    """The model from what was read; ``what`` is its source in messages."""
    run_arrays = pop_part(arrays, _RUN_PREFIX)
    try:
        learned, params = header["learned"], header["params"]
        if params.get("extra_experts"):
            raise ValueError("extra experts are not a parameter")
        if (external := learned.pop("external", None)) is not None:
            params["extra_experts"] = restored_experts(external, arrays)
        model = _create(header["kind"], params)
        if isinstance(model, WithExternalExperts) and external is not None:
            # A plain list, so that clones of the mixture start with untrained ones.
            model.extra_experts = list(params["extra_experts"])
        _check_classes(learned, arrays)
        model.restore(learned, arrays)
        return model, dict(header["run"]), run_arrays
    except _WRONG as error:
        reason = " ".join(str(error).split())[:_LONGEST_REASON]
        raise ModelFileError(f"{what} is not a model this program can use: {reason}") from error
    except MemoryError as error:
        raise ModelFileError(f"the model {what} does not fit into memory") from error


def _create(kind: str, params: dict[str, Any]) -> Model:
    """Create an empty model; ValueError, or whatever the constructor raises, if a parameter is invalid."""
    known = signature(KINDS[kind]).parameters
    if unknown := set(params) - set(known):
        raise ValueError(f"{kind} has no {min(unknown)}")
    for name, parameter in known.items():
        if isinstance(parameter.default, bool) and not isinstance(params.get(name, True), bool):
            raise ValueError(f"{name} is neither true nor false")
    return KINDS[kind](**params)


def _check_names(learned: dict[str, Any]) -> None:
    """Raise UsageError for a name that JSON would change; those that it cannot represent it refuses."""
    for entry in learned["entries"]:
        if entry is not None and isinstance(entry[0], tuple):
            raise checkpoint.unwritable(f"the name {shown(entry[0])} is a tuple")


def _check_classes(learned: dict[str, Any], arrays: Arrays) -> None:
    """Check that no array has more classes than the model: even empty ones would use memory."""
    most = max(1, len(learned.get("classes", ())))
    for name, array in arrays.items():
        own = name.rpartition(".")[2]
        axis = {"values": 1, "passed": 1, "offsets": 1, "slack": 1, "weights": 0, "spread": 0}.get(own)
        if axis is not None and array.ndim == 2 and array.shape[axis] > most:
            raise ValueError(f"{own} has more classes than the model")
