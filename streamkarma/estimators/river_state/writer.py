"""From river models to nodes."""

from __future__ import annotations

import collections
import functools
import json
import math
import random
from collections.abc import Sequence
from contextlib import suppress
from statistics import NormalDist
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np
from river._river_rust.drift import AdaptiveWindowing
from river._river_rust.vectordict import VectorDict

from streamkarma.arrays import Arrays
from streamkarma.checkpoint import TYPES
from streamkarma.errors import UsageError
from streamkarma.estimators.river_state import adwin
from streamkarma.estimators.river_state.allowed import (
    NAMED,
    attributes_of,
    class_named,
    is_method,
    may_have,
    name_of,
    river_version,
    static_method,
)

#: Readers refuse longer integers.
_LARGEST = 10**300
#: Nothing of river's is nested deeper than this without an object in between.
_DEEPEST = 50


class _RefusedError(Exception):
    """Describes a value that cannot be written."""


def write(models: Sequence[Any]) -> tuple[dict[str, Any], Arrays]:
    """The state of river models, as JSON and arrays.

    Raises
    ------
    UsageError
        For values that cannot be written without pickle; the message has the model, the attribute, and what
        to do.
    """
    writer = _Writer()
    roots = []
    for number, model in enumerate(models, 1):
        try:
            roots.append(writer.add(model))
        except _RefusedError as refused:
            where = writer.path or "the model itself"
            raise UsageError(
                f"cannot save extra expert {number}, {type(model).__name__}: {where} is {refused}; save a "
                "model without extra experts, or use one of those in docs/learners.md that can be saved"
            ) from refused
    return writer.header(roots), writer.arrays()


class _Writer:
    """A growing table of nodes, with each object once, in the order in which they are reached."""

    def __init__(self) -> None:
        #: The path of the current value in the model.
        self.path = ""
        self._nodes: list[dict[str, Any]] = []
        self._numbers: dict[int, int] = {}
        self._waiting: collections.deque[tuple[Any, str]] = collections.deque()
        #: Keeps temporary objects alive, so that no two have the same id.
        self._alive: list[Any] = []
        self._arrays: list[np.ndarray[Any, Any]] = []
        self._generators: list[tuple[int, ...]] = []

    def add(self, model: Any) -> int:
        """Write a model and everything it refers to; returns its node."""
        self.path = ""
        number = self._node(model)
        while self._waiting:
            each, self.path = self._waiting.popleft()
            self._nodes.append(self._content(each))
        return number

    def header(self, roots: list[int]) -> dict[str, Any]:
        return {"river": river_version(), "roots": roots, "nodes": self._nodes}

    def arrays(self) -> Arrays:
        # Generators have unsigned words, but files have only signed ones of the same bits.
        words = np.array(self._generators, np.uint32).reshape(-1, 625).view(np.int32)
        return {"generators": words, **{f"array {n}": each for n, each in enumerate(self._arrays)}}

    def _node(self, value: Any) -> int:
        """The number of an object's node, which is queued for writing if it is new."""
        if (number := self._numbers.get(id(value))) is not None:
            return number
        number = self._numbers[id(value)] = len(self._numbers)
        self._alive.append(value)
        self._waiting.append((value, self.path))
        return number

    def _at(self, name: str, value: Any, depth: int = 0) -> Any:
        """The value of an attribute or item."""
        before, self.path = self.path, self.path + name
        written = self._value(value, depth)
        self.path = before
        return written

    def _value(self, value: Any, depth: int = 0) -> Any:
        kind = type(value)
        if depth > _DEEPEST:
            raise _RefusedError("nested too deeply")
        if value is None or kind in (bool, str):
            return value
        if kind is int:
            if abs(value) >= _LARGEST:
                raise _RefusedError("an integer of more than 300 digits")
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if kind in (tuple, frozenset):
            items = [self._at(f"[{n}]", item, depth + 1) for n, item in enumerate(value)]
            return {kind.__name__: items if kind is tuple else sorted(items, key=json.dumps)}
        if isinstance(value, np.generic):
            if value.dtype.str not in TYPES:
                raise _RefusedError(f"a number of type {value.dtype}")
            return {"scalar": [value.dtype.str, self._value(value.item())]}
        if kind is functools.partial:
            made = self._value(value.func), self._value(value.args, depth + 1)
            names = [[name, self._value(each, depth + 1)] for name, each in value.keywords.items()]
            return {"partial": [*made, names]}
        if kind is NormalDist:
            return {"normal": [self._value(value.mean), self._value(value.stdev)]}
        if isinstance(value, (type, BuiltinFunctionType, FunctionType)):
            return _named(value)
        return {"ref": self._node(value)}

    def _content(self, value: Any) -> dict[str, Any]:
        """A node: everything that an object refers to."""
        kind = type(value)
        if kind in (list, set, collections.deque):
            items = [self._at(f"[{n}]", item) for n, item in enumerate(value)]
            if kind is set:
                _check_hashable(items)
                items.sort(key=json.dumps)
            return {kind.__name__: items, **({"maxlen": value.maxlen} if kind is collections.deque else {})}
        if kind in (dict, collections.OrderedDict, collections.Counter):
            return {kind.__name__: self._pairs(value)}
        if kind is collections.defaultdict:
            factory = self._at(".default_factory", value.default_factory)
            return {"defaultdict": self._pairs(value), "factory": factory}
        if kind is np.ndarray:
            # The order in memory affects the last bit of products.
            is_transposed = value.flags.f_contiguous and not value.flags.c_contiguous
            return {"array": self._array(value.T if is_transposed else value), "transposed": is_transposed}
        if kind is random.Random:
            _, words, spare = value.getstate()
            self._generators.append(words)
            return {"generator": self._value(spare)}
        if kind is VectorDict:
            return self._vector(value)
        if kind is AdaptiveWindowing:
            if (numbers := adwin.numbers_of(value)) is None:
                raise _RefusedError("an ADWIN of another version of river")
            return {"adwin": numbers}
        return self._object(value)

    def _pairs(self, value: dict[Any, Any]) -> list[list[Any]]:
        pairs = []
        for key, each in value.items():
            written = self._at(f"[{key!r:.40}]", key)
            _check_hashable([written])
            pairs.append([written, self._at(f"[{key!r:.40}]", each)])
        return pairs

    def _array(self, value: np.ndarray[Any, Any]) -> int:
        if value.dtype.str not in TYPES or value.ndim > 4:
            raise _RefusedError(f"an array of type {value.dtype} and {value.ndim} dimensions")
        self._arrays.append(value)
        return len(self._arrays) - 1

    def _vector(self, value: Any) -> dict[str, Any]:
        _, (data, factory, mask, _) = value.__reduce__()
        if factory is not None or mask is not None:
            raise _RefusedError("a VectorDict with a default or a mask")
        return {"vector": self._pairs(data)}

    def _object(self, value: Any) -> dict[str, Any]:
        cls: Any = type(value)
        if (name := name_of(cls)) is None:
            raise _RefusedError(f"of type {_name(cls)}, which cannot be written")
        attributes = {}
        for attribute, each in attributes_of(value).items():
            if not may_have(cls, attribute):
                self.path += f".{attribute}"
                raise _RefusedError("a method that was replaced")
            is_own = isinstance(each, MethodType) and each.__self__ is value
            if is_own and is_method(cls, each.__name__):
                attributes[attribute] = {"method": each.__name__}
            else:
                attributes[attribute] = self._at(f".{attribute}", each)
        return {"object": name, "attributes": attributes}


def _named(value: Any) -> dict[str, Any]:
    """A class or function by its name."""
    for name, known in NAMED.items():
        if known is value:
            return {"named": name}
    if isinstance(value, type) and (name_found := name_of(value)) is not None:
        return {"class": name_found}
    owner, _, own = _name(value).rpartition(".")
    if isinstance(value, FunctionType) and owner.startswith("river."):
        with suppress(ValueError):
            if static_method(class_named(owner), own) is value:
                return {"static": [owner, own]}
    raise _RefusedError(f"the {'class' if isinstance(value, type) else 'function'} {_name(value)}")


def _check_hashable(written: list[Any]) -> None:
    """Refuse objects as keys, since they are looked up by their address in memory."""
    if any(isinstance(each, dict) and "ref" in each for each in written):
        raise _RefusedError("a set or dict of objects")


def _name(thing: Any) -> str:
    return f"{getattr(thing, '__module__', '?')}.{getattr(thing, '__qualname__', '?')}"
