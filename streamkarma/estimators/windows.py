"""Events for inspecting a model: those that it keeps, or else events drawn from what it has learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from streamkarma.arrays import Arrays, Floats, part_of
from streamkarma.estimators.outcomes import Drawable, drawable, likeliest, moments_of, normal, read_whole

if TYPE_CHECKING:
    from streamkarma.estimators.common import KARMABase

#: Prefix of the arrays of neighbours, either a learner's own or those of one of its experts.
_NEIGHBORS = "window_"
#: Maximum number of attributes for which neighbours keep values.
_MOST_COLUMNS = 64
#: Seed: the same events are drawn each time.
_SEED = 0


class Window(NamedTuple):
    """Some events.

    Attributes
    ----------
    source
        Their origin: ``kept`` by the model, ``drawn`` from what it has learned, or an ``input``.
    records
        The events, whole.
    left_out
        Attributes that the events lack because of their origin.
    """

    source: str
    records: list[dict[Any, Any]]
    left_out: list[str]


def window_of(model: KARMABase, most: int) -> Window:
    """The latest events that a model keeps, or, if it keeps none, as many drawn ones.

    Events are kept by neighbours, and only labelled ones. They are used only if all of the latest ones are
    kept with all their numbers and categories, which those of many values are not.

    For a drawn event, first the attributes are drawn, each as often as it was observed, then their values,
    one after another, from the conditional distribution of the subspace, or without one from marginal ones.
    """
    attributes = drawable(model)
    known = {each.attribute for each in attributes}
    rates = {f"{name}.rate" for name in model.vocabulary.attributes}
    names = model.vocabulary.attribute_names
    left_out = [str(names[a]) for a in names if a not in known and names[a] not in rates]
    kept = _kept(model, attributes)
    if kept:
        return Window("kept", kept[-most:], left_out)
    return Window("drawn", _drawn(model, attributes, most) if model.steps else [], left_out)


def _kept(model: KARMABase, attributes: list[Drawable]) -> list[dict[Any, Any]]:
    """The events of the neighbours, the oldest first; none if some of the latest ones are missing."""
    arrays = _neighbors(model)
    if arrays is None:
        return []
    columns, values, observed = (arrays[name] for name in ("columns", "values", "observed"))
    learned_at, steps = arrays["learned_at"], int(arrays["size"][1])
    has_gaps = not len(learned_at) or learned_at[0] <= steps - len(learned_at)
    if has_gaps or len(columns) == _MOST_COLUMNS:
        return []
    records: list[dict[Any, Any]] = [{} for _ in learned_at]
    by_index = {each.attribute: each for each in attributes}
    for (attribute, place), row, there in zip(columns.tolist(), values, observed, strict=True):
        if (each := by_index.get(attribute)) is None:
            continue
        column = _categories(each, row) if each.place is None else _numbers(model, each.place, place, row)
        for t in np.flatnonzero(there).tolist():
            if column[t] is not None:
                records[t][each.name] = column[t]
    return records


def _neighbors(model: KARMABase) -> Arrays | None:
    """The state of the learner that keeps events, if there is one."""
    arrays = model._pipeline.learner.arrays()
    ends = f"{_NEIGHBORS}learned_at"
    before = next((name.removesuffix(ends) for name in arrays if name.endswith(ends)), None)
    if before is None:
        return None
    return part_of(arrays, before + _NEIGHBORS)


def _numbers(model: KARMABase, place: int, kept_at: int, values: Floats) -> list[Any]:
    """Values in the units of records."""
    if kept_at != place:
        values = np.ones(len(values))  # as long as all are 1, they are kept as a category
    mean, deviation = model.vocabulary.mean_and_deviation(place) if model.scale else (0.0, 1.0)
    return list((mean + deviation * values).tolist())


def _categories(each: Drawable, coordinates: Floats) -> list[Any]:
    """Categories by coordinate; None for those that have lost theirs."""
    known = dict(each.categories)
    return [known.get(int(k)) for k in coordinates]


def _drawn(model: KARMABase, attributes: list[Drawable], count: int) -> list[dict[Any, Any]]:
    random = np.random.default_rng(_SEED)
    counts = model.vocabulary.tallies()[:, 0]
    shares = np.array([counts[each.attribute] / counts[0] for each in attributes])
    records = []
    for _ in range(count):
        record: dict[Any, Any] = {}
        for at in np.flatnonzero(random.random(len(attributes)) < shares).tolist():
            each, moments = attributes[at], moments_of(model, read_whole(model, [record]))
            if each.place is not None:
                record[each.name] = float(random.normal(*normal(model, each.place, moments)))
            else:
                categories, chances = likeliest(model, each.categories, moments)
                record[each.name] = categories[int(random.choice(len(categories), p=chances))]
        records.append(record)
    return records
