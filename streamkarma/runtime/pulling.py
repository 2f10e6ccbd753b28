"""The models that processes share, made one in a file."""

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
    """Models that processes share, as they were read from where these are kept."""

    @property
    def name(self) -> str:
        """What that is called in messages."""

    @property
    def base(self) -> bytes:
        """What all models go back to."""

    def contents(self) -> Mapping[str, Sequence[bytes]]:
        """The last models of each part, the newest first."""

    def position(self, chosen: Mapping[str, int]) -> Position:
        """How far models have got, for a model file; of each part the one that was chosen."""


def write_pulled(read: Callable[[], Pulled], target: str, say: Callable[[str], None]) -> Model:
    """Merge the models of all parts into a file, by which one process alone can go on.

    Parameters
    ----------
    read
        Reads the models.
    target
        Where the merged model is written; a file that is there is replaced.
    say
        Takes a line for the user.

    Raises
    ------
    ModelFileError
        If the base is no model, or the file cannot be written.
    RunError
        If no model can be used, or another process learns with ``target``.
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
