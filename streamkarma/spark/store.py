"""States of a stream in files, named after their partition and batch.

A file is written atomically, and its bytes depend only on the batch and the files from before it. A repeated
batch therefore finds the same files as the first attempt, and writes the same.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from streamkarma.errors import RunError
from streamkarma.spark.files import file_system_of, written
from streamkarma.spark.states import State


class Store(NamedTuple):
    """The folder with the states of one partition, or of all partitions together.

    Attributes
    ----------
    path
        The folder, visible to every machine of the cluster.
    """

    path: str

    @property
    def newest(self) -> int:
        """The last batch with a state; -1 if there is none. Errors as in ``before``."""
        return max(self._batches(), default=-1)

    def before(self, batch: int) -> State | None:
        """The last state from before a batch; None if there is none.

        Raises
        ------
        ModelFileError
            If it is incomplete or altered.
        RunError
            If it cannot be read.
        """
        earlier = [number for number in self._batches() if number < batch]
        return self.read(max(earlier)) if earlier else None

    def read(self, batch: int) -> State:
        """The state after a batch; errors as in ``before``."""
        system, inner, _ = file_system_of(f"{self.path}/{batch}")
        try:
            with system.open_input_stream(inner) as file:
                data = file.read()
        except OSError as error:
            raise RunError(f"cannot read {self.path}/{batch}: {error}") from error
        return State.from_bytes(data, f"{self.path}/{batch}")

    def write(self, batch: int, state: State) -> None:
        """Write the state after a batch; RunError if it cannot be written."""
        with written(f"{self.path}/{batch}") as write:
            write(state.to_bytes())

    def forget(self, batch: int) -> None:
        """Remove what is no longer needed once this batch has begun; it may still be repeated."""
        earlier = [number for number in self._batches() if number < batch]
        system, inner, _ = file_system_of(self.path)
        for number in sorted(earlier)[:-1]:
            # Another attempt may have removed it.
            with suppress(OSError):
                system.delete_file(f"{inner}/{number}")

    def _batches(self) -> list[int]:
        import pyarrow.fs as fs

        system, inner, _ = file_system_of(self.path)
        try:
            infos = system.get_file_info(fs.FileSelector(inner, allow_not_found=True))
        except OSError as error:
            raise RunError(f"cannot read {self.path}: {error}") from error
        return [int(info.base_name) for info in infos if info.base_name.isdecimal()]
