"""Which attributes tell a model most."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamkarma.estimators.explaining import outcome_scores
from streamkarma.estimators.persistence import load_with_run


def rank_attributes(path: str) -> list[dict[str, Any]]:
    """What each attribute of a model tells alone, those that tell most first.

    A model keeps no events. So each attribute is held against an event of which nothing is known: by how much
    the score varies with what it says (``tells``), and how far the score is, on average over that, from where
    nothing is known (``absence``), which is what its mere presence or absence tells.

    Raises
    ------
    ModelFileError
        If the file is no model.
    """
    model, _, _ = load_with_run(path)
    nothing = model.read([{}], [False])
    base = model._pipeline.learner.scores(nothing, model._external_of(nothing))[0]
    tells, absence = {}, {}
    for outcome, scores in outcome_scores(model, {}, nothing):
        mean = outcome.chances @ scores
        tells[outcome.name] = np.sqrt(outcome.chances @ (scores - mean) ** 2)
        absence[outcome.name] = np.abs(mean - base)
    spread, moved = model.spread_by(tells), model.spread_by(absence)
    rows = [
        {"attribute": name, "tells": float(each.max()), "absence": float(moved[name].max())}
        for name, each in spread.items()
    ]
    return sorted(rows, key=lambda row: -max(row["tells"], row["absence"]))
