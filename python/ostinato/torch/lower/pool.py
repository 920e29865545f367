"""Pooling over two axes, and its gradients as sums over the taps of a window."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ..errors import Unsupported
from .builder import FLOATS, Builder, Value, times
from .conv import spaced
from .table import lowers

aten = torch.ops.aten


def two(values: Sequence[int]) -> list[int]:
    return [values[0], values[0]] if len(values) == 1 else list(values)


def four(b: Builder, x: Value) -> Value:
    return b.reshape(x, [1, *x.shape]) if x.rank == 3 else x


def sides(x: Value, out: Sequence[Any], k: Sequence[int], s: Sequence[int], p: Sequence[int], d: Sequence[int]) -> list[int]:
    """top, left, bottom, right: what the results need; with ceil_mode more than the padding behind the end."""
    behind = []
    for i in range(2):
        have, want = x.shape[-2 + i], out[-2 + i]
        if not isinstance(have, int) or not isinstance(want, int):
            behind.append(p[i])
        else:
            behind.append(max(p[i], (want - 1) * s[i] + d[i] * (k[i] - 1) + 1 - have - p[i]))
    return [*p, *behind]


@lowers(aten.max_pool2d_with_indices.default, aten.max_pool2d.default)
def max_pool(b: Builder, x: Value, kernel: Sequence[int], stride: Sequence[int] = (), padding: Sequence[int] = (0,),
             dilation: Sequence[int] = (1,), ceil_mode: bool = False) -> Any:  # fmt: skip
    k, p, d = two(kernel), two(padding), two(dilation)
    s = two(stride) if stride else k
    single = isinstance(b.out, torch.Tensor)
    out = b.out_shape(None if single else 0)
    pad = sides(x, out, k, s, p, d)
    image = four(b, x)
    result = b.op("max_pool2d", image, size=k, stride=s, padding=pad, dilation=d)
    result = b.reshape(result, out)
    if single:
        return result
    if not b.used(1):
        return [result, None]
    return [result, b.reshape(best_tap(b, image, out, k, s, d, pad), out)]


def taps(k: Sequence[int]) -> Iterator[tuple[int, int]]:
    return ((i, j) for i in range(k[0]) for j in range(k[1]))


def best_tap(b: Builder, x: Value, out: Sequence[Any], k: Sequence[int], s: Sequence[int], d: Sequence[int],
             pad: Sequence[int]) -> Value:  # fmt: skip
    """The position of each window's maximum in its plane: the first one, or the last NaN, as torch has it."""
    low = -math.inf if x.dtype in FLOATS else 0
    if x.dtype not in FLOATS:
        raise Unsupported("indices of a maximum over integers")
    wide = b.pad(x, [0, 0, pad[0], pad[1]], [0, 0, pad[2], pad[3]], low)
    rows, columns = out[-2], out[-1]
    row = b.op("sub", b.op("mul", b.reshape(b.arange(rows), [rows, 1]), b.full(s[0], "i64")), b.full(pad[0], "i64"))
    column = b.op("sub", b.op("mul", b.arange(columns), b.full(s[1], "i64")), b.full(pad[1], "i64"))
    best: Value | None = None
    at: Value | None = None
    for i, j in taps(k):
        v = b.slice(b.slice(wide, 2, i * d[0], rows, s[0]), 3, j * d[1], columns, s[1])
        r = b.op("add", row, b.full(i * d[0], "i64"))
        c = b.op("add", column, b.full(j * d[1], "i64"))
        here = b.op("add", b.op("mul", r, b.scalar_of(x.shape[3])), c)
        inside = b.op("bit_and", b.op("ge", r, b.full(0, "i64")), b.op("ge", c, b.full(0, "i64")))
        inside = b.op("bit_and", inside, b.op("lt", r, b.scalar_of(x.shape[2])))
        inside = b.op("bit_and", inside, b.op("lt", c, b.scalar_of(x.shape[3])))
        if best is None or at is None:
            best, at = v, b.op("where", inside, here, b.full(-1, "i64"))
            continue
        better = b.op("bit_or", b.op("gt", v, best), b.op("ne", v, v))
        better = b.op("bit_or", better, b.op("lt", at, b.full(0, "i64")))
        better = b.op("bit_and", better, inside)
        best, at = b.op("where", better, v, best), b.op("where", better, here, at)
    assert at is not None
    return b.broadcast(at, [*x.shape[:2], rows, columns])


@lowers(aten.max_pool2d_with_indices_backward.default)
def max_pool_backward(b: Builder, grad: Value, x: Value, kernel: Any, stride: Any, padding: Any, dilation: Any,
                      ceil_mode: bool, indices: Value) -> Value:  # fmt: skip
    planes = times(*x.shape[:-2])
    plane = times(*x.shape[-2:])
    count = times(*grad.shape[-2:])
    first = b.op("mul", b.reshape(b.arange(planes), [planes, 1]), b.scalar_of(plane))
    at = b.reshape(b.op("add", b.reshape(indices, [planes, count]), first), [times(planes, count)])
    flat = b.full(0, x.dtype, [times(planes, plane)])
    out = b.op("scatter_add", flat, at, b.reshape(grad, [times(planes, count)]), axis=0)
    return b.reshape(out, x.shape)


@lowers(aten.avg_pool2d.default)
def avg_pool(b: Builder, x: Value, kernel: Sequence[int], stride: Sequence[int] = (), padding: Sequence[int] = (0,),
             ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> Value:  # fmt: skip
    k, p = two(kernel), two(padding)
    s = two(stride) if stride else k
    if divisor_override is not None:
        raise Unsupported("avg_pool2d with a divisor")
    if ceil_mode and sides(x, b.out_shape(), k, s, p, [1, 1]) != p + p:
        raise Unsupported("avg_pool2d with windows that reach over the edge")
    y = b.op("avg_pool2d", four(b, x), size=k, stride=s, padding=p, count_padding=int(count_include_pad))
    return b.reshape(y, b.out_shape())


@lowers(aten.avg_pool2d_backward.default)
def avg_pool_backward(b: Builder, grad: Value, x: Value, kernel: Sequence[int], stride: Sequence[int],
                      padding: Sequence[int], ceil_mode: bool, count_include_pad: bool,
                      divisor_override: int | None) -> Value:  # fmt: skip
    """Each gradient, divided, goes to every tap of its window."""
    k, p = two(kernel), two(padding)
    s = two(stride) if stride else k
    if ceil_mode or divisor_override is not None or (not count_include_pad and p != [0, 0]):
        raise Unsupported("the gradient of avg_pool2d with ceil_mode, a divisor or uncounted padding")
    image, g = four(b, x), b.wide(four(b, grad))
    apart = spaced(b, b.op("div", g, b.number(k[0] * k[1], g)), s)
    total: Value | None = None
    for i, j in taps(k):
        before = [i - p[0], j - p[1]]
        after = [int(image.shape[2 + a]) - int(apart.shape[2 + a]) - before[a] for a in range(2)]
        part = b.pad(apart, [0, 0, *before], [0, 0, *after])
        total = part if total is None else b.op("add", total, part)
    assert total is not None
    return b.cast(b.reshape(total, x.shape), x.dtype)


def windows(x: Value, out: Sequence[Any]) -> tuple[int, int]:
    h, w = x.shape[-2:]
    if not all(isinstance(e, int) for e in (h, w, *out[-2:])) or int(h) % out[-2] or int(w) % out[-1]:
        raise Unsupported("adaptive pooling whose windows have different sizes")
    return int(h) // out[-2], int(w) // out[-1]


@lowers(aten._adaptive_avg_pool2d.default)
def adaptive_avg_pool(b: Builder, x: Value, size: Sequence[int]) -> Value:
    out = b.out_shape()
    if out[-1] == 1 and out[-2] == 1:
        return b.reshape(b.op("mean", x, axes=[x.rank - 2, x.rank - 1], keepdims=1), out)
    h, w = windows(x, out)
    return b.reshape(b.op("avg_pool2d", four(b, x), size=[h, w]), out)


@lowers(aten._adaptive_avg_pool2d_backward.default)
def adaptive_avg_pool_backward(b: Builder, grad: Value, x: Value) -> Value:
    h, w = windows(x, grad.shape)
    g = b.wide(grad)
    g = b.op("div", g, b.number(h * w, g))
    rows, columns = g.shape[-2:]
    g = b.reshape(g, [*g.shape[:-2], rows, 1, columns, 1])
    g = b.broadcast(g, [*g.shape[:-4], rows, h, columns, w])
    return b.cast(b.reshape(g, x.shape), x.dtype)
