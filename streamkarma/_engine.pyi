"""What streamkarma runs for each event: the compiled engine."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.explicit import Step
from streamkarma.events.block import Block

_Floats = NDArray[np.float64]
_Marks = NDArray[np.bool_]
_Arrays = dict[str, NDArray[Any]]

_Raw = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], _Floats]

class Encoder:
    """Names and running statistics: from dicts, tables or lines of JSON to encoded events.

    ``encode_dicts`` and ``encode_table`` return the block, its values before they were scaled, and number
    and message of the first record that is no event, if there is one.
    """

    def __init__(
        self,
        max_attributes: int,
        max_coordinates: int,
        max_name_bytes: int,
        scale: bool,
        longest: float,
        all_bytes: int = ...,
    ) -> None: ...
    def encode_dicts(
        self, records: list[Any], learned: list[bool]
    ) -> tuple[_Raw, _Floats, tuple[int, str] | None]: ...
    def encode_table(
        self, names: list[Any], table: _Floats, learned: list[bool]
    ) -> tuple[_Raw, _Floats, tuple[int, str] | None]: ...
    def encode_lines(
        self, text: bytes, begin: int, most: int, roles: dict[str, int], labels: Any, learn: bool
    ) -> tuple[Any, ...]: ...
    @property
    def attribute_count(self) -> int: ...
    @property
    def coordinate_count(self) -> int: ...
    @property
    def owners(self) -> NDArray[np.int32]: ...
    @property
    def numbers(self) -> _Marks: ...
    @property
    def ignored(self) -> int: ...
    def ignore(self, name: Any, category: str | None) -> None: ...
    def news(self) -> list[str]: ...
    def describe(self, coordinate: int) -> tuple[Any, str | None]: ...
    def entries(self) -> list[tuple[Any, str | None]]: ...
    def moments(self) -> _Floats: ...
    def mean_and_deviation(self, coordinate: int) -> tuple[float, float]: ...
    def restore(self, entries: list[tuple[Any, str | None]], ignored: int, moments: _Floats) -> None: ...

class Learner:
    """A learner: blocks of encoded events in, scores out; see ``core.learning.Core``."""

    @property
    def classes(self) -> int: ...
    @property
    def steps(self) -> int: ...
    def run(
        self,
        block: Block,
        labels: _Floats,
        weights: _Floats,
        delays: _Floats | None = None,
        others: _Floats | None = None,
    ) -> tuple[_Floats, _Floats]: ...
    def step(self, block: Block, label: float, weight: float, delay: float, scores: _Floats) -> float:
        """Predict, then learn, one event; writes its scores, returns the logistic function of the first."""

    def widen(self, classes: int) -> None: ...
    def restart(self, steps: int) -> None: ...
    def summary(self) -> dict[str, Any]: ...
    def arrays(self) -> _Arrays: ...
    def restore(self, arrays: _Arrays, attributes: int, coordinates: int) -> None: ...

class Aggregator:
    """Mixes the scores of experts, whoever they are: what ``Mixture`` does with those of its own."""

    def __init__(self, experts: int, regression: bool = False, forget: float = 0.0) -> None: ...
    @property
    def classes(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def weights(self) -> _Floats: ...
    @property
    def mean_weights(self) -> _Floats: ...
    def run(self, scores: _Floats, labels: _Floats, weights: _Floats) -> tuple[_Floats, _Floats]: ...
    def widen(self, classes: int) -> None: ...
    def restart(self) -> None: ...
    def arrays(self) -> _Arrays: ...
    def restore(self, arrays: _Arrays) -> None: ...

class Subspace:
    """What completes events; see ``core.subspace.Completion``."""

    def __init__(
        self, shrink: float = 5.0, forget: float = 0.0, max_rank_dim: int = 64, rank: int = 16
    ) -> None: ...
    def observe(self, block: Block) -> None: ...
    def completed(self, block: Block) -> _Floats: ...
    def arrays(self) -> _Arrays: ...
    def restore(self, arrays: _Arrays, attributes: int, coordinates: int) -> None: ...

class LabelDelay:
    """Events that wait for their label; see ``core.waiting.Waiting``."""

    def __init__(self) -> None: ...
    def delays(self, raw: Block, learned: _Marks, asked: _Marks) -> _Floats: ...
    def ask(self, key: int) -> None: ...
    def arrays(self) -> _Arrays: ...
    def restore(self, arrays: _Arrays) -> None: ...

def support_vectors(
    *,
    gamma: int,
    normalize: bool,
    rho: float,
    eta: float,
    loss: int,
    steepness: float,
    budget: int,
    pruning: str,
    average: bool,
    longest: float = ...,
) -> Learner:
    """See ``core.support.SupportVectors``."""

def doubling_support_vectors(
    *, gamma: int | None, regularity: float, loss: int, budget: int, pruning: str, average: bool
) -> Learner:
    """See ``core.support.DoublingSupportVectors``."""

def explicit(gamma: int, normalize: bool, step: Step, table_bits: int = 22) -> Learner:
    """See ``core.explicit.Explicit``."""

def products(step: Step, table_bits: int) -> Learner:
    """See ``core.explicit.Products``."""

def subspace(
    regression: bool = False,
    r: float = 10.0,
    indicators: bool = False,
    shrink: float = 5.0,
    forget: float = 0.0,
    max_rank_dim: int = 64,
    rank: int = 16,
) -> Learner:
    """See ``core.subspace.Subspace``."""

def mixture(
    experts: list[tuple[str, Learner]],
    others: int = 0,
    regression: bool = False,
    forget: float = 0.0,
) -> Learner:
    """See ``core.mixture.Mixture``; the experts handed over become parts of it."""

def use_threads(threads: int) -> None:
    """Let experts of mixtures that are made from now on run on so many threads; the bits stay the same."""

def calibrated(expert: Learner, forget: float = 0.0) -> Learner:
    """See ``core.mixture.Calibrated``; the expert becomes a part of it."""

def losses(code: int, scores: _Floats, labels: _Floats) -> _Floats:
    """Losses of single scores, NaN where the label is."""

def multiclass_loss(code: int, scores: _Floats, label: int) -> float:
    """The loss of the scores of all classes."""

def logistics(scores: _Floats) -> _Floats:
    """The logistic function of each score."""

def encode_targets(
    targets: _Floats, weights: _Floats, row: _Floats, scale: bool, longest: float
) -> tuple[_Floats, _Floats, _Floats, _Floats]:
    """Targets of a regression in standard units, their centres and spreads, and the new statistics."""
