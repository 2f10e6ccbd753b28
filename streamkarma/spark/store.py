"""States of a stream in files, named by what they are of and the batch they come after.

A file is written whole or not at all, and its bytes follow from the batch and the files from before it. So
whoever begins a batch again finds what the first attempt found, and leaves the same.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from streamkarma.errors import RunError
from streamkarma.spark.files import file_system_of, written
from streamkarma.spark.states import State


class Store(NamedTuple):
    """The folder of states of one thing: a partition, or all of them together.

    Attributes
    ----------
    path
        The folder, which every machine of the cluster sees.
    """

    path: str

    def before(self, batch: int) -> State | None:
        """The last state from before a batch; None if there is none.

        Raises
        ------
        ModelFileError
            If it is not whole and unaltered.
        RunError
            If it cannot be read.
        """
        earlier = [number for number in self._batches() if number < batch]
        return self.read(max(earlier)) if earlier else None

    def read(self, batch: int) -> State:
        """The state after a batch; errors as of ``before``."""
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
        """Remove what is not needed once this batch has begun, which may begin again."""
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
