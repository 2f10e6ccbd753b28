"""The classes and functions allowed in a saved river model."""

from __future__ import annotations

import collections
import copy
import functools
import inspect
import numbers
import sys
from importlib import import_module
from importlib.metadata import version
from types import FunctionType, MemberDescriptorType
from typing import Any

from river._river_rust.vectordict import euclidean_distance_tuple

#: The packages of river for models, none of which reads files, fetches data or runs foreign code.
PARTS = frozenset(
    {
        "base",
        "compose",
        "drift",
        "dummy",
        "ensemble",
        "facto",
        "feature_selection",
        "forest",
        "imblearn",
        "linear_model",
        "metrics",
        "multiclass",
        "naive_bayes",
        "neighbors",
        "optim",
        "preprocessing",
        "proba",
        "rules",
        "stats",
        "tree",
        "utils",
    }
)

#: Types and functions from elsewhere that river's models refer to, by their name in a file.
NAMED: dict[str, Any] = {
    **{each.__name__: each for each in (bool, int, float, str, dict, list, set)},
    "Number": numbers.Number,
    "Counter": collections.Counter,
    "defaultdict": collections.defaultdict,
    "deepcopy": copy.deepcopy,
    "euclidean_distance_tuple": euclidean_distance_tuple,
}


def river_version() -> str:
    """The version of river, which determines the meaning of attributes."""
    return version("river")


def name_of(cls: type) -> str | None:
    """The name of a river class in a file; None if it is not allowed."""
    name = f"{cls.__module__}.{cls.__qualname__}"
    return name if _find(name) is cls else None


def class_named(name: Any) -> type:
    """The class with this name; ValueError if it is not allowed."""
    found = _find(name) if isinstance(name, str) else None
    if found is None:
        raise ValueError(f"{name!r:.100} is not a class that a river model may contain")
    return found


@functools.lru_cache(4096)
def _find(name: str) -> type | None:
    module, _, own = name.rpartition(".")
    package, _, rest = module.partition(".")
    if package != "river" or rest.partition(".")[0] not in PARTS:
        return None
    # Importing a package imports its modules; no module is imported because a file names it.
    import_module(f"river.{rest.partition('.')[0]}")
    found = vars(sys.modules[module]).get(own) if module in sys.modules else None
    if not isinstance(found, type) or found.__module__ != module or found.__qualname__ != own:
        return None
    # Attributes alone do not restore instances of classes with their own __new__.
    is_plain = all("__new__" not in vars(each) for each in found.__mro__ if each is not object)
    return found if is_plain and not inspect.isabstract(found) else None


def attributes_of(thing: Any) -> dict[str, Any]:
    """The attributes of an instance, including those in slots."""
    slots = {
        name: getattr(thing, name)
        for cls in type(thing).__mro__
        for name, each in vars(cls).items()
        if isinstance(each, MemberDescriptorType) and hasattr(thing, name)
    }
    return {**slots, **getattr(thing, "__dict__", {})}


@functools.lru_cache(4096)
def may_have(cls: type, attribute: Any) -> bool:
    """Whether instances of a class may have this attribute: any that does not hide a method.

    Examples
    --------
    >>> from river.dummy import PriorClassifier
    >>> [may_have(PriorClassifier, name) for name in ("counts", "learn_one", "__class__")]
    [True, False, False]
    """
    if not isinstance(attribute, str) or attribute.startswith("__"):
        return False
    hidden = inspect.getattr_static(cls, attribute, None)
    is_slot = isinstance(hidden, MemberDescriptorType)
    return is_slot or not (callable(hidden) or hasattr(hidden, "__get__"))


def is_method(cls: type, name: Any) -> bool:
    """Whether a river class has a method with this name, written in Python."""
    is_plain = isinstance(name, str) and not name.startswith("__")
    return is_plain and isinstance(inspect.getattr_static(cls, name, None), FunctionType)


def static_method(cls: type, name: Any) -> FunctionType | None:
    """The static method with this name of a river class, if it has one."""
    found = inspect.getattr_static(cls, name, None) if isinstance(name, str) else None
    function = found.__func__ if isinstance(found, staticmethod) else None
    return function if isinstance(function, FunctionType) else None
