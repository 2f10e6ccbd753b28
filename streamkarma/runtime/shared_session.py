"""A model for each part of a source, and predictions by the merged models of all processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from streamkarma.connectors.base import ModelStore, RecordBlock
from streamkarma.errors import ModelFileError, RunError, UsageError
from streamkarma.estimators.learners import Model
from streamkarma.estimators.merging import check_mergeable, merge
from streamkarma.estimators.persistence import from_bytes, to_bytes
from streamkarma.runtime.fields import Fields
from streamkarma.runtime.packing import Packing
from streamkarma.runtime.plan import Plan
from streamkarma.runtime.session import Session, resumed
from streamkarma.runtime.task import TaskModel, text_of

#: Settings saved with the base that, like names of fields, must not differ between processes.
_ALIKE = ("unlabelled", "share_label")
#: The maximum fraction of time spent on merging.
_SHARE = 0.1


class SharedSession(Session):
    """The state of a run that shares the models of the parts of its source with other processes.

    Each part's model learns only the events of that part, regardless of the process, so that it depends only
    on the part. Predictions come from a model into which all parts are merged every few seconds. In between,
    it learns the events of this process.

    Parameters
    ----------
    plan
        The plan.
    store
        The store of shared models.
    say
        Called with a line for the user.

    Raises
    ------
    UsageError
        If the plan differs from the other processes'.
    ModelFileError
        If the base is not a model.
    """

    def __init__(self, plan: Plan, store: ModelStore, say: Callable[[str], None]) -> None:
        self._store = store
        self._already_said: set[str] = set()
        self._tell = say
        self._base_content = store.agree(base_of(plan, say))
        self._base, kept, _ = from_bytes(self._base_content, store.name)
        check_shareable(store.name, self._base)
        self._packing = Packing(self._base_content)
        check_alike(plan, self._base, kept, store.name, "share in another topic")
        super().__init__(plan, store.name, self._say_once, self._base_content)
        self._base_task = dict(self.kept["task"])
        #: The parts of this process by name, and those whose model or position is not saved.
        self._parts: dict[str, Session] = {}
        self._changed: set[str] = set()
        #: The models of other processes by part, each with the bytes it was read from.
        self._others: dict[str, tuple[bytes, Model | None]] = {}
        self._due = float("-inf")

    def load(self, part: str, models: Sequence[bytes]) -> int:
        """Continue a part's model from the first usable one of these, or else from the base."""
        found = newest_usable(part, models, self._base, self._packing, self._complain)
        chosen, content = (len(models), self._base_content) if found is None else (found.place, found.content)
        # Explanations come from the merged model, which makes the rows.
        plan = self._plan._replace(explaining=None)
        self._parts[part] = Session(plan, f"{self._store.name}, {part}", _ignore, content)
        self._changed.discard(part)
        # The merged model may have learned more or less of this part.
        self._due = float("-inf")
        return chosen

    def feed(
        self, block: RecordBlock, at: int, most: int, may_continue: Callable[[], bool] = lambda: True
    ) -> int:
        """Predict records with the merged model, which then learns them, as does the model of their part."""
        assert block.part is not None
        own = self._parts[block.part].loop
        self._changed.add(block.part)
        if block.answered:
            return own.feed(block.records, at, most, may_continue)
        if time.monotonic() >= self._due:
            self._take_in_others()
        self.loop.number_from(own.last + 1)
        end = self.loop.feed(block.records, at, most, may_continue)
        own.feed(block.records.between(at, end))
        return end

    def mark_unsaved(self, part: str) -> None:
        """Save a part's model the next time, even if it learns nothing until then: its position is new."""
        self._changed.add(part)

    def save(self, **more: Any) -> None:
        """Save the models that have changed since the last time."""
        for part in sorted(self._changed):
            own = self._parts[part]
            run = {**own.kept, **own.settings(), "events": own.loop.last}
            content = self._packing.pack(to_bytes(own.task_model.model, run))
            self._store.keep(part, content, own.loop.last)
        self._changed = set()

    def _take_in_others(self) -> None:
        """Continue with the merge of all current models."""
        began = time.monotonic()
        models = {part: own.task_model.model for part, own in self._parts.items()}
        for part, contents in self._store.others().items():
            if (model := self._other(part, contents)) is not None:
                models[part] = model
        names = sorted(models)
        merged = merge([models[name] for name in names], self._base, names)
        self.task_model = TaskModel.resumed(merged, self._base_task, self._say_once)
        classes = getattr(merged, "classes", ())
        if self.task_model.task == "binary" and len(classes) > 2:
            raise RunError(
                f"{self._store.name} is for the task binary, but its partitions have the classes "
                f"{', '.join(map(text_of, classes))}"
            )
        self.loop.continue_with(self.task_model)
        now = time.monotonic()
        self._due = now + max(self._plan.share_every, (now - began) / _SHARE)

    def _other(self, part: str, contents: Sequence[bytes]) -> Model | None:
        """The newest usable model of a part of another process; None if there is none."""
        newest, model = self._others.get(part, (b"", None))
        if newest != contents[0]:
            found = newest_usable(part, contents, self._base, self._packing, self._complain)
            model = model if found is None else found.model
            self._others[part] = contents[0], model
        return model

    def _complain(self, why: str) -> None:
        self._say_once(f"{self._store.name}: {why}")

    def _say_once(self, line: str) -> None:
        if line not in self._already_said:
            self._already_said.add(line)
            self._tell(line)


class Usable(NamedTuple):
    """A usable model of a part: its index among the saved ones, its bytes, and its contents."""

    place: int
    content: bytes
    model: Model
    kept: dict[str, Any]


def newest_usable(
    part: str, packed: Sequence[bytes], base: Model, packing: Packing, complain: Callable[[str], None]
) -> Usable | None:
    """The first of a part's models, newest first, that is valid and was trained from the base.

    None if there is none. ``complain`` is called with the problem of each one before it.
    """
    for place, each in enumerate(packed):
        try:
            content = packing.unpack(each, part)
            model, kept, _ = from_bytes(content, part)
            check_mergeable("the base", base, part, model)
            resumed(part, model, kept, _ignore)
        except (ModelFileError, UsageError) as error:
            complain(f"{error}; the last good one is used")
        else:
            return Usable(place, content, model, kept)
    return None


def base_of(plan: Plan, say: Callable[[str], None]) -> bytes | None:
    """The base of all models by this plan; None if the plan does not determine the task."""
    begun = Session(plan, plan.base, say)
    if not begun.task_model.settled:
        return None
    run = {**begun.settings(), **{name: begun.kept[name] for name in _ALIKE}}
    if plan.base is not None:
        run["warm"] = _digest(begun.task_model.model)
    return to_bytes(begun.task_model.model, run)


def check_shareable(name: str, base: Model) -> None:
    """Raise UsageError if models trained from this one would depend on more than the events they learn."""
    refits = getattr(base, "refit", None)
    if refits is not None:
        raise UsageError(
            f"{name} has refits (--refit {refits}), which depend on timing, as shared "
            "models must not; share a model without them"
        )


def check_alike(plan: Plan, base: Model, kept: dict[str, Any], name: str, otherwise: str) -> None:
    """Raise UsageError if a plan differs from the base in settings that a run of a single model could change.

    ``otherwise`` names the alternative to leaving the option out.
    """
    fields = Fields.restored(kept["fields"])._asdict()
    agreed = {**{each: kept.get(each) for each in _ALIKE}, **fields, "positive": kept["task"]["positive"]}
    given = {each: getattr(plan, each) for each in (*_ALIKE, "positive")}
    given |= {each: tuple(value) if each == "ignore" else value for each, value in plan.fields.items()}
    if "threshold" in plan.options:
        given["threshold"], agreed["threshold"] = plan.options["threshold"], getattr(base, "threshold", None)
    for option, value in given.items():
        if value is not None and value != agreed[option]:
            raise UsageError(
                f"{name} was started with {option} {_in_words(agreed[option])}, not {_in_words(value)}; "
                f"leave the option out, or {otherwise}"
            )
    if plan.base is not None and kept.get("warm") != _digest(
        Session(plan, plan.base, _ignore).task_model.model
    ):
        raise UsageError(f"{name} was started with another --base than {plan.base}; leave the option out")


def _digest(model: Model) -> str:
    return sha256(to_bytes(model)).hexdigest()


def _in_words(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(sorted(value)) or "none"
    return "none" if value is None else str(value)


def _ignore(line: str) -> None:
    """Suppress messages of a part, which the merged model repeats."""
