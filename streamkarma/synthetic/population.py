"""Names of unequal popularity, which appear and disappear over time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Floats, Ints

#: Number of events that drift refers to.
PERIOD = 10_000

_ONSETS = (*"bcdfghjklmnprstvwz", "br", "dr", "fl", "gr", "kl", "pl", "sk", "sl", "st", "tr")
_VOWELS = "aeiou"


class Population:
    """Named members with effects on the label, each at a place that determines its popularity.

    The first place is drawn twice as often as the second, three times as often as the third, and so on:
    Zipf's law.

    Parameters
    ----------
    size
        Number of members at any time, which bounds the memory.
    effects
        Number of effects of each. At the start each effect has mean 0 and variance 1 over the draws; those
        of a newcomer are standard normal.
    name
        Returns the name of the n-th member ever created, from 0.
    drift
        The fraction of the members that leave within ``PERIOD`` events. Each is replaced by a newcomer at its
        place, and as many pairs exchange their places.
    rng
        The generator for all draws.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> users = Population(3, effects=1, name="u{}".format, drift=0.0, rng=rng)
    >>> users.names.tolist()
    ['u0', 'u1', 'u2']
    >>> users.draw((2, 2)).tolist()
    [[0, 1], [2, 1]]
    """

    def __init__(
        self, size: int, effects: int, name: Callable[[int], str], drift: float, rng: np.random.Generator
    ) -> None:
        popularity = 1.0 / np.arange(1, size + 1)
        popularity /= popularity.sum()
        self._up_to = np.cumsum(popularity)
        self._name, self._drift, self._rng, self._born = name, drift, rng, 0
        self.names: NDArray[Any] = np.empty(size, dtype=object)
        self.names[:] = self._newborn(size)
        drawn = rng.standard_normal((size, effects))
        drawn -= popularity @ drawn
        # A single member has no variance, and no effect.
        self.effects: Floats = drawn / np.maximum(np.sqrt(popularity @ drawn**2), np.finfo(float).tiny)

    def draw(self, shape: int | tuple[int, ...]) -> Ints:
        """Draw places independently, each with a probability proportional to its popularity."""
        chosen = np.searchsorted(self._up_to, self._rng.random(shape), side="right")
        # The last sum may have been rounded to less than 1.
        return np.minimum(chosen, len(self._up_to) - 1)

    def age(self, events: int) -> None:
        """Advance by this many events: some members are replaced, some exchange their places."""
        size = len(self.names)
        moving = self._rng.poisson(min(self._drift * events / PERIOD, 1.0) * size, 2)
        leaving, trading = np.minimum(moving, [size, size // 2])
        left = self._rng.choice(size, leaving, replace=False)
        self.names[left] = self._newborn(len(left))
        self.effects[left] = self._rng.standard_normal((len(left), self.effects.shape[1]))
        one, other = self._rng.choice(size, (2, trading), replace=False)
        for each in (self.names, self.effects):
            each[one], each[other] = each[other], each[one]

    def _newborn(self, count: int) -> list[str]:
        self._born += count
        return [self._name(number) for number in range(self._born - count, self._born)]


def word_maker(rng: np.random.Generator) -> Callable[[int], str]:
    """A function that makes a pronounceable word for each number from 0, all different.

    Examples
    --------
    >>> word = word_maker(np.random.default_rng(0))
    >>> [word(0), word(1), word(100_000)]
    ['ploplo', 'greplo', 'dadosko']
    """
    # A syllable ends with its only vowel, so that a word can be divided in only one way.
    syllables = [onset + vowel for onset in _ONSETS for vowel in _VOWELS]
    syllables = [syllables[i] for i in rng.permutation(len(syllables))]

    def word(number: int) -> str:
        number += len(syllables)  # skips words of a single syllable
        spelled = ""
        while number >= 0:
            number, last = divmod(number, len(syllables))
            spelled += syllables[last]
            number -= 1
        return spelled

    return word
