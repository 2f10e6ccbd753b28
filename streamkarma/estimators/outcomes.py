"""The possible values of missing attributes, and how they would change the scores of an event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from streamkarma import _engine
from streamkarma._engine import Encoded, Encoder
from streamkarma.arrays import Floats
from streamkarma.events.flatten import flatten, is_flat
from streamkarma.events.values import Record

if TYPE_CHECKING:
    from streamkarma.estimators.common import KARMABase


#: Maximum number of missing attributes, and of categories of each, that are considered: the most common ones.
MOST_MISSING = 64
MOST_CATEGORIES = 16
#: Suffixes of names of marks, and the column of ``Encoder.tallies`` that counts the values marked.
MARKS = {"sentinel": 3, "far_high": 4, "far_low": 4}
#: Nodes and weights of the Gauss-Hermite quadrature of five points: exact for polynomials up to degree 9.
_INNER, _OUTER = np.sqrt(5.0 - np.sqrt(10.0)), np.sqrt(5.0 + np.sqrt(10.0))
_NODES = np.array([-_OUTER, -_INNER, 0.0, _INNER, _OUTER])
_CHANCES = (7.0 + 2.0 * np.sqrt(10.0) * np.array([-1.0, 1.0, 0.0, 1.0, -1.0])) / 60.0
_CHANCES[2] = 8.0 / 15.0
#: Squares of scores may overflow; values that are not finite are not shown.
_UNBOUNDED = np.errstate(over="ignore", invalid="ignore")


class Outcomes(NamedTuple):
    """The possible values of an attribute: records with them, and the probability of each."""

    name: Any
    records: list[dict[Any, Any]]
    chances: Floats


def whole(model: KARMABase, record: Record) -> dict[Any, Any]:
    """The record that was read last, flat, with the remembered values of its entity."""
    flat = record if is_flat(record) else flatten(record)
    return {**flat, **model.vocabulary.carried()}


def read_whole(model: KARMABase, records: Sequence[Record]) -> Encoded:
    """Encode complete records as they are; their values are not remembered for their entities."""
    events = model._empty_events(records)
    model.vocabulary.read_dicts(list(records), [False] * len(records), events, whole=True)
    return events


def deviations(model: KARMABase, record: Record, events: Encoded) -> dict[str, Floats]:
    """The standard deviation, shape (C,), of the scores of a whole record by each attribute that it lacks.

    The values of an attribute have the conditional distribution of the subspace: a normal one for numbers,
    probabilities for categories. A model without a subspace uses the attribute's marginal distribution.
    Words, tags, and points in time are left out.
    """
    return {
        each.name: deviation_of(each.chances, scores)
        for each, scores in outcome_scores(model, record, events)
    }


@_UNBOUNDED
def deviation_of(chances: Floats, scores: Floats) -> Floats:
    """The standard deviation, shape (C,), of scores of shape (n, C) with these probabilities."""
    deviation: Floats = np.sqrt(expected(chances, (scores - expected(chances, scores)) ** 2))
    return deviation


def expected(chances: Floats, scores: Floats) -> Floats:
    """The expected value, shape (C,), of scores of shape (n, C), always summed in the same order."""
    mean: Floats = (chances[:, None] * scores).sum(axis=0)
    return mean


@_UNBOUNDED
def outcome_scores(model: KARMABase, record: Record, events: Encoded) -> list[tuple[Outcomes, Floats]]:
    """The scores, shape (n, C), of a whole record for the possible values of each missing attribute."""
    outcomes = list(islice(_outcomes(model, record, events), MOST_MISSING))
    records = [each for outcome in outcomes for each in outcome.records]
    if not records:
        return []
    encoded = read_whole(model, records)
    scores = model._pipeline.learner.scores(encoded, model._external_of(encoded), model.unit)
    ends = np.cumsum([len(outcome.records) for outcome in outcomes])[:-1]
    return list(zip(outcomes, np.split(scores, ends), strict=True))


def _outcomes(model: KARMABase, record: Record, events: Encoded) -> Iterator[Outcomes]:
    """The outcomes of the attributes that an event lacks, those observed most often first."""
    observed = set(events.arrays()[1][: events.arrays()[0][1]].tolist())
    moments = moments_of(model, events)
    left_out = marks(model.vocabulary) | _carried(model)
    for each in drawable(model):
        if each.attribute in observed or each.name in left_out:
            continue
        if each.place is not None:
            mean, deviation = normal(model, each.place, moments)
            values: list[Any] = (mean + deviation * _NODES).tolist()
            chances = _CHANCES
        else:
            values, chances = likeliest(model, each.categories, moments)
        yield Outcomes(each.name, [{**record, each.name: value} for value in values], chances)


class Drawable(NamedTuple):
    """An attribute with known possible values.

    Attributes
    ----------
    attribute, name
        Its index and its name.
    place
        The coordinate of its numbers; None if it has categories.
    categories
        Pairs of a coordinate and its category.
    """

    attribute: int
    name: Any
    place: int | None
    categories: list[tuple[int, str]]


def drawable(model: KARMABase) -> list[Drawable]:
    """The attributes that are numbers, categories or booleans, those observed most often first."""
    vocabulary = model.vocabulary
    names, kinds = vocabulary.attribute_names, vocabulary.kinds()
    counts = vocabulary.tallies()[:, 0]
    # By coordinate, without the constant's; None for numbers.
    categories = {k: entry[1] for k, entry in enumerate(vocabulary.entries(), 1) if entry is not None}
    owners = vocabulary.uses()[:, 0]
    found = []
    for attribute in sorted(names, key=lambda each: -int(counts[each])):
        places = np.flatnonzero(owners == attribute).tolist()
        if kinds[attribute] == "number":
            place = next((k for k in places if k in categories and categories[k] is None), None)
            if place is not None:
                found.append(Drawable(attribute, names[attribute], place, []))
        elif kinds[attribute] in ("category", "boolean"):
            known_categories = [(k, category) for k in places if (category := categories.get(k))]
            if known_categories:
                found.append(Drawable(attribute, names[attribute], None, known_categories))
    return found


def marks(vocabulary: Encoder) -> set[str]:
    """Names of the marks of numbers that are not measurements; these cannot be acquired."""
    counts, names = vocabulary.tallies(), vocabulary.attribute_names
    return {
        f"{names[attribute]}.{mark}"
        for mark, column in MARKS.items()
        for attribute in counts[:, column].nonzero()[0].tolist()
        if attribute in names
    }


def _carried(model: KARMABase) -> set[str]:
    """The name of the entity and of carried attributes, which cannot be acquired."""
    if model.entity is None:
        return set()
    attributes = model.vocabulary.attributes
    labels = ("label.last.", "label.mean.") if model.carry_labels else ()
    of_labels = {name for name in attributes if f"{name}.".startswith(labels)}
    names = attributes if model.carry == "last" else []
    return of_labels.union([model.entity], (f"{name}.{what}" for name in names for what in ("last", "age")))


def moments_of(model: KARMABase, events: Encoded) -> Floats | None:
    """Mean and variance, shape (K, 2), of each coordinate given the first of some events.

    None without a subspace; NaN where they are unknown.
    """
    return _engine.conditional(model._pipeline.learner.engine, events, 0)


def normal(model: KARMABase, place: int, moments: Floats | None) -> tuple[float, float]:
    """Mean and deviation of the numbers at a coordinate, from these moments where they are known."""
    mean, deviation = model.vocabulary.mean_and_deviation(place)
    if moments is None or place >= len(moments) or np.isnan(moments[place]).any():
        return mean, deviation
    centre, spread = float(moments[place, 0]), float(np.sqrt(moments[place, 1]))
    return (mean + deviation * centre, deviation * spread) if model.scale else (centre, spread)


def likeliest(
    model: KARMABase, known_categories: Sequence[tuple[int, str]], moments: Floats | None
) -> tuple[list[str], Floats]:
    """The most likely categories and their probabilities, which add up to 1."""
    counts = model.vocabulary.uses()[:, 2]
    places = [place for place, _ in known_categories]
    means = np.array([counts[k] if moments is None or k >= len(moments) else moments[k, 0] for k in places])
    chances = np.maximum(means, 0.0)
    likely = np.argsort(-chances, kind="stable")[:MOST_CATEGORIES]
    total = float(chances[likely].sum())
    shares = chances[likely] / total if total > 0.0 else np.full(len(likely), 1.0 / len(likely))
    return [known_categories[at][1] for at in likely], shares
