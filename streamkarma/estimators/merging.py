"""Merging of models that were trained separately."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from streamkarma.errors import UsageError
from streamkarma.estimators.learners import Model
from streamkarma.printable import shown


def merge(models: Sequence[Model], base: Model | None = None, names: Sequence[str] | None = None) -> Model:
    """Merge models that were trained separately: ``base + Σ (model - base)``.

    Sums are added up, and averages are weighted by how much each model has learned; see ``docs/cluster.md``
    for what is exact. The order of the models has no effect, except where a bound forces evictions. If their
    scales differ, merging in stages gives a somewhat different model than merging all at once.

    Parameters
    ----------
    models
        One or more of the same kind and with the same parameters; they stay unchanged. They may have seen
        names and classes in any order, unless a table is hashed: a common base must then have the names.
    base
        The model that all of them were trained from, or None if each started empty.
    names
        Names of the models, which ``inspect`` shows as the origin of the merged model.

    Returns
    -------
    A new model, which can be trained further, saved and copied like any other. It does not remember events
    that await their label.

    Raises
    ------
    UsageError
        If the models cannot be merged.

    Examples
    --------
    >>> from streamkarma import ExplicitKARMAClassifier, merge
    >>> one, two = ExplicitKARMAClassifier(), ExplicitKARMAClassifier()
    >>> one.learn_one({"temp": 31.0}, True)
    >>> two.learn_one({"wind": 4.0}, False)
    >>> both = merge([one, two])
    >>> both.steps, sorted(both.vocabulary.attributes)
    (2, ['temp', 'wind'])
    """
    called = list(names) if names is not None else [f"model {n}" for n in range(1, len(models) + 1)]
    if not models or len(called) != len(models):
        raise UsageError("merging needs at least one model and, if names are given, one for each model")
    everything = [*zip(called, models, strict=True), *([] if base is None else [("the base", base)])]
    for name, model in everything:
        check_mergeable(called[0], models[0], name, model)
        if base is not None:
            _check_trained_from(base, name, model)
    merged = type(models[0])(**models[0]._get_params()) if base is None else deepcopy(base)
    began = merged.steps
    try:
        merged._merge([deepcopy(model) for model in models])
    except ValueError as error:
        raise UsageError(f"{', '.join(called)} cannot be merged: {error}") from error
    origins = [_origins(name, model, began) for name, model in zip(called, models, strict=True)]
    merged.merged_from = sorted(origin for each in origins for origin in each)
    return merged


def _check_trained_from(base: Model, name: str, model: Model) -> None:
    """Raise UsageError if a model has counted less than ``base``: what it has learned would be lost.

    A foreign base that has counted less of everything cannot be recognised.
    """
    refusal = f"{name} was not trained from the base model"
    if model.steps < base.steps:
        raise UsageError(f"{refusal}: it has learned {model.steps:,} events, and the base {base.steps:,}")
    if model.vocabulary.evicted > base.vocabulary.evicted:
        return  # an attribute that was evicted may be gone, or counted anew
    counts = model.values
    for attribute, known in base.values.items():
        count, before = counts.get(attribute, {}).get("values", 0), known.get("values", 0)
        if count < before:
            raise UsageError(
                f"{refusal}: it has {count:,} values of {shown(attribute)}, and the base {before:,}"
            )


def check_mergeable(first_name: str, first: Model, name: str, model: Model) -> None:
    """Raise UsageError if two models are of different kinds or have different parameters."""
    if type(model) is not type(first):
        raise UsageError(
            f"{first_name} is of type {type(first).__name__} and {name} of type {type(model).__name__}: "
            "they cannot be merged"
        )
    if getattr(model, "extra_experts", None):
        raise UsageError(f"{name} has extra experts, which cannot be merged")
    other: dict[str, Any] = model._get_params()
    for parameter, value in first._get_params().items():
        if other[parameter] != value:
            raise UsageError(
                f"{first_name} has {parameter} {value!r} and {name} {other[parameter]!r}: "
                "models with different options cannot be merged"
            )


def _origins(name: str, model: Model, began: int) -> list[tuple[str, int]]:
    """The origins of a model; if it was not merged itself, its name and how many events it has learned."""
    return model.merged_from or [(name, model.steps - began)]
