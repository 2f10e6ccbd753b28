"""The parameters of learners, and the ranges that they share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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

#: The regularisation, and the λ of the theorem, when none is given.
DEFAULT_RHO, DEFAULT_REGULARITY = 1e-3, 0.5

#: The most of anything that is counted.
MOST = 1 << 20
#: The most neighbours that vote.
MOST_NEIGHBORS = 1 << 10
COUNT, STRENGTH = Integer(1, MOST), Number(1e-12, 1e12)
#: The longest half-life, and the most events to come.
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
        "karma, explicit: order of the kernel, up to 32 and 3; 1 is 0-imputation.",
        metavar="INT|auto",
        or_auto=True,
    ),
    _of(
        "rho",
        STRENGTH,
        {"karma": None, "explicit": None},
        "karma: regularisation, with steps of exactly 1/(rho t); auto: by the regret bound.",
        default_text=f"{DEFAULT_RHO:g}, and no long first steps",
        metavar="FLOAT|auto",
        or_auto=True,
    ),
    _of(
        "horizon",
        Integer(1, int(LONGEST)),
        {"karma": None},
        "With --rho auto: events to come.",
        default_text="unknown, start afresh after 1, 3, 7, … events",
        metavar="T",
    ),
    _of(
        "regularity",
        Number(STRENGTH.least, 1),
        {"karma": None},
        "With --gamma auto: the least positive eigenvalue of a Q_oo to reckon with.",
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
        "karma: constant step instead of a decreasing one. sgd: the step.",
    ),
    _of("update", ("arow", "adagrad", "sgd"), {"explicit": "arow"}, "explicit: how it steps."),
    _of(
        "r",
        STRENGTH,
        {"explicit": 1.0, "subspace": 10.0, "bins": 1.0},
        "explicit, subspace, bins: caution of the steps.",
    ),
    _of(
        "table_bits",
        Integer(8, 30),
        {"explicit": 22, "bins": 18, "sgd": 22},
        "explicit, bins, sgd: log2 of the most weights; beyond it they are hashed.",
        metavar="BITS",
    ),
    _of("trees", Integer(1, 1000), {"forest": 10}, "forest: how many trees."),
    _of("indicators", bool, {"subspace": False}, "subspace: let it see what is missing."),
    _of("window", COUNT, {"neighbors": 1000}, "neighbors: how many events with a label are kept."),
    _of(
        "neighbors",
        Integer(1, MOST_NEIGHBORS),
        {"neighbors": 10},
        "neighbors: how many of the nearest events vote.",
    ),
    _of_all(
        "coverage",
        Number(0.01, 0.999),
        None,
        "With each prediction an interval, or a set of classes, that holds the label this often.",
        default_text="none",
        metavar="F",
    ),
    _of(
        "loss",
        str,
        {"karma": PerTask("logistic", "squared"), "explicit": None, "auto": PerTask(None, "squared")},
        "For classes logistic, karma also hinge or squared_hinge; for numbers squared (the prediction is a "
        "mean) or absolute (a median), karma also huber or epsilon_insensitive.",
        metavar="NAME",
    ),
    _of(
        "budget",
        COUNT,
        {"karma": 512, "auto": 128},
        "karma: most support vectors; 0 for no limit.",
        or_none=True,
    ),
    _of(
        "refit",
        str,
        {"auto": None},
        "auto: batch learners that are fitted on the way, in another process, and vote: lightgbm, boosting, "
        "trees; names with commas.",
        default_text="none",
        metavar="NAMES",
    ),
    _of(
        "refit_memory",
        COUNT,
        {"auto": 20_000},
        "auto, with --refit: events kept to fit on; past it a uniform sample.",
        default_text="20000",
        metavar="N",
        needs="refit",
    ),
    _of(
        "pruning",
        ("merge", "remove", "oldest"),
        {"karma": "merge"},
        "karma: what gives way when the budget is full.",
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
        "Most attributes at a time; beyond that the least used make room.",
        metavar="N",
    ),
    _of_all(
        "max_coordinates",
        COUNT,
        16384,
        "Most numbers and categories at a time; beyond that the least used make room.",
        metavar="N",
    ),
    _of_all(
        "max_name_bytes",
        Integer(1, 1 << 16),
        1024,
        "Longest name and longest category; longer ones are ignored.",
        metavar="N",
    ),
    _of_all(
        "na",
        Texts(),
        None,
        "Word for a missing value, case aside, in place of the usual ones; repeatable.",
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
        "Find such numbers: those far from all others that come back.",
    ),
    _of_all(
        "kinds",
        WordsByName(KINDS),
        None,
        f"What an attribute is, where its values do not tell: {', '.join(KINDS)}; repeatable.",
        metavar="NAME=KIND",
        flag="kind",
    ),
)

_COSTS = (
    _of_all(
        "class_weight",
        WeightsByClass(STRENGTH),
        None,
        "By how much labels of a class weigh more when they are learned; balanced: classes weigh the same in "
        "total.",
        default_text="1",
        metavar="balanced|NAME=W,…",
        classification=True,
    ),
    _of_all(
        "threshold",
        Threshold(Number(0, 1)),
        None,
        "Predict the positive class of two from this probability on; balanced: the class of the largest "
        "probability for its share.",
        default_text="the most probable class",
        metavar="balanced|F",
        classification=True,
    ),
)

_FOLLOWING = (
    _of_all(
        "entity",
        str,
        None,
        "Attribute that says whose event it is: a device, a patient, a customer. What it said last of an "
        "attribute stands in where that is missing.",
        metavar="NAME",
    ),
    _of_all(
        "time",
        str,
        None,
        "Attribute that says when the event happened, in seconds since 1970 or ISO 8601: for --entity, and "
        "for --pending-seconds, where now is this machine's clock.",
        default_text="events are counted",
        metavar="NAME",
    ),
    _of_all(
        "carry",
        CARRY,
        "fill",
        "With --entity: fill in last values where they are missing, put them beside each attribute as "
        "NAME.last and NAME.age, or only remember them.",
        needs="entity",
    ),
    _of_all(
        "carry_for",
        Number(STRENGTH.least, LONGEST),
        None,
        "With --entity: forget values older than this, in seconds with --time, else in events.",
        default_text="any age",
        metavar="S",
        needs="entity",
    ),
    _of_all(
        "max_entities",
        Integer(1, 1 << 30),
        100_000,
        "With --entity: most entities; beyond that, those unseen the longest are forgotten.",
        metavar="N",
        needs="entity",
    ),
)

#: By name, in the order of the help texts.
LEARNING = {each.name: each for each in (*_LEARNING, *_COSTS, *_FOLLOWING)}


def parameters_of(learner: str) -> frozenset[str]:
    """The names of a learner's parameters.

    Examples
    --------
    >>> "r" in parameters_of("explicit"), "r" in parameters_of("karma")
    (True, False)
    """
    return frozenset(name for name, parameter in LEARNING.items() if learner in parameter.defaults)
