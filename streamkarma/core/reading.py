"""An event read out of a Python dict by compiled code.

A loop in Python looks at each name and value for some 0.1 µs, which for ten of them is as long as to
learn the event.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from streamkarma.core.jit import locked
from streamkarma.events.batch import PLAIN
from streamkarma.events.block import Block

#: In place of a size: the event is no dict, or needs a look from Python.
NO_DICT, NOT_PLAIN = -1, -2

#: Where the types are that ``kinds`` gives.
_WITHIN, _MISSING, _FIRST_NAME, _FIRST_NUMBER = 0, 1, 2, 4

_pointer: Any = numba.types.intp


def _of_python(name: str, result: Any, *arguments: Any) -> Any:
    external: Any = numba.types.ExternalFunction
    return external(name, result(*arguments))


_next_item = _of_python("PyDict_Next", numba.types.int32, _pointer, _pointer, _pointer, _pointer)
_item = _of_python("PyDict_GetItem", _pointer, _pointer, _pointer)
_type_of = _of_python("PyObject_Type", _pointer, _pointer)
_release = _of_python("Py_DecRef", numba.types.void, _pointer)
_float_of = _of_python("PyFloat_AsDouble", numba.types.float64, _pointer)
_int_of = _of_python("PyLong_AsLongLong", numba.types.int64, _pointer)
_error = _of_python("PyErr_Occurred", _pointer)
_forget_error = _of_python("PyErr_Clear", numba.types.void)


def kinds() -> NDArray[np.int64]:
    """The types that ``read`` knows, as compiled code sees them in this process."""
    return np.array([id(kind) for kind in (dict, type(None), str, int, float, *PLAIN)], np.int64)


@locked
def _kind(thing: int) -> int:
    kind = _type_of(thing)
    # Something that has this type is alive, so the type stays.
    _release(kind)
    return int(kind)


@locked
def read(record: int, names: int, kinds: NDArray[np.int64], cursor: NDArray[np.int64], at: int,
         owners: NDArray[np.int32], raw: Block) -> int:  # fmt: skip
    """Write the items of a dict that are not None into a block of one event, in their order.

    Parameters
    ----------
    record
        A Python object.
    names
        A dict of coordinates by name.
    kinds
        As made by ``kinds``.
    cursor, at
        Three integers to be overwritten, and their address.
    owners
        The attribute that each coordinate belongs to; a name at another one counts as new.
    raw
        It has room for an item at each of the coordinates.

    Returns
    -------
    The number of items; NO_DICT or NOT_PLAIN, and the block means nothing, if the record is no dict, has
    a name that is new or neither text nor a whole number, or a value that is infinite or not of
    ``PLAIN``.
    """
    if _kind(record) != kinds[_WITHIN]:
        return NO_DICT
    starts, attributes, coordinates, values = raw
    size, cursor[0] = 0, 0
    while _next_item(record, at, at + 8, at + 16):
        name, value = cursor[1], cursor[2]
        kind = _kind(value)
        if kind == kinds[_MISSING]:
            continue
        known = _FIRST_NUMBER
        while known < kinds.size and kinds[known] != kind:
            known += 1
        kind = _kind(name)
        if known == kinds.size or (kind != kinds[_FIRST_NAME] and kind != kinds[_FIRST_NAME + 1]):
            return NOT_PLAIN
        place = _item(names, name)
        if place == 0:
            return NOT_PLAIN
        number = _float_of(value)
        if number == -1.0 and _error() != 0:
            _forget_error()
            return NOT_PLAIN
        coordinate = _int_of(place)
        # A name may be newer than the arrays: there would be no room for it.
        if np.isinf(number) or coordinate >= owners.size:
            return NOT_PLAIN
        attributes[size], coordinates[size], values[size] = owners[coordinate], coordinate, number
        size += 1
    starts[1] = size
    return size
