"""Choice of a method's settings on held-out quarters of the rows.

[H] chooses γ and C by one holdout, [D] tunes the width and C on complete data, [S] uses inner
cross-validation. Here every setting may be a fixed number; a sequence of numbers to choose from, such as the
grids of the papers below; or None, for the default grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from streamkarma.arrays import Floats
from streamkarma.baselines.progress import Progress

#: The default grid of C, smallest first.
GRID = (0.01, 0.1, 1.0, 10.0, 100.0)

#: The default grid of an RBF kernel's width, times 1 / (columns · variance of all values).
WIDTHS = (0.1, 1.0)

#: The grid of C in [H].
HAZAN_C = tuple(10.0**k for k in range(-5, 6))

#: The grids of C and of the RBF kernel's width in [S].
SMIEJA_C = tuple(2.0**k for k in range(-5, 10, 2))
SMIEJA_WIDTH = tuple(2.0**k for k in range(-5, 16, 2))

#: How often a quarter is held out: a single one is too noisy (on 961 rows, a quarter distinguishes errors to
#: a hundredth at best).
REPEATS = 3

#: With more rows than this, a loss is compared on a single quarter, after learning this many of the other
#: rows: it varies less than errors do, and the best C, the factor of a sum, depends little on their number.
MANY = 1_000

#: With fewer rows than this, nothing is held out and the default setting is used.
FEWEST = 20

#: One number, several to choose from, or None for a default grid.
Choice = float | Sequence[float] | NDArray[Any] | None

Setting = TypeVar("Setting")
Trial = Callable[[Setting, NDArray[Any], NDArray[Any]], Floats]

#: The loss of each row, from scores of shape (n, m) and class indices or targets of shape (n,).
Criterion = Callable[[Floats, Floats], Floats]


def candidates(name: str, choice: Choice, default: Sequence[float]) -> tuple[float, ...]:
    """The values of a setting to choose from, each above 0.

    Raises
    ------
    ValueError
        For a value that is not above 0, or an empty sequence; the message contains ``name``.

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
            f"{name} must be a number above 0, a sequence of them, or None to have it chosen, not {choice}"
        )
    return values


def middle(values: Sequence[float], preferred: float) -> float:
    """The value used if there are too few rows to choose: ``preferred``, or the middle one."""
    return preferred if preferred in values else values[len(values) // 2]


def error(scores: Floats, Y: Floats, squared: bool, weights: Floats | None = None) -> float:
    """The error rate, or the mean squared error; weighted if there are weights."""
    if squared:
        wrong = ((scores - Y) ** 2).mean(axis=1)
    elif Y.shape[1] == 1:
        wrong = ((scores > 0) != (Y > 0))[:, 0]
    else:
        wrong = scores.argmax(axis=1) != Y.argmax(axis=1)
    return float(np.average(wrong, weights=weights))


def signs(codes: NDArray[np.intp], classes: int) -> Floats:
    """Classes as columns of -1 and 1: one for two classes, else one per class.

    Examples
    --------
    >>> signs(np.array([0, 1]), 2).tolist(), signs(np.array([0, 2]), 3).tolist()
    ([[-1.0], [1.0]], [[1.0, -1.0, -1.0], [-1.0, -1.0, 1.0]])
    """
    if classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, np.newaxis]
    return np.where(codes[:, np.newaxis] == np.arange(classes), 1.0, -1.0)


def class_codes(Y: Floats) -> NDArray[np.intp]:
    """Class index of each row, from the columns of -1 and 1 made by ``signs``."""
    return Y.argmax(axis=1) if Y.shape[1] > 1 else (Y[:, 0] > 0).astype(np.intp)


def held_out(Y: Floats, squared: bool, rng: np.random.RandomState) -> tuple[NDArray[Any], NDArray[Any]]:
    """A random quarter of the rows, stratified by class, and the rest: (rest, quarter)."""
    n = len(Y)
    order = rng.permutation(n)
    if squared:
        return order[n // 4 :], order[: n // 4]
    codes = class_codes(Y)
    # Every fourth row of each class, in random order.
    nth = np.empty(n, dtype=int)
    for code in np.unique(codes):
        rows = order[codes[order] == code]
        nth[rows] = np.arange(len(rows))
    test = nth % 4 == 3
    return np.flatnonzero(~test), np.flatnonzero(test)


@dataclass(frozen=True)
class Holdout:
    """Random quarters of the rows, for choosing settings.

    Attributes
    ----------
    Y
        Targets of all rows, shape (n, m).
    squared
        Whether they are numbers, so that the error is the mean squared error.
    rng
        The generator that draws the quarters.
    weights
        Weights of the rows, shape (n,), or None.
    say
        Called with lines of progress.
    criterion
        The loss by which settings are chosen; None for the error rate or the mean squared error.
    """

    Y: Floats
    squared: bool
    rng: np.random.RandomState
    weights: Floats | None = None
    say: Callable[[str], None] = field(default=lambda text: None)
    criterion: Criterion | None = None

    def best(self, settings: Sequence[Setting], default: Setting, trial: Trial[Setting]) -> Setting:
        """The setting with the smallest error or loss on the quarters, the first of them if tied.

        Parameters
        ----------
        settings
            The candidates, simplest first.
        default
            The setting used if there are fewer than ``FEWEST`` rows.
        trial
            ``trial(setting, rest, quarter)`` learns on rows ``rest`` and scores ``quarter``.
        """
        if len(settings) == 1:
            return settings[0]
        if len(self.Y) < FEWEST:
            return default
        errors = np.zeros(len(settings))
        many = self.criterion is not None and len(self.Y) > MANY
        repeats = 1 if many else REPEATS
        progress = Progress(self.say, repeats * len(settings), "settings tried")
        for _ in range(repeats):
            rest, quarter = held_out(self.Y, self.squared, self.rng)
            if not len(quarter):
                return default
            if many:
                rest = self.rng.permutation(rest)[:MANY]
            for number, setting in enumerate(settings):
                errors[number] += self._error(trial(setting, rest, quarter), quarter)
                progress.step()
        return settings[int(np.argmin(errors))]

    def _error(self, scores: Floats, rows: NDArray[Any]) -> float:
        """The mean error, or by ``criterion``, of some rows with these scores."""
        Y, weights = self.Y[rows], None if self.weights is None else self.weights[rows]
        if self.criterion is None:
            return error(scores, Y, self.squared, weights)
        y = Y[:, 0] if self.squared else class_codes(Y).astype(np.float64)
        return float(np.average(self.criterion(scores, y), weights=weights))
