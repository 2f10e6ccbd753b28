"""Probable mistakes in the options, detected at the end of a run."""

from __future__ import annotations

import difflib
from contextlib import suppress

from streamkarma._engine import parse
from streamkarma.connectors.jsonlines.hints import remedy
from streamkarma.errors import RecordError
from streamkarma.estimators.classification import BaseClassifier
from streamkarma.events.flatten import flatten
from streamkarma.printable import printable
from streamkarma.runtime.loop import Loop

#: Number of first records searched for a hint, and the maximum length of a name shown.
_FIRST, _LONGEST_NAME = 100, 60
#: Number of names shown if none is similar.
_NAMES = 8


def unmatched(loop: Loop) -> str | None:
    """The message for class weights whose class does not occur."""
    model = loop.task_model.model
    names = model.unmatched_weights if isinstance(model, BaseClassifier) and model.classes else []
    return f"--class-weight: these labels did not occur: {', '.join(names)}" if names else None


def useless(loop: Loop, target: str, whole: bool) -> str | None:
    """Why a run was useless, if it was; probably a wrong option or an empty pipe.

    ``whole`` is whether the input was read from beginning to end, so that no records mean an empty input.
    """
    c = loop.counters
    if whole and not (c.events or c.rejected):
        return "no records: the input is empty"
    if not c.events and c.rejected and loop.failure is None:
        first = [] if loop.first_records is None else loop.first_records.values
        return f"none of {c.rejected:,} records could be used{remedy(loop.first_rejected or '', first)}"
    labels = loop.pending is not None and any(
        loop.pending.summary()[name] for name in ("matched", "unmatched")
    )
    if not (loop.learns and c.events and c.unlabelled == c.events) or labels:
        return None
    names = sorted(printable(name) for name in _first_names(loop) - {target})
    near = difflib.get_close_matches(target.lower(), [name.lower() for name in names], 1)
    meant = next((name for name in names if [name.lower()] == near), None)
    hint = f"did you mean {meant}?" if meant else f"see --target, and the names {', '.join(names[:_NAMES])}"
    shown = target or "''"
    if c.rejected:
        were = "1 record was" if c.rejected == 1 else f"{c.rejected:,} records were"
        return f"no usable record had the target {shown}, and {were} rejected; {hint}"
    return f"no event had the target {shown}, so no label was learned; {hint}"


def _first_names(loop: Loop) -> set[str]:
    """Attribute names in the first records, or of a model that was trained elsewhere."""
    if loop.first_records is None:
        return {
            name
            for name in map(str, loop.task_model.model.vocabulary.attributes)
            if len(name) <= _LONGEST_NAME
        }
    names: set[str] = set()
    for value in loop.first_records.values[:_FIRST]:
        with suppress(RecordError):
            names |= {name for name in flatten(parse(value)) if len(name) <= _LONGEST_NAME}
        if len(names) > _FIRST:
            break
    return names
