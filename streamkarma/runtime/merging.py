"""Merging model files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from streamkarma.arrays import Arrays
from streamkarma.errors import UsageError
from streamkarma.estimators.learners import Model
from streamkarma.estimators.merging import merge
from streamkarma.estimators.persistence import load_with_run, save
from streamkarma.lock import ModelLock
from streamkarma.runtime.session import pending_of, resumed

#: The parts of a run's saved state that must be the same in all files, in words.
_ALIKE = {
    "fields": "names of the target, the id or other fields",
    "unlabelled": "settings for events without a label",
    "share_label": "settings for events that share a label",
}


def merge_files(
    paths: Sequence[str], base_path: str | None, target: str, say: Callable[[str], None]
) -> Model:
    """Merge model files into another.

    Parameters
    ----------
    paths
        The models, one or more.
    base_path
        The model that all of them were trained from, or None.
    target
        Where to write the merged model; an existing file is replaced.
    say
        Called with a line for the user.

    Raises
    ------
    UsageError
        If the models cannot be merged.
    ModelFileError
        If a file is not a model, or the merged one cannot be written.
    RunError
        If another process learns with ``target``.
    """
    lock = ModelLock(target)
    try:
        loaded = [load_with_run(path) for path in paths]
        _check_different(paths)
        base, base_kept = (None, {}) if base_path is None else load_with_run(base_path)[:2]
        # The most likely mistakes are checked first.
        kept = merged_runs(paths, [kept for _, kept, _ in loaded], base_kept)
        left = [line for path, each in zip(paths, loaded, strict=True) for line in _left_behind(path, *each)]
        merged = merge([model for model, _, _ in loaded], base, paths)
        resumed(target, merged, kept, say)
        for line in left:
            say(line)
        save(merged, Path(target), kept)
    finally:
        lock.release()
    return merged


def _left_behind(path: str, model: Model, kept: dict[str, Any], arrays: Arrays) -> Iterator[str]:
    """Lines about what a merged model drops of a model file: what is pending, and offsets in topics."""
    if "pending" in kept:
        sizes = pending_of(path, model, kept["pending"], arrays).sizes()
        words = {"events": "events that wait for their label", "labels": "labels that wait for their event"}
        if waiting := [f"{sizes[what]:,} {name}" for what, name in words.items() if sizes[what]]:
            yield f"{path}: {' and '.join(waiting)} are dropped"
    if kept.get("kafka"):
        yield (
            f"{path}: its offsets in topics are dropped; attach with the merged model begins where the "
            "group's offsets are, or else at --from"
        )


def _check_different(paths: Sequence[str]) -> None:
    """Raise UsageError if two paths are the same file, also through links."""
    for one, other in combinations(paths, 2):
        if os.path.samefile(one, other):
            raise UsageError(f"{one} and {other} are the same file, which would be counted twice")


def merged_runs(names: Sequence[str], runs: Sequence[dict[str, Any]], base: dict[str, Any]) -> dict[str, Any]:
    """The run state to save with a merged model: task, fields, and the number of events.

    Parameters
    ----------
    names
        Names of the models, for messages.
    runs
        The state saved with each of them; empty for a model saved from Python.
    base
        The state saved with the model they were trained from.

    Raises
    ------
    UsageError
        If the states contradict each other.
    """
    known = [(name, run) for name, run in zip(names, runs, strict=True) if run]
    if not known:
        return {}
    first_name, first = known[0]
    for name, run in known:
        for part, words in _ALIKE.items():
            if run.get(part) != first.get(part):
                raise UsageError(f"{first_name} and {name} have different {words}: they cannot be merged")
        for choice in ("task", "positive"):
            one, other = _settled(first, choice), _settled(run, choice)
            if None not in (one, other) and one != other:
                raise UsageError(
                    f"{first_name} has the {choice} {one} and {name} {other}: they cannot be merged"
                )
    settled = [run["task"] for _, run in known if run["task"]["settled"]]
    before = base.get("events", 0)
    for name, run in known:
        if (count := run.get("events", 0)) < before:
            raise UsageError(
                f"{name} was not trained from the base model: it has {count:,} events, the base {before:,}"
            )
    events = before + sum(run.get("events", 0) - before for _, run in known)
    return {
        **{part: first[part] for part in _ALIKE if part in first},
        # The order of the models must not matter if only some of them name the positive class.
        "task": max(settled or [first["task"]], key=lambda task: task["positive"] is not None),
        "events": events,
    }


def _settled(run: dict[str, Any], choice: str) -> str | None:
    """The task or the positive class of a run; None while undetermined."""
    task = run["task"]
    return task[choice] if choice == "positive" or task["settled"] else None
