"""From nodes to river models."""

from __future__ import annotations

import collections
import functools
import random
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
from river._river_rust.vectordict import VectorDict

from streamkarma.arrays import Arrays
from streamkarma.checkpoint import TYPES, natural
from streamkarma.estimators.river_state import adwin
from streamkarma.estimators.river_state.allowed import (
    NAMED,
    class_named,
    is_method,
    may_have,
    river_version,
    static_method,
)

#: As in the writer.
_DEEPEST = 50
#: The only attribute by which an object may refer to what contains it.
_PARENT = "parent"


def read(header: Any, arrays: Arrays) -> list[Any]:
    """The models from the result of ``write``.

    Raises
    ------
    ValueError, KeyError, TypeError
        If the state is invalid, or from another version of river.
    """
    written, own = str(header["river"]), river_version()
    if written != own:
        raise ValueError(
            f"its extra experts are of river {written:.20}, and this is river {own}; "
            f"install river=={written:.20}"
        )
    nodes = header["nodes"]
    _check_references(nodes)
    reader = _Reader(nodes, arrays)
    return [reader.objects[natural(root)] for root in header["roots"]]


class _Reader:
    """Creates all objects empty, and then fills them."""

    def __init__(self, nodes: list[dict[str, Any]], arrays: Arrays) -> None:
        self._arrays = dict(arrays)
        self._generators = collections.deque(arrays["generators"])
        self.objects: list[Any] = []
        for node in nodes:
            self.objects.append(self._made(node))
        for node, made in zip(nodes, self.objects, strict=True):
            self._fill(node, made)

    def _made(self, node: dict[str, Any]) -> Any:
        """An object without its contents, or with them if they cannot contain objects."""
        match node:
            case {"list": _}:
                return []
            case {"set": items}:
                return {self._value(item) for item in items}
            case {"deque": _, "maxlen": most}:
                return collections.deque(maxlen=None if most is None else natural(most))
            case {"dict": _}:
                return {}
            case {"OrderedDict": _}:
                return collections.OrderedDict()
            case {"Counter": _}:
                return collections.Counter()
            case {"defaultdict": _, "factory": _}:
                return collections.defaultdict()
            case {"array": number, "transposed": bool(is_transposed)}:
                # Each array only once; otherwise a short file could use much memory.
                array = self._arrays.pop(f"array {natural(number)}").copy()
                return array.T if is_transposed else array
            case {"generator": spare}:
                return self._generator(self._value(spare))
            case {"vector": pairs}:
                return VectorDict({self._value(key): self._number(value) for key, value in pairs})
            case {"adwin": numbers}:
                return adwin.window_of(numbers)
            case {"object": name, "attributes": _}:
                return object.__new__(class_named(name))
        raise ValueError("a river model has a part of unknown type")

    def _fill(self, node: dict[str, Any], made: Any) -> None:
        match node:
            case {"list": items} | {"deque": items}:
                made.extend(self._value(item) for item in items)
            case {"dict": pairs} | {"OrderedDict": pairs} | {"Counter": pairs}:
                self._fill_pairs(pairs, made)
            case {"defaultdict": pairs, "factory": factory}:
                self._fill_pairs(pairs, made)
                made.default_factory = self._value(factory)
            case {"object": _, "attributes": attributes}:
                cls: Any = type(made)
                for name, value in attributes.items():
                    if not may_have(cls, name):
                        raise ValueError(f"{cls.__name__} of a river model has no attribute {name!r:.100}")
                    object.__setattr__(made, name, self._attribute(made, value))

    def _fill_pairs(self, pairs: Any, made: dict[Any, Any]) -> None:
        for key, value in pairs:
            made[self._value(key)] = self._value(value)
        if len(made) < len(pairs):
            raise ValueError("a name occurs twice in a river model")

    def _attribute(self, owner: Any, value: Any) -> Any:
        match value:
            case {"method": name}:
                if not is_method(type(owner), name):
                    raise ValueError(f"{type(owner).__name__} of a river model has no method {name!r:.100}")
                return getattr(owner, name)
        return self._value(value)

    def _value(self, value: Any, depth: int = 0) -> Any:
        if depth > _DEEPEST:
            raise ValueError("a river model is nested too deeply")
        if value is None or type(value) in (bool, int, float, str):
            return value
        deeper: Callable[[Any], Any] = functools.partial(self._value, depth=depth + 1)
        match value:
            case {"ref": number}:
                return self.objects[natural(number)]
            case {"float": "inf" | "-inf" | "nan" as text}:
                return float(text)
            case {"tuple": items}:
                return tuple(map(deeper, items))
            case {"frozenset": items}:
                return frozenset(map(deeper, items))
            case {"scalar": [kind, number]}:
                return np.dtype(TYPES[TYPES.index(kind)]).type(deeper(number))
            case {"named": name}:
                return NAMED[name]
            case {"class": name}:
                return class_named(name)
            case {"static": [owner, name]}:
                return _static(owner, name)
            case {"normal": [mean, deviation]}:
                return NormalDist(self._number(mean), self._number(deviation))
            case {"partial": [{"named": _} | {"class": _} as made, arguments, names]}:
                given = {name: deeper(each) for name, each in names}
                return functools.partial(deeper(made), *deeper(arguments), **given)
        raise ValueError("a river model has a value of unknown type")

    def _number(self, value: Any) -> float:
        number = self._value(value)
        if type(number) not in (int, float):
            raise ValueError("a weight of a river model is not a number")
        return float(number)

    def _generator(self, spare: Any) -> random.Random:
        """The next generator, in the order of the nodes."""
        generator = random.Random()
        words = self._generators.popleft().view(np.uint32).tolist()
        generator.setstate((3, tuple(words), spare if spare is None else float(spare)))
        return generator


def _static(owner: Any, name: Any) -> Any:
    if (found := static_method(class_named(owner), name)) is None:
        raise ValueError(f"{owner!r:.100} of a river model has no {name!r:.100}")
    return found


def _check_references(nodes: list[dict[str, Any]]) -> None:
    """Check that no object contains itself, so that traversals, also by parents, terminate."""
    contains: list[set[int]] = [set() for _ in nodes]
    parents: list[set[int]] = [set() for _ in nodes]
    for number, node in enumerate(nodes):
        for name, value in node.items():
            if name != "attributes":
                contains[number] |= _references(value)
                continue
            for attribute, each in value.items():
                (parents if attribute == _PARENT else contains)[number] |= _references(each)
    for references in (contains, parents):
        if max(set().union(*references), default=-1) >= len(nodes) or not _is_acyclic(references):
            raise ValueError("a river model contains itself")


def _references(value: Any) -> set[int]:
    """The nodes that a value refers to."""
    found, waiting = set(), [value]
    while waiting:
        match waiting.pop():
            case {"ref": number}:
                found.add(natural(number))
            case dict() as inner:
                waiting.extend(inner.values())
            case list() as inner:
                waiting.extend(inner)
    return found


def _is_acyclic(references: list[set[int]]) -> bool:
    """Whether the references have no cycle (Kahn's algorithm).

    Examples
    --------
    >>> _is_acyclic([{1, 2}, {2}, set()]), _is_acyclic([{1}, {0}])
    (True, False)
    """
    left = [0] * len(references)
    for each in references:
        for other in each:
            left[other] += 1
    free = [number for number, count in enumerate(left) if not count]
    done = 0
    while free:
        done += 1
        for other in references[free.pop()]:
            left[other] -= 1
            if not left[other]:
                free.append(other)
    return done == len(references)
