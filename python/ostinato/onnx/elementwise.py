"""Arithmetic, comparison, logic, bits, casts and activations."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

from .. import dtypes
from .table import Call, Unsupported, operator
from .trace import type_of
from .value import Value

_SAME = {
    "Abs": "abs", "Neg": "neg", "Sign": "sign", "Sqrt": "sqrt", "Exp": "exp", "Log": "log", "Sin": "sin", "Cos": "cos",
    "Tanh": "tanh", "Erf": "erf", "Sigmoid": "sigmoid", "Relu": "relu", "Floor": "floor", "Ceil": "ceil",
    "Round": "round", "Not": "bit_not", "BitwiseNot": "bit_not", "Equal": "eq", "Less": "lt", "LessOrEqual": "le",
    "Greater": "gt", "GreaterOrEqual": "ge", "And": "bit_and", "Or": "bit_or", "Xor": "bit_xor",
    "BitwiseAnd": "bit_and", "BitwiseOr": "bit_or", "BitwiseXor": "bit_xor", "Sub": "sub", "Mul": "mul", "Add": "add",
}  # fmt: skip


@operator(*_SAME)
def same(c: Call) -> Value:
    """The graph has the operation itself."""
    x = c[0]
    if len(c.inputs) == 2 and c.since < 7:
        x, y = old_broadcast(c)
        return x.op(_SAME[c.name], y)
    return x.op(_SAME[c.name], *[c[i] for i in range(1, len(c.inputs))])


def old_broadcast(c: Call) -> tuple[Value, Value]:
    """Before opset 7 the second operand was placed at an axis of the first."""
    x, y = c[0], c[1]
    axis = c.attr("axis")
    if axis is not None and c.attr("broadcast"):
        y = y.reshape(*y.shape, *[1] * (x.rank - axis % x.rank - y.rank))
    return x, y


@operator("Div")
def divide(c: Call) -> Value:
    x, y = old_broadcast(c) if c.since < 7 else (c[0], c[1])
    return x / y


@operator("Mod")
def modulo(c: Call) -> Value:
    x, y = c[0], c[1]
    if not c.attr("fmod", 0):
        return x.op("floor_mod", y)
    if not x.is_float:
        return x.op("trunc_mod", y)
    rest = x.op("abs").op("floor_mod", y.op("abs"))
    return (x < 0).where(-rest, rest)


@operator("Pow")
def power(c: Call) -> Value:
    x, y = c[0], c[1]
    if x.is_float:
        return x.op("pow", y.cast(x.dtype))
    if y.is_float:
        return x.cast("f64").op("pow", y.cast("f64")).cast(x.dtype)
    out = c.builder.scalar(1, x.dtype)
    for bit in range(6):  # by squaring: an exponent from 64 on overflows all but -1, 0 and 1
        taken = (y.op("shr", bit) & 1).equals(1)
        out, x = taken.where(out * x, out), x * x
    return out.broadcast_to(out.op("add", y.cast(out.dtype)).shape)


@operator("Max", "Min")
def extreme(c: Call) -> Value:
    name = "maximum" if c.name == "Max" else "minimum"
    return reduce(lambda x, y: x.op(name, y), [c[i] for i in range(len(c.inputs))])


@operator("Sum", "Mean")
def total(c: Call) -> Value:
    parts = [c[i] for i in range(len(c.inputs))]
    out = reduce(lambda x, y: x + y, parts)
    return out if c.name == "Sum" else out / len(parts)


@operator("Clip")
def clip(c: Call) -> Value:
    x = c[0]
    low = c.attr("min") if c.since < 11 else c.get(1)
    high = c.attr("max") if c.since < 11 else c.get(2)
    if low is not None:
        x = x.op("maximum", low)
    return x if high is None else x.op("minimum", high)


@operator("Where")
def where(c: Call) -> Value:
    return c[0].where(c[1], c[2])


@operator("Cast")
def cast(c: Call) -> Value:
    to = c.attr("to")
    if isinstance(to, str):  # opset 1
        raise Unsupported(f"a cast to {to} by name")
    return c[0].cast(type_of(to))


@operator("CastLike")
def cast_like(c: Call) -> Value:
    return c[0].cast(c[1].dtype)


@operator("BitCast")
def bitcast(c: Call) -> Value:
    to = type_of(c.attr("to"))
    if to == c[0].dtype:
        return c[0]
    if "bool" in (to, c[0].dtype) or dtypes.SIZES[to] != dtypes.SIZES[c[0].dtype]:
        raise Unsupported(f"bits of {c[0].dtype} as {to}")
    return c[0].op("bitcast", dtype=to)


@operator("BitShift")
def shift(c: Call) -> Value:
    x, by = c[0], c[1]
    if c.attr("direction") == "LEFT":
        return x.op("shl", by)
    if x.dtype[0] == "u":
        return x.op("shr", by)
    most = 8 * dtypes.SIZES[x.dtype] - 1  # a shift by more, or by less than 0, leaves the sign
    return x.op("shr", ((by < 0) | (by > most)).where(c.like(most, by), by))


@operator("IsNaN")
def is_nan(c: Call) -> Value:
    return c[0].op("ne", c[0])


@operator("IsInf")
def is_infinite(c: Call) -> Value:
    x = c[0]
    up, down = x.equals(math.inf), x.equals(-math.inf)
    if c.attr("detect_positive", 1) and c.attr("detect_negative", 1):
        return up | down
    if c.attr("detect_positive", 1):
        return up
    return down if c.attr("detect_negative", 1) else up & down


@operator("Reciprocal")
def reciprocal(c: Call) -> Value:
    return 1 / c[0]


# --- activations


@operator("LeakyRelu", "PRelu")
def leaky_relu(c: Call) -> Value:
    x = c[0]
    slope: Any = c[1] if c.name == "PRelu" else c.number("alpha", 0.01)
    if isinstance(slope, Value) and c.since < 7 and slope.rank == 1 and x.rank > 1:
        slope = slope.reshape(-1, *[1] * (x.rank - 2))
    return (x < 0).where(x * slope, x)


@operator("Elu", "Celu", "Selu")
def elu(c: Call) -> Value:
    x = c[0]
    alpha = c.number("alpha", 1.67326319217681884765625 if c.name == "Selu" else 1.0)
    by = x / alpha if c.name == "Celu" else x
    y = (x < 0).where(by.op("expm1") * alpha, x)
    return y * c.number("gamma", 1.05070102214813232421875) if c.name == "Selu" else y


@operator("HardSigmoid")
def hard_sigmoid(c: Call) -> Value:
    return (c[0] * c.number("alpha", 0.2) + c.number("beta", 0.5)).op("maximum", 0).op("minimum", 1)


@operator("HardSwish")
def hard_swish(c: Call) -> Value:
    return c[0] * (c[0] * (1 / 6) + 0.5).op("maximum", 0).op("minimum", 1)


def softplus_of(x: Value) -> Value:
    """log(1 + exp(x)), which does not overflow."""
    return x.op("maximum", 0) + (-x.op("abs")).op("exp").op("log1p")


@operator("Softplus")
def softplus(c: Call) -> Value:
    return softplus_of(c[0].wide()).cast(c[0].dtype)


@operator("Mish")
def mish(c: Call) -> Value:
    x = c[0].wide()
    return (x * softplus_of(x).op("tanh")).cast(c[0].dtype)


@operator("Softsign")
def softsign(c: Call) -> Value:
    return c[0] / (c[0].op("abs") + 1)


@operator("Swish")
def swish(c: Call) -> Value:
    x = c[0].wide()
    return (x * (x * c.number("alpha", 1.0)).op("sigmoid")).cast(c[0].dtype)


@operator("Gelu")
def gelu(c: Call) -> Value:
    if c.attr("approximate", "none") == "none":
        return c[0].op("gelu")
    x = c[0].wide()
    inner = (x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)
    return (x * 0.5 * (inner.op("tanh") + 1)).cast(c[0].dtype)


@operator("ThresholdedRelu")
def thresholded_relu(c: Call) -> Value:
    return (c[0] > c.number("alpha", 1.0)).where(c[0], 0)


@operator("Shrink")
def shrink(c: Call) -> Value:
    x, bias, edge = c[0], c.number("bias", 0.0), c.number("lambd", 0.5)
    if not x.is_float:
        raise Unsupported(f"Shrink of {x.dtype}")
    return (x < -edge).where(x + bias, (x > edge).where(x - bias, 0))


@operator("Binarizer", domain="ai.onnx.ml")
def binarizer(c: Call) -> Value:
    return (c[0] > c.number("threshold", 0.0)).cast(c[0].dtype)
