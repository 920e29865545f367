"""Reductions, softmax and what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..errors import Unsupported
from .builder import Builder, Value, dtype_of, times
from .table import lowers

aten = torch.ops.aten


def axes(x: Value, dim: Any) -> list[int]:
    """All of them where none is named."""
    if dim is None or (isinstance(dim, list | tuple) and not dim):
        return list(range(x.rank))
    dims = dim if isinstance(dim, list | tuple) else [dim]
    return sorted(d % x.rank for d in dims) if x.rank else []


def reduce(b: Builder, name: str, x: Value, over: list[int], keepdims: bool) -> Value:
    return b.op(name, x, axes=over, keepdims=int(keepdims)) if over else x


@lowers(aten.sum, aten.prod)
def sum_(b: Builder, x: Value, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Value:
    name = b.name
    return reduce(b, name, b.cast(x, b.out_dtype()), axes(x, dim), keepdim)


@lowers(aten.mean)
def mean(b: Builder, x: Value, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Value:
    return reduce(b, "mean", b.cast(x, b.out_dtype()), axes(x, dim), keepdim)


@lowers(aten.amax.default, aten.amin.default, aten.max.default, aten.min.default)
def amax(b: Builder, x: Value, dim: Any = (), keepdim: bool = False) -> Value:
    name = "max" if "max" in b.name else "min"
    return reduce(b, name, x, axes(x, dim), keepdim)


@lowers(aten.max.other, aten.min.other)
def maximum(b: Builder, x: Value, y: Value) -> Value:
    dtype = b.out_dtype()
    name = "maximum" if b.target is aten.max.other else "minimum"
    return b.op(name, b.cast(x, dtype), b.cast(y, dtype))


@lowers(aten.max.dim, aten.min.dim)
def max_dim(b: Builder, x: Value, dim: int, keepdim: bool = False) -> list[Any]:
    name = "max" if b.target is aten.max.dim else "min"
    if x.rank == 0:
        return [x, b.full(0, "i64")]
    values = reduce(b, name, x, [dim % x.rank], keepdim) if b.used(0) else None
    at = b.op("arg" + name, x, axis=dim % x.rank, keepdims=int(keepdim)) if b.used(1) else None
    return [values, at]


@lowers(aten.argmax.default, aten.argmin.default)
def argmax(b: Builder, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    name = b.name
    if x.rank == 0:
        return b.full(0, "i64")
    if dim is None:
        flat = b.op(name, b.reshape(x, [times(*x.shape)]), axis=0)
        return b.reshape(flat, b.out_shape())
    return b.op(name, x, axis=dim % x.rank, keepdims=int(keepdim))


@lowers(aten.any, aten.all)
def any_(b: Builder, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    name = b.name
    return reduce(b, name, b.cast(x, "bool"), axes(x, dim), keepdim)


def moments(b: Builder, x: Value, over: list[int]) -> tuple[Value, Value]:
    """The mean, and the sum of squared distances from it; the axes stay."""
    m = b.op("mean", x, axes=over, keepdims=1)
    d = b.op("sub", x, m)
    return m, b.op("sum", b.op("mul", d, d), axes=over, keepdims=1)


def variance(b: Builder, x: Value, dim: Any, correction: Any) -> tuple[Value, Value]:
    """(variance, mean) with kept axes."""
    v = b.wide(x)
    over = axes(v, dim)
    m, squares = moments(b, v, over)
    count = b.scalar_of(times(*(v.shape[d] for d in over)), v.dtype)
    by = b.op("sub", count, b.number(1 if correction is None else correction, v))
    return b.op("div", squares, b.op("maximum", by, b.number(0, v))), m


@lowers(aten.var.correction)
def var(b: Builder, x: Value, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Value:
    return b.reshape(variance(b, x, dim, correction)[0], b.out_shape())


@lowers(aten.std.correction)
def std(b: Builder, x: Value, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Value:
    return b.reshape(b.op("sqrt", variance(b, x, dim, correction)[0]), b.out_shape())


@lowers(aten.var_mean.correction)
def var_mean(b: Builder, x: Value, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> list[Value]:
    return [b.reshape(r, b.out_shape(i)) for i, r in enumerate(variance(b, x, dim, correction))]


@lowers(aten._softmax.default, aten._safe_softmax.default, aten.softmax.int)
def softmax(b: Builder, x: Value, dim: int, *how: Any, **more: Any) -> Value:
    return b.op("softmax", b.cast(x, b.out_dtype()), axis=dim) if x.rank else b.full(1, b.out_dtype())


@lowers(aten._log_softmax.default, aten.log_softmax.int)
def log_softmax(b: Builder, x: Value, dim: int, *how: Any, **more: Any) -> Value:
    return b.op("log_softmax", b.cast(x, b.out_dtype()), axis=dim) if x.rank else b.full(0, b.out_dtype())


@lowers(aten.logsumexp.default)
def logsumexp(b: Builder, x: Value, dim: Sequence[int], keepdim: bool = False) -> Value:
    over = axes(x, dim)
    if len(over) == 1:
        return b.op("logsumexp", b.cast(x, b.out_dtype()), axis=over[0], keepdims=int(keepdim))
    rest = [d for d in range(x.rank) if d not in over]
    flat = b.permute(b.cast(x, b.out_dtype()), rest + over)
    flat = b.reshape(flat, [*(x.shape[d] for d in rest), times(*(x.shape[d] for d in over))])
    return b.reshape(b.op("logsumexp", flat, axis=len(rest)), b.out_shape())


@lowers(aten.linalg_vector_norm.default)
def vector_norm(b: Builder, x: Value, order: float = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Value:
    v = b.wide(b.cast(x, dtype_of(dtype) if dtype else x.dtype))
    over = axes(v, dim)
    if order == 2:
        return b.op("sqrt", reduce(b, "sum", b.op("mul", v, v), over, keepdim))
    a = b.op("abs", v)
    if order == 1:
        return reduce(b, "sum", a, over, keepdim)
    if order in (float("inf"), float("-inf")):
        return reduce(b, "max" if order > 0 else "min", a, over, keepdim)
    if order == 0:
        return reduce(b, "sum", b.cast(b.op("ne", v, b.number(0, v)), v.dtype), over, keepdim)
    total = reduce(b, "sum", b.op("pow", a, b.number(order, v)), over, keepdim)
    return b.op("pow", total, b.number(1 / order, v))
