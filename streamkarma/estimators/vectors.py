"""Support vectors by name, which make up KARMA in its support-vector form."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from streamkarma.arrays import Floats
from streamkarma.core.support import SupportVectors
from streamkarma.estimators.common import KARMABase


class SupportVector(NamedTuple):
    """One support vector of a model.

    Attributes
    ----------
    observed
        Names of the attributes in its observed set, without the constant.
    values
        By (attribute, category), the category None for a number and both None for the
        constant: the value in standardised units, one per class where there are three or
        more, with norm 1 in feature space.
    alpha
        Its coefficient, 0 or more: its norm in the model. The sign is in the values.
    """

    observed: frozenset[Hashable]
    values: dict[tuple[Hashable, str | None], Floats]
    alpha: float


class SupportVectorModel(KARMABase):
    """A model whose learner is in the support-vector form."""

    @property
    def support_vectors(self) -> list[SupportVector]:
        """The support vectors that make up the model."""
        learner, vocabulary = self._pipeline.learner, self.vocabulary
        assert isinstance(learner, SupportVectors)
        names = vocabulary.attribute_names
        result = []
        for attributes, vectors, alpha in learner.members():
            observed = frozenset(names[a] for a in attributes if a)
            values = {vocabulary.describe(k): vector for k, vector in vectors.items()}
            result.append(SupportVector(observed, values, alpha))
        return result
