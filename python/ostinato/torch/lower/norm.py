"""Normalizations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .builder import Builder, Value, times
from .reduce import moments
from .table import lowers

aten = torch.ops.aten


def rows(b: Builder, x: Value, gamma: Value | None, beta: Value | None, eps: float) -> Value:
    """Over the last axis; halves are rounded once."""
    if gamma is None and beta is None:
        return b.op("layernorm", x, eps=float(eps))
    if gamma is None:
        assert beta is not None
        gamma = b.full(1, x.dtype, beta.shape)
    parts = [gamma] if beta is None else [gamma, beta]
    return b.op("layernorm", x, *parts, eps=float(eps))


def rstd_of(b: Builder, x: Value, over: list[int], eps: float) -> tuple[Value, Value]:
    """(mean, 1 / standard deviation), the axes kept."""
    mean, squares = moments(b, x, over)
    count = b.scalar_of(times(*(x.shape[d] for d in over)), x.dtype)
    variance = b.op("div", squares, count)
    return mean, b.op("rsqrt", b.op("add", variance, b.number(eps, x)))


@lowers(aten.native_layer_norm.default)
def layer_norm(b: Builder, x: Value, normal: Sequence[Any], gamma: Value | None, beta: Value | None, eps: float) -> list[Any]:
    kept = x.rank - len(normal)
    count = times(*x.shape[kept:])
    flat = b.reshape(x, [*x.shape[:kept], count])
    parts = [p if p is None else b.reshape(p, [count]) for p in (gamma, beta)]
    out = b.reshape(rows(b, flat, parts[0], parts[1], eps), x.shape) if b.used(0) else None
    if not (b.used(1) or b.used(2)):
        return [out, None, None]
    mean, rstd = rstd_of(b, b.wide(flat), [kept], eps)
    return [out, b.reshape(mean, b.out_shape(1)), b.reshape(rstd, b.out_shape(2))]


@lowers(aten.native_group_norm.default)
def group_norm(b: Builder, x: Value, gamma: Value | None, beta: Value | None, n: Any, c: Any, hw: Any, groups: int,
               eps: float) -> list[Any]:  # fmt: skip
    v = b.wide(x)
    flat = b.reshape(v, [x.shape[0], groups, times(int(x.shape[1]) // groups, *x.shape[2:])])
    y = b.reshape(rows(b, flat, None, None, eps), x.shape)
    column = [x.shape[1]] + [1] * (x.rank - 2)
    if gamma is not None:
        y = b.op("mul", y, b.reshape(b.wide(gamma), column))
    if beta is not None:
        y = b.op("add", y, b.reshape(b.wide(beta), column))
    y = b.cast(y, x.dtype)
    if not (b.used(1) or b.used(2)):
        return [y, None, None]
    mean, rstd = rstd_of(b, flat, [2], eps)
    return [y, b.reshape(mean, b.out_shape(1)), b.reshape(rstd, b.out_shape(2))]


def channels(b: Builder, p: Value, x: Value) -> Value:
    return b.reshape(b.cast(p, x.dtype), [p.shape[0]] + [1] * (x.rank - 2))


def affine(b: Builder, x: Value, mean: Value, rstd: Value, gamma: Value | None, beta: Value | None) -> Value:
    y = b.op("mul", b.op("sub", x, mean), rstd)
    if gamma is not None:
        y = b.op("mul", y, channels(b, gamma, x))
    return y if beta is None else b.op("add", y, channels(b, beta, x))


@lowers(aten._native_batch_norm_legit_no_training.default)
def batch_norm_eval(b: Builder, x: Value, gamma: Value | None, beta: Value | None, mean: Value, var: Value,
                    momentum: float, eps: float) -> list[Value]:  # fmt: skip
    v = b.wide(x)
    rstd = b.op("rsqrt", b.op("add", b.cast(var, v.dtype), b.number(eps, v)))
    y = affine(b, v, channels(b, mean, v), channels(b, rstd, v), gamma, beta)
    nothing = b.full(0, "f32", [0])
    return [b.cast(y, x.dtype), nothing, nothing]


def of_batch(b: Builder, x: Value, gamma: Value | None, beta: Value | None, eps: float) -> tuple[Value, ...]:
    """(result, mean, 1 / standard deviation, unbiased variance) with the batch's own moments, per channel."""
    v = b.wide(x)
    over = [0, *range(2, x.rank)]
    m, squares = moments(b, v, over)
    count = b.scalar_of(times(*(x.shape[d] for d in over)), v.dtype)
    rstd = b.op("rsqrt", b.op("add", b.op("div", squares, count), b.number(eps, v)))
    y = b.cast(affine(b, v, m, rstd, gamma, beta), x.dtype)
    unbiased = b.op("div", squares, b.op("sub", count, b.number(1, v)))
    return y, *(b.reshape(t, [x.shape[1]]) for t in (m, rstd, unbiased))


@lowers(aten._native_batch_norm_legit.no_stats)
def batch_norm_alone(b: Builder, x: Value, gamma: Value | None, beta: Value | None, training: bool, momentum: float,
                     eps: float) -> list[Value]:  # fmt: skip
    return list(of_batch(b, x, gamma, beta, eps)[:3])


@lowers(aten._native_batch_norm_legit_functional.default)
def batch_norm(b: Builder, x: Value, gamma: Value | None, beta: Value | None, mean: Value, var: Value, training: bool,
               momentum: float, eps: float) -> list[Any]:  # fmt: skip
    if not training:
        return [*batch_norm_eval(b, x, gamma, beta, mean, var, momentum, eps), mean, var]
    y, m, rstd, unbiased = of_batch(b, x, gamma, beta, eps)
    return [y, m, rstd, blend(b, mean, m, momentum), blend(b, var, unbiased, momentum)]


@lowers(aten._batch_norm_with_update_functional.default)
def batch_norm_update(b: Builder, x: Value, gamma: Value | None, beta: Value | None, mean: Value, var: Value,
                      momentum: float, eps: float) -> list[Any]:  # fmt: skip
    y, m, rstd, new_mean, new_var = batch_norm(b, x, gamma, beta, mean, var, True, momentum, eps)
    return [y, m, rstd, b.full(0, "u8", [0]), new_mean, new_var]


def blend(b: Builder, old: Value, new: Value, momentum: float) -> Value:
    w = b.wide(old)
    new = b.op("mul", b.cast(new, w.dtype), b.number(momentum, w))
    return b.cast(b.op("add", b.op("mul", w, b.number(1 - momentum, w)), new), old.dtype)


@lowers(aten._fused_rms_norm.default)
def rms_norm(b: Builder, x: Value, normal: Sequence[Any], gamma: Value | None, eps: float | None) -> list[Any]:
    eps = torch.finfo(getattr(torch, {"f64": "float64"}.get(x.dtype, "float32"))).eps if eps is None else eps
    kept = x.rank - len(normal)
    count = times(*x.shape[kept:])
    flat = b.reshape(x, [*x.shape[:kept], count])
    parts = [] if gamma is None else [b.reshape(gamma, [count])]
    out = b.reshape(b.op("rmsnorm", flat, *parts, eps=float(eps)), x.shape)
    if not b.used(1):
        return [out, None]
    v = b.wide(flat)
    squares = b.op("mean", b.op("mul", v, v), axes=[kept], keepdims=1)
    return [out, b.reshape(b.op("rsqrt", b.op("add", squares, b.number(eps, v))), b.out_shape(1))]
