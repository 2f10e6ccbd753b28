"""What to run."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from streamkarma.parameters import RUNNING

#: For defaults, which all plans share.
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Plan(NamedTuple):
    """What to run; None is "not said" where a model file may say it.

    Attributes
    ----------
    model
        Path of the model, or None to keep none.
    learn
        False to score only.
    fields
        Names that are not attributes, by the names of ``Fields``.
    task, positive, learner
        See ``TaskModel``.
    options
        Parameters of the estimator that were said.
    checkpoint_every
        Events between two writings of the model.
    predictions, dead_letters, summary
        Paths, ``-`` for standard output, None for none.
    fail
        Stop at the first bad record.
    fresh
        Begin a new model, whatever there is in the file.
    strict
        Fail if nothing could be learned, or no record be used.
    report_every
        Events between two lines of progress, 0 for none.
    quiet
        Nothing on stderr but errors.
    max_events
        How many events to stop after, or None.
    workers
        How many threads learn.
    pending
        Most events that wait for labels that come later; 0 if none do.
    pending_seconds
        Longest wait.
    pending_default
        ``pending``, where neither it nor a model file says anything.
    regret
        Baselines to compare with, as a user names them.
    regret_memory
        Most events kept for that; None for what the model file says.
    regret_seconds
        What one baseline may take at a time.
    """

    model: str | None = None
    learn: bool = True
    fields: Mapping[str, Any] = NOTHING
    task: str | None = None
    positive: str | None = None
    learner: str | None = None
    options: Mapping[str, Any] = NOTHING
    checkpoint_every: int = RUNNING["checkpoint_every"].default
    predictions: str | None = "-"
    dead_letters: str | None = None
    summary: str | None = None
    fail: bool = False
    fresh: bool = False
    strict: bool = False
    report_every: int = RUNNING["report_every"].default
    quiet: bool = False
    max_events: int | None = None
    workers: int = 1
    pending: int | None = None
    pending_seconds: float | None = None
    pending_default: int = 0
    regret: str = RUNNING["regret"].default
    regret_memory: int | None = None
    regret_seconds: float = RUNNING["regret_seconds"].default
