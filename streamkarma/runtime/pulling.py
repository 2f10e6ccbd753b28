"""Merges the models shared by several processes into one file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from streamkarma.connectors.base import Position
from streamkarma.errors import RunError
from streamkarma.estimators.learners import Model
from streamkarma.estimators.merging import merge
from streamkarma.estimators.persistence import from_bytes, save
from streamkarma.lock import ModelLock
from streamkarma.runtime.merging import merged_runs
from streamkarma.runtime.packing import Packing
from streamkarma.runtime.session import resumed
from streamkarma.runtime.shared_session import newest_usable


class Pulled(Protocol):
    """Shared models, as read from their store."""

    @property
    def name(self) -> str:
        """The name of the store in messages."""

    @property
    def base(self) -> bytes:
        """The base of all models."""

    def contents(self) -> Mapping[str, Sequence[bytes]]:
        """The latest models of each part, newest first."""

    def position(self, chosen: Mapping[str, int]) -> Position:
        """The position of the merged model, given the index of the chosen model of each part."""


def write_pulled(read: Callable[[], Pulled], target: str, say: Callable[[str], None]) -> Model:
    """Merge the models of all parts into a file, with which a single process can continue.

    Parameters
    ----------
    read
        Reads the models.
    target
        Where to write the merged model; an existing file is replaced.
    say
        Called with a line for the user.

    Raises
    ------
    ModelFileError
        If the base is not a model, or the file cannot be written.
    RunError
        If no model is usable, or another process learns with ``target``.
    """
    lock = ModelLock(target)
    try:
        pulled = read()
        base, base_kept, _ = from_bytes(pulled.base, pulled.name)
        packing = Packing(pulled.base)
        models, runs, chosen = {}, [], {}
        for part, contents in pulled.contents().items():
            found = newest_usable(part, contents, base, packing, lambda why: say(f"{pulled.name}: {why}"))
            if found is not None:
                chosen[part], models[part] = found.place, found.model
                runs.append(found.kept)
        if not models:
            raise RunError(f"{pulled.name} has no usable model")
        names = list(models)
        merged = merge([*models.values()], base, names)
        kept = {**merged_runs(names, runs, base_kept), **pulled.position(chosen)}
        resumed(target, merged, kept, say)
        save(merged, Path(target), kept)
    finally:
        lock.release()
    return merged
