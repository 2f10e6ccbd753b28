"""River models as JSON and arrays, without pickle.

A river model is a graph of plain objects. It is written as a table of *nodes*, one for each object that can
be shared or modified: a list, a dict, an array, or an instance of a river class with its attributes.
Immutable values (numbers, strings, tuples) are written inline, and ``{"ref": n}`` refers to node n.

The reader creates only instances of river's own classes, looked up among those that river has imported, and
sets their attributes. It calls nothing that the file names. Functions, other classes and compiled types are
refused on both sides, except for those in ``allowed``.
"""

from streamkarma.estimators.river_state.reader import read
from streamkarma.estimators.river_state.writer import write

__all__ = ["read", "write"]
