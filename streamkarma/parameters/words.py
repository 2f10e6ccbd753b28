"""Words that parameters accept as values."""

LEARNER_NAMES = (
    "auto",
    "karma",
    "explicit",
    "subspace",
    "bins",
    "sgd",
    "neighbors",
    "forest",
    "boosting",
)
TASKS = ("auto", "binary", "multiclass", "regression")
UNLABELLED = ("learn", "ignore")
SHARE_LABEL = ("on", "off")
CARRY = ("fill", "last", "off")
LOG_FORMATS = ("text", "json")
FORMATS = ("json", "csv", "tsv", "parquet", "arrow")

#: Baselines with a cost linear in the events and at most quadratic in the columns: at most a second for 1,000
#: events of 20 attributes.
FAST_BASELINES = ("zero", "mean", "median", "complete-case", "feature-deletion", "gmm")

#: Given instead of a number: the theorem determines the value.
AUTO = "auto"

#: Given instead of weights or a threshold: they then follow the class shares.
BALANCED = "balanced"

#: Given instead of an attribute's name: the time is taken from this machine's clock.
NOW = "now"

#: The kinds that an attribute can be declared to have.
KINDS = ("number", "boolean", "category", "text", "tags", "time", "identifier")

#: Words that stand for a missing value unless others are given, ignoring case.
MISSING_WORDS = ("", "na", "n/a", "null", "none", "nan", "?", "-")
#: Those of them that are often names of classes, as in none, mild, severe, or in + and -.
CLASS_WORDS = frozenset(["none", "-"])
