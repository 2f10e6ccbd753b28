"""The task, if necessary inferred from the labels, and its model."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from streamkarma._engine import MissingWords
from streamkarma.core.loss import REGRESSION
from streamkarma.errors import RecordError, RunError, UsageError
from streamkarma.estimators.classification import BaseClassifier
from streamkarma.estimators.costs import names_of
from streamkarma.estimators.learners import Model, create, learner_of
from streamkarma.estimators.regression import BaseRegressor
from streamkarma.events.labels import Label
from streamkarma.events.values import is_missing
from streamkarma.parameters.words import CLASS_WORDS, MISSING_WORDS, TASKS
from streamkarma.printable import shown


class TaskModel:
    """A model whose task may still have to be inferred from the labels.

    With ``auto``, a boolean or a string means classification, and a number other than -1, 0 and 1 means
    regression. A stream that begins with one of these three is learned as binary until a second number
    arrives: 0 and 1, or -1 and 1, are two classes; anything else means regression, and learning continues as
    such. Nothing is lost: identical targets only teach a regression their mean. Names and scales learned from
    events without a label are kept, while the learner itself starts over.

    Parameters
    ----------
    task
        One of TASKS.
    options
        Parameters of the estimator.
    positive
        The positive class as a string, or None for the greater of the two.
    announce
        Called with one line that reports the decision.
    learner
        One of LEARNERS.
    """

    def __init__(
        self,
        task: str,
        options: dict[str, Any],
        positive: str | None,
        announce: Callable[[str], None],
        learner: str,
    ) -> None:
        if task not in TASKS:
            raise UsageError(f"task must be one of {', '.join(TASKS)}, not {task!r}")
        _check_options(task, positive, options)
        self.task = task
        self.settled = task != "auto"
        self.positive = positive
        self._options = options
        #: Prints a line for the user.
        self.announce = announce
        self.model: Model
        if task == "auto" and options.get("loss") in REGRESSION:
            # A regression loss settles the task before any label arrives.
            self.task, self.settled = "regression", True
        #: Whether the task follows from the loss.
        self._by_loss = task == "auto" and self.settled
        self.model = create(learner, options, self.task == "regression")
        #: The value of all labels learned before the task turned out to be regression, if known.
        self.repeated: float | None = None
        #: Words for a missing value that were announced as classes.
        self._announced: set[str] = set()

    @property
    def name(self) -> str:
        """The current task: binary, multiclass, regression or auto."""
        if self.task == "auto" and isinstance(self.model, BaseClassifier) and self.model.classes:
            return "multiclass" if len(self.model.classes) > 2 else "binary"
        return self.task

    @property
    def predicts_numbers(self) -> bool:
        """Whether the task is known to be regression."""
        return self.settled and self.task == "regression"

    def is_no_label(self, label: Any) -> bool:
        """Whether what a record has as its label stands for none.

        Words for a missing value do, and a text of blanks. Only ``none`` and ``-`` may be classes, unless the
        user listed them or the labels are known not to be texts.
        """
        if not isinstance(label, str):
            return is_missing(label)
        given = self.model.na
        if label not in _words(MISSING_WORDS if given is None else tuple(given)):
            return False
        classes: Sequence[Label] = getattr(self.model, "classes", ())
        if label in classes:
            return False
        if given is not None or label.strip().lower() not in CLASS_WORDS or self.predicts_numbers:
            return True
        return bool(classes) and not isinstance(classes[0], str)

    def check(self, label: Any) -> Label:
        """A record's label in the form that the model takes; settles the task if still open.

        Raises
        ------
        RecordError
            If the label does not fit the task.
        UsageError
            If an option does not apply to the task that the labels imply.
        """
        if not self.settled:
            self._settle(label)
        elif self._by_loss and not self.model.steps and isinstance(label, (bool, str)):
            raise UsageError(f"--loss {self.model.loss} is for numbers, and the labels are {_kinds(label)}")
        model = self.model
        checked = model.check_label(label)
        if self.task == "binary" and isinstance(model, BaseClassifier):
            known = model.classes
            if len(known) >= 2 and checked not in known:
                others = "multiclass or regression" if _is_number(checked) else "multiclass"
                raise RecordError(
                    f"the label {shown(checked)} is neither of the two classes "
                    f"{shown(known[0])} and {shown(known[1])}; "
                    f"start a model with --task {others} to allow it"
                )
        if isinstance(checked, str):
            self._announce_word(checked)
        return checked

    def _announce_word(self, label: str) -> None:
        """Announce a class that might have been meant as no label."""
        if label.strip().lower() in CLASS_WORDS and label not in self._announced:
            self._announced.add(label)
            option = f"--na {shlex.quote(label.strip())}"
            self.announce(f"label {shown(label)}: a class; with {option} it stands for no label")

    def _settle(self, label: Any) -> None:
        assert isinstance(self.model, BaseClassifier)
        known = self.model.classes
        if isinstance(label, (bool, str)) and (not known or not _is_number(known[0])):
            self.settled = True
            self.announce(f"task: classification, since the labels are {_kinds(label)}")
        elif _is_number(label) and (not known or _is_number(known[0])) and label not in known:
            pair = {label, *known}
            if known and (pair == {0, 1} or pair == {-1, 1}):
                self.task, self.settled = "binary", True
                lesser, greater = sorted(pair)
                self.announce(f"task: binary, since the labels are {lesser} and {greater}")
            elif known or label not in (-1, 0, 1):
                self._become_regression(known)
                self.announce(f"task: regression, since a label is {label}")

    @property
    def is_open(self) -> bool:
        """Whether the task is still undetermined, so that the user may set it."""
        return self.task == "auto" and isinstance(self.model, BaseClassifier) and not self.model.classes

    def settle_as(self, task: str) -> None:
        """Set a task that is still open.

        Raises
        ------
        UsageError
            If an option does not apply to it.
        """
        _check_options(task, self.positive, self._options)
        if task != "regression":
            self.task, self.settled = task, True
        elif self.settled:
            raise UsageError(
                "the model was created in Python as a classifier; --task regression needs a new model"
            )
        elif "loss" in self._options:
            raise UsageError(
                f"--loss {self._options['loss']} is for classes, and --task regression for numbers"
            )
        else:
            self._become_regression([])

    def _become_regression(self, known: list[Label]) -> None:
        assert isinstance(self.model, BaseClassifier)
        if self.positive is not None:
            raise UsageError(
                "the labels imply regression, for which --positive has no meaning; leave it out, or "
                "give --task"
            )
        regressor = create(learner_of(self.model), _for_regression(self._options), regression=True)
        assert isinstance(regressor, BaseRegressor)
        if known or self.model.vocabulary.attributes:
            regressor.take_over(self.model, float(known[0]) if known else None)
        self.model, self.task, self.settled = regressor, "regression", True
        self.repeated = float(known[0]) if known else None

    def accepted(self) -> set[tuple[type, Any]]:
        """Labels that need no check, with their types: True is not 1."""
        accepted: set[tuple[type, Any]] = {(type(None), None)}
        for label in getattr(self.model, "classes", ()):
            kinds = (int, float) if type(label) in (int, float) else (type(label),)
            accepted |= {(kind, label) for kind in kinds}
        return accepted

    def announce_ignored(self) -> None:
        """Announce attributes whose values are ignored, each once."""
        for line in self.model.vocabulary.notices():
            self.announce(line)

    def check_positive(self) -> None:
        """RunError if the requested positive class is neither of the two."""
        if isinstance(self.model, BaseClassifier):
            self.sign()

    def sign(self) -> int:
        """+1 if a positive score means the positive class, -1 if the negative, 0 if unknown.

        Raises
        ------
        RunError
            If the requested positive class is neither of the two.
        """
        assert isinstance(self.model, BaseClassifier)
        known = self.model.classes
        if not known or len(known) > 2:
            return 0
        if self.positive is not None:
            matches = [self.positive in names_of(label) for label in known]
            if any(matches):
                return -1 if matches[0] else 1
            if len(known) == 2:
                raise RunError(
                    f"the classes are {text_of(known[0])} and {text_of(known[1])}; "
                    f"--positive {self.positive!s:.60} is neither"
                )
            return 1
        if len(known) == 2:
            return 1 if _order(known[1]) > _order(known[0]) else -1
        # One of 0 and 1, or of -1 and 1, is enough to tell which is greater.
        if _is_number(known[0]) and known[0] in (-1, 0, 1):
            return -1 if known[0] == 1 else 1
        return 0

    def decide_by(self, threshold: float | None) -> None:
        """Continue with another threshold; see ``BaseClassifier.decide_by``."""
        assert isinstance(self.model, BaseClassifier)
        self.model.decide_by(threshold)
        self._options = {**self._options, "threshold": threshold}

    def state(self) -> dict[str, Any]:
        """The state to save with the model."""
        return {
            "task": self.task,
            "settled": self.settled,
            "positive": self.positive,
            "options": self._options,
        }

    def _may_be_open(self) -> bool:
        """Whether the labels so far, if there are any, may be of either task."""
        known = self.model.classes if isinstance(self.model, BaseClassifier) else None
        return self.task == "auto" and known is not None and known[1:] == [] and all(map(_is_number, known))

    def _check_resumed(self) -> None:
        """Raise ValueError if the model does not fit the task, or was made with other options."""
        regression = isinstance(self.model, BaseRegressor)
        if self.task not in TASKS or regression != (self.task == "regression"):
            raise ValueError(f"a {type(self.model).__name__} is not a model for the task {self.task}")
        if not isinstance(self.positive, (str, type(None))):
            raise ValueError("the positive class is not a string")
        for name, value in self._options.items():
            if name != "max_classes" and not _same(getattr(self.model, name), value):
                raise ValueError(f"{name} is not what the model was made with")

    @classmethod
    def resumed(
        cls, model: Model, state: dict[str, Any] | None, announce: Callable[[str], None]
    ) -> TaskModel:
        """Resume a model with the ``state`` that was saved with it.

        Without a state, as for a model saved from Python, the task follows from the model.

        Raises
        ------
        KeyError, TypeError, ValueError
            If the state is invalid.
        """
        task_model = cls("auto", {}, None, announce, learner_of(model))
        task_model.model = model
        if state is None:
            task_model.task = "auto" if isinstance(model, BaseClassifier) else "regression"
            task_model.settled = True
        else:
            task_model.task, task_model.settled = str(state["task"]), state["settled"]
            if type(task_model.settled) is not bool or not (task_model.settled or task_model._may_be_open()):
                raise ValueError("a model whose task is open has at most one label, a number")
            task_model.positive = state["positive"]
            task_model._options = dict(state["options"])
            task_model._check_resumed()
        return task_model


def _check_options(task: str, positive: str | None, options: dict[str, Any]) -> None:
    """Raise UsageError if an option does not apply to a task."""
    if positive is not None and task in ("multiclass", "regression"):
        raise UsageError(f"--positive has no meaning with --task {task}; leave one of them out")
    if task in ("binary", "multiclass") and options.get("loss") in REGRESSION:
        raise UsageError(f"--loss {options['loss']} is for numbers, and --task {task} for classes")
    if task == "multiclass" and isinstance(options.get("threshold"), float):
        raise UsageError(
            f"--threshold {options['threshold']:g} is for two classes; balanced is for any number"
        )


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def text_of(label: Label) -> str:
    """A label as in JSON, but strings without quotes."""
    return str(label).lower() if isinstance(label, bool) else str(label)


def _for_regression(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a classifier that a regressor also has."""
    if "loss" in options:
        raise UsageError(
            f"the labels imply regression, but --loss {options['loss']} is for classification; give --task"
        )
    return {k: v for k, v in options.items() if k != "max_classes"}


@cache
def _words(words: tuple[str, ...]) -> MissingWords:
    return MissingWords(words)


def _is_number(label: Any) -> bool:
    return isinstance(label, (int, float)) and not isinstance(label, bool)


def _kinds(label: bool | str) -> str:
    return "booleans" if isinstance(label, bool) else "strings"


def _order(label: Label) -> tuple[str, Label]:
    return ("", label) if not isinstance(label, str) else ("s", label)
