"""Tensors out of nothing."""

from __future__ import annotations

from typing import Any

import torch

from .builder import FLOATS, Builder, Dim, Value
from .table import lowers

aten = torch.ops.aten
prims = torch.ops.prims


@lowers(aten.full.default)
def full(b: Builder, shape: Any, value: Any, **how: Any) -> Value:
    return b.full(value, b.out_dtype(), b.out_shape())


@lowers(aten.full_like.default, aten.new_full.default)
def full_like(b: Builder, x: Value, *rest: Any, **how: Any) -> Value:
    return b.full(rest[-1], b.out_dtype(), b.out_shape())


@lowers(aten.zeros, aten.zeros_like, aten.new_zeros, aten.empty, aten.empty_like, aten.new_empty, aten.empty_strided)
def zeros(b: Builder, *rest: Any, **how: Any) -> Value:
    return b.full(0, b.out_dtype(), b.out_shape())


@lowers(aten.ones, aten.ones_like, aten.new_ones)
def ones(b: Builder, *rest: Any, **how: Any) -> Value:
    return b.full(1, b.out_dtype(), b.out_shape())


@lowers(aten.scalar_tensor.default)
def scalar_tensor(b: Builder, value: Any, **how: Any) -> Value:
    return b.full(value, b.out_dtype())


@lowers(aten.fill.Scalar, aten.fill.Tensor)
def fill(b: Builder, x: Value, value: Any) -> Value:
    if isinstance(value, Value):
        return b.broadcast(b.cast(value, x.dtype), x.shape)
    return b.full(value, x.dtype, x.shape)


def counted(b: Builder, start: Any, step: Any) -> Value:
    """start + i * step: exact for integers, in f64 for floats."""
    kind = "f64" if any(isinstance(v, float) for v in (start, step)) or b.out_dtype() in FLOATS else "i64"
    x = b.cast(b.arange(b.out_shape()[0]), kind)
    if step != 1:
        x = b.op("mul", x, b.full(step, kind))
    if isinstance(start, Dim) or start != 0:
        x = b.op("add", x, b.full(start, kind))
    return b.cast(x, b.out_dtype())


@lowers(aten.arange.start_step)
def arange_step(b: Builder, start: Any, end: Any, step: Any = 1, **how: Any) -> Value:
    return counted(b, start, step)


@lowers(aten.arange.start)
def arange_start(b: Builder, start: Any, end: Any, **how: Any) -> Value:
    return counted(b, start, 1)


@lowers(aten.arange.default)
def arange(b: Builder, end: Any, **how: Any) -> Value:
    return counted(b, 0, 1)


@lowers(prims.iota.default)
def iota(b: Builder, length: Any, *, start: Any, step: Any, **how: Any) -> Value:
    return counted(b, start, step)
