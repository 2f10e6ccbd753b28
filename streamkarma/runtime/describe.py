"""The contents of a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from streamkarma.connectors.jsonlines.position import position_from
from streamkarma.estimators.learners import Model, learner_of
from streamkarma.estimators.persistence import load_with_run
from streamkarma.runtime.session import pending_of, resumed


def _texts(model: Model) -> dict[Any, str]:
    """Attribute names as strings, in quotes if a name that is not a string looks the same."""
    names = model.vocabulary.attributes
    numbers = {str(name) for name in names if not isinstance(name, str)}
    return {name: repr(name) if isinstance(name, str) and name in numbers else str(name) for name in names}


def _values(model: Model) -> dict[str, dict[str, Any]]:
    """The kind and a summary of the values of each attribute, and the fraction of learned events with it."""
    vocabulary = model.vocabulary
    # The constant is in every event, with or without a label.
    events = max(int(vocabulary.tallies()[0, 0]), 1)
    owners, texts = vocabulary.uses()[:, 0], _texts(model)
    places = np.bincount(owners[owners >= 0])
    kinds = vocabulary.kinds()
    counts = (int(places[attribute]) for attribute in kinds)
    return {
        texts[name]: {"kind": kind, "observed": row.get("values", 0) / events, "coordinates": count, **row}
        for (name, row), kind, count in zip(model.values.items(), kinds.values(), counts, strict=True)
    }


def _parameters(model: Model) -> dict[str, Any]:
    """The parameters, with the class names of extra experts."""
    given: dict[str, Any] = model._get_params()
    extra = given.get("extra_experts")
    return {**given, **({"extra_experts": [type(each).__name__ for each in extra]} if extra else {})}


def describe(path: str) -> dict[str, Any]:
    """The contents of a model file, as JSON.

    Raises
    ------
    ModelFileError
        If the file is not a model.
    """
    model, kept, arrays = load_with_run(path)
    learned, _ = model.state()
    result = {
        "path": path,
        "file_bytes": Path(path).stat().st_size,
        "kind": type(model).__name__,
        "learner": learner_of(model),
        "task": resumed(path, model, kept, lambda _: None).name,
        "events": kept.get("events"),
        "learned": model.steps,
        "parameters": _parameters(model),
        "fields": kept.get("fields"),
        "unlabelled": kept.get("unlabelled"),
        "model": model.summary(),
        "attributes": sorted(_texts(model).values()),
        "values": _values(model),
    }
    if model.merged_from:
        result["merged_from"] = [{"name": name, "learned": count} for name, count in model.merged_from]
    if "kafka" in kept:
        result["offsets"] = kept["kafka"]
        result["topic_ids"] = kept.get("topic_ids", {})
    if (taken := position_from(kept.get("input"), path)) is not None:
        result["input"] = {"lines": taken.lines, "bytes": taken.bytes}
    if "pending" in kept:
        result["pending"] = pending_of(path, model, kept["pending"], arrays).sizes()
    if "classes" in learned:
        result["classes"] = learned["classes"]
    return result
