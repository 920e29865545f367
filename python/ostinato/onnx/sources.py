"""Values that come from no data: constants and ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

from .table import Call, Unsupported, operator
from .trace import type_of
from .value import Value


@operator("Constant")
def constant(c: Call) -> Value:
    for name, dtype in (("value_float", "f32"), ("value_floats", "f32"), ("value_int", "i64"), ("value_ints", "i64")):
        if name in c.attrs:
            return c.builder.constant(np.asarray(c.attrs[name]), dtype)
    if "value" not in c.attrs:
        raise Unsupported("a constant that is sparse or text")
    return c.trace.tensor(c.attrs["value"])


@operator("ConstantOfShape")
def constant_of_shape(c: Call) -> Value:
    given = c.trace.tensor(c.attr("value")) if c.attr("value") is not None else c.builder.constant(np.zeros(1, "f4"))
    assert given.data is not None
    return c.builder.full(given.data.reshape(-1)[0], given.dtype, c.sizes(0))


@operator("EyeLike")
def eye_like(c: Call) -> Value:
    x = c[0]
    dtype = type_of(c.attr("dtype")) if c.attr("dtype") else x.dtype
    rows, columns = x.shape
    on = c.builder.arange(columns).equals(c.builder.arange(rows).reshape(-1, 1) + c.attr("k", 0))
    return on.cast(dtype)


@operator("Range")
def range_(c: Call) -> Value:
    """start + i * delta, as ONNX has it."""
    start, limit, delta = (c.fixed(i).reshape(-1)[0] for i in range(3))
    dtype = c[0].dtype
    if c.fixed(1).dtype == object:
        if (start, delta) != (0, 1):
            raise Unsupported("Range over a size that is a variable, except from 0 by 1")
        return c.builder.arange(limit).cast(dtype)
    if dtype not in ("f16", "bf16", "f32", "f64", "i16", "i32", "i64"):
        raise Unsupported(f"Range of {dtype}")
    count = max(int(np.ceil((float(limit) - float(start)) / float(delta))), 0)
    if count == 0:
        return c.builder.constant(np.zeros(0), dtype)
    return c.builder.arange(count).cast(dtype) * c.like(delta, c[0]) + c.like(start, c[0])


@operator("HannWindow", "HammingWindow", "BlackmanWindow")
def window(c: Call) -> Any:
    """a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n), in f32."""
    size = c.ints(0)[0]
    dtype = type_of(c.attr("output_datatype", onnx.TensorProto.FLOAT))
    terms = {
        "HannWindow": (0.5, 0.5, 0.0),
        "HammingWindow": (25 / 46, 21 / 46, 0.0),
        "BlackmanWindow": (0.42, 0.5, 0.08),
    }[c.name]
    over = size if c.attr("periodic", 1) else size - 1
    angle = c.builder.arange(size).cast("f64") * (2 * np.pi / over)
    out = -(angle.op("cos") * terms[1]) + terms[0] + (angle * 2).op("cos") * terms[2]
    return out.cast(dtype)
