"""Training in parts: a survey of the stream, frozen scales, and the merging of models."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

from streamkarma._engine import Translation
from streamkarma.core.conformal import PredictionIntervals, PredictionSets
from streamkarma.estimators.pipeline import Pipeline


class Mergeable:
    """A model that can be trained on parts of a stream, here or on other machines, and merged."""

    #: Intervals or sets, once there are any.
    _conformal: PredictionIntervals | PredictionSets | None
    _pipeline: Pipeline
    #: Origins of a merged model: their names, and the number of events that each of them had learned.
    merged_from: list[tuple[str, int]]

    def merge(self, other: Self, base: Self | None = None) -> Self:
        """Merge this model with another one that was trained separately; both stay unchanged.

        Parameters
        ----------
        other
            A model of the same kind and with the same parameters.
        base
            The model that both were trained from, or None if each started empty.

        Returns
        -------
        A new model; see ``streamkarma.merge``, which takes any number of models.

        Raises
        ------
        UsageError
            A ValueError: they cannot be merged.

        Examples
        --------
        >>> from streamkarma import ExplicitKARMAClassifier
        >>> one, two = ExplicitKARMAClassifier(), ExplicitKARMAClassifier()
        >>> one.learn_one({"temp": 31.0}, True)
        >>> two.learn_one({"wind": 4.0}, False)
        >>> one.merge(two).steps
        2
        """
        # Imported here, as it imports all estimators, which derive from this class.
        from streamkarma.estimators.merging import merge

        return merge([self, other], base)  # type: ignore[list-item, arg-type, return-value]  # one of its kinds

    def begin_survey(self) -> None:
        """Only collect names, categories, and the distributions of numbers and of a target from now on.

        Such models can be saved and merged like others, and the result does not depend on how the events were
        divided among them. Nothing may be learned in the meantime.

        Examples
        --------
        >>> from streamkarma import ExplicitKARMAClassifier
        >>> model = ExplicitKARMAClassifier()
        >>> model.begin_survey()
        >>> _ = model.read([{"temp": 31.0}], learned=[True])
        >>> model.end_survey()
        >>> model.steps, model.vocabulary.attributes
        (0, ['temp'])
        """
        self._pipeline.encoder.begin_survey()

    def end_survey(self) -> None:
        """Use the names and scales collected since ``begin_survey``."""
        self._pipeline.encoder.end_survey()

    def freeze(self, frozen: bool = True) -> None:
        """Freeze names, and the scales of numbers and targets, while events are learned, or unfreeze them.

        Unknown names are then left out of events, and counted as ignored. The setting is not saved.

        Parameters
        ----------
        frozen
            Whether to freeze them.

        Examples
        --------
        >>> from streamkarma import ExplicitKARMAClassifier
        >>> model = ExplicitKARMAClassifier()
        >>> model.learn_one({"temp": 31.0}, True)
        >>> model.freeze()
        >>> model.learn_one({"temp": 12.0, "wind": 4.0}, False)
        >>> model.vocabulary.attributes, model.ignored
        (['temp'], 1)
        """
        self._pipeline.encoder.frozen = frozen

    @abstractmethod
    def _merge(self, parts: Sequence[Any]) -> None:
        """Merge what parts have learned since each was a copy of this one; they cannot be used afterwards.

        ValueError if they cannot be merged.
        """

    def _relabel_external(self, places: Sequence[int]) -> None:
        """Renumber the classes of external experts, if there are any: ``c`` becomes ``places[c]``."""

    def _merge_external(self, parts: Sequence[Any], translations: Sequence[Translation]) -> None:
        """Merge external experts, if any; ``translations`` are of this model's encoder and the parts'."""

    def _merge_conformal(self, parts: Sequence[Any]) -> None:
        """Merge the intervals or sets, if any part has them."""
        known = [part._conformal for part in parts if part._conformal is not None]
        if known and self._conformal is None:
            self._begin_conformal(known[0].coverage)
        if self._conformal is not None:
            self._conformal.merge(known)

    @abstractmethod
    def _begin_conformal(self, coverage: float) -> None:
        """Provide intervals or sets from now on."""
