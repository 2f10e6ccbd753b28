"""Vectors in compiled code: 64 numbers at a time, whatever the processor's registers hold.

Loops that LLVM vectorises by itself keep their running sums in memory, first check that no two
arrays overlap, and use half of the width that AVX-512 has. Vectors that are named as such stay in
registers. A register of 64 bytes holds 64 bytes or 8 doubles, so that a vector takes one or several;
the results are the same bits on every processor.

A vector is the 64 items that begin at one of a C-contiguous array, which is counted from the
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

#: Numbers in a vector.
LANES = 64

#: Bytes in the widest registers: where a vector begins, an address that is a multiple is best.
WIDTH = 64

_tools: Any = cgutils
_intrinsic: Callable[[Callable[..., Any]], Any] = numba.extending.intrinsic
_overload: Callable[[Any], Callable[[Callable[..., Any]], Any]] = numba.extending.overload


class Lanes(types.Type):
    """A vector of numbers of one kind."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        super().__init__(name=f"Lanes({kind})")


class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: Lanes) -> None:
        kind = manager.lookup(lanes.kind).get_value_type()
        whole = ir.VectorType(kind, LANES)
        super().__init__(manager, lanes, whole)  # type: ignore[no-untyped-call]  # numba has none


register_model(Lanes)(_LanesModel)


def _address(context: Any, builder: Any, array: Any, value: Any, at: Any, vector: Any) -> Any:
    data = context.make_array(array)(context, builder, value).data
    return builder.bitcast(builder.gep(data, [at]), ir.PointerType(vector))


@_intrinsic
def item(_: Any, array: Any, at: Any) -> Any:
    """One item; a plain index would first be looked at for whether it counts from the end."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(array)(context, builder, values[0]).data
        return builder.load(builder.gep(data, [values[1]]))

    return array.dtype(array, types.intp), code


@_intrinsic
def put(_: Any, array: Any, at: Any, number: Any) -> Any:
    """Write one item; as ``item``."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(array)(context, builder, values[0]).data
        builder.store(values[2], builder.gep(data, [values[1]]))
        return context.get_dummy_value()

    return types.void(array, types.intp, array.dtype), code


@_intrinsic
def bits_set(_: Any, number: Any) -> Any:
    """How many bits of an integer are 1."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.ctpop(values[0])

    return number(number), code


@_intrinsic
def load(_: Any, array: Any, at: Any) -> Any:
    """The items from item ``at`` on."""
    lanes = Lanes(array.dtype)

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _address(context, builder, array, values[0], values[1], context.get_value_type(lanes))
        return builder.load(address, align=array.dtype.bitwidth // 8)

    return lanes(array, types.intp), code


@_intrinsic
def to(_: Any, kind: Any, lanes: Any) -> Any:
    """The same numbers as another kind, or that of a vector, wider or narrower; integers are not negative."""
    wanted = kind if isinstance(kind, Lanes) else Lanes(kind.dtype)

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = context.get_value_type(wanted)
        narrower = wanted.kind.bitwidth < lanes.kind.bitwidth
        if wanted.kind == lanes.kind:
            return values[1]
        if isinstance(lanes.kind, types.Float):
            return (builder.fptrunc if narrower else builder.fpext)(values[1], vector)
        if isinstance(wanted.kind, types.Float):
            return builder.uitofp(values[1], vector)
        return (builder.trunc if narrower else builder.zext)(values[1], vector)

    return wanted(kind, lanes), code


@_intrinsic
def store(_: Any, array: Any, at: Any, lanes: Any) -> Any:
    """Write a vector to an array of its kind, from item ``at`` on."""
    if array.dtype != lanes.kind:
        return None

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        address = _address(context, builder, array, values[0], values[1], values[2].type)
        builder.store(values[2], address, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), code


def _every(builder: Any, vector: Any, number: Any) -> Any:
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.IntType(32)(0))
    first = ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), first)


@_intrinsic
def spread(_: Any, number: Any) -> Any:
    """The same number in every lane."""
    lanes = Lanes(number)

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _every(builder, context.get_value_type(lanes), values[0])

    return lanes(number), code


@_intrinsic
def steps(_: Any, lanes: Any) -> Any:
    """0, 1, 2, … in lanes like those, which are of floats."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = values[0].type
        return ir.Constant(vector, [ir.Constant(vector.element, float(lane)) for lane in range(LANES)])

    return lanes(lanes), code


@_intrinsic
def where_less(_: Any, left: Any, right: Any, then: Any, otherwise: Any) -> Any:
    """Lane by lane: of ``then`` where left < right, else of ``otherwise``. Vectors of floats."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", values[0], values[1]), values[2], values[3])

    return then(left, right, then, then), code


@_intrinsic
def where_set(_: Any, flags: Any, number: Any) -> Any:
    """Lane by lane: the number where the flag is not 0, else 0."""
    lanes = Lanes(number)

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = context.get_value_type(lanes)
        set_ = builder.icmp_unsigned("!=", values[0], ir.Constant(values[0].type, None))
        return builder.select(set_, _every(builder, vector, values[1]), ir.Constant(vector, None))

    return lanes(flags, number), code


@_intrinsic
def multiply_add(_: Any, left: Any, right: Any, plus: Any) -> Any:
    """left * right + plus, rounded once. Vectors of floats."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = values[0].type
        name = f"llvm.fma.v{LANES}f{signature.return_type.kind.bitwidth}"
        function = _tools.get_or_insert_function(builder.module, ir.FunctionType(vector, [vector] * 3), name)
        return builder.call(function, values)

    return plus(left, right, plus), code


@_intrinsic
def first_equal(_: Any, left: Any, right: Any, number: Any) -> Any:
    """The first lane where both vectors have that number, or ``LANES``."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        compare = builder.icmp_unsigned if isinstance(left.kind, types.Integer) else builder.fcmp_ordered
        every = _every(builder, values[0].type, values[2])
        both = builder.and_(compare("==", values[0], every), compare("==", values[1], every))
        return builder.cttz(builder.bitcast(both, ir.IntType(LANES)), ir.IntType(1)(0))

    return types.intp(left, left, left.kind), code


def _reduced(combine: Callable[[Any, Any, Any], Any]) -> Any:
    @_intrinsic
    def reduced(_: Any, lanes: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            found = values[0]
            step = LANES // 2
            while step:
                halves = [ir.Constant(ir.VectorType(ir.IntType(32), step), list(range(begin, begin + step)))
                          for begin in (0, step)]  # fmt: skip
                one, other = (builder.shuffle_vector(found, found, half) for half in halves)
                found = combine(builder, one, other)
                step //= 2
            return builder.extract_element(found, ir.IntType(32)(0))

        return lanes.kind(lanes), code

    return reduced


def _better(sign: str) -> Any:
    return _reduced(
        lambda builder, one, other: builder.select(builder.fcmp_ordered(sign, other, one), other, one)
    )


#: The sum over all lanes, and the least and the greatest number in any; by halves, which is fast. Of floats.
sum_lanes = _reduced(lambda builder, one, other: builder.fadd(one, other))
least_lane = _better("<")
greatest_lane = _better(">")


@_intrinsic
def greater(_: Any, left: Any, right: Any) -> Any:
    """Lane by lane the greater number, or that of ``right``. Vectors of floats."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", values[0], values[1]), values[0], values[1])

    return left(left, left), code


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
