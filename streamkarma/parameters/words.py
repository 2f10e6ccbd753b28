"""The words that parameters take as values."""

LEARNER_NAMES = ("auto", "karma", "explicit", "subspace", "bins", "sgd", "neighbors", "forest")
TASKS = ("auto", "binary", "multiclass", "regression")
UNLABELLED = ("learn", "ignore")
SHARE_LABEL = ("on", "off")
CARRY = ("fill", "last", "off")
LOG_FORMATS = ("text", "json")
FORMATS = ("json", "csv", "tsv", "parquet", "arrow")

#: Baselines whose cost is linear in the events and at most quadratic in the columns: a second or less for
#: 1,000 events of 20 attributes.
FAST_BASELINES = ("zero", "mean", "median", "complete-case", "feature-deletion", "gmm")

#: Given instead of a number, it lets the theorem choose.
AUTO = "auto"

#: Given instead of weights or a threshold, which then follow the shares of the classes.
BALANCED = "balanced"

#: Given instead of an attribute's name: the time is that of this machine's clock.
NOW = "now"

#: The kinds that an attribute can be declared to have.
KINDS = ("number", "boolean", "category", "text", "tags", "time", "identifier")

#: Words that stand for a missing value unless others are given, case aside.
MISSING_WORDS = ("", "na", "n/a", "null", "none", "nan", "?", "-")
