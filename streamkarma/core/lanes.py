"""Vectors in compiled code: 64 bytes at a time, whatever the processor's registers hold.

Loops that LLVM vectorises by itself keep their running sums in memory, first check that no two
arrays overlap, and use half of the width that AVX-512 has. Vectors that are named as such stay in
registers. A processor with narrower ones takes several for each; the results are the same bits.

A vector is the 64 bytes that begin at an item of a C-contiguous array, which is counted from the
array's beginning over all its dimensions. Nothing checks that they lie inside of the array.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir  # type: ignore[import-untyped]  # it has no types
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import register_model

#: Bytes in a vector.
WIDTH = 64

_tools: Any = cgutils
_intrinsic: Callable[[Callable[..., Any]], Any] = numba.extending.intrinsic
_overload: Callable[[Any], Callable[[Callable[..., Any]], Any]] = numba.extending.overload


class Lanes(types.Type):
    """As many numbers of one kind as fit into a vector."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        self.count = WIDTH * 8 // kind.bitwidth
        super().__init__(name=f"Lanes({kind})")


class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: Lanes) -> None:
        kind = manager.lookup(lanes.kind).get_value_type()
        whole = ir.VectorType(kind, lanes.count)
        super().__init__(manager, lanes, whole)  # type: ignore[no-untyped-call]  # numba has none


register_model(Lanes)(_LanesModel)


def _address(context: Any, builder: Any, array: Any, value: Any, at: Any, vector: Any) -> Any:
    data = context.make_array(array)(context, builder, value).data
    return builder.bitcast(builder.gep(data, [at]), ir.PointerType(vector))


@_intrinsic
def load(_: Any, array: Any, at: Any, kind: Any) -> Any:
    """As many items as a vector of ``kind`` has, from item ``at`` on; bytes and shares are widened."""
    lanes = Lanes(kind.dtype)

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        item = context.get_data_type(array.dtype)
        vector = ir.VectorType(item, lanes.count)
        address = _address(context, builder, array, values[0], values[1], vector)
        found = builder.load(address, align=array.dtype.bitwidth // 8)
        wanted = context.get_value_type(lanes)
        if vector == wanted:
            return found
        return (builder.zext if isinstance(lanes.kind, types.Integer) else builder.uitofp)(found, wanted)

    return lanes(array, types.intp, kind), code


@_intrinsic
def store(_: Any, array: Any, at: Any, lanes: Any) -> Any:
    """Write a vector to an array, from item ``at`` on."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _address(context, builder, array, values[0], values[1], values[2].type)
        builder.store(values[2], address, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), code


@_intrinsic
def spread(_: Any, number: Any) -> Any:
    """The same number in every lane."""
    lanes = Lanes(number)

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = context.get_value_type(lanes)
        one = builder.insert_element(ir.Constant(vector, ir.Undefined), values[0], ir.IntType(32)(0))
        nowhere = ir.Constant(vector, ir.Undefined)
        return builder.shuffle_vector(
            one, nowhere, ir.Constant(ir.VectorType(ir.IntType(32), lanes.count), None)
        )

    return lanes(number), code


@_intrinsic
def item(_: Any, lanes: Any, lane: Any) -> Any:
    """The number in one lane."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.extract_element(*values)

    return lanes.kind(lanes, types.intp), code


@_intrinsic
def where_less(_: Any, left: Any, right: Any, then: Any, otherwise: Any) -> Any:
    """Lane by lane: of ``then`` where left < right, else of ``otherwise``. Vectors of floats."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", values[0], values[1]), values[2], values[3])

    return then(left, right, then, then), code


@_intrinsic
def multiply_add(_: Any, left: Any, right: Any, plus: Any) -> Any:
    """left * right + plus, rounded once. Vectors of floats."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = values[0].type
        name = f"llvm.fma.v{vector.count}f{signature.return_type.kind.bitwidth}"
        function = _tools.get_or_insert_function(builder.module, ir.FunctionType(vector, [vector] * 3), name)
        return builder.call(function, values)

    return plus(left, right, plus), code


def _arithmetic(sign: Any, on_floats: str, on_integers: str) -> None:
    @_intrinsic
    def apply(_: Any, left: Any, right: Any) -> Any:
        name = on_integers if isinstance(left.kind, types.Integer) else on_floats

        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return getattr(builder, name)(*values)

        return left(left, left), code

    def applied(left: Any, right: Any) -> Any:
        return apply(left, right)

    @_overload(sign)
    def typed(left: Any, right: Any) -> Any:
        return applied if isinstance(left, Lanes) and left == right else None


_arithmetic(operator.add, "fadd", "add")
_arithmetic(operator.mul, "fmul", "mul")


@_intrinsic
def borrowed(_: Any, array: Any) -> Any:
    """The same array without a share in its memory: whoever owns that has to outlive it.

    Handing an owned array to a compiled function can cost two atomic counts, more than a pass.
    """

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        view = context.make_array(array)(context, builder, values[0])
        view.meminfo = _tools.get_null_value(view.meminfo.type)
        view.parent = _tools.get_null_value(view.parent.type)
        return view._getvalue()

    return array(array), code
