"""A linear model on completed events, for data close to a subspace.

This is what [H] competes with: f_{w,Q}(x_o) = w_o' Q_oo^+ x_o [H, Def. 2], which completes the
event from what it observes and weighs the result. The completion comes from ``core.pairs`` while
there are few coordinates, and from ``core.factor`` beyond. The weights are those of AROW, see
``core.adaptive``, and learn from the first event on: what they learn of early, poor completions
does not linger (to begin later, or to raise the variances with each new completion, erred more).

With few coordinates it is the completed vector that is weighed. With many it is the latent z
and, of what is observed, the residuals x_k - m_k - d_k F_k' z: the same hypotheses, since

    w' x = sum_{k in o} w_k (residual_k) + (sum_k w_k d_k F_k)' z + w' m,

with weights of its own for z, and nothing that costs as much as there are coordinates. By this
identity the weights go over from the one to the other.

[H] Hazan, Livni, Mansour: Classification with Low Rank and Missing Data, ICML 2015.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.adaptive import (
    AROW,
    STEPS,
    Step,
    first_spread,
    new_clock,
)
from streamkarma.core.completing import Model, Setting, complete_block, run_block
from streamkarma.core.learning import Arrays, begun, capacity
from streamkarma.core.loss import HINGE, SQUARED
from streamkarma.core.pairs import correlate
from streamkarma.core.passes import Floats
from streamkarma.core.single import Event, Stage, run_subspace
from streamkarma.core.space import (
    DUE,
    EVENTS,
    FIRST_DUE,
    GROWTH,
    NOISE,
    SEEN,
    WIDE,
    Sizes,
    Space,
    attributes_of,
    empty_space,
    moved,
    resized,
    restored,
    state,
    weights_fit,
    widened,
)
from streamkarma.events.block import Block

#: The correlations are brought up to date whenever there are so much more events than before.
LATER_DUE = 0.1


class Settings(NamedTuple):
    """How the learner is made.

    Attributes
    ----------
    regression
        Squared loss on targets, else the hinge on classes.
    r
        Variance of the noise in AROW, above 0.
    indicators
        Weigh also which attributes are observed: for streams where that tells of the label.
    shrink
        How many events without any correlation each pair starts with, 0 or more.
    forget
        Half-life in events, above 0; 0 for never.
    max_rank_dim
        Most coordinates of which all pairs are kept, 1 or more; 1 for none but the constant's.
    rank
        Dimension of the subspace beyond, 1 or more.
    """

    regression: bool = False
    r: float = 10.0
    indicators: bool = False
    shrink: float = 5.0
    forget: float = 0.0
    max_rank_dim: int = 64
    rank: int = 16


class Subspace:
    """A linear model on what is observed and, where it is missing, expected.

    Parameters
    ----------
    settings
        How it is made.

    Examples
    --------
    Two attributes, always equal; the label is their sign, and one of them may be missing:

    >>> model = Subspace(Settings())
    >>> model.reserve(attributes=3, coordinates=3)
    >>> signs = np.tile([1.0, -1.0], 50)
    >>> both = np.tile(np.arange(3, dtype=np.int32), 100)
    >>> values = np.stack([np.ones(100), signs, signs], axis=1).ravel()
    >>> pairs = Block(np.arange(0, 301, 3), both, both, values)
    >>> scores, losses = model.run(pairs, signs, np.ones(100))
    >>> one = Block(np.array([0, 2]), np.int32([0, 2]), np.int32([0, 2]), np.array([1.0, -1.0]))
    >>> model.completed(one).round(1).tolist()
    [[1.0, -0.9, -1.0]]
    >>> bool(model.scores(one)[0, 0] < -0.8)
    True
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._setting = Setting(settings.max_rank_dim, settings.indicators, settings.forget)
        self._sizes = Sizes(settings.max_rank_dim, settings.rank)
        self._room = (0, 0)
        self.space: Space
        self.model: Model
        self.restart(0)

    @property
    def classes(self) -> int:
        """Rows of weights: 1 for two classes or regression, else one per class."""
        return len(self.model.weights)

    @property
    def steps(self) -> int:
        """Events learned with a label."""
        return int(self.model.clock[STEPS])

    @property
    def wide(self) -> bool:
        """Whether there are more coordinates than pairs are kept of."""
        return bool(self.space.clock[WIDE])

    def reserve(self, attributes: int = 0, coordinates: int = 0) -> None:
        """Make room for at least that many of each; what is there stays."""
        self._room = max(attributes, self._room[0]), max(coordinates, self._room[1])
        old = len(self.space.known), len(self.space.owners)
        a, k = capacity(old[0], self._room[0]), capacity(old[1], self._room[1])
        if (a, k) != old:
            self.space = resized(self.space, self._sizes, a, k)
            self._resize_weights(self.classes, max(a, k))

    def widen(self, classes: int) -> None:
        """Go to ``classes`` classes; new ones begin with no weights.

        From the single w of two classes to one each: -w/2 for the first and w/2 for the
        second, which leaves the difference of their scores; both take over the spread.
        """
        weights, spread = self.model.weights, self.model.spread
        if len(weights) == 1:
            weights, spread = np.concatenate([0.0 - weights / 2, weights / 2]), np.repeat(spread, 2, axis=0)
        self.model = self.model._replace(weights=weights, spread=spread)
        self._resize_weights(max(classes, len(weights)), max(len(self.space.known), len(self.space.owners)))

    def run(self, block: Block, labels: Floats, weights: Floats) -> tuple[NDArray[np.float64], Floats]:
        """Predict, then learn, each event; see ``completing.run_block``.

        ``reserve`` must have made room for the attributes and coordinates of every event
        that has a label.

        Returns
        -------
        Scores of shape (T, C), each from before its event was learned, and the losses
        suffered (hinge or squared), shape (T,), NaN where there is no label.
        """
        return self._run(block, labels, weights, False)

    def scores(self, block: Block) -> NDArray[np.float64]:
        """Scores of every event, shape (T, C), without learning."""
        events = len(block.starts) - 1
        return self._run(block, np.full(events, np.nan), np.ones(events), False)[0]

    def observe(self, block: Block) -> None:
        """Learn the subspace, not the weights, from events without labels.

        ``reserve`` must have made room for all of them.
        """
        events = len(block.starts) - 1
        self._run(block, np.full(events, np.nan), np.ones(events), True)

    def completed(self, block: Block) -> NDArray[np.float64]:
        """The completed events, shape (T, K), without learning.

        What is observed is kept; what is missing is its mean given that, 0 for what was never
        learned. K is the most coordinates that were reserved.
        """
        result = np.zeros((len(block.starts) - 1, self._room[1]))
        complete_block(self.space, block, result)
        return result

    def _run(self, block: Block, labels: Floats, weights: Floats,
             unlabelled: bool) -> tuple[NDArray[np.float64], Floats]:  # fmt: skip
        scores, losses = begun(block, labels, weights, self.classes)
        events = len(losses)
        done = 0
        while True:
            done = run_block(self._setting, self.space, self.model, block, labels, weights, unlabelled,
                             done, scores, losses)  # fmt: skip
            if not self.wide and self.space.clock[EVENTS] >= self.space.clock[DUE]:
                self._correlate()
            elif done < events:
                self._go_wide()
            if done == events:
                return scores, losses

    def _correlate(self) -> None:
        """Bring the completion up to date."""
        clock = self.space.clock
        owners = self.space.owners[: int(clock[SEEN])]
        clock[NOISE] = correlate(self.space.pairs, owners, float(clock[GROWTH]), self.settings.shrink)
        memory = min(clock[EVENTS], self.settings.forget or np.inf)
        clock[DUE] = clock[EVENTS] + max(FIRST_DUE, memory * LATER_DUE // 1)

    def _go_wide(self) -> None:
        """From pairs to the factor; scores stay, but for what the factor cannot explain."""
        pairs, seen, rank = self.space.pairs, int(self.space.clock[SEEN]), self.settings.rank
        if seen:
            self._correlate()
        self.space, rows = widened(self.space, self._sizes)
        values = self.model.weights[:, rank::2][:, 1:seen]
        self.model.weights[:, : rows.shape[1]] = values @ rows[1:]
        self.model.weights[:, rank] += values @ pairs.means[1:seen]

    def _resize_weights(self, classes: int, room: int) -> None:
        size = classes, self.settings.rank + 2 * room
        self.model = self.model._replace(
            weights=moved(self.model.weights, np.zeros(size)),
            spread=moved(self.model.spread, np.full(size, first_spread(AROW))),
        )

    def single(self, event: Event) -> list[Stage] | None:
        """See ``Core.single``."""
        setting = self._setting
        return [Stage(self, event, run_subspace, lambda: (setting, self.space, self.model), self._correlate)]

    def restart(self, steps: int) -> None:
        """Forget all, the subspace as well as the weights, and go on as after ``steps`` steps."""
        loss = SQUARED if self.settings.regression else HINGE
        step = Step(AROW, loss, self.settings.r, 0.0, 0.0, 0.0, self.settings.forget)
        self.model = Model(step, new_clock(steps), np.zeros((1, 0)), np.zeros((1, 0)))
        self.space = empty_space(self._sizes, 0, 0, False)
        self._resize_weights(1, 0)
        self.reserve()

    def summary(self) -> dict[str, int | None]:
        """Dimension of the subspace, None while pairs are kept, and bytes."""
        space, model = self.space, self.model
        arrays: list[NDArray[Any]] = [space.owners, space.known, model.weights, model.spread]
        arrays += [*space.pairs, *space.factor]
        return {
            "rank": self.settings.rank if self.wide else None,
            "bytes": sum(array.nbytes for array in arrays),
        }

    def arrays(self) -> Arrays:
        """The state, without spare room: what ``restore`` takes."""
        arrays, model = state(self.space, self._sizes), self.model
        used = slice(0, self._places(arrays["owners"]))
        learned = {"weights": model.weights[:, used], "spread": model.spread[:, used]}
        return {**arrays, "steps": model.clock, **learned}

    def restore(self, arrays: Arrays, attributes: int, coordinates: int) -> None:
        """Take over a state from ``arrays``.

        Raises
        ------
        ValueError
            If the arrays contradict each other or point outside of the model.
        """
        a = {name: np.array(array) for name, array in arrays.items()}
        space = restored(a, self._sizes, attributes, coordinates)
        if space is None or not weights_fit(a, self._places(space.owners)):
            raise ValueError("the subspace contradicts itself")
        self.restart(0)
        # As much room as ``run`` has made by now, so that a model takes no less memory for being resumed.
        room = capacity(0, attributes), capacity(0, coordinates)
        self.space = resized(space, self._sizes, *room)
        self.model = self.model._replace(clock=a["steps"], weights=a["weights"], spread=a["spread"])
        self._resize_weights(self.classes, max(room))
        self.reserve(attributes, coordinates)

    def _places(self, owners: NDArray[np.int32]) -> int:
        """How many weights these coordinates and the attributes that own them need."""
        return self.settings.rank + 2 * max(attributes_of(owners), len(owners))
