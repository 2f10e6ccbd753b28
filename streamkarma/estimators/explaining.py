"""Explanations of scores, and which missing attributes matter most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from streamkarma import _engine
from streamkarma._engine import Encoded
from streamkarma.arrays import Floats
from streamkarma.estimators.outcomes import deviations, whole
from streamkarma.events.values import Record

if TYPE_CHECKING:
    from streamkarma.estimators.common import KARMABase


class Explanation(NamedTuple):
    """What each attribute contributes to a score.

    With more than two classes each field has a value for each class.

    Attributes
    ----------
    score
        As returned by ``decision_one``; in a regression, the prediction.
    constant
        The part that no attribute contributes: together with the contributions it adds up to the score.
    calibration
        The part of the constant added by calibrating and mixing scores, and by adjusting to the last labels.
    contributions
        By observed attribute, with names as in the event: ``1`` is not ``"1"``.
    missing
        By missing attribute: the standard deviation of the score over the possible values of this attribute,
        given what is observed. The first is the one to acquire next.
    """

    score: Any
    constant: Any
    calibration: Any
    contributions: dict[Any, Any]
    missing: dict[Any, Any]


class Columns(NamedTuple):
    """An explanation as arrays with one number for each score, shape (C,)."""

    score: Floats
    constant: Floats
    calibration: Floats
    contributions: dict[str, Floats]

    def scaled(self, factor: float, shift: float = 0.0) -> Columns:
        """The explanation of the scores times a factor, plus a shift."""
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
    """Explanations of scores, for every estimator."""

    def explain_one(self, x: Record, missing: bool = True) -> Explanation:
        """Explain what each attribute of an event contributes to its score, and which missing ones matter.

        Nothing is learned; but with ``entity`` the event's values are remembered, as by ``predict_one``.

        Parameters
        ----------
        x
            The event, as in ``learn_one``.
        missing
            Whether to include missing attributes, which costs a prediction for each value considered.

        Returns
        -------
        An ``Explanation``; contributions and the constant add up to the score.

        Raises
        ------
        RecordError
            A ValueError: a value is invalid.

        Examples
        --------
        >>> from streamkarma import KARMAClassifier
        >>> model = KARMAClassifier()
        >>> for t in range(200):
        ...     model.learn_one({"a": t % 7 - 3.0, "b": t % 5 - 2.0}, t % 7 > 3)
        >>> explanation = model.explain_one({"a": 2.0})
        >>> total = explanation.constant + sum(explanation.contributions.values())
        >>> abs(total - explanation.score) < 1e-9, list(explanation.missing)
        (True, ['b'])
        """
        model = cast("KARMABase", self)
        events = model.read([x], [False])
        found = deviations(model, whole(model, x), events) if missing else {}
        columns = self.in_units(columns_of(model, events))
        shown = self._shown_scores
        parts = {name: shown(part) for name, part in columns.strongest()}
        asked = {name: shown(each) for name, each in ranked(self.spread_by(found)).items()}
        score, constant, calibration = map(shown, (columns.score, columns.constant, columns.calibration))
        return Explanation(score, constant, calibration, parts, asked)

    @property
    def unit(self) -> tuple[float, float]:
        """Centre and spread of the unit of scores; in a regression, those of the target."""
        return 0.0, 1.0

    def in_units(self, columns: Columns) -> Columns:
        """Convert an explanation of scores to the units shown: in a regression, those of predictions.

        Parameters
        ----------
        columns
            The explanation of the scores of the learner.

        Returns
        -------
        The explanation in these units.
        """
        return columns

    def spread_by(self, missing: dict[str, Floats]) -> dict[str, Floats]:
        """Convert deviations of scores to the units shown.

        Parameters
        ----------
        missing
            By attribute, shape (C,): the deviation of each score.

        Returns
        -------
        The same in these units.
        """
        return missing

    def _shown_scores(self, scores: Floats) -> Any:
        """A number, or one for each class."""
        return float(scores[0])

    def _empty_events(self, records: Sequence[Record]) -> Encoded:
        """No events yet, for these records to be encoded into."""
        return Encoded()

    def _external_of(self, events: Encoded) -> Floats | None:
        """Scores of external experts for events without a label, shape (F, T, C); None without any."""
        pipeline = cast("KARMABase", self)._pipeline
        if not pipeline.learner.external_experts:
            return None
        none = np.zeros(len(events), np.bool_)
        pipeline.take(events, none, none)
        return self._external_unlabelled(events)

    def _external_unlabelled(self, events: Encoded) -> Floats | None:
        """As ``_external_of``, for events that the pipeline has already taken."""
        return None


def columns_of(model: KARMABase, events: Encoded, t: int = 0) -> Columns:
    """Explain the scores that a model has for encoded event ``t``, before it is learned."""
    engine = model._pipeline.learner.engine
    external_scores = model._external_of(events)
    own = [] if external_scores is None else external_scores[:, t].ravel().tolist()
    registry = model._pipeline.ticket_registry
    ticket = 0 if registry is None else registry.engine.ticket_of(events, t)
    attributes, parts, scores, constants, calibrations = _engine.explain(
        engine, events, t, own, ticket, model.unit
    )
    names = model.vocabulary.names_of(attributes)
    contributions = {}
    for attribute, part in zip(attributes, parts, strict=True):
        if attribute in names:
            contributions[names[attribute]] = part
        else:
            constants = constants + part  # a name never learned: it only affects the norm
    return Columns(scores, constants, calibrations, contributions)


def ranked(parts: dict[str, Floats]) -> dict[str, Floats]:
    """The same, in descending order of the largest value."""
    return dict(sorted(parts.items(), key=lambda item: -float(item[1].max())))
