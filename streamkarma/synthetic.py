"""Synthetic incomplete streams from a low-dimensional subspace.

Vectors x = Q z come from a random R-dimensional subspace of D attributes: Q is D x R, z and
the weights w of the label are standard normal. The label follows <w, x> on the *complete*
vector, so that what a learner loses by not seeing it all is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.errors import UsageError

Floats = NDArray[np.float64]
Task = Literal["binary", "multiclass", "regression"]
Missing = Literal["mcar", "mar", "mnar"]

#: Classes of a multiclass stream.
CLASSES = 3
#: Events made at once: few enough to start at once, many enough to be fast. The stream does
#: not depend on how many of its events are asked for.
CHUNK = 256


class Plan(NamedTuple):
    """What stream to make.

    Attributes
    ----------
    attributes, rank
        D and R, 1 or more, R at most D.
    observed
        Probability that an attribute, or a block of them, is observed: above 0, at most 1.
    missing
        ``"mcar"``: whatever the values. ``"mar"``: the first attribute (or block) is always
        observed, and the odds of each other are multiplied by exp(2) or exp(-2) as the
        first value lies above or below 0. ``"mnar"``: multiplied by e or 1/e by the sign of
        the attribute's own value (a block's first), and by e or 1/e again by the label
        before noise, in opposite directions for odd and even attributes (blocks). Both
        keep the share observed near ``observed`` only where that is near a half.
    noise
        Probability of a flipped label, between 0 and 1 (a wrong one of three classes);
        in regression the standard deviation added to a label of variance 1.
    task
        Kind of label: 0/1, ``"a"``/``"b"``/``"c"`` or a number.
    seed
        The same seed gives the same stream.
    blocks
        Number of blocks of neighbouring attributes that are observed or missing together;
        0 for every attribute on its own.
    """

    attributes: int = 20
    rank: int = 5
    observed: float = 0.5
    missing: Missing = "mcar"
    noise: float = 0.0
    task: Task = "binary"
    seed: int = 0
    blocks: int = 0


def check(plan: Plan) -> Plan:
    """Return ``plan``, or raise UsageError if it cannot be made."""
    if not 1 <= plan.rank <= plan.attributes:
        raise UsageError(f"rank must be between 1 and attributes ({plan.attributes}), not {plan.rank}")
    if not 0.0 < plan.observed <= 1.0:
        raise UsageError(f"observed must be above 0 and at most 1, not {plan.observed}")
    if not 0.0 <= plan.noise < float("inf") or (plan.task != "regression" and plan.noise > 1.0):
        raise UsageError(f"noise must be a probability (regression: 0 or more), not {plan.noise}")
    if not 0 <= plan.blocks <= plan.attributes:
        raise UsageError(f"blocks must be at most attributes ({plan.attributes}), not {plan.blocks}")
    return plan


def records(plan: Plan, events: int, full: bool = False) -> Iterator[dict[str, Any]]:
    """The events of a stream as JSON objects: ``x0 …`` and the label ``y``.

    Parameters
    ----------
    plan
        What to make.
    events
        How many; each stream is the beginning of the longer ones.
    full
        Add the complete vector as ``"full": {...}``, for oracles.

    Examples
    --------
    >>> stream = records(Plan(attributes=3, rank=1, seed=7), events=2)
    >>> [sorted(record) for record in stream]
    [['x0', 'x1', 'y'], ['x1', 'y']]
    """
    check(plan)
    rng = np.random.default_rng(plan.seed)
    basis = rng.standard_normal((plan.attributes, plan.rank))
    classes = CLASSES if plan.task == "multiclass" else 1
    weights = rng.standard_normal((plan.attributes, classes))
    spread = float(np.linalg.norm(basis.T @ weights[:, 0]))
    names = [f"x{i}" for i in range(plan.attributes)]
    for begin in range(0, events, CHUNK):
        vectors = rng.standard_normal((CHUNK, plan.rank)) @ basis.T
        outputs = vectors @ weights
        labels = _labels(plan, outputs, spread, rng)
        seen = _observed(plan, vectors, outputs[:, 0], rng)
        # Six decimals: short lines, and nobody's sensor has more.
        rows = np.round(vectors, 6).tolist()
        for row, mask, label in zip(rows[: events - begin], seen.tolist(), labels, strict=False):
            record = {name: value for name, value, there in zip(names, row, mask, strict=True) if there}
            record["y"] = label
            if full:
                record["full"] = dict(zip(names, row, strict=True))
            yield record


def _labels(plan: Plan, outputs: Floats, spread: float, rng: np.random.Generator) -> list[Any]:
    if plan.task == "regression":
        noise = plan.noise * rng.standard_normal(CHUNK)
        return [round(value, 6) for value in (outputs[:, 0] / spread + noise).tolist()]
    wrong = rng.random(CHUNK) < plan.noise
    if plan.task == "binary":
        return list(((outputs[:, 0] > 0) ^ wrong).astype(int).tolist())
    best = outputs.argmax(axis=1)
    other = rng.integers(1, CLASSES, CHUNK)
    return ["abc"[i] for i in np.where(wrong, (best + other) % CLASSES, best)]


def _observed(plan: Plan, vectors: Floats, output: Floats, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which attributes are there, shape (CHUNK, D); at least one in every row."""
    groups = np.arange(plan.attributes)
    if plan.blocks:
        groups = groups * plan.blocks // plan.attributes
    first = np.searchsorted(groups, np.arange(groups[-1] + 1))
    heads = vectors[:, first]
    odds = np.full(heads.shape, plan.observed / (1.0 - plan.observed) if plan.observed < 1 else np.inf)
    if plan.missing == "mar":
        odds *= np.exp(2.0 * np.sign(heads[:, :1]))
        odds[:, 0] = np.inf
    elif plan.missing == "mnar":
        direction = np.where(np.arange(heads.shape[1]) % 2, 1.0, -1.0)
        odds *= np.exp(np.sign(heads) + direction * np.sign(output)[:, None])
    chance = np.where(np.isinf(odds), 1.0, odds / (1.0 + np.where(np.isinf(odds), 0.0, odds)))
    drawn = rng.random(chance.shape)
    seen = drawn < chance
    # Never none: an event with nothing observed keeps what came closest to being so.
    seen[np.arange(CHUNK), (drawn - chance).argmin(axis=1)] = True
    return seen[:, groups]
