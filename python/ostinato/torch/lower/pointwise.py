"""Elementwise operations, with torch's promotion."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

from ..errors import Unsupported
from .builder import FLOATS, HALVES, Builder, Dim, Value, dtype_of
from .table import lowers

aten = torch.ops.aten
prims = torch.ops.prims


def operands(b: Builder, dtype: str, *xs: Any) -> list[Value]:
    """Of one type. A number beside halves is not rounded to them first: all is computed in f32."""
    numbers = any(not isinstance(x, Value) for x in xs)
    if dtype in HALVES and numbers:
        dtype = "f32"
    return [b.cast(x, dtype) if isinstance(x, Value) else b.full(x, dtype) for x in xs]


def promoted(b: Builder, count: int = 2) -> str:
    """The type in which an operation whose result has another one (a comparison) computes."""
    kind = ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT
    return dtype_of(elementwise_dtypes(*b.vals()[:count], type_promotion_kind=kind)[0])


def unary(name: str, *targets: Any) -> None:
    @lowers(*targets)
    def f(b: Builder, x: Value) -> Value:
        return b.op(name, b.cast(x, b.out_dtype()))


for _name in "exp exp2 expm1 log log2 log1p sin cos tanh sigmoid silu erf rsqrt sqrt neg abs sign".split():
    unary(_name, getattr(aten, _name).default)
for _name in "relu".split():
    unary(_name, aten.relu.default)


def rounding(name: str) -> None:
    @lowers(getattr(aten, name).default)
    def f(b: Builder, x: Value) -> Value:
        return b.op(name, x) if x.dtype in FLOATS else x


for _name in "floor ceil trunc round".split():
    rounding(_name)


def binary(name: str, *targets: Any) -> None:
    @lowers(*targets)
    def f(b: Builder, x: Any, y: Any) -> Value:
        x, y = operands(b, b.out_dtype(), x, y)
        return b.op(name, x, y)


for _name, _packet in {
    "mul": aten.mul,
    "minimum": aten.minimum,
    "maximum": aten.maximum,
    "bit_and": aten.bitwise_and,
    "bit_or": aten.bitwise_or,
    "bit_xor": aten.bitwise_xor,
    "shl": aten.bitwise_left_shift,
    "shr": aten.bitwise_right_shift,
}.items():
    binary(_name, _packet)
binary("shl", aten.__lshift__)
binary("shr", aten.__rshift__)


@lowers(aten.mul)
def mul(b: Builder, x: Any, y: Any) -> Value:
    x, y = operands(b, b.out_dtype(), x, y)
    return b.op("bit_and" if x.dtype == "bool" else "mul", x, y)


def comparison(name: str) -> None:
    @lowers(getattr(aten, name))
    def f(b: Builder, x: Any, y: Any) -> Value:
        x, y = operands(b, promoted(b), x, y)
        return b.op(name, x, y)


for _name in "eq ne lt le gt ge".split():
    comparison(_name)


def logical(name: str, graph: str) -> None:
    @lowers(getattr(aten, name).default)
    def f(b: Builder, x: Value, y: Value) -> Value:
        return b.op(graph, b.cast(x, "bool"), b.cast(y, "bool"))


logical("logical_and", "bit_and")
logical("logical_or", "bit_or")
logical("logical_xor", "bit_xor")


@lowers(aten.logical_not.default)
def logical_not(b: Builder, x: Value) -> Value:
    return b.op("bit_not", b.cast(x, "bool"))


@lowers(aten.bitwise_not.default)
def bitwise_not(b: Builder, x: Value) -> Value:
    return b.op("bit_not", x)


@lowers(aten.add)
def add(b: Builder, x: Any, y: Any, alpha: Any = 1) -> Value:
    x, y = operands(b, b.out_dtype(), x, y)
    if alpha != 1:
        y = b.op("mul", y, b.full(alpha, y.dtype))
    return b.op("bit_or" if x.dtype == "bool" else "add", x, y)


@lowers(aten.sub, aten.rsub)
def sub(b: Builder, x: Any, y: Any, alpha: Any = 1) -> Value:
    if b.target in (aten.rsub.Tensor, aten.rsub.Scalar):
        x, y = y, x
    x, y = operands(b, b.out_dtype(), x, y)
    if alpha != 1:
        y = b.op("mul", y, b.full(alpha, y.dtype))
    return b.op("sub", x, y)


@lowers(aten.div, aten.true_divide)
def div(b: Builder, x: Any, y: Any, rounding_mode: str | None = None) -> Value:
    x, y = operands(b, b.out_dtype(), x, y)
    if rounding_mode is None:
        return b.op("div", x, y)
    if rounding_mode == "floor":
        return b.op("floor_div", x, y)
    return b.op("trunc", b.op("div", x, y)) if x.dtype in FLOATS else b.op("trunc_div", x, y)


@lowers(aten.floor_divide)
def floor_divide(b: Builder, x: Any, y: Any) -> Value:
    return div(b, x, y, "floor")


@lowers(aten.remainder)
def remainder(b: Builder, x: Any, y: Any) -> Value:
    x, y = operands(b, b.out_dtype(), x, y)
    return b.op("floor_mod", x, y)


@lowers(aten.fmod)
def fmod(b: Builder, x: Any, y: Any) -> Value:
    x, y = operands(b, b.out_dtype(), x, y)
    if x.dtype not in FLOATS:
        return b.op("trunc_mod", x, y)
    r = b.op("floor_mod", b.op("abs", x), b.op("abs", y))
    return b.op("where", b.op("lt", x, b.number(0, x)), b.op("neg", r), r)


@lowers(aten.reciprocal.default)
def reciprocal(b: Builder, x: Value) -> Value:
    (x,) = operands(b, b.out_dtype(), x)
    return b.op("div", b.number(1, x), x)


def power(b: Builder, x: Value, n: int) -> Value:
    """x to a small positive integer, by squaring."""
    if n == 1:
        return x
    half = power(b, x, n // 2)
    square = b.op("mul", half, half)
    return b.op("mul", square, x) if n % 2 else square


@lowers(aten.pow)
def pow_(b: Builder, x: Any, y: Any) -> Value:
    if isinstance(y, int | float) and isinstance(x, Value):
        base = b.wide(b.cast(x, b.out_dtype()))
        if y == 0:
            return b.full(1, base.dtype, base.shape)
        if y == int(y) and 1 <= y <= 8 and (y <= 4 or base.dtype not in FLOATS):
            return power(b, base, int(y))
        if base.dtype in FLOATS:
            special: dict[float, Callable[[], Value]] = {
                0.5: lambda: b.op("sqrt", base),
                -0.5: lambda: b.op("rsqrt", base),
                -1.0: lambda: b.op("div", b.number(1, base), base),
                -2.0: lambda: b.op("div", b.number(1, base), b.op("mul", base, base)),
            }
            if float(y) in special:
                return special[float(y)]()
    x, y = operands(b, b.out_dtype(), x, y)
    if x.dtype not in FLOATS:
        raise Unsupported("a power of integers whose exponent is not a number of 0 to 8")
    return b.op("pow", x, y)


@lowers(aten.clamp, aten.clamp_min, aten.clamp_max)
def clamp(b: Builder, x: Value, low: Any = None, high: Any = None, *, min: Any = None, max: Any = None) -> Value:  # noqa: A002
    if b.name == "clamp_max":
        low, high = None, low
    low, high = (min if low is None else low), (max if high is None else high)
    dtype = b.out_dtype()
    x = b.cast(x, dtype)
    if low is not None:
        x = b.op("maximum", *operands(b, x.dtype, x, low))
    return x if high is None else b.op("minimum", *operands(b, x.dtype, x, high))


@lowers(aten.where.self, aten.where.Scalar, aten.where.ScalarOther, aten.where.ScalarSelf)
def where(b: Builder, cond: Value, x: Any, y: Any) -> Value:
    x, y = (b.cast(v, b.out_dtype()) if isinstance(v, Value) else b.full(v, b.out_dtype()) for v in (x, y))
    return b.op("where", b.cast(cond, "bool"), x, y)


@lowers(aten.isnan.default)
def isnan(b: Builder, x: Value) -> Value:
    return b.op("ne", x, x)


@lowers(aten.isinf.default)
def isinf(b: Builder, x: Value) -> Value:
    if x.dtype not in FLOATS:
        return b.full(0, "bool", x.shape)
    return b.op("eq", b.op("abs", x), b.number(math.inf, x))


@lowers(aten.gelu.default)
def gelu(b: Builder, x: Value, approximate: str = "none") -> Value:
    if approximate == "none":
        return b.op("gelu", x)
    v = b.wide(x)
    cube = b.op("mul", b.op("mul", v, v), v)
    inner = b.op("add", v, b.op("mul", cube, b.number(0.044715, v)))
    t = b.op("tanh", b.op("mul", inner, b.number(math.sqrt(2 / math.pi), v)))
    return b.op("mul", b.op("mul", v, b.number(0.5, v)), b.op("add", t, b.number(1, v)))


@lowers(aten.leaky_relu.default)
def leaky_relu(b: Builder, x: Value, slope: float = 0.01) -> Value:
    v = b.wide(x)
    return b.op("where", b.op("gt", v, b.number(0, v)), v, b.op("mul", v, b.number(slope, v)))


@lowers(aten.elu.default)
def elu(b: Builder, x: Value, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Value:
    v = b.wide(x)
    e = b.op("expm1", b.op("mul", v, b.number(input_scale, v)))
    low = b.op("mul", e, b.number(alpha * scale, v))
    high = v if scale == 1 else b.op("mul", v, b.number(scale, v))
    return b.op("where", b.op("gt", v, b.number(0, v)), high, low)


@lowers(aten.hardtanh.default)
def hardtanh(b: Builder, x: Value, low: float = -1.0, high: float = 1.0) -> Value:
    v = b.wide(x)
    return b.op("minimum", b.op("maximum", v, b.number(low, v)), b.number(high, v))


@lowers(aten.log10.default)
def log10(b: Builder, x: Value) -> Value:
    v = b.wide(b.cast(x, b.out_dtype()))
    return b.op("mul", b.op("log", v), b.number(1 / math.log(10), v))


@lowers(aten.tan.default)
def tan(b: Builder, x: Value) -> Value:
    v = b.wide(b.cast(x, b.out_dtype()))
    return b.op("div", b.op("sin", v), b.op("cos", v))


@lowers(aten.sinh.default)
def sinh(b: Builder, x: Value) -> Value:
    """By expm1, which keeps the small values: (e + e / (e + 1)) / 2."""
    v = b.wide(b.cast(x, b.out_dtype()))
    e = b.op("expm1", b.op("abs", v))
    half = b.op("mul", b.op("add", e, b.op("div", e, b.op("add", e, b.number(1, v)))), b.number(0.5, v))
    half = b.op("where", b.op("eq", e, b.number(math.inf, v)), e, half)
    return b.op("where", b.op("lt", v, b.number(0, v)), b.op("neg", half), half)


@lowers(aten.cosh.default)
def cosh(b: Builder, x: Value) -> Value:
    v = b.wide(b.cast(x, b.out_dtype()))
    e = b.op("exp", b.op("abs", v))
    return b.op("mul", b.op("add", e, b.op("div", b.number(1, v), e)), b.number(0.5, v))


@lowers(aten._to_copy.default)
def to_copy(b: Builder, x: Value, **how: Any) -> Value:
    return b.cast(x, b.out_dtype())


@lowers(aten.to, aten.type_as.default, prims.convert_element_type.default)
def to(b: Builder, x: Value, *how: Any, **more: Any) -> Value:
    return b.cast(x, b.out_dtype())


@lowers(aten.clone.default, aten.detach.default, aten.alias.default, aten.lift_fresh_copy.default, aten.lift_fresh.default)
def same(b: Builder, x: Value, **how: Any) -> Value:
    return x


@lowers(aten.contiguous.default, aten.positive.default)
def same_too(b: Builder, x: Value, **how: Any) -> Value:
    return x


@lowers(aten.copy.default)
def copy(b: Builder, target: Value, source: Value, non_blocking: bool = False) -> Value:
    return b.broadcast(b.cast(source, target.dtype), target.shape)


@lowers(aten.view.dtype)
def view_dtype(b: Builder, x: Value, dtype: torch.dtype) -> Value:
    return b.op("bitcast", x, dtype=dtype_of(dtype))


def as_value(b: Builder, x: Any, dtype: str) -> Value:
    return b.cast(x, dtype) if isinstance(x, Value) else b.full(x, dtype)


__all__ = ["as_value", "operands", "Dim"]
