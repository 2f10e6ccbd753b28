"""The parameters of runs: what to read, how to learn it, and what to compare with."""

from __future__ import annotations

from streamkarma.parameters.base import Parameter
from streamkarma.parameters.kinds import Integer, Seconds
from streamkarma.parameters.words import (
    FAST_BASELINES,
    FORMATS,
    LEARNER_NAMES,
    LOG_FORMATS,
    SHARE_LABEL,
    TASKS,
    UNLABELLED,
)

_DECLARED = (
    Parameter("target", str, "Attribute that is the label.", "y", metavar="NAME", stored=True),
    Parameter("task", TASKS, "Kind of label.", "auto", stored=True),
    Parameter(
        "learner",
        LEARNER_NAMES,
        "The learner; auto is a mixture of all.",
        default_text="auto, or the one that has the options given",
        stored=True,
    ),
    Parameter(
        "unlabelled",
        UNLABELLED,
        "Events without a label: learn what needs no label from them, or only predict them.",
        default_text="learn",
        stored=True,
    ),
    Parameter(
        "share_label",
        SHARE_LABEL,
        "With --entity and --pending: count events that share a label as one event, or as one each.",
        default_text="on",
        stored=True,
    ),
    Parameter(
        "format",
        FORMATS,
        "Format of INPUT; csv detects the delimiter.  [default: by its name, else json]",
    ),
    Parameter(
        "checkpoint_every",
        Integer(),
        "Events between checkpoints of the model.",
        default_text="10000, but at most once a second",
    ),
    Parameter("max_record_bytes", Integer(), "Maximum size of a record.", 16 << 20),
    Parameter(
        "recent",
        Integer(0),
        "Also report means over the latest N labelled events; 0 turns this off.",
        1000,
        metavar="N",
    ),
    Parameter(
        "explain",
        Integer(0),
        "Show the K attributes that contribute most to the score in each row; 0 for none.",
        0,
        metavar="K",
    ),
    Parameter("drift", bool, "Detect changes in the errors and in how often attributes are observed.", True),
    Parameter(
        "metrics",
        str,
        "Serve Prometheus metrics and a live page at this address; a port alone binds to localhost, 0 picks "
        "a free port.",
        metavar="[HOST:]PORT",
    ),
    Parameter(
        "log_format",
        LOG_FORMATS,
        "Format of stderr: plain text, or one JSON object per line.",
        LOG_FORMATS[0],
    ),
    Parameter("report_every", Integer(0), "Events between progress lines; 0 for none.", 0),
    Parameter(
        "regret",
        str,
        "Offline baselines to compare with: comma-separated names, all, none, or fast, which is "
        f"{', '.join(FAST_BASELINES)}.",
        "none",
        metavar="NAMES",
    ),
    Parameter(
        "regret_memory",
        Integer(),
        "Maximum number of events kept for the comparison; beyond that, a uniform sample.",
        20_000,
        metavar="N",
        stored=True,
    ),
    Parameter(
        "regret_seconds", Seconds(), "Time limit in seconds for each fit of a baseline.", 60.0, metavar="S"
    ),
    Parameter(
        "share_every",
        Seconds(),
        "With --share: seconds between merges of what the other processes have learned.",
        5.0,
        metavar="S",
    ),
)

#: By name, in the order of the help texts.
RUNNING = {each.name: each for each in _DECLARED}
