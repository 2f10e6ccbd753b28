"""The parameters of learners, and their common ranges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamkarma.core.theory import DEFAULT_REGULARITY
from streamkarma.parameters.base import Parameter, PerTask
from streamkarma.parameters.kinds import (
    Integer,
    Kind,
    Number,
    NumbersByName,
    Texts,
    Threshold,
    WeightsByClass,
    WordsByName,
)
from streamkarma.parameters.words import CARRY, KINDS, LEARNER_NAMES

#: Default of the regularisation.
DEFAULT_RHO = 1e-3
#: AdaGrad's default step size: by a small margin the best of 0.1, 0.2 and 0.5 on eleven tables with half of
#: the attributes withheld, none of them among the reported figures.
ADAGRAD_ETA = 0.2

#: Maximum of every count.
MOST = 1 << 20
#: Maximum number of neighbours that vote.
MOST_NEIGHBORS = 1 << 10
COUNT, STRENGTH = Integer(1, MOST), Number(1e-12, 1e12)
#: Maximum half-life, horizon and age.
LONGEST = 1e15


def _of(name: str, kind: Kind, defaults: Mapping[str, Any], help: str, **more: Any) -> Parameter:
    """A parameter of some learners."""
    return Parameter(name, kind, help, defaults=defaults, stored=True, **more)


def _of_all(name: str, kind: Kind, default: Any, help: str, **more: Any) -> Parameter:
    """A parameter of all learners."""
    return _of(name, kind, dict.fromkeys(LEARNER_NAMES, default), help, **more)


_LEARNING = (
    _of(
        "gamma",
        Integer(1, 32),
        {"karma": 2, "explicit": 2},
        "karma, explicit: order of the kernel, up to 32 for karma and 3 for explicit; 1 is zero imputation.",
        metavar="INT|auto",
        or_auto=True,
    ),
    _of(
        "rho",
        STRENGTH,
        {"karma": None, "explicit": None},
        "karma, and explicit with --update sgd: regularisation, with steps of 1/(rho t); with a squared loss "
        "none goes past the label. karma: auto minimises the regret bound.",
        default_text=f"{DEFAULT_RHO:g}, and no long first steps",
        metavar="FLOAT|auto",
        or_auto=True,
    ),
    _of(
        "horizon",
        Integer(1, int(LONGEST)),
        {"karma": None},
        "With --rho auto: number of events to come.",
        default_text="unknown; restart after 1, 3, 7, … events",
        metavar="T",
    ),
    _of(
        "regularity",
        Number(STRENGTH.least, 1),
        {"karma": None},
        "With --gamma auto and --rho auto: the least positive eigenvalue of any Q_oo to assume.",
        default_text=f"{DEFAULT_REGULARITY:g}",
        metavar="LAMBDA",
    ),
    _of_all(
        "forget",
        Number(1, LONGEST),
        None,
        "Half-life, in events, of what was learned, for streams that drift.",
        default_text="none",
        metavar="H",
    ),
    _of(
        "eta",
        STRENGTH,
        {"karma": None, "explicit": None, "sgd": 0.03},
        "karma, and explicit with --update sgd: constant step instead of a decreasing one. sgd, and explicit "
        "with --update adagrad: the step.",
        default_text=f"karma: none, sgd: 0.03, adagrad: {ADAGRAD_ETA:g}",
    ),
    _of("update", ("arow", "adagrad", "sgd"), {"explicit": "arow"}, "explicit: the update rule."),
    _of(
        "r",
        STRENGTH,
        {"explicit": 1.0, "subspace": 10.0, "bins": 1.0},
        "explicit, subspace, bins: regularisation: larger values take smaller steps.",
        default_text="subspace: 10, others: 1",
    ),
    _of(
        "table_bits",
        Integer(8, 30),
        {"explicit": 22, "bins": 18, "sgd": 22},
        "explicit, bins, sgd: log2 of the maximum number of weights; beyond that they are hashed.",
        default_text="bins: 18, others: 22",
        metavar="BITS",
    ),
    _of("trees", Integer(1, 1000), {"forest": 10}, "forest: number of trees."),
    _of("indicators", bool, {"subspace": False}, "subspace: add missing-value indicators."),
    _of(
        "window",
        COUNT,
        {"neighbors": None, "boosting": 16384},
        "neighbors, boosting: number of labelled events kept.",
        default_text="neighbors: 1000, and up to 16000 while the older ones help; boosting: 16384",
    ),
    _of(
        "neighbors",
        Integer(1, MOST_NEIGHBORS),
        {"neighbors": 10},
        "neighbors: number of nearest events that vote.",
    ),
    _of_all(
        "coverage",
        Number(0.01, 0.999),
        None,
        "Add to each prediction an interval, or a set of classes, that contains the label in this share of "
        "events.",
        default_text="none",
        metavar="F",
    ),
    _of(
        "loss",
        str,
        {"karma": PerTask("logistic", "squared"), "explicit": None, "auto": PerTask(None, "squared")},
        "karma, and explicit with --update sgd: logistic, hinge or squared_hinge for classes; squared, "
        "absolute, huber or epsilon_insensitive for numbers. auto, for numbers only: squared (predicts the "
        "mean) or absolute (the median).",
        metavar="NAME",
    ),
    _of(
        "budget",
        COUNT,
        {"karma": 512, "auto": 128},
        "karma: maximum number of support vectors; 0 for no limit.",
        or_none=True,
    ),
    _of(
        "refit",
        str,
        {"auto": None},
        "auto: batch learners to fit during the run, in another process, and add as experts: lightgbm, "
        "boosting, trees; comma-separated.",
        default_text="none",
        metavar="NAMES",
    ),
    _of(
        "refit_memory",
        COUNT,
        {"auto": 20_000},
        "auto, with --refit: maximum number of events kept for fitting; beyond that, a uniform sample.",
        default_text="20000",
        metavar="N",
        needs="refit",
    ),
    _of(
        "pruning",
        ("merge", "remove", "oldest"),
        {"karma": "merge"},
        "karma: how to make room when the budget is full.",
    ),
    _of(
        "normalize",
        bool,
        {"karma": True, "explicit": True},
        "karma, explicit: divide the kernel by the norms of both events.",
    ),
    _of_all("scale", bool, True, "Standardise numbers (and a numeric target) online."),
    _of_all(
        "max_attributes",
        COUNT,
        16384,
        "Maximum number of attributes at a time; beyond that the least used make room.",
        metavar="N",
    ),
    _of_all(
        "max_coordinates",
        COUNT,
        16384,
        "Maximum number of numbers and categories at a time; beyond that the least used make room.",
        metavar="N",
    ),
    _of_all(
        "max_name_bytes",
        Integer(1, 1 << 16),
        1024,
        "Maximum length of names and categories, in bytes; longer ones are ignored.",
        metavar="N",
    ),
    _of_all(
        "na",
        Texts(),
        None,
        "Word for a missing value, ignoring case, instead of the usual ones; repeatable.",
        default_text='"", NA, N/A, null, none, nan, ? and -',
        metavar="WORD",
    ),
    _of_all(
        "sentinel",
        NumbersByName(),
        None,
        "Number that stands for a missing value of an attribute; repeatable.",
        metavar="NAME=VALUE",
    ),
    _of_all(
        "sentinels",
        bool,
        True,
        "Detect such numbers: far from all others, and recurring.",
    ),
    _of_all(
        "kinds",
        WordsByName(KINDS),
        None,
        f"Kind of an attribute, if its values do not show it: {', '.join(KINDS)}; repeatable.",
        metavar="NAME=KIND",
        flag="kind",
    ),
)

_COSTS = (
    _of_all(
        "class_weight",
        WeightsByClass(STRENGTH),
        None,
        "Weight of each class in learning; balanced: the same total weight for all classes.",
        default_text="1",
        metavar="balanced|NAME=W,…",
        classification=True,
    ),
    _of_all(
        "threshold",
        Threshold(Number(0, 1)),
        None,
        "Predict the positive class of two from this probability on; balanced: the class with the largest "
        "ratio of probability to share.",
        default_text="the most probable class",
        metavar="balanced|F",
        classification=True,
    ),
)

_ENTITIES = (
    _of_all(
        "entity",
        str,
        None,
        "Attribute that identifies the entity of an event: a device, a patient, a customer. Where another "
        "attribute is missing, the entity's last value of it is used.",
        metavar="NAME",
    ),
    _of_all(
        "time",
        str,
        None,
        "Attribute that holds the time of the event, in ISO 8601 or counted from 1970 in s, ms, µs or ns: "
        "for --entity, and, except on a topic, for --pending-seconds, for which now means this machine's "
        "clock. Nothing is learned from it: give the hour of day as another attribute.",
        default_text="events are counted",
        metavar="NAME",
    ),
    _of_all(
        "carry",
        CARRY,
        "fill",
        "With --entity: use last values to fill in missing ones, add them to each attribute as NAME.last and "
        "NAME.age, or only remember them.",
        needs="entity",
    ),
    _of_all(
        "carry_labels",
        bool,
        True,
        "With --entity: add the entity's last label, and the mean of its last ones, to its events, as "
        "label.last and label.mean.",
        needs="entity",
    ),
    _of_all(
        "carry_for",
        Number(STRENGTH.least, LONGEST),
        None,
        "With --entity: forget values and labels older than this, in seconds with --time, else in events.",
        default_text="any age",
        metavar="S",
        needs="entity",
    ),
    _of_all(
        "max_entities",
        Integer(1, 1 << 30),
        100_000,
        "With --entity: maximum number of entities; beyond that, those unseen the longest are forgotten.",
        metavar="N",
        needs="entity",
    ),
)

#: By name, in the order of the help texts.
LEARNING = {each.name: each for each in (*_LEARNING, *_COSTS, *_ENTITIES)}
#: Those that scoring takes as well: how to decide, and the entity, which must be the model's.
SCORED = ("threshold", "entity")


def parameters_of(learner: str) -> frozenset[str]:
    """The names of a learner's parameters.

    Examples
    --------
    >>> "r" in parameters_of("explicit"), "r" in parameters_of("karma")
    (True, False)
    """
    return frozenset(name for name, parameter in LEARNING.items() if learner in parameter.defaults)
