"""The words that parameters take for values."""

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

#: What an attribute can be told to be.
KINDS = ("number", "boolean", "category", "text", "tags", "time", "identifier")

#: Words that stand for a missing value unless others are given, case aside.
MISSING_WORDS = ("", "na", "n/a", "null", "none", "nan", "?", "-")
