"""Synthetic events as in production: users, text, tags, timestamps and numbers with gaps.

The label depends on a sum f of effects of the *complete* event with known weights, so that the loss due to
missing values is known. Without drift, f has mean 0 and variance 1, to which the parts contribute, on average
over seeds, the shares in ``SHARES``:

==================  =====  ==========================================================
part                share  effect
==================  =====  ==========================================================
user                 25 %  one number for each user
words                25 %  one for each word, summed over the text
tags                 15 %  one for each tag, summed over the tags
hour                 10 %  a curve over the day, with periods of 24 and 12 hours
numbers              13 %  linear in four numbers that span two dimensions
user by hour          6 %  each user's own curve over the day, with a period of 24 hours
tags by price         6 %  each tag's own slope in the price, summed over the tags
==================  =====  ==========================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Floats, Ints
from streamkarma.errors import UsageError
from streamkarma.parameters.checks import check_fields
from streamkarma.synthetic.labels import CHUNK, Task, check_is_not_multiclass, check_noise, in_rows, labels
from streamkarma.synthetic.population import Population, word_maker

#: Each part's share of the variance of f.
SHARES = {
    "user": 0.25,
    "words": 0.25,
    "tags": 0.15,
    "hour": 0.10,
    "numbers": 0.13,
    "user by hour": 0.06,
    "tags by price": 0.06,
}
#: The log-odds of the label are SHARPNESS * f, which gives an oracle an error rate of 13 %.
SHARPNESS = 4.0
#: Mean and standard deviation of the numbers.
NUMBERS = {"price": (25.0, 6.0), "weight": (4.0, 1.0), "distance": (120.0, 30.0), "temperature": (15.0, 8.0)}
#: Number of dimensions that the numbers span.
RANK = 2
#: Number of words of a text, and maximum number of tags of an event.
WORDS, TAGS = 8, 5
#: Probability that the user, the text or the tags are missing, independently.
MISSING = 0.03
#: The start of the stream, and the mean number of seconds between events.
START, GAP = np.datetime64("2026-01-05T00:00:00", "s"), 30
#: Number of devices in the junk columns.
DEVICES = 5_000


class EventSpec(NamedTuple):
    """The specification of a stream of events.

    Parameters
    ----------
    users, words, tags
        The number of each at any time, 1 or more.
    observed
        Probability that a number is observed: above 0, at most 1.
    drift
        The share of the users, words and tags that are replaced by new ones within 10,000 events; as many
        pairs exchange their popularity. With 1, a name lives for 10,000 events on average.
    junk
        With 1 or more: this many columns of noise (``n0``, ``n1``, …), observed like the numbers, and an
        ``event_id`` and a ``device``, none of which is informative.
    noise
        Probability of a flipped label, between 0 and 1; in regression, the standard deviation of the noise
        added to a label of variance 1.
    task
        Kind of label: 0/1 with log-odds ``SHARPNESS * f``, or the number f.
    seed
        The same seed gives the same stream.
    """

    users: int = 3_000
    words: int = 2_000
    tags: int = 50
    observed: float = 0.5
    drift: float = 0.0
    junk: int = 0
    noise: float = 0.0
    task: Task = "binary"
    seed: int = 0


def check(plan: EventSpec) -> EventSpec:
    """Return ``plan``, or raise UsageError if it is invalid."""
    check_fields(plan, {"task": get_args(Task)})
    for name in ("users", "words", "tags"):
        if getattr(plan, name) < 1:
            raise UsageError(f"{name} must be 1 or more, not {getattr(plan, name)}")
    if not 0.0 < plan.observed <= 1.0:
        raise UsageError(f"observed must be above 0 and at most 1, not {plan.observed}")
    if not 0.0 <= plan.drift < float("inf"):
        raise UsageError(f"drift must be 0 or more, not {plan.drift}")
    if plan.junk < 0:
        raise UsageError(f"junk must be 0 or more, not {plan.junk}")
    check_noise(plan.noise, plan.task)
    check_is_not_multiclass("events", plan.task)
    return plan


def event_records(plan: EventSpec, events: int, full: bool = False) -> Iterator[dict[str, Any]]:
    """The events of a stream as JSON objects.

    Parameters
    ----------
    plan
        The specification.
    events
        Number of events; each stream is a prefix of the longer ones.
    full
        Add the knowledge of an oracle: ``"full": {"probability": …}`` of the label 1, or in regression
        ``"full": {"mean": …}``.

    Returns
    -------
    An iterator over the events, each as a dict.

    Raises
    ------
    UsageError
        A ValueError: the specification is invalid.

    Examples
    --------
    >>> for record in event_records(EventSpec(seed=1), events=2):
    ...     print(record["ts"], record["user"], *record["tags"], record["y"])
    2026-01-05T00:00:26Z u1775 flepo mipo 0
    2026-01-05T00:00:50Z u2007 lipo stopo 1
    """
    source = _Source(check(plan))
    yield from in_rows(lambda: source.columns(full), events)


class _Event(NamedTuple):
    """Complete events: the indices of their names, and the rest as numbers."""

    user: Ints
    words: Ints
    tags: Ints
    #: Which of the tags occur for the first time in their event.
    distinct: NDArray[np.bool_]
    #: Seconds since ``START``.
    seconds: Ints
    #: The numbers, of mean 0 and variance 1.
    numbers: Floats


class _Source:
    """Generates events, CHUNK at a time."""

    def __init__(self, plan: EventSpec) -> None:
        self._plan, self._seconds = plan, 0
        # Each part has its own generator, so that options for one do not change the others.
        (users, words, tags, weights, self._times, self._latent, self._gaps, self._labels, self._junk) = (
            np.random.default_rng(plan.seed).spawn(9)
        )
        self._users = Population(plan.users, 3, "u{}".format, plan.drift, users)
        self._words = Population(plan.words, 1, word_maker(words), plan.drift, words)
        self._tags = Population(plan.tags, 2, word_maker(tags), plan.drift, tags)
        basis = weights.standard_normal((len(NUMBERS), RANK))
        self._basis = basis / np.linalg.norm(basis, axis=1, keepdims=True)
        slopes = weights.standard_normal(len(NUMBERS))
        self._slopes = slopes / np.linalg.norm(self._basis.T @ slopes)
        curve = weights.standard_normal(4)
        self._curve = curve * np.sqrt(2.0) / np.linalg.norm(curve)

    def columns(self, full: bool) -> dict[str, list[Any]]:
        """The next CHUNK events, by name, with None for missing values."""
        event = self._draw()
        label, expected = labels(
            self._output(event), SHARPNESS, self._plan.noise, self._plan.task, self._labels
        )
        columns = self._observed(event)
        for names in (self._users, self._words, self._tags):
            names.age(CHUNK)
        if self._plan.junk:
            columns = self._with_junk(columns)
        columns["y"] = label
        if full:
            name = "mean" if self._plan.task == "regression" else "probability"
            columns["full"] = [{name: value} for value in expected]
        return columns

    def _draw(self) -> _Event:
        tags = self._tags.draw((CHUNK, TAGS))
        count = self._latent.integers(1, TAGS + 1, (CHUNK, 1))
        distinct = np.arange(TAGS) < count
        for i in range(1, TAGS):
            distinct[:, i] &= (tags[:, :i] != tags[:, i, np.newaxis]).all(axis=1)
        seconds = self._seconds + np.cumsum(self._times.geometric(1.0 / GAP, CHUNK))
        self._seconds = int(seconds[-1])
        numbers = self._latent.standard_normal((CHUNK, RANK)) @ self._basis.T
        return _Event(
            self._users.draw(CHUNK), self._words.draw((CHUNK, WORDS)), tags, distinct, seconds, numbers
        )

    def _output(self, event: _Event) -> Floats:
        """F, the sum of the parts."""
        angle = 2.0 * np.pi * (event.seconds % 86_400) / 86_400
        day = np.stack([np.cos(angle), np.sin(angle), np.cos(2.0 * angle), np.sin(2.0 * angle)])
        of_user = self._users.effects[event.user]
        # There are three tags on average.
        of_tags = (self._tags.effects[event.tags] * event.distinct[:, :, np.newaxis]).sum(axis=1) / np.sqrt(
            3.0
        )
        parts = {
            "user": of_user[:, 0],
            "words": self._words.effects[event.words, 0].sum(axis=1) / np.sqrt(WORDS),
            "tags": of_tags[:, 0],
            "hour": self._curve @ day,
            "numbers": event.numbers @ self._slopes,
            "user by hour": of_user[:, 1] * day[0] + of_user[:, 2] * day[1],
            "tags by price": of_tags[:, 1] * event.numbers[:, 0],
        }
        return np.asarray(sum(np.sqrt(SHARES[name]) * part for name, part in parts.items()))

    def _observed(self, event: _Event) -> dict[str, list[Any]]:
        times = np.datetime_as_string(START + event.seconds, unit="s").tolist()
        words, tags = self._words.names[event.words].tolist(), self._tags.names[event.tags].tolist()
        with_tags = [
            [tag for tag, first in zip(row, firsts, strict=True) if first]
            for row, firsts in zip(tags, event.distinct.tolist(), strict=True)
        ]
        kept = self._gaps.random((3, CHUNK)) >= MISSING
        columns = {
            "ts": [f"{time}Z" for time in times],
            "user": _where(kept[0], self._users.names[event.user].tolist()),
            "text": _where(kept[1], [" ".join(row) for row in words]),
            "tags": _where(kept[2], with_tags),
        }
        present = self._gaps.random((len(NUMBERS), CHUNK)) < self._plan.observed
        for i, (name, (mean, deviation)) in enumerate(NUMBERS.items()):
            values = np.round(mean + deviation * event.numbers[:, i], 3)
            columns[name] = _where(present[i], values.tolist())
        return columns

    def _with_junk(self, columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
        ids = self._junk.bytes(16 * CHUNK).hex()
        devices = self._junk.integers(0, DEVICES, CHUNK).tolist()
        noise = np.round(self._junk.standard_normal((self._plan.junk, CHUNK)), 6).tolist()
        present = self._junk.random((self._plan.junk, CHUNK)) < self._plan.observed
        return {
            "event_id": [ids[i : i + 32] for i in range(0, len(ids), 32)],
            **columns,
            "device": [f"d{number}" for number in devices],
            **{f"n{i}": _where(present[i], values) for i, values in enumerate(noise)},
        }


def _where(seen: NDArray[np.bool_], values: list[Any]) -> list[Any]:
    return [value if there else None for value, there in zip(values, seen.tolist(), strict=True)]
