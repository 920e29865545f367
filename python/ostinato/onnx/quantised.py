"""Integers with a scale and a zero point. Integer products are exact."""

from __future__ import annotations

from .reduce import highest, lowest
from .table import Call, operator
from .trace import type_of
from .value import Value
from .window import Sliding, convolve


def _placed(c: Call, v: Value, x: Value, axis: int) -> Value:
    """A scale or zero point beside x: one number, one for each place of an axis, or one for each block of it."""
    block = c.attr("block_size", 0)
    if v.rank == 0 or (v.rank == 1 and v.shape[0] == 1):
        return v.reshape([])
    if block:
        n = c.numbers_of(v)
        wide = v.unsqueeze(axis + 1).broadcast_to([*n[: axis + 1], block, *n[axis + 1 :]])
        wide = wide.reshape([*n[:axis], n[axis] * block, *n[axis + 1 :]])
        return wide if wide.shape == x.shape else wide.slice(axis, 0, x.shape[axis])
    return v.reshape(-1, *[1] * (x.rank - axis - 1))


def quantise(x: Value, scale: Value, zero: Value | None, dtype: str) -> Value:
    """round(x / scale) + zero, within the bounds of the type."""
    wide = (x / scale).op("round")
    wide = wide if zero is None else wide + zero.cast(wide.dtype)
    return wide.op("maximum", lowest(dtype)).op("minimum", highest(dtype)).cast(dtype)


@operator("QuantizeLinear")
def quantize_linear(c: Call) -> Value:
    x = c[0].wide() if c[0].is_float else c[0].cast("f32")
    axis = c.attr("axis", 1) % max(x.rank, 1)
    number = c.attr("output_dtype", 0)
    dtype = c[2].dtype if c.has(2) else type_of(number) if number else "u8"
    precision = c.attr("precision", 0)
    if precision and type_of(precision) in ("f32", "f64"):
        x = x.cast(type_of(precision))
    zero = _placed(c, c[2], x, axis) if c.has(2) else None
    return quantise(x, _placed(c, c[1].cast(x.dtype), x, axis), zero, dtype)


def dequantise(x: Value, scale: Value, zero: Value | None) -> Value:
    if zero is None:
        return x.cast(scale.dtype) * scale
    if x.dtype in ("i8", "u8", "i16", "u16"):
        return (x.cast("i32") - zero.cast("i32")).cast(scale.dtype) * scale
    return (x - zero).cast(scale.dtype) * scale


@operator("DequantizeLinear")
def dequantize_linear(c: Call) -> Value:
    x, axis = c[0], c.attr("axis", 1) % max(c[0].rank, 1)
    number = c.attr("output_dtype", 0)
    zero = _placed(c, c[2], x, axis) if c.has(2) else None
    scale = _placed(c, c[1], x, axis)
    out = dequantise(x, scale.wide(), zero)
    return out.cast(type_of(number) if number else c[1].dtype)


@operator("DynamicQuantizeLinear")
def dynamic_quantize(c: Call) -> list[Value]:
    x = c[0]
    axes = list(range(x.rank))
    low = x.reduce("min", axes).op("minimum", 0)
    high = x.reduce("max", axes).op("maximum", 0)
    scale = (high - low) / 255
    safe = scale.equals(0).where(c.builder.scalar(1, "f32"), scale)
    zero = quantise(-low / safe, c.builder.scalar(1, "f32"), None, "u8")
    return [quantise(x, safe, zero, "u8"), scale, zero]


def _centred(c: Call, x: int, zero: int, lead: bool) -> Value:
    """An operand less its zero point, as i32; a vector of zero points is of the rows (lead) or the columns."""
    value = c[x].cast("i32")
    if not c.has(zero):
        return value
    z = c[zero].cast("i32")
    return value - (z.reshape(-1, 1) if lead and z.rank == 1 and z.shape[0] != 1 else z)


@operator("MatMulInteger")
def matmul_integer(c: Call) -> Value:
    return _centred(c, 0, 2, True).matmul(_centred(c, 1, 3, False))


@operator("QLinearMatMul")
def qlinear_matmul(c: Call) -> Value:
    a, b = _centred(c, 0, 2, True), _centred(c, 3, 5, False)
    a_scale = c[1].wide()
    a_scale = a_scale.reshape(-1, 1) if a_scale.rank == 1 and a_scale.shape[0] != 1 else a_scale
    real = a.matmul(b).cast(a_scale.dtype) * (a_scale * c[4].wide())
    return quantise(real, c[6].wide(), c[7], c[7].dtype)


def _convolved(c: Call, x: int, x_zero: int, w: int, w_zero: int) -> Value:
    """Padding is the zero point, which is 0 once it has been subtracted."""
    image, filters = _centred(c, x, x_zero, False), c[w].cast("i32")
    if c.has(w_zero):
        z = c[w_zero].cast("i32")
        filters = filters - (z if z.rank == 0 else z.reshape(-1, *[1] * (filters.rank - 1)))
    return convolve(image, filters, Sliding(c, image, c.numbers_of(filters)[2:]), c.attr("group", 1))


@operator("ConvInteger")
def conv_integer(c: Call) -> Value:
    return _convolved(c, 0, 2, 1, 3)


@operator("QLinearConv")
def qlinear_conv(c: Call) -> Value:
    y = _convolved(c, 0, 2, 3, 5)

    def channels(v: Value) -> Value:
        return v if v.rank == 0 else v.reshape(-1, *[1] * (y.rank - 2))

    if c.has(8):
        y = y + channels(c[8])
    return quantise(y.cast("f32") * (c[1] * channels(c[4])), c[6], c[7], c[7].dtype)
