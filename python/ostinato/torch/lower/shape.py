"""Movement: what changes where elements are, and no value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..errors import Unsupported
from ..sizes import Size, shape
from .builder import Builder, Dim, Value, minus, plus
from .table import lowers

aten = torch.ops.aten


@lowers(aten.view.default, aten._unsafe_view.default, aten.reshape.default, aten.unsqueeze.default, aten.squeeze)
def view(b: Builder, x: Value, *how: Any) -> Value:
    return b.reshape(x, b.out_shape())


@lowers(aten.view_copy.default, aten.flatten.using_ints, aten.unflatten.int, aten._reshape_alias.default)
def view_too(b: Builder, x: Value, *how: Any) -> Value:
    return b.reshape(x, b.out_shape())


@lowers(aten.expand.default, aten.broadcast_to.default, aten.expand_as.default)
def expand(b: Builder, x: Value, *how: Any, **more: Any) -> Value:
    return b.broadcast(x, b.out_shape())


@lowers(aten.permute.default)
def permute(b: Builder, x: Value, dims: Sequence[int]) -> Value:
    return b.permute(x, dims)


@lowers(aten.t.default, aten.numpy_T.default, aten.mT.default)
def t(b: Builder, x: Value) -> Value:
    return x if x.rank < 2 else b.swap(x, -2, -1)


@lowers(aten.transpose.int, aten.swapaxes.default)
def transpose(b: Builder, x: Value, a: int, c: int) -> Value:
    return x if x.rank == 0 else b.swap(x, a, c)


def position(at: Any, extent: Size) -> Size:
    """Where a slice starts, in [0, extent]."""
    if at is None:
        return 0
    if isinstance(at, Dim):
        return at.size
    if at < 0:
        return max(0, extent + at) if isinstance(extent, int) else minus(extent, -at)
    return min(at, extent) if isinstance(extent, int) else int(at)


@lowers(aten.slice.Tensor)
def slice_(b: Builder, x: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Value:
    dim %= x.rank
    return b.slice(x, dim, position(start, x.shape[dim]), b.out_shape()[dim], step)


@lowers(aten.narrow.default)
def narrow(b: Builder, x: Value, dim: int, start: Any, length: Any) -> Value:
    return slice_(b, x, dim, start)


def index(at: Any, extent: Size) -> Size:
    if isinstance(at, Dim):
        return at.size
    return int(at) if at >= 0 else plus(extent, int(at))


@lowers(aten.select.int)
def select(b: Builder, x: Value, dim: int, at: Any) -> Value:
    dim %= x.rank
    return b.reshape(b.slice(x, dim, index(at, x.shape[dim]), 1), b.out_shape())


@lowers(aten.cat.default, aten.concat.default)
def cat(b: Builder, parts: Sequence[Value], dim: int = 0) -> Value:
    rank = len(b.out_shape())
    kept = [b.cast(p, b.out_dtype()) for p in parts if not (p.shape == (0,) and rank != 1)]
    return kept[0] if len(kept) == 1 else b.op("concat", *kept, axis=dim % rank)


@lowers(aten.stack.default)
def stack(b: Builder, parts: Sequence[Value], dim: int = 0) -> Value:
    rank = parts[0].rank + 1
    dim %= rank
    kept = [b.reshape(b.cast(p, b.out_dtype()), [*p.shape[:dim], 1, *p.shape[dim:]]) for p in parts]
    return kept[0] if len(kept) == 1 else b.op("concat", *kept, axis=dim)


@lowers(aten.split_with_sizes.default, aten.split.Tensor, aten.split.sizes, aten.chunk.default, aten.unsafe_split.Tensor)
def split(b: Builder, x: Value, how: Any, dim: int = 0) -> list[Value]:
    dim %= x.rank
    start: Size = 0
    out = []
    for part in b.out:
        length = shape(part.shape)[dim]
        out.append(b.slice(x, dim, start, length))
        start = plus(start, length)
    return out


@lowers(aten.unbind.int)
def unbind(b: Builder, x: Value, dim: int = 0) -> list[Value]:
    dim %= x.rank
    return [b.reshape(b.slice(x, dim, i, 1), b.out_shape(i)) for i in range(len(b.out))]


@lowers(aten.flip.default)
def flip(b: Builder, x: Value, dims: Sequence[int]) -> Value:
    return b.op("flip", x, axes=[d % x.rank for d in dims]) if dims else x


@lowers(aten.roll.default)
def roll(b: Builder, x: Value, shifts: Sequence[int], dims: Sequence[int] = ()) -> Value:
    if not dims:
        flat = b.reshape(x, [_count(x)])
        return b.reshape(roll(b, flat, shifts, [0]), x.shape)
    for by, d in zip(shifts, dims, strict=True):
        d %= x.rank
        extent = x.shape[d]
        if not isinstance(extent, int):
            raise Unsupported("roll along an axis of symbolic size")
        by = by % extent if extent else 0
        if by:
            x = b.op("concat", b.slice(x, d, extent - by, by), b.slice(x, d, 0, extent - by), axis=d)
    return x


def _count(x: Value) -> Size:
    from .builder import times

    return times(*x.shape)


@lowers(aten.repeat.default, aten.tile.default)
def repeat(b: Builder, x: Value, times_: Sequence[Any]) -> Value:
    counts: list[Size] = [c.size if isinstance(c, Dim) else int(c) for c in times_]
    dims: list[Size] = [*[1] * (len(counts) - x.rank), *x.shape]
    apart = [d for extent in dims for d in (1, extent)]
    spread = [d for count, extent in zip(counts, dims, strict=True) for d in (count, extent)]
    return b.reshape(b.broadcast(b.reshape(x, apart), spread), b.out_shape())


@lowers(aten.constant_pad_nd.default)
def constant_pad(b: Builder, x: Value, pad: Sequence[Any], value: float = 0) -> Value:
    widths = [w.size if isinstance(w, Dim) else w for w in pad]
    before: list[Size] = [0] * x.rank
    after: list[Size] = [0] * x.rank
    for i in range(len(widths) // 2):
        before[x.rank - 1 - i], after[x.rank - 1 - i] = widths[2 * i], widths[2 * i + 1]
    return b.pad(x, before, after, value)


@lowers(aten.slice_scatter.default)
def slice_scatter(b: Builder, x: Value, source: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Value:
    if step != 1:
        raise Unsupported("slice_scatter with a step")
    dim %= x.rank
    first = position(start, x.shape[dim])
    source = b.cast(source, x.dtype)
    behind = plus(first, source.shape[dim])
    parts = [source]
    if first != 0:
        parts.insert(0, b.slice(x, dim, 0, first))
    if behind != x.shape[dim]:
        parts.append(b.slice(x, dim, behind, minus(x.shape[dim], behind)))
    return parts[0] if len(parts) == 1 else b.op("concat", *parts, axis=dim)


@lowers(aten.select_scatter.default)
def select_scatter(b: Builder, x: Value, source: Value, dim: int, at: Any) -> Value:
    dim %= x.rank
    wide = b.reshape(source, [*x.shape[:dim], 1, *x.shape[dim + 1 :]])
    here = b.op("eq", b.iota(x.shape, dim), b.scalar_of(index(at, x.shape[dim])))
    return b.op("where", here, b.cast(wide, x.dtype), x)


@lowers(aten.diagonal.default)
def diagonal(b: Builder, x: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    """A gather of the two axes as one: element i is at i * (columns + 1) from the first."""
    rows, columns = x.shape[dim1 % x.rank], x.shape[dim2 % x.rank]
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise Unsupported("a diagonal of symbolic sizes")
    rest = [d for d in range(x.rank) if d not in (dim1 % x.rank, dim2 % x.rank)]
    flat = b.permute(x, [*rest, dim1, dim2])
    flat = b.reshape(flat, [*(x.shape[d] for d in rest), rows * columns])
    count = b.out_shape()[-1]
    first = offset if offset >= 0 else -offset * columns
    return b.slice(flat, len(rest), first, count, columns + 1)
