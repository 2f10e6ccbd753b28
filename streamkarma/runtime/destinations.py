"""The files that a run writes its rows to, and how much of each file a model covers."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from typing import Any

import orjson

from streamkarma.connectors.base import DeadLetter
from streamkarma.connectors.jsonlines.sink import JsonLinesSink, Mark, check_writable
from streamkarma.connectors.rows import Rows
from streamkarma.errors import ModelFileError, UsageError
from streamkarma.files import create, discard_stdout
from streamkarma.runtime import report
from streamkarma.runtime.output import Output
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.signals import StopSignal

#: The mark of an empty file.
_NOTHING = Mark(0, sha256(b"").hexdigest())


class Destinations:
    """The files for predictions and dead letters of a run.

    A model file records how much of them it covers. Rows are written and synced before the model that learned
    their events, so a crash may leave too many rows, but never too few.

    Parameters
    ----------
    plan
        The plan.
    stack
        Closes the files at the end.
    stop
        The signals that end the wait for a reader of a pipe; None if none are handled.

    Raises
    ------
    OutputError
        If a file cannot be opened. The contents of all files are then unchanged.
    InterruptedError
        If a signal arrives before a named pipe has a reader.

    Attributes
    ----------
    unread
        Whether a reader has closed its pipe, or took nothing after a signal; nothing more is then written.
    """

    def __init__(self, plan: Plan, stack: ExitStack, stop: StopSignal | None = None) -> None:
        stop = stop or StopSignal()
        self.unread = False
        self._sinks: dict[str, JsonLinesSink] = {}
        self._before_failure: dict[str, Mark] = {}
        self._paths = {"predictions": plan.predictions, "dead_letters": plan.dead_letters}
        for name, path in self._paths.items():
            if path is not None:
                # Opening anything else does not wait.
                opening = stop.unless(create) if _is_named_pipe(path) else create
                self._sinks[name] = sink = JsonLinesSink(path, opening, stop.until_writable)
                stack.callback(sink.close)

    def restart(self) -> None:
        """Begin with empty files."""
        for sink in self._sinks.values():
            sink.restart()

    def extend(self) -> None:
        """Append to the existing complete lines."""
        for sink in self._sinks.values():
            if sink.is_file:
                sink.resume(_NOTHING, False)

    def resume(self, model: str, kept: Any, again: bool, say: Callable[[str], None]) -> bool:
        """Continue the files of a model.

        Parameters
        ----------
        model
            Path of the model.
        kept
            The result of ``marks`` when it was written.
        again
            Whether records read after the model was written will be read again; their rows are then cut off,
            and otherwise kept.
        say
            Called with a line for the user.

        Returns
        -------
        Whether the model file no longer matches the files, and must be written before anything else.

        Raises
        ------
        ModelFileError
            If ``kept`` is not a result of ``marks``.
        """
        known, changed = marks_from(kept, model), False
        for name, sink in self._sinks.items():
            if not sink.is_file:
                continue
            path, mark = self._paths[name], known.get(name)
            if mark == _NOTHING and (kept[name].get("path") != os.path.realpath(str(path))):
                mark = None  # every file begins like an empty one
            if mark is not None and sink.holds(mark):
                after = sink.resume(mark, again)
                if after:
                    rows = "1 row" if after == 1 else f"{after:,} rows"
                    what = "cut off, since the input is read again" if again else "kept"
                    say(f"{path} ends with {rows} beyond what {model} has learned: {what}")
                continue
            there, changed = sink.resume(None, False), True
            if mark is not None:
                lost = f"the rows that {model} covers are missing"
                say(
                    f"{path} is written from the beginning: {lost}"
                    if not there
                    else f"{path} is appended to, but {lost}"
                )
        return changed

    def output(self, failed: Callable[[], bool] = lambda: False) -> Output:
        """The receivers of a loop's output.

        ``failed`` returns whether the last rejected record stops the run. The model then covers neither that
        record nor its dead letter, which is written again when the record is read again.
        """
        predictions, letters = (self._sinks.get(name) for name in ("predictions", "dead_letters"))

        def write_rows(rows: Rows, at: Sequence[int]) -> None:
            if predictions is not None:
                self._write(predictions, rows.text())

        def write_letter(letter: DeadLetter) -> None:
            if letters is not None:
                if letters.is_file and failed():
                    self._before_failure["dead_letters"] = letters.mark()
                row = report.dead_letter(letter)
                self._write(letters, orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))

        return Output(write_rows if predictions else None, write_letter if letters else None)

    def write(self, name: str, text: bytes) -> None:
        """Write lines that are already JSON, if the run has this file."""
        if name in self._sinks:
            self._write(self._sinks[name], text)

    def sync(self) -> None:
        """Sync everything written to disk; OutputError if that fails."""
        self.marks()

    def marks(self) -> dict[str, dict[str, Any]]:
        """The length and digest of each file, for the model; everything up to there is on disk.

        Raises
        ------
        OutputError
            If the sync fails; no model that covers these rows may then be written.
        """
        marks = {name: sink.mark() for name, sink in self._sinks.items() if sink.is_file}
        return {name: self._recorded(name, mark) for name, mark in marks.items()}

    def _recorded(self, name: str, mark: Mark) -> dict[str, Any]:
        """A mark as JSON; that of an empty file, which no digest identifies, has its path."""
        mark = self._before_failure.get(name, mark)
        path = {"path": os.path.realpath(str(self._paths[name]))} if mark == _NOTHING else {}
        return {**mark._asdict(), **path}

    def _write(self, sink: JsonLinesSink, text: bytes) -> None:
        if self.unread:
            return
        try:
            sink.write_text(text)
        except (BrokenPipeError, InterruptedError):
            discard_stdout()
            self.unread = True


def marks_from(kept: Any, model: str) -> dict[str, Mark]:
    """The result of ``Destinations.marks``, validated."""
    try:
        marks = {name: Mark(each["bytes"], each["digest"]) for name, each in (kept or {}).items()}
        sound = all(type(mark.bytes) is int and mark.bytes >= 0 for mark in marks.values())
    except (AttributeError, KeyError, TypeError):
        sound = False
    if not sound:
        raise ModelFileError(f"{model} does not record how far its predictions have been written")
    return marks


def check_files(read: Mapping[str, str | None], written: Mapping[str, str | None]) -> None:
    """Reject a file given for two purposes, and paths to which results cannot be written.

    Parameters
    ----------
    read, written
        Paths, or ``-``, by their option on the command line; None for none. A model, which is checked
        elsewhere, counts as read.

    Raises
    ------
    UsageError
        If two paths are the same file, or an output is a folder, or its folder does not exist.
    OutputError
        If an output is not writable.
    """
    check_distinct({**read, **written})
    for option, path in written.items():
        check_writable(option, path)


def check_distinct(files: Mapping[str, str | None]) -> None:
    """Reject a file given for two purposes, also through links.

    Parameters
    ----------
    files
        Paths, or ``-``, by their option on the command line; None for none.

    Raises
    ------
    UsageError
        If two paths are the same file. Pipes and devices may be named twice.
    """
    seen: dict[Any, tuple[str, str]] = {}
    for option, path in files.items():
        if path is None or (identity := _identity(option, path)) is None:
            continue
        before, there = seen.setdefault(identity, (option, path))
        # Two outputs to standard output are allowed.
        if before != option and ((there, path) != ("-", "-") or before == "INPUT"):
            what = path if path != "-" else "standard output"
            raise UsageError(f"{before} and {option} are the same file, {what}; name another one")


def _identity(option: str, path: str) -> Any:
    """A key shared by all names of the same regular file, whether or not it exists."""
    try:
        stream = sys.stdin if option == "INPUT" else sys.stdout
        found = os.fstat(stream.fileno()) if path == "-" else os.stat(path)
    except FileNotFoundError:
        return os.path.realpath(path)
    except (OSError, ValueError, AttributeError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _is_named_pipe(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False
