"""Parameters of learners and runs, each declared once: name, range, default and help.

The options of the command line are generated from these declarations, and with them the checks of the
environment and the config file. Plans take their defaults from here, and estimators their ranges. The
constructors of the estimators repeat the defaults, because river clones a model by its signature; a test
compares the two. Options that concern only the command line, such as paths and flags, are declared in
``streamkarma.cli``.

This module imports nothing heavy, because ``streamkarma --help`` needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from streamkarma.parameter_kinds import (
    Integer,
    Kind,
    Number,
    NumbersByName,
    Seconds,
    Texts,
    Threshold,
    WeightsByClass,
    WordsByName,
)

LEARNER_NAMES = ("auto", "karma", "explicit", "subspace", "bins", "sgd", "neighbors", "forest")
TASKS = ("auto", "binary", "multiclass", "regression")
UNLABELLED = ("learn", "ignore")
SHARE_LABEL = ("on", "off")
CARRY = ("fill", "last", "off")
LOG_FORMATS = ("text", "json")
FORMATS = ("json", "csv", "tsv", "parquet", "arrow")

#: Given instead of a number, it lets the theorem choose.
AUTO = "auto"

#: Given instead of weights or a threshold, they follow the shares of the classes.
BALANCED = "balanced"

#: In place of the name of an attribute: the time is that of this machine's clock.
NOW = "now"

#: The regularisation, and the λ of the theorem, when none is given.
DEFAULT_RHO, DEFAULT_REGULARITY = 1e-3, 0.5

#: What an attribute can be told to be.
KINDS = ("number", "boolean", "category", "text", "tags", "time", "identifier")

#: Words that stand for a missing value unless others are given, case aside.
MISSING_WORDS = ("", "na", "n/a", "null", "none", "nan", "?", "-")

#: The most of anything that is counted.
MOST = 1 << 20
#: The most neighbours that vote.
MOST_NEIGHBORS = 1 << 10
COUNT, STRENGTH = Integer(1, MOST), Number(1e-12, 1e12)
#: The longest half-life, and the most events to come.
LONGEST = 1e15


class PerTask(NamedTuple):
    """A default that depends on the kind of label; None where the parameter is not for that kind."""

    classification: str | None
    regression: str | None

    def __str__(self) -> str:
        return " or ".join(each for each in self if each is not None)


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    Attributes
    ----------
    name
        Its name in Python; on the command line dashes stand for the underscores.
    kind
        What values it takes.
    help
        What it does, in one line.
    default
        The value when none is given.
    default_text
        The default in words, where the value is not enough.
    metavar
        Placeholder for the value in help texts, where the name of its type will not do.
    stored
        Whether the model file holds it; an option that is not given then keeps the value in the file.
    defaults
        For a parameter of learners: the default for each learner that has it.
    or_auto
        Whether it may also be ``AUTO``.
    or_none
        Whether it may also be None, which is 0 on the command line.
    flag
        Its name on the command line where that is another, since it says one thing at a time there.
    classification
        Whether it has no meaning in a regression.
    """

    name: str
    kind: Kind
    help: str
    default: Any = None
    default_text: str = ""
    metavar: str | None = None
    stored: bool = False
    defaults: Mapping[str, Any] = field(default_factory=dict)
    or_auto: bool = False
    or_none: bool = False
    flag: str = ""
    classification: bool = False


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
    ),
    _of_all(
        "carry_for",
        Number(STRENGTH.least, LONGEST),
        None,
        "With --entity: forget values older than this, in seconds with --time, else in events.",
        default_text="any age",
        metavar="S",
    ),
    _of_all(
        "max_entities",
        Integer(1, 1 << 30),
        100_000,
        "With --entity: most entities; beyond that, those unseen the longest are forgotten.",
        metavar="N",
    ),
)

_RUNNING = (
    Parameter("target", str, "Attribute that is the label.", "y", metavar="NAME", stored=True),
    Parameter("task", TASKS, "What the label is.", "auto", stored=True),
    Parameter(
        "learner",
        LEARNER_NAMES,
        "What learns; auto is a mixture of all.",
        default_text="auto, or the one that has the options given",
        stored=True,
    ),
    Parameter(
        "unlabelled",
        UNLABELLED,
        "Events without a label: learn from them what needs none, or only predict them.",
        default_text="learn",
        stored=True,
    ),
    Parameter(
        "share_label",
        SHARE_LABEL,
        "With --entity and --pending: count the events that share a label as one, or each as one.",
        default_text="on",
        stored=True,
    ),
    Parameter(
        "format",
        FORMATS,
        "What INPUT is; csv finds its delimiter.  [default: by its name, else json]",
    ),
    Parameter("checkpoint_every", Integer(), "Events between two writings of the model.", 10_000),
    Parameter("max_record_bytes", Integer(), "Longest line accepted.", 16 << 20),
    Parameter(
        "recent",
        Integer(0),
        "Latest events with a label over which there are means beside those of all; 0 for none.",
        1000,
        metavar="N",
    ),
    Parameter(
        "explain",
        Integer(0),
        "Strongest contributions of attributes to the score in each row; 0 for none.",
        0,
        metavar="K",
    ),
    Parameter("drift", bool, "Look for changes: of the errors, and of how often attributes are there.", True),
    Parameter(
        "metrics",
        str,
        "Where metrics for Prometheus and a live page can be had while it runs; a port alone is for this "
        "machine only, 0 is a free one.",
        metavar="[HOST:]PORT",
    ),
    Parameter(
        "log_format", LOG_FORMATS, "What is on stderr: lines to read, or a JSON object each.", LOG_FORMATS[0]
    ),
    Parameter("report_every", Integer(0), "Events between two lines of progress.", 0),
    Parameter(
        "regret",
        str,
        "Offline baselines to compare with: names with commas, all, fast or none.",
        "none",
        metavar="NAMES",
    ),
    Parameter(
        "regret_memory",
        Integer(),
        "Events kept to compare on; past it a uniform sample.",
        20_000,
        metavar="N",
        stored=True,
    ),
    Parameter("regret_seconds", Seconds(), "What one baseline may take at a time.", 60.0, metavar="S"),
    Parameter(
        "share_every",
        Seconds(),
        "With --share: seconds after which what the other processes have learned is taken in.",
        5.0,
        metavar="S",
    ),
)

#: The parameters of learners and those of runs, by name, in the order of the help texts.
LEARNING = {each.name: each for each in (*_LEARNING, *_COSTS, *_FOLLOWING)}
RUNNING = {each.name: each for each in _RUNNING}


def parameters_of(learner: str) -> frozenset[str]:
    """The names of a learner's parameters.

    Examples
    --------
    >>> "r" in parameters_of("explicit"), "r" in parameters_of("karma")
    (True, False)
    """
    return frozenset(name for name, parameter in LEARNING.items() if learner in parameter.defaults)
