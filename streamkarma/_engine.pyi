"""The compiled engine: everything that runs for each event."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamkarma.core.explicit import Step
from streamkarma.core.subspace import SubspaceSettings
from streamkarma.core.support import Rule
from streamkarma.core.theory import Schedule
from streamkarma.core.tickets import LateLabels
from streamkarma.events.block import Block

_Floats = NDArray[np.float64]
_Marks = NDArray[np.bool_]
_Tickets = NDArray[np.uint64]
_Arrays = dict[str, NDArray[Any]]

_Ints = NDArray[np.int64]
_Indices = NDArray[np.int32]
_Entry = tuple[Any, str | None]
#: The fields of a ``Block``.
_Block = tuple[_Ints, _Indices, _Indices, _Floats, list[tuple[int, list[int], list[int]]]]

class Adwin:
    """Detects changes in the mean of a sequence of numbers between 0 and 1: ADWIN (Bifet, Gavaldà 2007).

    ``delta`` bounds the probability of a false alarm at each step.
    """

    def __init__(self, delta: float = ...) -> None: ...
    def update(self, count: int, sum: float, sum_of_squares: float) -> tuple[float, float] | None:
        """Add a batch of values; returns the means before and after a change, if one is detected."""

class ObservedDrift:
    """Monitors how often each attribute is observed, with one ADWIN window per attribute.

    Events are processed in batches of ``batch``. Changes of an attribute within ``apart`` events count as
    one. Only the first ``most`` attributes are monitored.
    """

    def __init__(self, delta: float, batch: int, apart: int, most: int) -> None: ...
    def add(self, events: Encoded, first: int) -> list[tuple[int, int, float, float]]:
        """Each detected change: the event, the attribute, and the fractions before and after.

        ``first`` is the number of the first event.
        """

    def shares(self) -> list[tuple[int, float]]:
        """For each attribute, the fraction of events since its last change in which it was observed."""

class Encoded:
    """Encoded events in sequence; readers append to them."""

    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    @property
    def sizes(self) -> _Ints:
        """Shape (T,): the number of attributes of each event, without the constant."""

    def one(self, t: int) -> Encoded:
        """Event ``t`` alone, to be learned later; names evicted since are left out."""

    def append(self, other: Encoded) -> None:
        """Append other events."""

    @property
    def last_evicted(self) -> list[int]:
        """The coordinates that were evicted for the last event."""

    def forget(self, coordinates: list[int]) -> None:
        """Drop these coordinates, given in ascending order, from a single event."""

    def arrays(self) -> tuple[_Ints, _Indices, _Indices, _Floats, _Floats]:
        """The arguments of ``of_arrays``: start offsets, attributes, coordinates, values, raw values."""

    @staticmethod
    def of_arrays(
        starts: _Ints,
        attributes: _Indices,
        coordinates: _Indices,
        values: _Floats,
        raw: _Floats,
        bounds: tuple[int, int],
    ) -> Encoded:
        """Restore events; ``bounds`` are the encoder's numbers of attributes and coordinates.

        ValueError if the arrays are invalid.
        """

    @property
    def block(self) -> _Block:
        """The fields of a ``Block``, without the coordinates that learners fill in."""

    @property
    def raw_block(self) -> _Block:
        """The same with raw values, before standardisation."""

class Encoder:
    """Encodes names and values as the coordinates that learners see; all input formats share it.

    It stores the names and categories seen so far: at most ``max_attributes`` and ``max_coordinates``, none
    longer than ``max_name_bytes`` of UTF-8, and not longer than ``all_bytes`` in total. With ``scale`` it
    also keeps the running mean and standard deviation of every number, over about ``longest`` values.
    ``rules`` say what stands for a missing value (words, numbers by attribute, whether to detect more of
    these) and which kinds attributes have; None for the usual words and detection. With ``rates``, an
    attribute of many categories gets that many additional coordinates, which a learner fills in, see
    ``rated``; with ``terms``, events also have the terms of texts and tags, for ``naive_bayes``. Events that
    are not ``learned`` change nothing. Invalid events raise RecordError.
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
        terms: bool = ...,
    ) -> None: ...

    rates: int
    terms: bool
    #: Whether names and statistics stay fixed while events are learned. Unknown names are then left out of
    #: events and counted as ignored. Not part of a state.
    frozen: bool

    def begin_survey(self) -> None:
        """Only collect statistics of the events learned from now on, until ``end_survey``.

        Names, categories and numbers are counted such that the result depends neither on the order of events
        nor on how they are divided among encoders that are merged with ``merge``. In the meantime the encoded
        events are useless.
        """

    def end_survey(self) -> None:
        """Derive scales, sentinels and rare categories from the survey; nothing is remembered of entities."""

    def read_dicts(
        self,
        records: list[Any],
        learned: list[bool],
        into: Encoded,
        awaiting: bool = False,
        whole: bool = False,
        labels: list[Any] | None = None,
    ) -> None:
        """Encode all records or, if one is invalid, none.

        With ``awaiting``, records that are not learned may come again with a label. With ``whole``, records
        already contain the remembered values of their entities. Entities remember the ``labels`` of learned
        records.
        """

    def read_table(
        self,
        names: list[Any],
        table: _Floats,
        learned: list[bool],
        into: Encoded,
        awaiting: bool = False,
        labels: list[Any] | None = None,
    ) -> None:
        """Encode all rows of a table of shape (T, names), in which missing values are NaN."""

    def step(
        self,
        record: Any,
        label: float,
        weight: float,
        learner: Learner,
        registry: TicketRegistry | None,
        given: Any,
        unit: tuple[float, float, float] | None = None,
    ) -> list[float]:
        """Predict, then learn, one event with a learner; returns the scores from before.

        With weight 0 it is only predicted. With label NaN the learner updates only what needs no label. The
        entity remembers the label as ``given``. In a regression ``unit`` is the raw target, and the centre
        and spread of the scores.
        """

    def add_late_label(self, entity: str, label: Any) -> None:
        """Remember the late label of an event of this entity."""

    @property
    def ticket(self) -> int:
        """The ticket of the last ``step``; 0 for none."""

    def check(self, record: Any) -> None:
        """Raise RecordError if a record is not an event; it leaves no trace."""

    @property
    def attributes(self) -> list[Any]:
        """The names of the attributes in the order of their indices, without the constant."""

    @property
    def attribute_names(self) -> dict[int, Any]:
        """The names of the attributes by index."""

    def names_of(self, attributes: list[int]) -> dict[int, Any]:
        """The names of these attributes, without those that have none."""

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of attributes and coordinates in use, without the constant and free indices."""

    @property
    def evicted(self) -> int:
        """Number of coordinates that were evicted to make room for others."""

    @property
    def attribute_count(self) -> int:
        """Number of attribute indices, with the constant's and free ones."""

    @property
    def coordinate_count(self) -> int:
        """Number of coordinate indices, with the constant's and free ones."""

    @property
    def ignored(self) -> int:
        """Number of values ignored so far, because there was no room for them or they were too long."""

    def ignore(self, name: Any, category: str | None) -> None:
        """Count a value that was left out elsewhere because it is too long."""

    def notices(self) -> list[str]:
        """Messages about attributes of which a value was ignored for the first time, each returned once."""

    def describe(self, coordinate: int) -> _Entry:
        """The name of a coordinate's attribute and its category, None for a number's coordinate."""

    def entries(self) -> list[_Entry | None]:
        """``describe`` of every coordinate in order, without the constant; None for a free one."""

    def tallies(self) -> _Ints:
        """Counts of each attribute's values, shape (attributes, 11); the constant's row counts events.

        The columns: values learned; texts that spelled a number; words for a missing value; sentinels; values
        too extreme to be measurements; values clipped to 5 standard deviations; categories, words and tags
        without a coordinate of their own; texts that are prose; sets of tags; and the two latest different
        points in time, in milliseconds since 1970.
        """

    def kinds(self) -> dict[int, str]:
        """The kinds of the attributes by index, as ``attribute_names``."""

    def uses(self) -> _Ints:
        """Usage of each coordinate, shape (coordinates, 4).

        The columns: its attribute, -1 if it is free; the last event that had it; the number of events that
        had it; how often it has been evicted.
        """

    def follow(self, given: tuple[str, bool, str | None, str, bool, float, int]) -> None:
        """Remember the values of entities.

        ``given`` has the name of the entity's attribute, whether it is a feature too, the name of the time,
        ``carry``, whether labels are carried, the maximum age and the maximum number of entities.
        """

    def show_entity(self, is_attribute: bool) -> None:
        """Choose whether the entity is a feature as well."""

    def lacks_label(self, entity: str) -> bool:
        """Whether labels of entities are remembered, but none of this one so far."""

    @property
    def entity(self) -> str | None:
        """The entity of the event checked last; None if it is unknown, or entities are not followed."""

    @property
    def entity_counts(self) -> tuple[int, int, int] | None:
        """The number of entities remembered, their memory in bytes, and the number forgotten."""

    def carried(self) -> dict[str, Any]:
        """The values carried into the last event, by name."""

    def mean_and_deviation(self, coordinate: int) -> tuple[float, float]:
        """Running mean and standard deviation of a coordinate."""

    def arrays(self) -> _Arrays:
        """Everything learned but names and counts, entities and a survey included, as arrays by name."""

    def restore(self, entries: list[_Entry | None], ignored: int, evicted: int, arrays: _Arrays) -> None:
        """Restore names, counts and such arrays, which are removed; ValueError if they are inconsistent."""

class Lines:
    """The result of a ``LineReader``.

    Attributes
    ----------
    events, lines
        T events, and the line number of each, shape (T,).
    labels, kinds, weights
        Shape (T,); labels and kinds as in a ``LabelColumn``.
    kept
        For each field that is passed through, the JSON of each event's value; ``null`` if it has none.
    rejected
        Each rejected line: its number, its start and end in the text, and the reason.
    count, end
        The number of lines read, and the position of the next one in the text.
    unknown
        The JSON of the next line's label if it is unknown; else None.
    """

    events: Encoded
    lines: _Ints
    labels: _Floats
    kinds: _Indices
    weights: _Floats
    kept: list[list[bytes]]
    rejected: list[tuple[int, int, int, str]]
    count: int
    end: int
    unknown: str | None

class LineReader:
    """Reads lines of JSON, each ended by a newline.

    ``roles`` has the roles of names that are not attributes, see ``events.roles``. ``learn`` says whether
    labelled events are learned, ``unlabelled`` whether unlabelled ones are. With ``strict``, reading stops
    after the first invalid line.
    """

    def __init__(self, roles: dict[str, int], learn: bool, unlabelled: bool, strict: bool) -> None: ...
    def know(self, labels: list[Any] | float) -> None:
        """Set the known classes, or the largest target of a regression."""

    def refuse(self, label: str, reason: str) -> None:
        """Reject records with this label, as JSON, for this reason, until the labels are set again."""

    def take_as_none(self, label: str) -> None:
        """Take this label, as JSON, as none until the labels are set again."""

    def read(self, encoder: Encoder, text: bytes, begin: int, most: int, given: bool | None = None) -> Lines:
        """Read up to ``most`` events, fewer if they are wide.

        If ``given`` says whether they have a label, any label is accepted.
        """

def parse(text: bytes) -> dict[str, Any]:
    """Parse a JSON object, in which NaN becomes None; RecordError if it is invalid."""

def parse_value(text: bytes) -> Any:
    """Parse a JSON value as in an object; RecordError if it is invalid."""

class RecordColumns:
    """Decoded records: a list of each field, and the byte at which the records end.

    Offsets and timestamps are relative to the batch.
    """

    offsets: list[int]
    timestamps: list[int]
    keys: list[bytes | None]
    values: list[bytes | None]
    headers: list[list[tuple[str, bytes | None]]]
    end: int

def decode_records(batch: bytes, begin: int, most: int) -> RecordColumns:
    """Decode ``most`` records of an uncompressed batch in Kafka's message format 2, from byte ``begin`` on.

    There are fewer if one is malformed: those before it.
    """

def encode_records(
    records: Sequence[tuple[bytes | None, bytes]], offset: int, timestamp: int, room: int
) -> tuple[bytes, int]:
    """Encode keys and values as such records, as many as fit into ``room`` bytes; returns their number, too.

    The first has this offset, and all have this timestamp, relative to the batch.
    """

def write_rows(names: list[bytes], columns: list[Any]) -> bytes:
    """JSON objects, one per line; see ``connectors.rows``."""

def add_outer_products(matrix: _Floats, rows: _Floats, weights: _Floats) -> None:
    """Add ``w v v'`` to a matrix, shape (k, k), for each row v of shape (n, k), one after another."""

def add_trees(
    sums: _Floats,
    rows: _Floats,
    roots: _Indices,
    outputs: _Indices,
    nodes: tuple[NDArray[Any], ...],
) -> None:
    """Add the predictions of trees for each row; see ``refit.ensemble.Ensemble``. Missing values are NaN.

    ``nodes`` has the features, thresholds, whether missing values go left, both children, and the values.
    """

class MissingWords:
    """Recognises cells of a table that stand for a missing value.

    These are empty cells and those in ``words``, ignoring case and surrounding blanks.
    """

    def __init__(self, words: Sequence[str]) -> None: ...
    def __contains__(self, cell: str) -> bool: ...

class Columns:
    """Columns of a table of text, each with its name and type; None for columns that are left out.

    The type is ``"number"``, ``"boolean"`` (cells that are not booleans are texts), ``"text"`` or
    ``"unknown"`` (each cell is interpreted by itself).
    """

    def __init__(self, columns: Sequence[tuple[str, str] | None], missing: MissingWords) -> None: ...
    def objects(self, rows: list[list[str]]) -> list[str]:
        """Rows as JSON objects, without missing values."""

def number(cell: str) -> str | None:
    """The finite number in a cell, as JSON; None with a leading zero, as in postal codes."""

def boolean(cell: str) -> str | None:
    """The boolean in a cell, as JSON."""

class Learner:
    """A learner, which maps blocks of encoded events to scores; see ``core.learner.Learner``."""

    @property
    def classes(self) -> int:
        """Columns of the scores: 1 for two classes and for regression, else one per class."""

    @property
    def steps(self) -> int:
        """Number of events learned."""

    def run(
        self,
        events: Block | Encoded,
        labels: _Floats,
        weights: _Floats,
        late: LateLabels | None = None,
        external_scores: _Floats | None = None,
        part: tuple[int, int] | None = None,
        units: tuple[_Floats, _Floats, _Floats] | None = None,
    ) -> tuple[_Floats, _Floats]:
        """Predict and learn events in order; see ``core.learner.Learner.run``."""

    def widen(self, classes: int) -> None:
        """Extend to this many classes."""

    def copy(self) -> Learner:
        """An independent copy."""

    def restart(self, steps: int) -> None:
        """Forget everything, and continue as after so many events."""

    def forget_last(self) -> None:
        """Forget the latest errors: the next event does not follow the last one."""

    def summary(self) -> dict[str, Any]:
        """Sizes of the model, and what became of the examples."""

    def arrays(self) -> _Arrays:
        """Everything learned, as arrays by name."""

    def restore(self, arrays: _Arrays, attributes: int, coordinates: int) -> None:
        """Restore such arrays, whose indices must be below these counts; ValueError if they are invalid."""

class Subspace:
    """Completes events; see ``core.subspace.Completion``."""

    def __init__(self, settings: SubspaceSettings) -> None: ...
    def observe(self, events: Block | Encoded) -> None: ...
    def completed(self, events: Block | Encoded) -> _Floats: ...
    def arrays(self) -> _Arrays: ...
    def restore(self, arrays: _Arrays, attributes: int, coordinates: int) -> None: ...

class TicketRegistry:
    """Events that await their labels; see ``core.tickets.TicketRegistry``."""

    def __init__(self) -> None: ...
    def tickets(self, events: Block | Encoded, labelled: _Marks, awaiting: _Marks) -> _Tickets: ...
    def ticket_of(self, events: Block | Encoded, t: int) -> int:
        """The ticket of event ``t``; 0 if it was not predicted before."""

    def arrays(self) -> _Arrays: ...
    def restore(self, arrays: _Arrays) -> None: ...

def support_vectors(rule: Rule, average: bool) -> Learner:
    """See ``core.support.SupportVectors``."""

def doubling_support_vectors(rule: Rule, average: bool, schedule: Schedule) -> Learner:
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
    """See ``core.sgd.Logarithmic``, which takes ownership of the learner."""

def factorisation_machine(
    regression: bool, eta: float, shrink: float, half_life: float, table_bits: int
) -> Learner:
    """See ``core.factorisation.FactorisationMachine``."""

def naive_bayes(half_life: float) -> Learner:
    """See ``core.naive_bayes.NaiveBayes``."""

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

def subspace(settings: SubspaceSettings) -> Learner:
    """See ``core.subspace.Subspace``."""

def mixture(
    experts: list[tuple[str, Learner]],
    external_experts: int = 0,
    regression: bool = False,
    half_life: float = 0.0,
    absolute: bool = False,
    far: bool = False,
    recent: bool = True,
) -> Learner:
    """See ``core.mixture.Mixture``, which takes ownership of the experts."""

def use_threads(threads: int) -> None:
    """Run the experts of mixtures created from now on in this many threads; results do not depend on it."""

def calibrated(expert: Learner, half_life: float = 0.0) -> Learner:
    """See ``core.mixture.Calibrated``, which takes ownership of the expert."""

def transformed_target(learner: Learner, median: bool) -> Learner:
    """See ``core.transformed_target.TransformedTarget``, which takes ownership of the learner."""

def rated(learner: Learner, rates: int, regression: bool, scale: bool, longest: float) -> Learner:
    """See ``core.learner.Rates``, which takes ownership of the learner."""

def seconds_since_1970(time: float | str) -> float | None:
    """The seconds that a number or a text stands for; None if for no point in time."""

def is_prose(text: str) -> bool:
    """Whether a text is prose, which is split into words, rather than the name of something."""

def losses(code: int, scores: _Floats, labels: _Floats) -> _Floats:
    """Losses of single scores; NaN where the label is NaN."""

def multiclass_loss(code: int, scores: _Floats, label: int) -> float:
    """The loss of the scores of all classes."""

def logistic(score: float) -> float: ...
def logistics(scores: _Floats) -> _Floats:
    """The logistic function of each score."""

def exponentials(numbers: _Floats) -> _Floats:
    """The exponential of each number, with the same bits on every processor; NumPy's differ."""

def logarithms(numbers: _Floats) -> _Floats:
    """The natural logarithm of each number, with the same bits on every processor; NumPy's differ."""

class PredictionIntervals:
    """See ``core.conformal``."""

    def __init__(self, coverage: float) -> None: ...
    def run(
        self, predictions: _Floats, targets: _Floats, weights: _Floats, tickets: _Tickets
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
        known: _Ints,
        targets: _Ints,
        weights: _Floats,
        tickets: _Tickets,
        classes: int,
    ) -> _Marks: ...
    @property
    def bytes(self) -> int: ...
    def arrays(self) -> _Arrays: ...
    def merge(self, parts: Sequence[Self]) -> None: ...
    def restore(self, arrays: _Arrays) -> None: ...

class Target:
    """Running statistics of the targets of a regression, by which they are standardised."""

    def __init__(self, scale: bool, longest: float, far: bool = False) -> None: ...
    def encode(self, targets: _Floats, weights: _Floats) -> tuple[_Floats, _Floats, _Floats]:
        """Standardised targets (NaN for none), and the centre and spread before each of them."""

    def preview(self, target: float, weight: float) -> tuple[float, float, float]:
        """The result of ``encode`` for one target, without observing it."""

    def observe(self, target: float, weight: float, times: int = 1) -> None:
        """Observe a target that occurred ``times`` times, with a total weight of ``weight``."""

    #: Whether the statistics stay fixed. Not part of a state.
    frozen: bool

    def begin_survey(self) -> None:
        """Only collect statistics of targets from now on, until ``end_survey``, as in ``Encoder``."""

    def end_survey(self) -> None: ...
    def merge(self, parts: list[Target], learned: list[float] | None = None) -> list[tuple[float, float]]:
        """Merge the statistics of parts that continued from this one.

        If older targets fade, ``learned`` must have the number of targets that each part has learned since.
        Returns ``shift`` and ``stretch`` for this one and each part: a standardised target of it was
        ``shift + stretch * y``, where y is its new value. ValueError if they cannot be merged.
        """

    def arrays(self) -> _Arrays: ...
    def restore(self, arrays: _Arrays) -> None:
        """Restore such arrays, which are removed; ValueError if they are invalid."""

class Translation:
    """How to translate a model to the names and scales of a merged one.

    Attributes
    ----------
    attributes, coordinates
        The new index of each; ``2**32 - 1`` for none.
    """

    attributes: NDArray[np.uint32]
    coordinates: NDArray[np.uint32]

def merge(
    base: tuple[Encoder, Learner],
    parts: list[tuple[Encoder, Learner]],
    targets: Sequence[tuple[float, float]] | None,
) -> list[Translation]:
    """Merge into a base model what parts have learned since they were equal to it; ValueError if impossible.

    The parts are translated to the merged names and scales. In a regression ``targets`` is the result of
    ``Target.merge``. Returns how the names of the base and of each part have changed.
    """

def relabel(learner: Learner, places: list[int]) -> None:
    """Renumber class ``c`` to ``places[c]``; ValueError if that is impossible."""

def explain(
    learner: Learner,
    events: Block | Encoded,
    t: int,
    external_scores: list[float],
    ticket: int,
    unit: tuple[float, float],
) -> tuple[list[int], _Floats, _Floats, _Floats, _Floats]:
    """Predict event ``t`` and explain its scores; a mixture needs ``external_scores`` and the event's ticket.

    ``unit`` has the centre and spread of the scores of a regression; otherwise it is (0, 1).

    Returns the attributes; their contributions to the scores, shape (A, C); and, of shape (C,), the scores,
    their constant parts, and the calibration's share of these.
    """

def conditional(learner: Learner, events: Block | Encoded, t: int) -> _Floats | None:
    """Mean and variance of the coordinates given event ``t``, shape (K, 2); None without a subspace."""
