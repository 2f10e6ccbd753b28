"""River models as JSON and arrays, without pickle.

A river model is a graph of plain objects. It is written as a table of *nodes*, one for each object that can
be shared or changed: a list, a dict, an array, or an instance of one of river's classes with its attributes.
What cannot change (numbers, texts, tuples) is written in place, and ``{"ref": n}`` stands for node n.

The reader makes instances of river's own classes only, looked up in what river has imported, and sets their
attributes. It calls nothing that the file names. Functions, classes of others and compiled types are refused
on both sides, other than those in ``allowed``.
"""

from streamkarma.estimators.river_state.reader import read
from streamkarma.estimators.river_state.writer import write

__all__ = ["read", "write"]
