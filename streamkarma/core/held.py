"""Values that compiled code takes as one object, and compiled functions without their dispatcher.

To take an array from Python costs a compiled function some 0.05 µs, and to find out what types its
arguments have several µs for tuples of arrays. For a block of events that is nothing; for one event
it is most of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core import cgutils
from numba.experimental import structref
from numba.extending import intrinsic

from streamkarma.core.jit import compiled

# Parts of numba that have no types, or none that say enough.
_Tuple: Any = numba.types.BaseTuple
_define_proxy: Any = structref.define_proxy
_unpacked: Any = cgutils.unpack_tuple
_null: Any = cgutils.get_null_value


@structref.register
class _HeldType(numba.types.StructRef):
    """What compiled code knows of a Held."""


class Held(structref.StructRefProxy):
    """A tuple of arrays and numbers, the attribute ``state`` in compiled code; from ``hold``.

    What is in the arrays may change; which arrays they are may not.
    """

    state: Any
    _alive: tuple[Any, ...]


_define_proxy(Held, _HeldType, ["state"])


def hold(state: tuple[Any, ...]) -> Held:
    """``state``, which may have tuples in it, as one object."""
    held: Held = _hold(state)
    held._alive = state
    return held


def entry(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """A compiled function for arguments of just the types of these.

    No one looks at the types again: whatever it is given is taken to be of them.
    """
    dispatcher: Any = function
    compiled_for_them: Callable[..., Any] = dispatcher.compile(tuple(map(numba.typeof, arguments)))
    return compiled_for_them


@intrinsic
def _borrowed(_: Any, state: Any) -> Any:
    """A tuple whose arrays do not count who uses them, which takes as long as a pass over the event."""

    def borrow(context: Any, builder: Any, kind: Any, value: Any) -> Any:
        if isinstance(kind, _Tuple):
            parts = zip(kind, _unpacked(builder, value), strict=True)
            return context.make_tuple(builder, kind, [borrow(context, builder, *part) for part in parts])
        if isinstance(kind, numba.types.Array):
            array = context.make_array(kind)(context, builder, value=value)
            array.meminfo = _null(array.meminfo.type)
            array.parent = _null(array.parent.type)
            return array._getvalue()
        return value

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return borrow(context, builder, signature.args[0], values[0])

    return state(state), generate


_borrow: Any = _borrowed


@compiled
def _hold(state: tuple[Any, ...]) -> Any:
    made: Any = Held
    return made(_borrow(state))
