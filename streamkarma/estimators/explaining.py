"""Why a model says what it says, and what it would like to know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from streamkarma import _engine
from streamkarma._engine import Encoded
from streamkarma.events.values import Record

if TYPE_CHECKING:
    from streamkarma.estimators.common import KARMABase

Floats = NDArray[np.float64]

#: Missing attributes, and categories of each, of which is found what they might say: the commonest ones.
MOST_MISSING = 64
MOST_CATEGORIES = 16
#: Where a normal distribution is looked at, and how much that counts: exact for polynomials up to degree 9.
_NODES, _CHANCES = np.polynomial.hermite_e.hermegauss(5)
_CHANCES = _CHANCES / _CHANCES.sum()


class Explanation(NamedTuple):
    """What each attribute contributes to a score.

    With more than two classes each field has a value for each class.

    Attributes
    ----------
    score
        As ``decision_one`` has it; of a regression the prediction.
    constant
        What no attribute contributes: with the contributions it adds up to the score.
    calibration
        The part of the constant that calibrating and mixing scores adds.
    contributions
        By observed attribute.
    missing
        By missing attribute: the standard deviation that the score has by what this attribute may say, given
        what is observed. The first is the one to ask for next.
    """

    score: Any
    constant: Any
    calibration: Any
    contributions: dict[str, Any]
    missing: dict[str, Any]


class Columns(NamedTuple):
    """An explanation as arrays with one number for each score, shape (C,)."""

    score: Floats
    constant: Floats
    calibration: Floats
    contributions: dict[str, Floats]

    def scaled(self, factor: float, shift: float = 0.0) -> Columns:
        """The same of scores times a factor, and shifted."""
        each = {name: factor * parts for name, parts in self.contributions.items()}
        score, constant = factor * self.score + shift, factor * self.constant + shift
        return Columns(score, constant, factor * self.calibration, each)

    def strongest(self) -> list[tuple[str, Floats]]:
        """Attributes and their contributions, the largest first."""
        return sorted(self.contributions.items(), key=lambda item: -float(np.abs(item[1]).max()))

    def pairs(self, column: int) -> list[tuple[str, float]]:
        """Attributes and their contributions to one score, the largest first."""
        each = [(name, float(part[column])) for name, part in self.contributions.items()]
        return sorted(each, key=lambda pair: -abs(pair[1]))


class Explains:
    """What every estimator has to explain its scores."""

    def explain_one(self, x: Record, missing: bool = True) -> Explanation:
        """Say what each attribute of an event contributes to its score, and what would be worth knowing.

        Parameters
        ----------
        x
            The event, as in ``learn_one``.
        missing
            Whether to say what missing attributes may change, which takes a prediction for each value looked
            at.

        Returns
        -------
        An ``Explanation``; contributions and the constant add up to the score.
        """
        model = cast("KARMABase", self)
        events = model.read([x], [False])
        found = deviations(model, x, events) if missing else {}
        columns = self.in_units(columns_of(model, events))
        shown = self._shown_scores
        parts = {name: shown(part) for name, part in columns.strongest()}
        asked = {name: shown(each) for name, each in ranked(self.spread_by(found)).items()}
        score, constant, calibration = map(shown, (columns.score, columns.constant, columns.calibration))
        return Explanation(score, constant, calibration, parts, asked)

    def in_units(self, columns: Columns) -> Columns:
        """An explanation of scores as one of what is shown: of a regression, predictions."""
        return columns

    def spread_by(self, missing: dict[str, Floats]) -> dict[str, Floats]:
        """Deviations of scores as such of what is shown."""
        return missing

    def _shown_scores(self, scores: Floats) -> Any:
        """A number, or one for each class."""
        return float(scores[0])

    def _external_of(self, events: Encoded) -> Floats | None:
        """Scores of external models for events without a label, shape (F, T, C); None without any."""
        pipeline = cast("KARMABase", self)._pipeline
        if not pipeline.learner.external:
            return None
        none = np.zeros(len(events), np.bool_)
        pipeline.take(events, none, none)
        return self._external_unlabelled(events)

    def _external_unlabelled(self, events: Encoded) -> Floats | None:
        """As ``_external_of``, of events that the pipeline has taken."""
        return None


def columns_of(model: KARMABase, events: Encoded, t: int = 0) -> Columns:
    """Explain the scores that a model has for encoded event ``t``, before it is learned."""
    engine = model._pipeline.learner.engine
    external = model._external_of(events)
    others = [] if external is None else external[:, t].ravel().tolist()
    attributes, parts, scores, constants, calibrations = _engine.explain(engine, events, t, others)
    names = model.vocabulary.attribute_names
    contributions = {}
    for attribute, part in zip(attributes, parts, strict=True):
        if attribute in names:
            contributions[str(names[attribute])] = part
        else:
            constants = constants + part  # a name never learned: it is in the norm alone
    return Columns(scores, constants, calibrations, contributions)


class _Outcomes(NamedTuple):
    """What an attribute may say: records that say it, and the chance of each."""

    name: str
    records: list[dict[Any, Any]]
    chances: Floats


def deviations(model: KARMABase, record: Record, events: Encoded) -> dict[str, Floats]:
    """The standard deviation, shape (C,), of the scores of a record by each attribute that it lacks.

    What an attribute may say has the conditional distribution of the subspace: a normal one of numbers, and
    shares of categories. A model without a subspace takes the distribution that the attribute has anyway.
    Words, tags, and points in time are left out.
    """
    return {
        each.name: np.sqrt(each.chances @ (scores - each.chances @ scores) ** 2)
        for each, scores in outcome_scores(model, record, events)
    }


def outcome_scores(model: KARMABase, record: Record, events: Encoded) -> list[tuple[_Outcomes, Floats]]:
    """The scores, shape (n, C), by what each missing attribute may say."""
    outcomes = list(islice(_outcomes(model, record, events), MOST_MISSING))
    records = [each for outcome in outcomes for each in outcome.records]
    if not records:
        return []
    encoded = model.read(records, [False] * len(records))
    scores = model._pipeline.learner.scores(encoded, model._external_of(encoded))
    ends = np.cumsum([len(outcome.records) for outcome in outcomes])[:-1]
    return list(zip(outcomes, np.split(scores, ends), strict=True))


def _outcomes(model: KARMABase, record: Record, events: Encoded) -> Iterator[_Outcomes]:
    """Of attributes that an event lacks, those observed most often first."""
    vocabulary = model.vocabulary
    names = vocabulary.attribute_names
    observed = set(events.arrays()[1][: events.arrays()[0][1]].tolist())
    kinds = dict(zip(names, vocabulary.kinds(), strict=True))
    counts = vocabulary.tallies()[:, 0]
    # By coordinate, the constant's apart; None where numbers sit.
    categories = {k: entry[1] for k, entry in enumerate(vocabulary.entries(), 1) if entry is not None}
    owners = vocabulary.owners
    moments = _engine.conditional(model._pipeline.learner.engine, events, 0)
    for attribute in sorted(names, key=lambda each: -int(counts[each])):
        if attribute in observed:
            continue
        name, places = names[attribute], np.flatnonzero(owners == attribute).tolist()
        if kinds[attribute] == "number":
            place = next((k for k in places if k in categories and categories[k] is None), None)
            if place is not None:
                values = _numbers(model, place, moments)
                yield _Outcomes(str(name), [{**record, name: value} for value in values], _CHANCES)
        elif kinds[attribute] in ("category", "boolean"):
            said = [(k, category) for k in places if (category := categories.get(k))]
            if said:
                likely, chances = _categories(model, said, moments)
                yield _Outcomes(str(name), [{**record, name: each} for each in likely], chances)


def _numbers(model: KARMABase, place: int, moments: Floats | None) -> list[float]:
    """Values of a normal distribution, where ``_NODES`` has them."""
    mean, deviation = model.vocabulary.mean_and_deviation(place)
    if moments is None or place >= len(moments) or np.isnan(moments[place]).any():
        return [float(each) for each in mean + deviation * _NODES]
    standard = moments[place, 0] + np.sqrt(moments[place, 1]) * _NODES
    return [float(each) for each in (mean + deviation * standard if model.scale else standard)]


def _categories(
    model: KARMABase, said: Sequence[tuple[int, str]], moments: Floats | None
) -> tuple[list[str], Floats]:
    """The likeliest categories, and their chances, whose sum is 1."""
    counts = model.vocabulary.uses()[:, 2]
    means = np.array([counts[k] if moments is None or k >= len(moments) else moments[k, 0] for k, _ in said])
    chances = np.maximum(means, 0.0)
    likely = np.argsort(-chances, kind="stable")[:MOST_CATEGORIES]
    total = float(chances[likely].sum())
    shares = chances[likely] / total if total > 0.0 else np.full(len(likely), 1.0 / len(likely))
    return [said[at][1] for at in likely], shares


def ranked(parts: dict[str, Floats]) -> dict[str, Floats]:
    """The same, the largest first."""
    return dict(sorted(parts.items(), key=lambda item: -float(item[1].max())))
