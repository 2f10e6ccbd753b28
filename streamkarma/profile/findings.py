"""The profile as JSON, from the statistics collected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from streamkarma._engine import number
from streamkarma.arrays import Floats
from streamkarma.profile import randomness
from streamkarma.profile.alone import FEWEST, Label
from streamkarma.profile.attribute import Attribute
from streamkarma.profile.summaries import quantiles
from streamkarma.profile.suspicion import suspicions

if TYPE_CHECKING:
    from streamkarma.profile.profiler import Profiler

#: Maximum numbers of patterns, of pairs, and of values of an attribute that are reported.
_PATTERNS, _PAIRS, _VALUES = 20, 50, 10
#: Smaller correlations and changes are not reported.
_LEAST_CORRELATION, _LEAST_CHANGE = 0.1, 0.02
#: Numeric labels with more distinct values than this are a regression.
MOST_CLASSES = 20
#: Maximum numbers of sampled rows in the matrix, and of attributes in the heat map.
_MATRIX_ROWS, _HEAT = 250, 26


def findings(profiler: Profiler) -> dict[str, Any]:
    """The profile of the events given to a profiler."""
    rows = profiler.sample.items()
    label = label_of(profiler)
    powers = _predictive_powers(profiler, rows, label)
    attributes = {
        name: {**_attribute(each, profiler.events, rows), **powers.get(name, {})}
        for name, each in profiler.attributes.items()
    }
    names = list(attributes)
    entity = _entity(profiler, attributes)
    missingness = profiler.missingness
    correlations = missingness.correlations()
    profile = {
        "events": profiler.events,
        "sample": len(rows),
        "values_of_further_attributes": profiler.beyond,
        "label": label,
        "missing": _missing_share(profiler),
        **entity,
        "attributes": attributes,
        "patterns": {
            "error": missingness.pattern_error,
            "commonest": [
                {"missing": [names[i] for i in missing], "events": count, "share": count / profiler.events}
                for missing, count in missingness.patterns(_PATTERNS)
            ],
        },
        "together": _together(correlations, names),
        "heat_map": _heat_map(correlations, names),
        "trend": _trend(profiler, names),
        "changes": _changes(profiler),
        "tests": _tests(profiler, rows, label),
        "matrix": _matrix(rows, names),
    }
    return {**profile, "suspicious": suspicions(profile)}


def _entity(profiler: Profiler, attributes: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """What the memory of entities would fill in; ``carried`` is added to the attributes."""
    carried = profiler.carried
    if carried is None:
        return {}
    counts = carried.counts(len(attributes)) / max(profiler.events, 1)
    for each, share in zip(attributes.values(), counts.tolist(), strict=True):
        each["carried"] = share
    found = {
        "name": profiler.entity,
        "share": carried.events / max(profiler.events, 1),
        "distinct": carried.distinct.count(),
        "distinct_exact": carried.distinct.exact,
        "missing": _missing_share(profiler) - float(counts.mean()) if len(counts) else 0.0,
    }
    return {"entity": found}


def label_of(profiler: Profiler) -> dict[str, Any]:
    """Statistics of the label, and its task."""
    label = profiler.label
    found = _attribute(label, profiler.events, profiler.sample.items())
    count = label.distinct.count()
    is_number = label.kind == "number" and count > MOST_CLASSES
    if label.kind == "number" and count > 2:
        is_number = is_number or label.forms["integer"] < label.forms["number"]
    return {"name": label.name, "task": "regression" if is_number else "classes", **found}


def _attribute(attribute: Attribute, events: int, rows: Sequence[tuple[int, Any]]) -> dict[str, Any]:
    observed = attribute.observed
    found: dict[str, Any] = {
        "kind": attribute.kind if observed else "unknown",
        "observed": observed,
        "share": observed / events if events else 0.0,
        "distinct": min(attribute.distinct.count(), observed),
        "distinct_exact": attribute.distinct.exact,
        "values": [[value, count] for value, count in attribute.top(_VALUES)],
        "count_error": attribute.count_error,
        "nearly_always_new": attribute.is_nearly_always_new,
        "increasing": attribute.counts_upwards,
        "integers": 0 < attribute.forms["integer"] == attribute.forms["number"],
        "texts": attribute.forms["text"],
        "spelled": attribute.forms["spelled"],
    }
    if like_numbers := attribute.texts_like_numbers:
        found["texts_like_numbers"] = list(like_numbers)
    if attribute.moments.count:
        found["numbers"] = _numbers(attribute, rows)
    return found


def _numbers(attribute: Attribute, rows: Sequence[tuple[int, Any]]) -> dict[str, float]:
    moments = attribute.moments
    values = [float(value) for _, row in rows if (value := _as_number(row.get(attribute.name))) is not None]
    quartiles = quantiles(values, (0.25, 0.5, 0.75)).tolist() if values else [moments.mean] * 3
    return {
        "mean": moments.mean,
        "deviation": moments.deviation,
        "least": moments.least,
        **dict(zip(("lower_quartile", "median", "upper_quartile"), quartiles, strict=True)),
        "greatest": moments.greatest,
    }


def _as_number(value: Any) -> Any:
    """A number, also one spelled as a text; None for anything else."""
    return number(value) if isinstance(value, str) else value if isinstance(value, (int, float)) else None


def _predictive_powers(
    profiler: Profiler, rows: Sequence[tuple[int, Mapping[str, Any]]], label: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """How well each attribute alone, and whether it is observed, predicts the label."""
    name = profiler.label.name
    labelled = [row for _, row in rows if isinstance(row.get(name), (str, int, float))]
    if len(labelled) < FEWEST or label["distinct"] < 2:
        return {}
    is_number = label["task"] == "regression"
    values = [_as_number(row[name]) if is_number else row[name] for row in labelled]
    if is_number and None in values:
        return {}
    scorer = Label([float(v) for v in values] if is_number else values, is_number)
    found = {}
    for each in profiler.attributes:
        column = [row.get(each) for row in labelled]
        alone = scorer.predictive_power(column)
        absence = scorer.predictive_power([None if value is None else "there" for value in column])
        found[each] = {
            "alone": alone.share,
            "errors_avoided": [alone.errors, alone.saved],
            "absence_alone": absence.share,
            "absence_errors_avoided": [absence.errors, absence.saved],
        }
    return found


def _missing_share(profiler: Profiler) -> float:
    cells = profiler.events * len(profiler.attributes)
    return 1.0 - float(profiler.missingness.observed.sum()) / cells if cells else 0.0


def _together(correlations: Floats, names: Sequence[str]) -> list[dict[str, Any]]:
    """The pairs of attributes with the strongest correlations of missingness, positive or negative."""
    strength = np.nan_to_num(np.abs(np.triu(correlations, 1)))
    order = np.argsort(-strength, axis=None, kind="stable")[:_PAIRS]
    pairs = [divmod(int(at), max(len(names), 1)) for at in order]
    return [
        {"attributes": [names[i], names[j]], "correlation": float(correlations[i, j])}
        for i, j in pairs
        if strength[i, j] >= _LEAST_CORRELATION
    ]


def _heat_map(correlations: Floats, names: Sequence[str]) -> dict[str, Any]:
    """All correlations between the attributes with the strongest ones."""
    strongest = np.nan_to_num(np.abs(np.tril(correlations, -1) + np.triu(correlations, 1))).max(
        axis=1, initial=0.0
    )
    order = np.argsort(-strongest, kind="stable")[:_HEAT]
    chosen = sorted(int(at) for at in order if strongest[at] >= _LEAST_CORRELATION)
    return {
        "attributes": [names[at] for at in chosen],
        "correlations": np.nan_to_num(correlations[np.ix_(chosen, chosen)]).tolist(),
    }


def _trend(profiler: Profiler, names: Sequence[str]) -> dict[str, Any]:
    trend = profiler.missingness.trend()
    return {"events": trend["events"], "observed": dict(zip(names, trend["observed"], strict=True))}


def _changes(profiler: Profiler) -> list[dict[str, Any]]:
    """The changes, the greatest first."""
    found = []
    every = [(profiler.label.name, "values", profiler.label.changes())]
    for attribute, observed in zip(profiler.attributes.values(), profiler.missingness.changes(), strict=True):
        every += [(attribute.name, "observed", observed), (attribute.name, "values", attribute.changes())]
    for name, what, changes in every:
        for change in changes:
            if abs(change.after - change.before) >= _LEAST_CHANGE:
                found.append({"attribute": name, "what": what, **change._asdict()})
    return sorted(found, key=lambda each: (-abs(each["after"] - each["before"]), each["event"]))


def _tests(
    profiler: Profiler, rows: Sequence[tuple[int, Mapping[str, Any]]], label: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Test whether values are missing completely at random."""
    name, target = profiler.label.name, [row for _, row in rows]
    labelled = [row for row in target if name in row and not isinstance(row[name], list)]
    labels: list[Any] | None = None
    if len(labelled) >= FEWEST and label["distinct"] > 1:
        step = -(-len(labelled) // randomness.ROWS)
        target = labelled[::step]
        labels = [str(row[name]) for row in target]
        if label["task"] == "regression":
            numbers = [_as_number(row[name]) for row in target]
            labels = None if None in numbers else [float(each) for each in numbers]
    else:
        target = target[:: -(-len(target) // randomness.ROWS) or 1]
    shares = {
        each: abs(0.5 - attribute.observed / profiler.events)
        for each, attribute in profiler.attributes.items()
        # Attributes that count upwards encode time, and changes over time are not a matter of missingness.
        if attribute.kind not in ("identifier", "time", "text")
        and not attribute.counts_upwards
        and (attribute.distinct.count() > 1 or attribute.observed < profiler.events)
    }
    return randomness.tests(target, sorted(shares, key=lambda each: shares[each]), labels)


def _matrix(rows: Sequence[tuple[int, Mapping[str, Any]]], names: Sequence[str]) -> dict[str, Any]:
    """Some events, and for each attribute a 1 for each event that has it."""
    shown = rows[:: max(1, -(-len(rows) // _MATRIX_ROWS))]
    return {
        "events": [at + 1 for at, _ in shown],
        "observed": {name: "".join("01"[name in row] for _, row in shown) for name in names},
    }
