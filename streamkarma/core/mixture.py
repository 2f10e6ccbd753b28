"""Several learners as one: a mixture of experts with the interface of each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.learning import Arrays, Core
from streamkarma.core.mixing import Mixing
from streamkarma.core.passes import Floats
from streamkarma.core.single import Event, Stage, run_mixing
from streamkarma.core.support import SupportVectors
from streamkarma.events.block import Block


class Mixture:
    """Experts that learn on their own, and the mixture of what they say.

    Parameters
    ----------
    experts
        Core learners by name, one or more, of as many classes each.
    mixing
        How they are mixed; it has a place for each of them, in their order, and after these
        for models from elsewhere, whose scores are handed to ``run``.

    Examples
    --------
    >>> from streamkarma.core.karma import Rule
    >>> from streamkarma.core.loss import HINGE
    >>> from streamkarma.core.support import SupportVectors
    >>> rules = {f"order {g}": Rule(g, True, 0.1, 0.0, HINGE, 0.0, 0, 0) for g in (1, 2)}
    >>> experts = {name: SupportVectors(rule, False) for name, rule in rules.items()}
    >>> mixture = Mixture(experts, Mixing(2))
    >>> mixture.reserve(attributes=2, coordinates=2)
    >>> event = Block(np.array([0, 2]), np.int32([0, 1]), np.int32([0, 1]), np.array([1.0, 2.0]))
    >>> for _ in range(50):
    ...     scores, losses = mixture.run(event, np.array([1.0]), np.array([1.0]))
    >>> bool(mixture.scores(event)[0, 0] > 2), mixture.steps, len(mixture.weights)
    (True, 50, 3)
    """

    def __init__(self, experts: Mapping[str, Core], mixing: Mixing) -> None:
        self.named = dict(experts)
        self.experts = list(experts.values())
        self.mixing = mixing

    @property
    def classes(self) -> int:
        """Score columns: 1 for two classes and for regression, else one per class."""
        return self.mixing.classes

    @property
    def steps(self) -> int:
        """Events learned."""
        return self.experts[0].steps

    @property
    def weights(self) -> Floats:
        """Bayes weights: the experts', those of models from elsewhere, and the blend's."""
        return self.mixing.weights

    def reserve(self, attributes: int = 0, coordinates: int = 0) -> None:
        """Make room in every expert; see ``SupportVectors.reserve``."""
        for expert in self.experts:
            expert.reserve(attributes, coordinates)

    def widen(self, classes: int) -> None:
        """Go to ``classes`` classes; see ``SupportVectors.widen``."""
        for expert in self.experts:
            expert.widen(classes)
        self.mixing.widen(classes)

    def run(self, block: Block, labels: Floats, weights: Floats, delays: Floats | None = None,
            others: NDArray[np.float64] | None = None) -> tuple[NDArray[np.float64], Floats]:  # fmt: skip
        """Predict, then learn, each event; see ``Mixing.run`` for what is returned.

        Parameters
        ----------
        block, labels, weights
            As of ``Core.run``.
        delays
            Shape (T,), 0 or more: how late the label comes. In the mixing, not for the experts, an
            event counts 1 / (1 + delay) times. Labels that come late come in bunches that have much
            in common; experts that have learned the first of a bunch look wise on the others, and
            who trusts them is wrong on the next. In the worst case this is the price of a delay.
        others
            Scores of models from elsewhere, shape (F, T, C), each from before the model learned the
            event.
        """
        own = [expert.run(block, labels, weights)[0] for expert in self.experts]
        counts = weights if delays is None else weights / (1.0 + delays)
        return self.mixing.run(_together(own, others), labels, counts)

    def scores(self, block: Block, others: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Scores of every event, shape (T, C), without learning."""
        return self.mixing.scores(_together([expert.scores(block) for expert in self.experts], others))

    def single(self, event: Event) -> list[Stage] | None:
        """See ``Core.single``; None with models from elsewhere."""
        mixing = self.mixing
        stages = [stage for expert in self.experts for stage in expert.single(event) or ()]
        if len(stages) != mixing.experts:
            return None
        said = tuple(stage.scores for stage in stages)

        def parts() -> tuple[Any, ...]:
            return said, mixing.regression, mixing.calibration, mixing.blend, mixing.memory

        return [*stages, Stage(self, event, run_mixing, parts)]

    def restart(self, steps: int) -> None:
        """Forget everything, and go on as after ``steps`` steps."""
        for expert in self.experts:
            expert.restart(steps)
        self.mixing.restart()

    def summary(self) -> dict[str, Any]:
        """The mean weight of every expert and of the blend over the last 1,000 events, the memory of all,
        and what support vectors hold."""
        own = sum(array.nbytes for array in self.mixing.arrays().values())
        support = [expert.summary() for expert in self.experts if isinstance(expert, SupportVectors)]
        names = [*self.named, *(f"other {i}" for i in range(1, self.mixing.experts - len(self.named) + 1))]
        return {
            **(support[0] if support else {}),
            "experts": dict(zip([*names, "blend"], self.mixing.mean_weights.tolist(), strict=True)),
            "bytes": own + sum(expert.summary()["bytes"] for expert in self.experts),
        }

    def arrays(self) -> Arrays:
        """The state: the mixing's, and each expert's under its number."""
        state = self.mixing.arrays()
        for number, expert in enumerate(self.experts):
            state.update({f"{number}.{name}": array for name, array in expert.arrays().items()})
        return state

    def restore(self, arrays: Arrays, attributes: int, coordinates: int) -> None:
        """Take over a state from ``arrays``.

        Raises
        ------
        ValueError
            If the arrays contradict each other or point outside of the model.
        """
        parts: dict[str, Arrays] = {}
        for key, array in arrays.items():
            number, _, name = key.rpartition(".")
            parts.setdefault(number, {})[name] = array
        if set(parts) != {"", *map(str, range(len(self.experts)))}:
            raise ValueError("the state has other experts than the mixture")
        self.mixing.restore(parts[""])
        for place, expert in enumerate(self.experts):
            expert.restore(parts[str(place)], attributes, coordinates)
            if expert.classes != self.classes:
                raise ValueError("the experts contradict the mixing")


class Calibrated(Mixture):
    """One learner whose scores become log-odds that mean what they say.

    Parameters
    ----------
    expert
        The learner; not of a regression.
    forget
        As of ``Mixing``.
    """

    def __init__(self, expert: Core, forget: float) -> None:
        super().__init__({"expert": expert}, Mixing(1, forget=forget))

    def summary(self) -> dict[str, Any]:
        """That of the learner."""
        return self.experts[0].summary()


def _together(own: list[NDArray[np.float64]], others: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """The experts' scores and those from elsewhere: shape (E + F, T, C)."""
    return np.stack(own if others is None else [*own, *others])
