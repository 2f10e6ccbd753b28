"""How the settings of a method are chosen: on quarters of the rows that are held out.

[H] chooses γ and C by one holdout, [D] tunes the width and C on complete data, [S] by inner
cross-validation. Here every setting may be a number, which stands; a sequence of numbers to choose
from, such as the grids of the papers below; or None, for the grid that this package has for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from streamkarma.baselines.progress import Progress
from streamkarma.baselines.tables import Floats

#: The default grid of C, smallest first.
GRID = (0.01, 0.1, 1.0, 10.0, 100.0)

#: The default grid of an RBF kernel's width, times 1 / (columns · variance of all values).
WIDTHS = (0.1, 1.0)

#: The grid of C in [H].
HAZAN_C = tuple(10.0**k for k in range(-5, 6))

#: The grids of C and of the RBF kernel's width in [S].
SMIEJA_C = tuple(2.0**k for k in range(-5, 10, 2))
SMIEJA_WIDTH = tuple(2.0**k for k in range(-5, 16, 2))

#: How often a quarter is held out: one alone decides by the luck of the draw (on 961 rows, whose
#: quarter tells errors apart by a hundredth at best).
REPEATS = 3

#: With fewer rows than this no part is held out, and the default setting stands.
FEWEST = 20

#: One number, several to choose from, or None for a default grid.
Choice = float | Sequence[float] | NDArray[Any] | None

Setting = TypeVar("Setting")
Trial = Callable[[Setting, NDArray[Any], NDArray[Any]], Floats]


def candidates(name: str, choice: Choice, default: Sequence[float]) -> tuple[float, ...]:
    """The values of a setting to choose from, each above 0.

    Raises
    ------
    ValueError
        For a value that is not above 0, or an empty sequence; ``name`` says of what.

    Examples
    --------
    >>> candidates("C", None, GRID), candidates("C", 2, GRID), candidates("C", [1, 10], GRID)
    ((0.01, 0.1, 1.0, 10.0, 100.0), (2.0,), (1.0, 10.0))
    """
    if choice is None:
        return tuple(default)
    values = tuple(float(value) for value in (choice if isinstance(choice, Iterable) else [choice]))
    if not values or not all(0 < value < np.inf for value in values):
        raise ValueError(
            f"{name} is a number above 0, a sequence of them, or None to have it chosen; not {choice}"
        )
    return values


def middle(values: Sequence[float], preferred: float) -> float:
    """The value that stands where too few rows are there to choose: ``preferred``, or the middle one."""
    return preferred if preferred in values else values[len(values) // 2]


def error(scores: Floats, Y: Floats, squared: bool, weights: Floats | None = None) -> float:
    """Share of wrong classes, or the mean squared error; weighted if there are weights."""
    if squared:
        wrong = ((scores - Y) ** 2).mean(axis=1)
    elif Y.shape[1] == 1:
        wrong = ((scores > 0) != (Y > 0))[:, 0]
    else:
        wrong = scores.argmax(axis=1) != Y.argmax(axis=1)
    return float(np.average(wrong, weights=weights))


def class_codes(Y: Floats) -> NDArray[np.intp]:
    """Number of each row's class, from the columns of -1 and 1 that ``signs`` makes."""
    return Y.argmax(axis=1) if Y.shape[1] > 1 else (Y[:, 0] > 0).astype(np.intp)


def held_out(Y: Floats, squared: bool, rng: np.random.RandomState) -> tuple[NDArray[Any], NDArray[Any]]:
    """A random quarter of the rows, stratified by class, after the rest: (rest, quarter)."""
    n = len(Y)
    order = rng.permutation(n)
    if squared:
        return order[n // 4 :], order[: n // 4]
    codes = class_codes(Y)
    # Every fourth row of each class, counted in random order.
    nth = np.empty(n, dtype=int)
    for code in np.unique(codes):
        rows = order[codes[order] == code]
        nth[rows] = np.arange(len(rows))
    test = nth % 4 == 3
    return np.flatnonzero(~test), np.flatnonzero(test)


@dataclass(frozen=True)
class Holdout:
    """Quarters of the rows to choose settings on.

    Attributes
    ----------
    Y
        Targets of all rows, shape (n, m).
    squared
        Whether they are numbers, so that the error is the mean squared one.
    rng
        Where the quarters are drawn from.
    weights
        Of the rows, shape (n,), or None.
    say
        Is told the progress.
    """

    Y: Floats
    squared: bool
    rng: np.random.RandomState
    weights: Floats | None = None
    say: Callable[[str], None] = field(default=lambda text: None)

    def best(self, settings: Sequence[Setting], default: Setting, trial: Trial[Setting]) -> Setting:
        """The setting of least error on ``REPEATS`` quarters; the first among equals.

        Parameters
        ----------
        settings
            What there is to choose from, the simplest first.
        default
            What stands when there are fewer than ``FEWEST`` rows.
        trial
            ``trial(setting, rest, quarter)`` learns on rows ``rest`` and scores ``quarter``.
        """
        if len(settings) == 1:
            return settings[0]
        if len(self.Y) < FEWEST:
            return default
        errors = np.zeros(len(settings))
        progress = Progress(self.say, REPEATS * len(settings), "settings tried")
        for _ in range(REPEATS):
            rest, quarter = held_out(self.Y, self.squared, self.rng)
            weights = None if self.weights is None else self.weights[quarter]
            if not len(quarter):
                return default
            for number, setting in enumerate(settings):
                scores = trial(setting, rest, quarter)
                errors[number] += error(scores, self.Y[quarter], self.squared, weights)
                progress.step()
        return settings[int(np.argmin(errors))]
