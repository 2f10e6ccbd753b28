"""Naive Bayes on the words of texts, pairs of neighbouring words, and tags."""

from __future__ import annotations

from streamkarma import _engine
from streamkarma.core.learner import Learner


class NaiveBayes(Learner):
    """What the labels so far say of each term of an event: its words, pairs of neighbouring words, and tags.

    With n labels of events with a term, s of them of a class whose share of all labels is p, and M terms in
    an event, the score of the class is the sum of log((s + p) / ((n + 1) p)) over the terms, divided by the
    square root of M; for two classes, the score is that of the second minus that of the first. An event
    without terms gets no prediction, nor does any with more than 32 classes. The 131,072 terms with the
    latest labels are kept.

    Parameters
    ----------
    half_life
        The labels of a term decay by a half with so many labels of it, 1 or more; 0 for never.
    """

    takes_terms = True

    def __init__(self, half_life: float = 0.0) -> None:
        self.half_life = half_life

    def create(self) -> _engine.Learner:
        return _engine.naive_bayes(self.half_life)
