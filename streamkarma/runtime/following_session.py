"""Scoring with a model that another process may replace at any time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from streamkarma.errors import ModelFileError, UsageError
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.session import Session
from streamkarma.runtime.task import TaskModel

#: Seconds between checks of the file, and the maximum fraction of time spent on loading.
_PAUSE, _SHARE = 0.5, 0.1


class FollowingSession(Session):
    """The state of a run that scores with a model file, and reloads the model when the file is replaced.

    A new file is used once it has been read completely and its digest verified; until then the previous model
    is used. A new model comes with its own memory of entities.

    Parameters
    ----------
    plan, path, say
        As for `Session`; the file must exist.

    Raises
    ------
    UsageError
        If the plan does not match the model.
    ModelFileError
        If the file is not a model.
    """

    def __init__(self, plan: Plan, path: str, say: Callable[[str], None]) -> None:
        # Taken before the file is read, so that a change in between is seen at the next check.
        self._seen = _identity(path)
        super().__init__(plan, path, say)
        self._file = path
        self._task = _settled_task(self.task_model)
        self._complaint: str | None = None
        self._due = time.monotonic() + _PAUSE
        self.resuming = f"scoring with {path}, {self._learned()}"

    def refresh(self) -> None:
        """Switch to the model in the file if it has changed; the file is checked at intervals."""
        began = time.monotonic()
        if began < self._due:
            return
        identity = _identity(self._file)
        if identity is None or identity != self._seen:
            # An unusable file is read again each time: it may have been incomplete.
            self._seen = identity if self.reload() else None
        now = time.monotonic()
        self._due = now + max(_PAUSE, (now - began) / _SHARE)

    def reload(self) -> bool:
        """Switch to the model in the file if it is usable; returns whether it is."""
        try:
            fresh = Session(self._plan, self._file, self._say)
            self._check_successor(fresh)
        except (ModelFileError, UsageError) as error:
            if self._complaint != (complaint := str(error)):
                self._complaint = complaint
                self._say(f"{complaint}; still using the previous model, {self._learned()}")
            return False
        self._complaint = None
        self._continue_with(fresh)
        self._say(f"{self._file} was reloaded, {self._learned()}")
        return True

    def _check_successor(self, fresh: Session) -> None:
        """Raise UsageError if another model cannot replace this one."""
        old, new = self._task, fresh.task_model
        if old is not None and not new.settled:
            raise UsageError(f"{self._file} was started from scratch, and its task is not known yet")
        if old is not None and old != new.task:
            raise UsageError(f"{self._file} is now for the task {new.name}, not {self.task_model.name}")
        if fresh.fields != self.fields:
            raise UsageError(f"{self._file} now has different names for the target, the id or other fields")

    def _continue_with(self, fresh: Session) -> None:
        before, after = self.task_model.model, fresh.task_model.model
        self.kept, self.task_model = fresh.kept, fresh.task_model
        self._task = _settled_task(fresh.task_model)
        # This run reports only what it ignored itself, not what the new model ignored before.
        self.ignored_before += after.ignored - before.ignored
        self.loop.continue_with(self.task_model)
        names = after.vocabulary.attribute_names
        if any(names.get(number, name) != name for number, name in before.vocabulary.attribute_names.items()):
            self.loop.monitor.forget_attributes()

    def _learned(self) -> str:
        return f"{self.task_model.model.steps:,} events learned"


def _settled_task(task_model: TaskModel) -> str | None:
    """The task in the file, read before the labels of scored events determine it for this run only."""
    return task_model.task if task_model.settled else None


def _identity(path: str) -> tuple[int, int, int] | None:
    """A key that identifies the version of a file without reading it; None if it does not exist."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
