"""A model and its loop, loaded from a file and saved to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from streamkarma.arrays import Arrays
from streamkarma.checkpoint import natural
from streamkarma.connectors.base import RecordBlock
from streamkarma.errors import ModelFileError, UsageError, meaningless_without
from streamkarma.estimators.learners import Model, infer_learner, learner_of
from streamkarma.estimators.persistence import from_bytes, load_with_run, save
from streamkarma.estimators.regression import BaseRegressor
from streamkarma.parameters.learning import LEARNING
from streamkarma.parameters.words import BALANCED, SHARE_LABEL, UNLABELLED
from streamkarma.runtime.destinations import Destinations
from streamkarma.runtime.fields import Fields, merge_fields
from streamkarma.runtime.loop import Loop
from streamkarma.runtime.output import Output, Totals
from streamkarma.runtime.pending import Pending
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.regret_adapter import open_regret
from streamkarma.runtime.task import TaskModel


class Session:
    """The state of a run: the model of a plan, resumed if it exists, and its loop.

    Parameters
    ----------
    plan
        The plan.
    path
        Path of the model, or None.
    say
        Called with a line for the user.
    content
        A model as bytes, if it is not in a file; ``path`` is then its name in messages.

    Raises
    ------
    UsageError
        If the plan does not match the model.
    ModelFileError
        If the file is not a model.
    """

    def __init__(
        self, plan: Plan, path: str | None, say: Callable[[str], None], content: bytes | None = None
    ) -> None:
        self._plan = plan
        self._path = path
        self._say = say
        #: Saved with the model, by name; unknown sections are kept unchanged.
        self.kept: dict[str, Any] = {}
        self._arrays: Arrays = {}
        #: Whether a new learner replaces the saved one.
        self._is_anew = False
        #: The files for rows, which are synced before the model that covers them is written.
        self.destinations: Destinations | None = None
        #: Whether the model existed before.
        self.resumed = content is not None or (
            path is not None and (not plan.learn or (Path(path).exists() and not plan.fresh))
        )
        if path is not None and self.resumed:
            self._resume(path, say, content)
        else:
            learner = plan.learner or infer_learner(plan.options)
            self.task_model = TaskModel(plan.task or "auto", dict(plan.options), plan.positive, say, learner)
        self.fields = merge_fields(plan, self.kept.get("fields", {}), self.task_model.model, path)
        self.pending = self._open_pending()
        _check_late(plan, self.pending, self.task_model.model)
        state = self.kept.pop("regret", None)
        full = self.fields.full is not None
        self.regret_adapter = open_regret(plan, self.task_model, full, state, self._arrays, path)
        self.ignored_before = self.task_model.model.ignored
        self.kept["unlabelled"] = plan.unlabelled or self.kept.get("unlabelled", "learn")
        self.kept["share_label"] = plan.share_label or self.kept.get("share_label", "on")
        first = (self.kept.get("events", 0) if plan.learn else 0) + 1
        #: The message for a resumed model, or None.
        self.resuming = (
            f"resuming {path} at event {first}"
            if self.resumed and plan.learn and path == plan.model
            else None
        )
        #: Initially a loop without output, which no bad record stops.
        self.loop = self._loop_from(first, Output(), fail=False)

    def new_loop(self, output: Output, fail: bool | None = None) -> Loop:
        """Continue with another loop, which has its own counters.

        ``fail`` is whether a bad record stops it; None for the value in the plan.
        """
        if self.pending is not None:
            self.pending.matched = self.pending.unmatched = self.pending.expired = 0
        self.loop = self._loop_from(self.loop.last + 1, output, self._plan.fail if fail is None else fail)
        return self.loop

    def _loop_from(self, first: int, output: Output, fail: bool) -> Loop:
        return Loop(
            self.task_model,
            self.fields,
            self._plan.learn,
            output,
            fail,
            first,
            self.pending,
            self.regret_adapter,
            read_ahead=self._plan.workers > 1,
            unlabelled=self.kept["unlabelled"] == "learn",
            share_label=self.kept["share_label"] == "on",
            recent=self._plan.recent,
            drift=self._plan.drift,
            explaining=self._plan.explaining,
            window=self._plan.window,
        )

    def save(self, **more: Any) -> None:
        """Save the model and the run's state, if there is a model file."""
        if self._path is None or not self._plan.learn:
            return
        if self.destinations is not None and (marks := self.destinations.marks()):
            self.kept["outputs"] = {**self.kept.get("outputs", {}), **marks}
        self.kept = {**self.described(), **more}
        if self.pending is not None:
            self.kept["pending"] = self.pending.state()
        arrays: Arrays = {} if self.pending is None else self.pending.arrays()
        if self.regret_adapter is not None:
            self.kept["regret"], compared = self.regret_adapter.tracker.state()
            arrays |= compared
        save(self.task_model.model, self._path, self.kept, arrays)

    def settings(self) -> dict[str, Any]:
        """The task and the names of fields in the run's state."""
        return {"task": self.task_model.state(), "fields": self.fields._asdict()}

    def refresh(self) -> None:
        """Adopt changes made by other processes, if the run follows any; called between blocks."""

    def feed(
        self, block: RecordBlock, at: int, most: int, may_continue: Callable[[], bool] = lambda: True
    ) -> int:
        """Predict and learn records of a block; see ``Loop.feed``."""
        return self.loop.feed(block.records, at, most, may_continue)

    def described(self) -> dict[str, Any]:
        """The state to save with the model."""
        return {**self.kept, **self.settings(), "events": self.loop.last}

    def take_over(self, model: Model, kept: dict[str, Any], totals: Totals, output: Output) -> None:
        """Continue with a model that was trained elsewhere, as if it had been trained here.

        Parameters
        ----------
        model, kept
            The model, and the state saved with it.
        totals
            The counts of its training.
        output
            The output of the loop.
        """
        self.task_model = resumed(str(self._path), model, kept, self._say)
        self.kept |= kept
        self.loop = self._loop_from(kept["events"] + 1, output, self._plan.fail)
        self.loop.resume_totals(totals)

    def resume_outputs(self, destinations: Destinations, again: bool, say: Callable[[str], None]) -> None:
        """Continue the files of a resumed model, otherwise start with empty files.

        ``again`` indicates whether records after the model's position will be read again.
        """
        self.destinations = destinations
        if self._path is None or not (self.resumed and self._plan.learn):
            destinations.restart()
        elif destinations.resume(self._path, self.kept.get("outputs"), again, say):
            self.save()

    def wait_until(self, stopped: Callable[[], bool]) -> None:
        """Make the regret tracker stop waiting once ``stopped`` returns True."""
        if self.regret_adapter is not None:
            self.regret_adapter.tracker.stopped = stopped

    def compare(self) -> None:
        """Compare with the baselines one last time."""
        if self.regret_adapter is not None:
            self.regret_adapter.finish()

    def close(self) -> None:
        """Cancel comparisons that are still running."""
        if self.regret_adapter is not None:
            self.regret_adapter.tracker.close()

    def _resume(self, path: str, say: Callable[[str], None], content: bytes | None) -> None:
        plan = self._plan
        model, self.kept, self._arrays = load_with_run(path) if content is None else from_bytes(content, path)
        if getattr(model, "extra_experts", None):
            raise UsageError(f"{path} has extra experts, which run only in Python")
        check_options(plan, path, model)
        self.task_model = resumed(path, model, self.kept, say)
        if plan.positive is not None:
            self.task_model.positive = plan.positive
        if plan.task not in (None, "auto") and self.task_model.is_open:
            self.task_model.settle_as(plan.task)
            self._is_anew = self.task_model.model is not model
        check_task(plan, path, self.task_model)
        if not plan.learn:
            # No labels are learned, so an event's prediction must not depend on its position in the stream.
            self.task_model.model.forget_last()
        if plan.options.get("threshold", BALANCED) != BALANCED:
            self.task_model.decide_by(plan.options["threshold"])

    def _open_pending(self) -> Pending | None:
        plan, state = self._plan, self.kept.get("pending")
        wanted = plan.pending if plan.pending is not None else plan.pending_default
        if not plan.learn or not (wanted or (plan.pending is None and state)):
            self.kept.pop("pending", None)
            return None
        if self.fields.full is not None:
            raise UsageError("--full has no meaning with late labels (--pending); leave one of them out")
        if self.fields.id is None and self.task_model.model.entity is None:
            raise UsageError(
                "late labels need --id NAME, which identifies their event, or --entity NAME, which "
                "identifies their events"
            )
        if not state:
            return Pending(wanted, plan.pending_seconds)
        pending = pending_of(str(self._path), self.task_model.model, state, self._arrays)
        if self._is_anew:
            pending.mark_unobserved()
        pending.limit = plan.pending or pending.limit
        pending.seconds = plan.pending_seconds or pending.seconds
        return pending


def _check_late(plan: Plan, pending: Pending | None, model: Model) -> None:
    """Raise UsageError if a plan has options for late labels without any late labels."""
    if plan.pending_seconds is not None and pending is None:
        raise meaningless_without("--pending-seconds", "--pending")
    if plan.share_label is not None and (pending is None or model.entity is None):
        raise meaningless_without("--share-label", "--entity and --pending")


def resumed(path: str, model: Model, kept: dict[str, Any], announce: Callable[[str], None]) -> TaskModel:
    """The task and model read from a file."""
    try:
        Fields.restored(kept.get("fields", {}))
        natural(kept.get("events", 0))
        if kept.get("unlabelled", "learn") not in UNLABELLED:
            raise ValueError("unlabelled is neither learn nor ignore")
        if kept.get("share_label", "on") not in SHARE_LABEL:
            raise ValueError("share_label is neither on nor off")
        if not isinstance(kept.get("kafka", {}), dict):
            raise ValueError("the Kafka offsets are invalid")
        return TaskModel.resumed(model, kept.get("task"), announce)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"{path} was not written by streamkarma learn: {error!r:.200}") from error


def check_options(plan: Plan, path: str, model: Model) -> None:
    """Raise UsageError if a model was made with options other than those of a plan."""
    given = {"learner": plan.learner} if plan.learner else {}
    for name, value in {**given, **plan.options}.items():
        declared = LEARNING.get(name)
        option = declared.option if declared is not None else name
        if name != "learner" and not hasattr(model, name):
            alien = isinstance(model, BaseRegressor) and declared is not None and declared.classification
            what = "a regression" if alien else f"made with the learner {learner_of(model)}"
            raise UsageError(f"--{option} has no meaning for {path}, {what}; leave it out")
        made = learner_of(model) if name == "learner" else getattr(model, name)
        if declared is not None and declared.needs and getattr(model, declared.needs) is None:
            raise meaningless_without(declared.given(value), f"--{declared.needs}")
        if name == "threshold" and BALANCED not in (value, made):
            continue  # it affects decisions only
        if value != made:
            raise UsageError(
                f"{path} was made with {option} {_format(name, made)}, not {_format(name, value)}; "
                f"leave the option out{' or start another model' if plan.learn else ''}"
            )


def check_task(plan: Plan, path: str, task_model: TaskModel) -> None:
    """Raise UsageError if a model was made for another task than the plan's."""
    if plan.task not in (None, "auto", task_model.task, task_model.name):
        raise UsageError(f"{path} was made for the task {task_model.name}, not {plan.task}")


def pending_of(path: str, model: Model, state: Any, arrays: Arrays) -> Pending:
    """The pending events and labels, restored from a model file."""
    try:
        return Pending.resumed(state, arrays, model)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ModelFileError(f"{path} has no valid list of pending events: {error!r:.200}") from error


def _format(name: str, value: Any) -> str:
    """A value as written on the command line."""
    if not isinstance(value, bool) and value in (None, [], {}):
        return "unlimited" if name in LEARNING and LEARNING[name].or_none else "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{each}={_format(name, what)}" for each, what in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
