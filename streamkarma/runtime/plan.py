"""What to run."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from streamkarma.parameters.running import RUNNING

if TYPE_CHECKING:
    from streamkarma.runtime.explaining import ExplanationLimits

#: The default of mappings, shared by all plans.
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Plan(NamedTuple):
    """What to run; None means that the model file or the default decides.

    Attributes
    ----------
    model
        Path of the model, or None to save none.
    learn
        False to score only.
    follow
        When only scoring: whether to reload the model whenever its file has changed.
    fields
        Names that are not attributes, keyed as in ``Fields``.
    task, positive, learner
        See ``TaskModel``.
    unlabelled
        What to do with events without a label: ``learn`` or ``ignore``.
    share_label
        Whether events that share a label count as one: ``on`` or ``off``.
    options
        The given parameters of the estimator.
    checkpoint_every
        Events between two checkpoints; None for 10,000, but not more than one checkpoint a second.
    predictions, dead_letters, summary
        Paths, ``-`` for standard output, None for none.
    fail
        Stop at the first bad record.
    fresh
        Start a new model, whatever is in the file.
    strict
        Fail if nothing could be learned or no record could be used.
    report_every
        Events between progress lines, 0 for none.
    recent, drift
        As in ``Monitor``.
    explaining, window
        As in ``Loop``.
    quiet
        Print only errors to stderr.
    max_events
        Number of events to stop after, or None.
    workers
        Number of threads.
    pending
        Maximum number of events that wait for late labels; 0 for none.
    pending_seconds
        Longest wait, in seconds.
    pending_default
        The value of ``pending`` if neither it nor the model file has one.
    regret
        Baselines to compare with, as the user names them.
    regret_memory
        Maximum number of events kept for the comparison; None for the value in the model file.
    regret_seconds
        Time limit for each fit of a baseline.
    base
        Path of the model from which shared models start; None for an empty one.
    share_every
        Seconds between merges of what other processes have learned.
    """

    model: str | None = None
    learn: bool = True
    follow: bool = False
    fields: Mapping[str, Any] = NOTHING
    task: str | None = None
    positive: str | None = None
    learner: str | None = None
    unlabelled: str | None = None
    share_label: str | None = None
    options: Mapping[str, Any] = NOTHING
    checkpoint_every: int | None = None
    predictions: str | None = "-"
    dead_letters: str | None = None
    summary: str | None = None
    fail: bool = False
    fresh: bool = False
    strict: bool = False
    report_every: int = RUNNING["report_every"].default
    recent: int = RUNNING["recent"].default
    drift: bool = RUNNING["drift"].default
    explaining: ExplanationLimits | None = None
    window: int = 0
    quiet: bool = False
    max_events: int | None = None
    workers: int = 1
    pending: int | None = None
    pending_seconds: float | None = None
    pending_default: int = 0
    regret: str = RUNNING["regret"].default
    regret_memory: int | None = None
    regret_seconds: float = RUNNING["regret_seconds"].default
    base: str | None = None
    share_every: float = RUNNING["share_every"].default
