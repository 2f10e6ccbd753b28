"""What streamkarma runs for each event: the compiled engine."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.explicit import Step
from streamkarma.events.block import Block

_Floats = NDArray[np.float64]
_Marks = NDArray[np.bool_]
_Tickets = NDArray[np.uint64]
_Arrays = dict[str, NDArray[Any]]

_Ints = NDArray[np.int64]
_Entry = tuple[Any, str | None]

class Adwin:
    """Whether the mean of a sequence of numbers between 0 and 1 has changed: ADWIN (Bifet, Gavaldà 2007).

    Chance is taken for a change at most with probability ``delta`` at a time.
    """

    def __init__(self, delta: float = ...) -> None: ...
    def update(self, count: int, sum: float, sum_of_squares: float) -> tuple[float, float] | None:
        """Take in values that came together; the means before and after a change, if there is one."""

    @property
    def window(self) -> tuple[int, float]:
        """How many values the window holds, and their mean."""

class ObservedDrift:
    """Watches in what share of events each attribute is there, with a window of ADWIN for each.

    ``batch`` events are taken in together, changes of an attribute within ``apart`` events count as one, and
    the ``most`` attributes known first are watched.
    """

    def __init__(self, delta: float, batch: int, apart: int, most: int) -> None: ...
    def add(self, events: Encoded, first: int) -> list[tuple[int, int, float, float]]:
        """Event, attribute and the shares before and after of each change that is found.

        ``first`` is the number of the first event.
        """

    def shares(self) -> list[tuple[int, float]]:
        """In what share of the events since its last change each attribute is there, by attribute."""

class Encoded:
    """Events that were encoded, one after another; readers put more behind them."""

    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    @property
    def sizes(self) -> _Ints:
        """Shape (T,): how many attributes each event has, the constant apart."""

    def one(self, t: int) -> Encoded:
        """Event ``t`` by itself, without what was given up since, to be learned later."""

    def append(self, other: Encoded) -> None:
        """Put other events behind these."""

    @property
    def last_gone(self) -> list[int]:
        """The coordinates that were given up for the last event."""

    def forget(self, coordinates: list[int]) -> None:
        """Drop the items of these coordinates, in ascending order, from an event by itself."""

    def arrays(self) -> tuple[_Ints, NDArray[np.int32], NDArray[np.int32], _Floats, _Floats]:
        """What ``of_arrays`` takes: where events begin, attributes, coordinates, values, raw values."""

    @staticmethod
    def of_arrays(
        starts: _Ints,
        attributes: NDArray[np.int32],
        coordinates: NDArray[np.int32],
        values: _Floats,
        raw: _Floats,
        bounds: tuple[int, int],
    ) -> Encoded:
        """Events of an encoder with so many attributes and coordinates; ValueError if they are none."""

    @property
    def block(
        self,
    ) -> tuple[_Ints, NDArray[np.int32], NDArray[np.int32], _Floats, list[tuple[int, list[int], list[int]]]]:
        """The parts of a ``Block``, without what is left to learners to fill in."""

    @property
    def raw_block(
        self,
    ) -> tuple[_Ints, NDArray[np.int32], NDArray[np.int32], _Floats, list[tuple[int, list[int], list[int]]]]:
        """The same with the values as they came, before they were standardised."""

class Encoder:
    """The one way in: from names and values to what learners see.

    It knows the names and categories so far, at most ``max_attributes`` and ``max_coordinates``, none
    longer than ``max_name_bytes`` of UTF-8 and all together no longer than ``all_bytes``, and, with
    ``scale``, the running mean and deviation of every number over about ``longest`` values. ``rules`` say
    what stands for a missing value: words, numbers by attribute, and whether to find more of these; None
    for the usual words and what is found. With ``rates`` an attribute of many categories has a number
    beside it that is left to a learner to fill in, see ``rated``, and coordinates for so many. Events that
    are not ``learned`` leave no trace. RecordError is raised for what is no event.
    """

    def __init__(
        self,
        max_attributes: int,
        max_coordinates: int,
        max_name_bytes: int,
        scale: bool,
        longest: float,
        rules: tuple[list[str], dict[str, list[float]], bool, dict[str, str]] | None = ...,
        rates: int = ...,
        all_bytes: int = ...,
    ) -> None: ...

    rates: int
    #: Whether names and statistics stay as they are although events are learned; what has no place is then
    #: left out of events, and counted as ignored. It is not part of a state.
    frozen: bool

    def begin_survey(self) -> None:
        """Only look at the events that are learned from here on, until ``end_survey``.

        Names, categories and numbers are counted, such that neither the order of the events shows nor how
        they were divided among encoders that are then merged with ``merge_encoders``; what events are encoded
        as is of no use meanwhile.
        """

    def end_survey(self) -> None:
        """Know scales, sentinels and rare categories of a survey; of entities nothing is remembered."""

    def survey(self) -> _Arrays:
        """What a survey has found so far of numbers, as arrays by name; none if there is none."""

    def restore_survey(self, arrays: _Arrays) -> None:
        """Take over such arrays, which are removed, and go on with the survey."""

    def read_dicts(
        self,
        records: list[Any],
        learned: list[bool],
        into: Encoded,
        asked: bool = False,
        whole: bool = False,
        labels: list[Any] | None = None,
    ) -> None:
        """Encode all records or, if one is no event, none.

        If they are ``asked`` about, those that are not learned may come again to be learned; if they are
        ``whole``, what their entities said before is in them already. Entities remember the ``labels`` of
        those that are learned.
        """

    def read_table(
        self,
        names: list[Any],
        table: _Floats,
        learned: list[bool],
        into: Encoded,
        asked: bool = False,
        labels: list[Any] | None = None,
    ) -> None:
        """Encode all rows of a table, shape (T, names), NaN for what is missing."""

    def step(
        self,
        record: Any,
        label: float,
        weight: float,
        learner: Learner,
        asked: Asked | None,
        given: Any,
        unit: tuple[float, float, float] | None = None,
    ) -> list[float]:
        """Predict, then learn, one event with a learner; its scores from before.

        With weight 0 it is predicted only; with label NaN it teaches what needs no label. Its entity
        remembers the label as it was ``given``. In a regression ``unit`` is the target, and the centre and
        spread of its scores.
        """

    def add_late_label(self, entity: str, label: Any) -> None:
        """Remember a label that came late, of some event of an entity."""

    @property
    def ticket(self) -> int:
        """That of the last ``step``; 0 for none."""

    def check(self, record: Any) -> None: ...
    @property
    def attributes(self) -> list[Any]: ...
    @property
    def attribute_names(self) -> dict[int, Any]:
        """The names of the attributes by index."""

    def names_of(self, attributes: list[int]) -> dict[int, Any]:
        """The names of those of some attributes that have one."""

    @property
    def sizes(self) -> tuple[int, int]:
        """How many attributes and coordinates there are."""

    @property
    def evicted(self) -> int:
        """How many coordinates were given up to make room for others."""

    @property
    def attribute_count(self) -> int: ...
    @property
    def coordinate_count(self) -> int: ...
    @property
    def owners(self) -> NDArray[np.int32]: ...
    @property
    def ignored(self) -> int: ...
    def ignore(self, name: Any, category: str | None) -> None: ...
    def news(self) -> list[str]: ...
    def describe(self, coordinate: int) -> _Entry: ...
    def entries(self) -> list[_Entry | None]: ...
    def moments(self) -> _Floats: ...
    def tallies(self) -> NDArray[np.int64]:
        """What became of each attribute's values, shape (attributes, 10); the constant's are the events.

        The columns: values learned; texts that spelled a number; words for nothing; sentinels; values too
        far out to be measurements; values cut to 5 deviations; categories, words and tags without a
        place of their own; texts that are prose; sets of tags;
        and, of an attribute that counts from one point in time to the next, the last one.
        """

    def levels(self) -> _Floats:
        """Coordinates, the different values that came at them, and how often each, shape (n, 3)."""

    def once(self) -> NDArray[np.int64]:
        """Places and fingerprints of categories that came once, shape (n, 2)."""

    def kinds(self) -> list[str]:
        """What the attributes are, the constant apart, in the order of their indices."""

    def uses(self) -> NDArray[np.int64]:
        """By coordinate, shape (coordinates, 4).

        The columns: its attribute, -1 if it is free; the event it was in last; in how many it was; how often
        its place was given up before.
        """

    def follow(self, given: tuple[str, bool, str | None, str, bool, float, int]) -> None:
        """Remember what entities say.

        Given are the name, whether it is an attribute too, the time, ``carry``, whether labels are carried,
        the longest time and the most entities.
        """

    def show_entity(self, is_attribute: bool) -> None:
        """Let the name of the entity be an attribute as well, or not."""

    @property
    def entity(self) -> str | None:
        """Whose the event is that was checked last; None if that is not known, or none are followed."""

    @property
    def entity_counts(self) -> tuple[int, int, int] | None:
        """How many entities are remembered, the bytes they take, and how many were forgotten."""

    def carried(self) -> dict[str, Any]:
        """What was carried into the event that was read last, by name."""

    def entities(self) -> dict[str, NDArray[Any]]:
        """What entities said, as arrays by name; none if none are followed."""

    def restore_entities(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take over such arrays, which are removed."""

    def mean_and_deviation(self, coordinate: int) -> tuple[float, float]: ...
    def restore(
        self,
        entries: list[_Entry | None],
        ignored: int,
        moments: _Floats,
        levels: _Floats,
        tallies: NDArray[np.int64],
        once: NDArray[np.int64],
        uses: NDArray[np.int64],
        evicted: int,
    ) -> None: ...

class Lines:
    """What a ``LineReader`` found.

    Attributes
    ----------
    events, lines
        T events, and which of the lines each was, shape (T,).
    labels, kinds, weights
        Shape (T,); labels and kinds as in a ``LabelColumn``.
    kept
        By place, the JSON of what is handed on of each event, ``null`` where there is nothing.
    rejected
        Of each line that is no event its number, where in the text it begins and ends, and why.
    count, end
        How many lines were read, and where in the text the next one begins.
    unknown
        The JSON of the label, if the next line has one that is not known; else None.
    """

    events: Encoded
    lines: _Ints
    labels: _Floats
    kinds: NDArray[np.int32]
    weights: _Floats
    kept: list[list[bytes]]
    rejected: list[tuple[int, int, int, str]]
    count: int
    end: int
    unknown: str | None

class LineReader:
    """Reads lines of JSON, each ended by a newline.

    ``roles`` says what names are that are no attributes: see ``events.roles``. ``learn`` says whether events
    with a label are learned, ``unlabelled`` whether those without one are; with ``strict`` reading ends
    behind the first line that is no event.
    """

    def __init__(self, roles: dict[str, int], learn: bool, unlabelled: bool, strict: bool) -> None: ...
    def know(self, labels: list[Any] | float) -> None:
        """Take the classes that are known, or the largest number of a regression."""

    def refuse(self, label: str, reason: str) -> None:
        """Reject records with a label, in JSON, for a reason, until other labels are known."""

    def read(self, encoder: Encoder, text: bytes, begin: int, most: int, given: bool | None = None) -> Lines:
        """Read up to ``most`` events; if ``given`` says whether there is a label, any is taken."""

def parse(text: bytes) -> dict[str, Any]:
    """An object of JSON, in which NaN is None; RecordError if it is none."""

def parse_value(text: bytes) -> Any:
    """A value of JSON, as in an object; RecordError if it is none."""

def write_rows(names: list[bytes], columns: list[Any]) -> bytes:
    """Objects of JSON, a line each; see ``connectors.rows``."""

def add_outer_products(matrix: _Floats, rows: _Floats, weights: _Floats) -> None:
    """Add ``w v v'`` to a matrix, shape (k, k), for each row v of shape (n, k), one after another."""

def add_trees(
    sums: _Floats,
    rows: _Floats,
    roots: NDArray[np.int32],
    outputs: NDArray[np.int32],
    nodes: tuple[NDArray[Any], ...],
) -> None:
    """Add up trees for each row, NaN for what is missing; see ``refit.ensemble.Ensemble``.

    ``nodes`` has the features, thresholds, whether what is missing goes left, both children, and the values.
    """

class MissingWords:
    """Which cells of a table say that there is no value.

    An empty one does, and one that is one of ``words``, case and blanks around it aside.
    """

    def __init__(self, words: Sequence[str]) -> None: ...
    def __contains__(self, cell: str) -> bool: ...

class Columns:
    """Columns of a table of text, each with its name and what it holds; None is left out.

    What one holds is ``"number"``, ``"boolean"`` (a cell that is none is a text), ``"text"`` or ``"unknown"``
    (each cell speaks for itself).
    """

    def __init__(self, columns: Sequence[tuple[str, str] | None], missing: MissingWords) -> None: ...
    def objects(self, rows: list[list[str]]) -> list[str]:
        """Rows as objects of JSON, without what is missing."""

def number(cell: str) -> str | None:
    """The finite number that a cell spells, as JSON; with a leading zero, as postal codes have it, none."""

def boolean(cell: str) -> str | None:
    """The boolean that a cell spells, as JSON."""

class Learner:
    """A learner: blocks of encoded events in, scores out; see ``core.learner.Learner``."""

    @property
    def classes(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def hashed(self) -> bool:
        """Whether names have to keep their places when models are merged."""

    def run(
        self,
        events: Block | Encoded,
        labels: _Floats,
        weights: _Floats,
        tickets: _Tickets | None = None,
        others: _Floats | None = None,
        part: tuple[int, int] | None = None,
        observed: _Marks | None = None,
        shared: _Marks | None = None,
        units: tuple[_Floats, _Floats, _Floats] | None = None,
    ) -> tuple[_Floats, _Floats]: ...
    def widen(self, classes: int) -> None: ...
    def copy(self) -> Learner:
        """A learner that knows the same, and goes its own way."""

    def restart(self, steps: int) -> None: ...
    def forget_last(self) -> None:
        """What comes next does not follow the events learned last."""

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
    def run(
        self,
        scores: _Floats,
        labels: _Floats,
        weights: _Floats,
        items: _Floats | None = None,
        open: _Floats | None = None,
    ) -> tuple[_Floats, _Floats]: ...
    def widen(self, classes: int) -> None: ...
    def restart(self) -> None: ...
    def arrays(self) -> _Arrays: ...
    def restore(self, arrays: _Arrays) -> None: ...

class Subspace:
    """What completes events; see ``core.subspace.Completion``."""

    def __init__(
        self, shrink: float = 5.0, forget: float = 0.0, max_rank_dim: int = 64, rank: int = 16
    ) -> None: ...
    def observe(self, events: Block | Encoded) -> None: ...
    def completed(self, events: Block | Encoded) -> _Floats: ...
    def arrays(self) -> _Arrays: ...
    def restore(self, arrays: _Arrays, attributes: int, coordinates: int) -> None: ...

class Asked:
    """Events that wait for their label; see ``core.asked.Asked``."""

    def __init__(self) -> None: ...
    def tickets(self, events: Block | Encoded, learned: _Marks, asked: _Marks) -> _Tickets: ...
    def ticket_of(self, events: Block | Encoded, t: int) -> int:
        """0 if event ``t`` was not asked about."""

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

def explicit(
    gamma: int, normalize: bool, step: Step, table_bits: int = 22, most: int | None = None
) -> Learner:
    """See ``core.explicit.Explicit``."""

def products(step: Step, table_bits: int, most: int | None = None) -> Learner:
    """See ``core.explicit.Products``."""

def bins(step: Step, table_bits: int, most: int) -> Learner:
    """See ``core.explicit.Bins``."""

def sgd(regression: bool, eta: float, half_life: float, table_bits: int) -> Learner:
    """See ``core.sgd.Sgd``."""

def logarithmic(learner: Learner) -> Learner:
    """See ``core.sgd.Logarithmic``; the learner becomes a part of it."""

def factorisation_machine(
    regression: bool, eta: float, shrink: float, half_life: float, table_bits: int
) -> Learner:
    """See ``core.factorisation.FactorisationMachine``."""

def neighbors(regression: bool, window: int, grows: bool, neighbors: int) -> Learner:
    """See ``core.neighbors.Neighbors``."""

def boosted_trees(regression: bool, window: int, half_life: float) -> Learner:
    """See ``core.refitted_trees.BoostedTrees``."""

def randomised_trees(window: int, half_life: float) -> Learner:
    """See ``core.refitted_trees.RandomisedTrees``."""

def gaussian_process(window: int, half_life: float) -> Learner:
    """See ``core.gaussian_process.GaussianProcess``."""

def forest(regression: bool, trees: int, half_life: float) -> Learner:
    """See ``core.forest.Forest``."""

def subspace(
    regression: bool = False,
    r: float = 10.0,
    indicators: bool = False,
    shrink: float = 5.0,
    forget: float = 0.0,
    moving: float = 0.0,
    max_rank_dim: int = 64,
    rank: int = 16,
) -> Learner:
    """See ``core.subspace.Subspace``."""

def mixture(
    experts: list[tuple[str, Learner]],
    others: int = 0,
    regression: bool = False,
    forget: float = 0.0,
    absolute: bool = False,
    far: bool = False,
    recent: bool = True,
) -> Learner:
    """See ``core.mixture.Mixture``; the experts handed over become parts of it."""

def use_threads(threads: int) -> None:
    """Let experts of mixtures that are made from now on run on so many threads; the bits stay the same."""

def calibrated(expert: Learner, forget: float = 0.0) -> Learner:
    """See ``core.mixture.Calibrated``; the expert becomes a part of it."""

def transformed_target(learner: Learner, median: bool) -> Learner:
    """See ``core.transformed_target.TransformedTarget``; the learner becomes a part of it."""

def rated(learner: Learner, rates: int, regression: bool, scale: bool, longest: float) -> Learner:
    """See ``core.learner.Rates``; the learner becomes a part of it."""

def is_prose(text: str) -> bool:
    """Whether a text is prose, whose words count, rather than the name of something."""

def losses(code: int, scores: _Floats, labels: _Floats) -> _Floats:
    """Losses of single scores, NaN where the label is."""

def multiclass_loss(code: int, scores: _Floats, label: int) -> float:
    """The loss of the scores of all classes."""

def logistic(score: float) -> float: ...
def logistics(scores: _Floats) -> _Floats:
    """The logistic function of each score."""

class PredictionIntervals:
    """See ``core.conformal``."""

    def __init__(self, coverage: float) -> None: ...
    def run(
        self, predictions: _Floats, targets: _Floats, weights: _Floats, tickets: NDArray[np.uint64]
    ) -> tuple[_Floats, _Floats]: ...
    @property
    def bytes(self) -> int: ...
    def arrays(self) -> _Arrays: ...
    def merge(self, parts: Sequence[Self]) -> None: ...
    def restore(self, arrays: _Arrays) -> None: ...

class PredictionSets:
    """See ``core.conformal``."""

    def __init__(self, coverage: float) -> None: ...
    def run(
        self,
        scores: _Floats,
        known: NDArray[np.int64],
        targets: NDArray[np.int64],
        weights: _Floats,
        tickets: NDArray[np.uint64],
        classes: int,
    ) -> NDArray[np.bool_]: ...
    @property
    def bytes(self) -> int: ...
    def arrays(self) -> _Arrays: ...
    def merge(self, parts: Sequence[Self]) -> None: ...
    def restore(self, arrays: _Arrays) -> None: ...

class Target:
    """What is known of the targets of a regression, by which they are standardised."""

    def __init__(self, scale: bool, longest: float, far: bool = False) -> None: ...
    def encode(self, targets: _Floats, weights: _Floats) -> tuple[_Floats, _Floats, _Floats]:
        """Targets in standard units (NaN for none), and centre and spread before each of them."""

    def encode_one(self, target: float, weight: float) -> tuple[float, float, float]: ...
    def preview_one(self, target: float, weight: float) -> tuple[float, float, float]:
        """What ``encode_one`` would give; it leaves no trace."""

    def repeat(self, target: float, times: int, weight: float) -> None:
        """Take in a target that came so many times, with ``weight`` in all."""

    #: Whether what is known stays as it is, whatever comes; it is not part of a state.
    frozen: bool

    def begin_survey(self) -> None:
        """Only look at targets from here on, until ``end_survey``, as in ``Encoder``."""

    def end_survey(self) -> None: ...
    def survey(self) -> _Arrays: ...
    def restore_survey(self, arrays: _Arrays) -> None: ...
    def merge(self, parts: list[Target], learned: list[float] | None = None) -> list[tuple[float, float]]:
        """Take in what parts have seen that went on from here.

        Where older targets fade, ``learned`` has to say how many each part has learned since. Returns for
        this one and each part ``shift`` and ``stretch``: a standardised target of it was
        ``shift + stretch * y``, where y is what it is from now on. ValueError if they cannot be merged.
        """

    @property
    def row(self) -> _Floats: ...
    def restore(self, row: _Floats) -> None: ...

class Change:
    """How what a model has learned goes over into a merged one.

    Attributes
    ----------
    attributes, coordinates
        The index that each has from now on; ``2**32 - 1`` for none.
    stretch, shift
        By coordinate: values are ``shift + stretch * x``, where x is what they are from now on.
    """

    attributes: NDArray[np.uint32]
    coordinates: NDArray[np.uint32]
    stretch: NDArray[np.float64]
    shift: NDArray[np.float64]

    def with_target(self, shift: float, stretch: float) -> Change:
        """The same where a standardised target of the model is ``shift + stretch`` times what it will be."""

def merge_encoders(base: Encoder, parts: list[Encoder], hashed: bool) -> list[Change]:
    """Have ``base`` take in the names and statistics of parts that went on from it.

    Names that no part knows any more make room for new ones, unless the learner of one is ``hashed``.
    Returns how each model, the base first, goes over into the merged one; ValueError if they cannot be.
    """

def relabel(learner: Learner, places: list[int]) -> None:
    """Let class ``c`` become ``places[c]``; ValueError if that cannot be."""

def complete_changes(base: Learner, parts: list[Learner], changes: list[Change]) -> list[Change]:
    """Add to how models, the base first, go over what becomes of values that learners standardise themselves.

    Returns the changes for ``carry``; ValueError if the models cannot be merged.
    """

def explain(
    learner: Learner,
    events: Block | Encoded,
    t: int,
    others: list[float],
    ticket: int,
    unit: tuple[float, float],
) -> tuple[list[int], _Floats, _Floats, _Floats, _Floats]:
    """Predict event ``t`` and explain its scores; a mixture needs those of ``others`` and the event's ticket.

    ``unit`` has the centre and spread of the scores of a regression; else it is (0, 1).

    Returns attributes, their parts of the scores, shape (A, C), and of shape (C,) the scores, the constants,
    and the parts of these that come from calibrating.
    """

def conditional(learner: Learner, events: Block | Encoded, t: int) -> _Floats | None:
    """Mean and variance of coordinates given event ``t``, shape (K, 2); None without a subspace."""

def carry(learner: Learner, change: Change) -> None:
    """Have a learner go over to the names and scales of a merged model; ValueError if that cannot be."""

def merge_learners(base: Learner, parts: list[Learner]) -> None:
    """Have ``base`` take in what parts have learned since each was as it is; ValueError if that cannot be."""
