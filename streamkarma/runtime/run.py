"""One run of the program over a stream, from opening to summary."""

from __future__ import annotations

import sys
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from streamkarma.errors import ModelFileError, RunError, UsageError
from streamkarma.estimators.store import Model, load_with_run, save
from streamkarma.runtime import report
from streamkarma.runtime.loop import Fields, Loop
from streamkarma.runtime.signals import StopSignal
from streamkarma.runtime.task import Tasked
from streamkarma.sinks.jsonlines import JsonLinesSink, leave_stdout
from streamkarma.sources.jsonlines import MAX_RECORD_BYTES, Lines, open_input, read_lines

#: Lines processed in one go. Large enough that what is done per block does not show in the
#: time per event, small enough that a checkpoint is never far.
BLOCK = 512


#: For defaults, which all plans share.
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Plan(NamedTuple):
    """What to run; None is "not said" where a model file may say it.

    Attributes
    ----------
    input
        A path, or ``-``.
    model
        Path of the model, or None to keep none.
    learn
        False to score only.
    fields
        Names that are not attributes, by the names of ``Fields``.
    task, positive
        See ``Tasked``.
    options
        Parameters of the estimator that were said.
    checkpoint_every
        Events between two writings of the model.
    predictions, dead_letters, summary
        Paths, ``-`` for standard output, None for none.
    fail
        Stop at the first bad record.
    report_every
        Events between two lines of progress, 0 for none.
    quiet
        Nothing on stderr but errors.
    max_record_bytes
        Longest line.
    """

    input: str = "-"
    model: str | None = None
    learn: bool = True
    fields: Mapping[str, Any] = NOTHING
    task: str | None = None
    positive: str | None = None
    options: Mapping[str, Any] = NOTHING
    checkpoint_every: int = 10_000
    predictions: str | None = "-"
    dead_letters: str | None = None
    summary: str | None = None
    fail: bool = False
    report_every: int = 0
    quiet: bool = False
    max_record_bytes: int = MAX_RECORD_BYTES


class Run:
    """A run of a plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        kept = self._open_model()
        self._fields = Fields(**{**kept.get("fields", {}), **plan.fields})
        self._started_from = int(kept.get("events", 0)) if plan.learn else 0
        self._stop = StopSignal()
        self._begin = time.perf_counter()
        self._next_report = plan.report_every
        self._next_checkpoint = plan.checkpoint_every

    def execute(self) -> int:
        """Run to the end of the input, a signal, or a reader that has gone.

        Returns
        -------
        The exit code: 0, or 130 or 143 after a signal.

        Raises
        ------
        StreamkarmaError
            If the run cannot go on. What was learned is saved first.
        """
        plan = self._plan
        with ExitStack() as stack:
            predictions = _open_sink(plan.predictions, stack)
            dead_letters = _open_sink(plan.dead_letters, stack)
            self._loop = Loop(
                self._tasked, self._fields, plan.learn,
                predictions.write if predictions else None,
                dead_letters.write if dead_letters else None,
                plan.fail, self._started_from + 1,
            )  # fmt: skip
            stack.enter_context(self._stop.installed())
            try:
                self._read_all(stack)
            except BrokenPipeError:
                leave_stdout()
            finally:
                self._save()
                summary = self._summarise()
                if sink := _open_sink(plan.summary, stack):
                    sink.write([summary])
        self._say(report.table(summary))
        if self._loop.first_rejected and plan.dead_letters is None:
            self._say(f"first rejected: {self._loop.first_rejected} (--dead-letters keeps them all)")
        return 0 if self._stop.number is None else 128 + self._stop.number

    def _open_model(self) -> dict[str, Any]:
        """Load the model if there is one, else make it; returns what was kept beside it."""
        plan = self._plan
        there = plan.model is not None and (not plan.learn or Path(plan.model).exists())
        if not there:
            if plan.model is not None and not Path(plan.model).absolute().parent.is_dir():
                raise UsageError(f"the folder of --model {plan.model} does not exist")
            self._tasked = Tasked(plan.task or "auto", dict(plan.options), plan.positive, self._say)
            self._ignored_before = 0
            return {}
        model, kept = load_with_run(str(plan.model))
        for name, value in plan.options.items():
            made = getattr(model, name)
            if value != made:
                raise UsageError(
                    f"{plan.model} was made with {name} {_said(made)}, not {_said(value)}; "
                    "leave the option out or begin another model"
                )
        self._tasked = _resumed(str(plan.model), model, kept, self._say)
        self._check_task(plan)
        self._ignored_before = model.ignored
        return kept

    def _check_task(self, plan: Plan) -> None:
        made = self._tasked.task
        if plan.task not in (None, "auto", made, self._tasked.name):
            raise UsageError(f"{plan.model} was made for the task {self._tasked.name}, not {plan.task}")
        if plan.positive is not None:
            self._tasked.positive = plan.positive

    def _read_all(self, stack: ExitStack) -> None:
        plan = self._plan
        file = stack.enter_context(open_input(plan.input)) if plan.input != "-" else open_input("-")
        read = self._stop.reader(file.read1)
        try:
            for lines in read_lines(read, plan.max_record_bytes):
                for begin in range(0, len(lines.lines), BLOCK):
                    part = lines.lines[begin : begin + BLOCK]
                    self._loop.feed(Lines(lines.first + begin, part, lines.overlong))
                    self._after_block()
        except InterruptedError:
            return
        except (EOFError, zlib.error) as error:
            raise RunError(f"{plan.input} is damaged: {error}") from error
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            raise RunError(f"cannot read {plan.input}: {error.strerror or error}") from error

    def _after_block(self) -> None:
        events = self._loop.counters.events
        if events >= self._next_checkpoint:
            self._next_checkpoint = events + self._plan.checkpoint_every
            self._save()
        if self._plan.report_every and events >= self._next_report:
            self._next_report = events + self._plan.report_every
            judge = self._loop.judge
            seconds = time.perf_counter() - self._begin
            model = self._tasked.model.summary()
            self._say(report.progress(events, seconds, judge.mean_loss, judge.result(), model))

    def _save(self) -> None:
        plan = self._plan
        if plan.model is None or not plan.learn:
            return
        run = {
            "task": self._tasked.state(),
            "fields": self._fields._asdict(),
            "events": self._loop.last,
        }
        save(self._tasked.model, plan.model, run)

    def _summarise(self) -> dict[str, Any]:
        seconds = time.perf_counter() - self._begin
        model, judge, counters = self._tasked.model, self._loop.judge, self._loop.counters
        return {
            **counters._asdict(),
            "ignored_attributes": model.ignored - self._ignored_before,
            "seconds": round(seconds, 6),
            "events_per_second": round(counters.events / max(seconds, 1e-9), 1),
            "task": self._tasked.name,
            "learner": "karma",
            "loss": {"name": model.loss, "mean": judge.mean_loss, "total": judge.loss_total},
            "metrics": judge.result(),
            "model": model.summary(),
            "regret": {},
        }

    def _say(self, line: str) -> None:
        if not self._plan.quiet:
            print(line, file=sys.stderr, flush=True)


def describe(path: str) -> dict[str, Any]:
    """What is in a model file, as JSON.

    Raises
    ------
    ModelFileError
        If it is not a model.
    """
    model, kept = load_with_run(path)
    learned, _ = model.state()
    result = {
        "path": path,
        "file_bytes": Path(path).stat().st_size,
        "kind": type(model).__name__,
        "learner": "karma",
        "task": _resumed(path, model, kept, lambda _: None).name,
        "events": kept.get("events"),
        "learned": model.steps,
        "parameters": model._get_params(),
        "fields": kept.get("fields"),
        "model": model.summary(),
        "attributes": sorted({str(name) for name, _ in learned["entries"]}),
    }
    if "classes" in learned:
        result["classes"] = learned["classes"]
    return result


def _resumed(path: str, model: Model, kept: dict[str, Any], announce: Callable[[str], None]) -> Tasked:
    """The task of a model that was read from a file."""
    try:
        Fields(**kept.get("fields", {}))
        return Tasked.resumed(model, kept.get("task"), announce)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} was not written by streamkarma learn: {error!r}") from error


def _open_sink(path: str | None, stack: ExitStack) -> JsonLinesSink | None:
    if path is None:
        return None
    sink = JsonLinesSink(path)
    stack.callback(sink.close)
    return sink


def _said(value: Any) -> str:
    return "unlimited" if value is None else str(value)
