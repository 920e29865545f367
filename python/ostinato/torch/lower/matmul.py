"""Products of matrices, and attention."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..errors import Unsupported
from .builder import Builder, Value
from .table import lowers

aten = torch.ops.aten


def product(b: Builder, x: Value, y: Value) -> Value:
    return b.op("matmul", x, y)


@lowers(aten.mm.default, aten.bmm.default, aten.matmul.default, aten.mv.default, aten.dot.default)
def mm(b: Builder, x: Value, y: Value) -> Value:
    return product(b, x, y)


def scaled(b: Builder, x: Value, by: float) -> Value:
    return x if by == 1 else b.op("mul", x, b.full(by, x.dtype))


@lowers(aten.addmm.default, aten.baddbmm.default, aten.addmv.default)
def addmm(b: Builder, c: Value, x: Value, y: Value, *, beta: float = 1, alpha: float = 1) -> Value:
    """Halves are rounded once, behind the sum."""
    dtype = x.dtype
    p = scaled(b, product(b, b.wide(x), b.wide(y)), alpha)
    return b.cast(p if beta == 0 else b.op("add", p, scaled(b, b.wide(c), beta)), dtype)


@lowers(aten.linear.default)
def linear(b: Builder, x: Value, weight: Value, bias: Value | None = None) -> Value:
    return b.op("linear", x, weight, *([] if bias is None else [bias]))


def visible(b: Builder, q: Value, k: Value) -> Value:
    """torch's causal mask: query i sees the keys up to i."""
    queries, keys = q.shape[-2], k.shape[-2]
    return b.op("ge", b.reshape(b.arange(queries), [queries, 1]), b.reshape(b.arange(keys), [1, keys]))


def attend(b: Builder, q: Value, k: Value, v: Value, mask: Value | None, causal: bool, scale: float | None) -> Value:
    if causal:
        seen = visible(b, q, k)
        if mask is None:
            mask = seen
        elif mask.dtype == "bool":
            mask = b.op("bit_and", mask, seen)
        else:
            mask = b.op("where", seen, mask, b.number(-math.inf, mask))
    if q.dtype == "f64" or (scale is None and not isinstance(q.shape[-1], int)):
        return by_parts(b, q, k, v, mask, scale)
    how = {} if scale is None else {"scale": float(scale)}
    return b.op("attention", q, k, v, *([] if mask is None else [mask]), **how)


def scores(b: Builder, q: Value, k: Value, mask: Value | None, scale: float | None) -> Value:
    s = product(b, q, b.swap(k, -2, -1))
    s = b.op("mul", s, factor(b, q, scale))
    if mask is None:
        return s
    if mask.dtype == "bool":
        return b.op("where", mask, s, b.number(-math.inf, s))
    return b.op("add", s, b.cast(mask, s.dtype))


def factor(b: Builder, q: Value, scale: float | None) -> Value:
    """1 / sqrt(features), where no scale is given."""
    dtype = b.wide(q).dtype
    if scale is not None:
        return b.full(scale, dtype)
    if isinstance(q.shape[-1], int):
        return b.full(1 / math.sqrt(q.shape[-1]), dtype)
    return b.op("rsqrt", b.scalar_of(q.shape[-1], dtype))


def by_parts(b: Builder, q: Value, k: Value, v: Value, mask: Value | None, scale: float | None) -> Value:
    return product(b, b.op("softmax", scores(b, q, k, mask, scale), axis=-1), v)


@lowers(aten.scaled_dot_product_attention.default)
def sdpa(b: Builder, q: Value, k: Value, v: Value, mask: Value | None = None, dropout: float = 0.0,
         causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False) -> Value:  # fmt: skip
    if dropout:
        raise Unsupported("random numbers are drawn by torch")
    if enable_gqa:
        raise Unsupported("attention with grouped heads")
    return attend(b, q, k, v, mask, causal, scale)


@lowers(aten._scaled_dot_product_flash_attention_for_cpu.default)
def flash(b: Builder, q: Value, k: Value, v: Value, dropout: float = 0.0, causal: bool = False, *,
          attn_mask: Value | None = None, scale: float | None = None) -> list[Any]:  # fmt: skip
    if dropout:
        raise Unsupported("random numbers are drawn by torch")
    out = attend(b, q, k, v, attn_mask, causal, scale) if b.used(0) else None
    if not b.used(1):
        return [out, None]
    s = masked_scores(b, q, k, attn_mask, causal, scale)
    return [out, b.op("logsumexp", s, axis=-1)]


def masked_scores(b: Builder, q: Value, k: Value, mask: Value | None, causal: bool, scale: float | None) -> Value:
    s = scores(b, b.wide(q), b.wide(k), mask, scale)
    return b.op("where", visible(b, q, k), s, b.number(-math.inf, s)) if causal else s


@lowers(aten._scaled_dot_product_flash_attention_for_cpu_backward.default)
def flash_backward(b: Builder, grad: Value, q: Value, k: Value, v: Value, out: Value, lse: Value, dropout: float,
                   causal: bool, *, attn_mask: Value | None = None, scale: float | None = None) -> list[Value]:  # fmt: skip
    """p = softmax again from the saved logarithm; ds = p (dp - rowsum(grad out))."""
    if dropout:
        raise Unsupported("random numbers are drawn by torch")
    dtype = q.dtype
    grad, q, k, v, out = (b.wide(x) for x in (grad, q, k, v, out))
    s = masked_scores(b, q, k, attn_mask, causal, scale)
    p = b.op("exp", b.op("sub", s, b.reshape(b.cast(lse, s.dtype), [*lse.shape, 1])))
    along = b.op("sum", b.op("mul", grad, out), axes=[q.rank - 1], keepdims=1)
    ds = b.op("mul", p, b.op("sub", product(b, grad, b.swap(v, -2, -1)), along))
    ds = b.op("mul", ds, factor(b, q, scale))
    results = product(b, ds, k), product(b, b.swap(ds, -2, -1), q), product(b, b.swap(p, -2, -1), grad)
    return [b.cast(r, dtype) for r in results]
