"""Models of every kind with extreme parameters, trained on parts of an extreme stream and merged."""

from __future__ import annotations

import random
from copy import deepcopy
from pathlib import Path

from streamkarma import merge
from streamkarma.errors import UsageError
from streamkarma.estimators.learners import LEARNERS, Model
from streamkarma.estimators.persistence import load, save, to_bytes
from tests.campaigns import repeat
from tests.campaigns.extreme_parameters import STREAMS, Event, learn, make

TRIES = (
    "a learner with random parameters, many at their extremes, learns an extreme stream in two to four "
    "parts, beginning empty or with a common base; the parts are merged, and merged again in another order"
)
PROMISE = (
    "merging is refused in one line, or the merged model is saved and read back, both go on and are the same "
    "to the bit; where nothing had to be evicted, the other order gives the same names, classes and counts"
)
SHORT = 60
LONG = 20_000


def run(tries: int, seed: int, folder: Path) -> None:
    """See ``TRIES`` and ``PROMISE``; a failure names the seed of its try."""
    repeat(attempt, tries, seed, folder)


def attempt(rng: random.Random, folder: Path) -> None:
    """One try."""
    learner, regression, make_stream = rng.choice(list(LEARNERS)), rng.random() < 0.3, rng.choice(STREAMS)
    model, given = make(rng, learner, regression)
    stream = make_stream(rng, rng.choice([3, 40, 200]), regression)
    told = f"{learner} {given}, {make_stream.__name__} of {len(stream)} events"
    try:
        _attempt(rng, folder, model, stream)
    except Exception as error:
        raise AssertionError(f"{told}: {error!r}") from error


def _attempt(rng: random.Random, folder: Path, base: Model, stream: list[Event]) -> None:
    cuts = sorted(rng.randrange(len(stream) + 1) for _ in range(rng.choice([3, 4, 5])))
    if rng.random() < 0.5:
        learn(base, stream[: cuts[0]])
    models = {f"part {n}": deepcopy(base) for n in range(1, len(cuts))}
    for part, begin, end in zip(models.values(), cuts, cuts[1:], strict=False):
        learn(part, stream[begin:end])
    merged, other = _merged(models, base), _merged(dict(reversed(models.items())), base)
    if isinstance(merged, str) or isinstance(other, str):
        # Where several parts are at fault, another order may name another one.
        for each in (merged, other):
            assert isinstance(each, str), "it depends on the order whether they can be merged"
            assert "\n" not in each, each
            assert len(each) < 1000, each
        return
    if not merged.vocabulary.evicted and not merged.ignored:
        assert _counts(merged) == _counts(other), "the order of the parts matters"
    save(merged, folder / "model")
    read = load(folder / "model")
    for each in (merged, read):
        learn(each, stream[cuts[-1] :])
    assert to_bytes(merged) == to_bytes(read), "the model that was read goes on in another way"


def _merged(models: dict[str, Model], base: Model) -> Model | str:
    """The merged model, or why there is none."""
    try:
        return merge(list(models.values()), base, list(models))
    except UsageError as error:
        return str(error)


def _counts(model: Model) -> list[object]:
    known = getattr(model, "classes", None)
    return [model.steps, model.values, known, model.vocabulary.entries(), model.merged_from]
