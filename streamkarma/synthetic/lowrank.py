"""Synthetic incomplete streams from a low-dimensional subspace.

Vectors x = Q z come from a random R-dimensional subspace of D attributes: Q is D x R, and z and the weights w
of the label are standard normal. The label depends on <w, x> of the *complete* vector, so that the loss due
to missing values is known; or, for three blocks, on a function of the observed values [H, section 5.1.2].

[H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Floats
from streamkarma.errors import UsageError
from streamkarma.parameters.checks import check_fields
from streamkarma.synthetic.block_target import block_target, block_weights, target_deviation
from streamkarma.synthetic.labels import CHUNK, Task, check_noise

Missing = Literal["mcar", "mar", "mnar"]
Label = Literal["linear", "blocks"]

#: Classes of a multiclass stream.
CLASSES = 3
#: Largest margin: 1 normal vector in 370 has it, and far fewer have a larger one.
WIDEST = 3.0


class StreamSpec(NamedTuple):
    """The specification of a stream.

    Parameters
    ----------
    attributes, rank
        D and R, 1 or more, R at most D.
    observed
        Probability that an attribute, or a block of them, is observed: above 0, at most 1.
    missing
        ``"mcar"``: independent of the values. ``"mar"``: the first attribute (or block) is always observed,
        and the odds of the others are multiplied by exp(2) or exp(-2), depending on whether the first value
        is above or below 0. ``"mnar"``: the odds are multiplied by e or 1/e, depending on the sign of the
        attribute's own value (a block's first), and by e or 1/e again depending on the label before noise, in
        opposite directions for odd and even attributes (blocks). Both keep the observed share near
        ``observed`` only if that is near one half.
    noise
        Probability of a flipped label (a wrong one of three classes), between 0 and 1; in regression, the
        standard deviation of the noise added to a label of variance 1.
    task
        Kind of label: 0/1, ``"a"``/``"b"``/``"c"`` or a number.
    seed
        The same seed gives the same stream.
    blocks
        Number of blocks of neighbouring attributes that are observed or missing together;
        0 for every attribute on its own.
    allow_empty
        Only without blocks. False: the pattern of an event is redrawn until it is not empty, as for the
        blocks of [H, Figure 3]. True: events without observed values are kept, as in [H, Figure 2].
    margin
        In classification, 0 to 3: vectors with a smaller margin are redrawn. The margin is |<w, x>| in
        standard deviations of <w, x> (without a margin). With several classes, it is the smallest lead of the
        best output over another one, each in its own standard deviations.
    label
        ``"linear"``: <w, x>. ``"blocks"``: the target of [H, Figure 3], see ``block_target``, for three
        blocks and ``"mcar"``, with two classes or regression.

    Examples
    --------
    >>> spec = StreamSpec(rank=2, missing="mnar", seed=1)
    >>> spec.attributes, spec.observed, spec.task
    (20, 0.5, 'binary')
    """

    attributes: int = 20
    rank: int = 5
    observed: float = 0.5
    missing: Missing = "mcar"
    noise: float = 0.0
    task: Task = "binary"
    seed: int = 0
    blocks: int = 0
    allow_empty: bool = False
    margin: float = 0.0
    label: Label = "linear"


def check(plan: StreamSpec) -> StreamSpec:
    """Check a specification.

    Parameters
    ----------
    plan
        The specification.

    Returns
    -------
    The same.

    Raises
    ------
    UsageError
        A ValueError: a field is out of its range, or two contradict each other.

    Examples
    --------
    >>> check(StreamSpec(attributes=3, rank=4))
    Traceback (most recent call last):
    streamkarma.errors.UsageError: rank must be between 1 and attributes (3), not 4
    """
    check_fields(plan, {"task": get_args(Task), "missing": get_args(Missing), "label": get_args(Label)})
    if not 1 <= plan.rank <= plan.attributes:
        raise UsageError(f"rank must be between 1 and attributes ({plan.attributes}), not {plan.rank}")
    if not 0.0 < plan.observed <= 1.0:
        raise UsageError(f"observed must be above 0 and at most 1, not {plan.observed}")
    check_noise(plan.noise, plan.task)
    if not 0 <= plan.blocks <= plan.attributes:
        raise UsageError(f"blocks must be at most attributes ({plan.attributes}), not {plan.blocks}")
    if plan.allow_empty and plan.blocks:
        raise UsageError("allow_empty needs the kind lowrank: one of the blocks is always observed")
    if not 0.0 <= plan.margin <= WIDEST:
        raise UsageError(f"margin must be between 0 and {WIDEST:g} standard deviations, not {plan.margin}")
    if plan.margin and plan.task == "regression":
        raise UsageError("margin applies to classification only")
    if plan.label == "blocks" and plan.blocks != 3:
        raise UsageError("label blocks needs the kind blocks with 3 blocks")
    if plan.label == "blocks" and (plan.task == "multiclass" or plan.missing != "mcar"):
        raise UsageError("label blocks needs the task binary or regression, and missing mcar")
    return plan


def records(plan: StreamSpec, events: int, full: bool = False) -> Iterator[dict[str, Any]]:
    """The events of a stream as JSON objects: ``x0 …`` and the label ``y``.

    Parameters
    ----------
    plan
        The specification.
    events
        Number of events; each stream is a prefix of the longer ones.
    full
        Add the complete vector as ``"full": {...}``, for oracles.

    Returns
    -------
    An iterator over the events, each as a dict.

    Raises
    ------
    UsageError
        A ValueError: the specification is invalid.

    Examples
    --------
    >>> stream = records(StreamSpec(attributes=3, rank=1, seed=7), events=2)
    >>> [sorted(record) for record in stream]
    [['x0', 'x1', 'y'], ['x1', 'y']]
    """
    check(plan)
    rng = np.random.default_rng(plan.seed)
    # Redraws have separate generators, so that they do not change streams without redraws.
    more_vectors, more_observed = rng.spawn(2)
    basis = rng.standard_normal((plan.attributes, plan.rank))
    weights = rng.standard_normal((plan.attributes, CLASSES if plan.task == "multiclass" else 1))
    groups = np.arange(plan.attributes)
    if plan.blocks:
        groups = groups * plan.blocks // plan.attributes
    first = np.searchsorted(groups, np.arange(groups[-1] + 1))
    deviation = float(np.linalg.norm(basis.T @ weights[:, 0]))
    if plan.label == "blocks":
        of_blocks = block_weights(basis, weights[:, 0], groups)
        deviation = target_deviation(basis.T @ of_blocks, plan.observed)
    names = [f"x{i}" for i in range(plan.attributes)]
    for begin in range(0, events, CHUNK):
        vectors = _vectors(plan, basis, basis.T @ weights, rng, more_vectors)
        outputs = vectors @ weights
        noise = _noise(plan, rng)
        chances = _chances(plan, vectors[:, first], outputs[:, 0])
        present = _present(chances, plan.allow_empty, rng, more_observed)
        if plan.label == "blocks":
            outputs = block_target(vectors @ of_blocks, present)[:, np.newaxis]
        labels = _labels(plan, outputs, deviation, noise)
        # Six decimals keep lines short, and no sensor has more.
        rows, seen = np.round(vectors, 6).tolist(), present[:, groups].tolist()
        for row, mask, label in zip(rows[: events - begin], seen, labels, strict=False):
            record = {name: value for name, value, there in zip(names, row, mask, strict=True) if there}
            record["y"] = label
            if full:
                record["full"] = dict(zip(names, row, strict=True))
            yield record


def _vectors(
    plan: StreamSpec, basis: Floats, weights: Floats, rng: np.random.Generator, more: np.random.Generator
) -> Floats:
    """Shape (CHUNK, D); ``weights`` are those on z, shape (R, classes)."""
    latent = rng.standard_normal((CHUNK, plan.rank))
    lacking = np.flatnonzero(_margins(latent, weights) < plan.margin)
    while lacking.size:
        drawn = more.standard_normal((CHUNK, plan.rank))
        drawn = drawn[_margins(drawn, weights) >= plan.margin][: lacking.size]
        latent[lacking[: len(drawn)]] = drawn
        lacking = lacking[len(drawn) :]
    return np.asarray(latent @ basis.T)


def _margins(latent: Floats, weights: Floats) -> Floats:
    """The margin of each vector, 0 or more; see ``StreamSpec``."""
    outputs = latent @ weights
    if weights.shape[1] == 1:
        return np.asarray(np.abs(outputs[:, 0]) / np.linalg.norm(weights))
    best = outputs.argmax(axis=1)
    leads = outputs[np.arange(len(outputs)), best, np.newaxis] - outputs
    spreads = np.linalg.norm(weights[:, :, np.newaxis] - weights[:, np.newaxis, :], axis=0)
    # The best output has no lead over itself.
    np.fill_diagonal(spreads, 1.0)
    leads[np.arange(len(outputs)), best] = np.inf
    return np.asarray((leads / spreads[best]).min(axis=1))


def _noise(plan: StreamSpec, rng: np.random.Generator) -> NDArray[Any]:
    """The noise of the label: a number to add, or the offset of the class."""
    if plan.task == "regression":
        return plan.noise * rng.standard_normal(CHUNK)
    wrong = rng.random(CHUNK) < plan.noise
    return np.where(wrong, rng.integers(1, CLASSES, CHUNK) if plan.task == "multiclass" else 1, 0)


def _labels(plan: StreamSpec, outputs: Floats, deviation: float, noise: NDArray[Any]) -> list[Any]:
    if plan.task == "regression":
        return [round(value, 6) for value in (outputs[:, 0] / deviation + noise).tolist()]
    if plan.task == "binary":
        return list((((outputs[:, 0] > 0) + noise) % 2).tolist())
    return ["abc"[i] for i in (outputs.argmax(axis=1) + noise) % CLASSES]


def _chances(plan: StreamSpec, heads: Floats, output: Floats) -> Floats:
    """The probability that each attribute (block) is observed, before empty events are redrawn.

    ``heads`` has the values that it depends on, shape (CHUNK, attributes or blocks).
    """
    odds = np.full(heads.shape, plan.observed / (1.0 - plan.observed) if plan.observed < 1 else np.inf)
    if plan.missing == "mar":
        odds *= np.exp(2.0 * np.sign(heads[:, :1]))
        odds[:, 0] = np.inf
    elif plan.missing == "mnar":
        direction = np.where(np.arange(heads.shape[1]) % 2, 1.0, -1.0)
        odds *= np.exp(np.sign(heads) + direction * np.sign(output)[:, None])
    return np.where(np.isinf(odds), 1.0, odds / (1.0 + np.where(np.isinf(odds), 0.0, odds)))


def _present(
    chances: Floats, allow_empty: bool, rng: np.random.Generator, more: np.random.Generator
) -> NDArray[np.bool_]:
    """Which attributes (blocks) are observed, shape as ``chances``."""
    present = rng.random(chances.shape) < chances
    if not allow_empty:
        empty = np.flatnonzero(~present.any(axis=1))
        present[empty] = _not_empty(chances[empty], more)
    return present


def _not_empty(chances: Floats, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Independent draws with these probabilities, given that at least one per row succeeds.

    The result is the same as redrawing until one succeeds, however small the probabilities: first the index
    of the first success is drawn, and then the ones after it, which are independent of it.
    """
    drawn = rng.random((len(chances), chances.shape[1] + 1))
    chances = np.maximum(chances, np.finfo(float).tiny)  # a product of probabilities may underflow
    none_before = np.cumprod(np.hstack([np.ones((len(chances), 1)), 1.0 - chances[:, :-1]]), axis=1)
    up_to = np.cumsum(chances * none_before, axis=1)
    first = (up_to >= drawn[:, :1] * up_to[:, -1:]).argmax(axis=1)[:, np.newaxis]
    places = np.arange(chances.shape[1])
    return np.asarray((places == first) | ((places > first) & (drawn[:, 1:] < chances)))
