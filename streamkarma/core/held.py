"""Values that compiled code finds at an address.

To take an array from Python costs a compiled function some 0.05 µs, and to find out what types its
arguments have several µs for tuples of arrays. For a block of events that is nothing; for one event
it is most of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import NativeValue, intrinsic, models, register_model, unbox

from streamkarma.core.jit import compiled

# Parts of numba that have no types, or none that say enough.
_Type: Any = numba.types.Type
_Tuple: Any = numba.types.BaseTuple
_Integer: Any = models.IntegerModel
_register_model: Any = register_model
_native: Any = NativeValue
_unbox: Any = unbox
_typeof: Any = numba.typeof
_unpacked: Any = cgutils.unpack_tuple
_null: Any = cgutils.get_null_value
_target: Any = cpu_target


class Lent(_Type):  # type: ignore[misc]  # numba has no types
    """What compiled code takes the address of a ``Held`` for; ``borrowed`` gives it the tuple."""

    bitwidth = 64

    def __init__(self, state: Any) -> None:
        self.state = state
        super().__init__(f"Lent({state})")


class Object(_Type):  # type: ignore[misc]  # numba has no types
    """Any Python object, to compiled code its address; it must hold the interpreter's lock to use it."""

    bitwidth = 64

    def __init__(self) -> None:
        super().__init__("Object")


def _unbox_lent(_: Any, value: Any, context: Any) -> Any:
    return _native(context.pyapi.long_as_longlong(value))


def _unbox_object(kind: Any, value: Any, context: Any) -> Any:
    return _native(context.builder.ptrtoint(value, context.context.get_value_type(kind)))


_register_model(Lent)(_Integer)
_register_model(Object)(_Integer)
_unbox(Lent)(_unbox_lent)
_unbox(Object)(_unbox_object)


class Held:
    """A tuple of arrays and numbers, which may have tuples in it, at an address.

    What is in the arrays may change; which arrays they are may not.
    """

    def __init__(self, state: tuple[Any, ...]) -> None:
        kind: Any = _typeof(state)
        context = _target.target_context
        size = context.get_abi_sizeof(context.get_value_type(kind))
        self._alive = state, np.empty(size // 8 + 1)
        self.kind = Lent(kind)
        self.address: int = self._alive[1].ctypes.data
        _store(state, self.address)


def entry(function: Callable[..., Any], *kinds: Any) -> Callable[..., Any]:
    """A compiled function for arguments of just these types.

    No one looks at the types again: whatever it is given is taken to be of them.
    """
    dispatcher: Any = function
    compiled_for_them: Callable[..., Any] = dispatcher.compile(kinds)
    return compiled_for_them


@intrinsic
def _borrowed(_: Any, lent: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = context.get_value_type(signature.return_type)
        return builder.load(builder.inttoptr(values[0], kind.as_pointer()))

    return lent.state(lent), generate


@intrinsic
def _pointed(_: Any, thing: Any) -> Any:
    return numba.types.intp(thing), lambda context, builder, signature, values: values[0]


@intrinsic
def _stored(_: Any, state: Any, address: Any) -> Any:
    def lent(context: Any, builder: Any, kind: Any, value: Any) -> Any:
        # Without its owner: arrays do not count who uses them, which takes as long as a pass over them.
        if isinstance(kind, _Tuple):
            parts = zip(kind, _unpacked(builder, value), strict=True)
            return context.make_tuple(builder, kind, [lent(context, builder, *part) for part in parts])
        if isinstance(kind, numba.types.Array):
            array = context.make_array(kind)(context, builder, value=value)
            array.meminfo = _null(array.meminfo.type)
            array.parent = _null(array.parent.type)
            return array._getvalue()
        return value

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        value = lent(context, builder, signature.args[0], values[0])
        builder.store(value, builder.inttoptr(values[1], value.type.as_pointer()))
        return context.get_dummy_value()

    return numba.types.void(state, address), generate


#: In compiled code: the tuple at an address, and where an ``Object`` is.
borrowed: Any = _borrowed
pointer: Any = _pointed
_store_at: Any = _stored


@compiled
def _store(state: tuple[Any, ...], address: int) -> None:
    _store_at(state, address)
