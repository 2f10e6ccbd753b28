"""The parameters of runs: what is read, how it goes, and what it is compared with."""

from __future__ import annotations

from streamkarma.parameters.base import Parameter
from streamkarma.parameters.kinds import Integer, Seconds
from streamkarma.parameters.words import FORMATS, LEARNER_NAMES, LOG_FORMATS, SHARE_LABEL, TASKS, UNLABELLED

_DECLARED = (
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

#: By name, in the order of the help texts.
RUNNING = {each.name: each for each in _DECLARED}
