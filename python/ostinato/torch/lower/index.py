"""Reads and writes at computed positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..errors import Unsupported
from ..sizes import Size
from .builder import Builder, Value, times
from .table import lowers

aten = torch.ops.aten


def from_start(b: Builder, index: Value, extent: Size) -> Value:
    """Negative positions count from the end."""
    if index.dtype == "bool" or index.dtype == "u8":
        raise Unsupported("a mask as an index: the size of the result depends on its values")
    index = b.cast(index, "i64")
    behind = b.op("add", index, b.scalar_of(extent))
    return b.op("where", b.op("lt", index, b.number(0, index)), behind, index)


def linear(b: Builder, indices: Sequence[Value], extents: Sequence[Size]) -> Value:
    """One position in row-major order for a position along each of some axes."""
    at = from_start(b, indices[0], extents[0])
    for index, extent in zip(indices[1:], extents[1:], strict=True):
        at = b.op("add", b.op("mul", at, b.scalar_of(extent)), from_start(b, index, extent))
    return at


@lowers(aten.embedding.default)
def embedding(b: Builder, weight: Value, index: Value, *how: Any) -> Value:
    return b.op("gather", weight, index, axis=0)


@lowers(aten.index_select.default)
def index_select(b: Builder, x: Value, dim: int, index: Value) -> Value:
    if x.rank == 0:
        return b.reshape(x, b.out_shape())
    return b.reshape(b.op("gather", x, index, axis=dim % x.rank), b.out_shape())


@lowers(aten.unfold.default)
def unfold(b: Builder, x: Value, dim: int, size: int, step: int) -> Value:
    """Windows along an axis; what is in one becomes the last axis."""
    if x.rank == 0:
        return b.reshape(x, b.out_shape())
    dim %= x.rank
    count = b.out_shape()[dim]
    first = b.op("mul", b.reshape(b.arange(count), [count, 1]), b.full(step, "i64"))
    y = b.op("gather", x, b.op("add", first, b.arange(size)), axis=dim)
    return b.permute(y, [*range(dim + 1), *range(dim + 2, x.rank + 1), dim + 1])


def indexed_first(x: Value, indices: Sequence[Value | None]) -> tuple[list[int], list[int], int]:
    """(indexed axes, the others, where the result of the indices goes): in front, unless they are neighbours."""
    axes = [d for d, i in enumerate(indices) if i is not None]
    rest = [d for d in range(x.rank) if d not in axes]
    together = axes == list(range(axes[0], axes[0] + len(axes)))
    return axes, rest, axes[0] if together else 0


@lowers(aten.index.Tensor, aten._unsafe_index.Tensor)
def index(b: Builder, x: Value, indices: Sequence[Value | None]) -> Value:
    axes, rest, at = indexed_first(x, indices)
    flat = b.permute(x, rest[:at] + axes + rest[at:])
    extents = [x.shape[d] for d in axes]
    flat = b.reshape(flat, [*(x.shape[d] for d in rest[:at]), times(*extents), *(x.shape[d] for d in rest[at:])])
    where = linear(b, [i for i in indices if i is not None], extents)
    return b.op("gather", flat, where, axis=at)


@lowers(aten.index_put.default, aten._unsafe_index_put.default)
def index_put(b: Builder, x: Value, indices: Sequence[Value | None], values: Value, accumulate: bool = False) -> Value:
    axes, rest, at = indexed_first(x, indices)
    order = axes + rest
    extents = [x.shape[d] for d in axes]
    moved = b.permute(x, order)
    flat = b.reshape(moved, [times(*extents), *moved.shape[len(axes) :]])
    where = linear(b, [i for i in indices if i is not None], extents)
    # The shape of x[indices], its positions first.
    kept = [x.shape[d] for d in rest]
    wanted = [*kept[:at], *where.shape, *kept[at:]]
    values = b.broadcast(b.cast(values, x.dtype), wanted)
    n = len(where.shape)
    values = b.permute(values, [*range(at, at + n), *range(at), *range(at + n, len(wanted))])
    count = times(*where.shape)
    name = "scatter_add" if accumulate else "scatter"
    out = b.op(name, flat, b.reshape(where, [count]), b.reshape(values, [count, *kept]), axis=0)
    return b.permute(b.reshape(out, moved.shape), [order.index(d) for d in range(x.rank)])


def along(b: Builder, x: Value, dim: int, index: Value) -> Value:
    """Positions in x flattened: index along one axis, its own position along the others."""
    at = b.full(0, "i64")
    for d in range(x.rank):
        here = from_start(b, index, x.shape[d]) if d == dim else b.iota(index.shape, d)
        at = b.op("add", b.op("mul", at, b.scalar_of(x.shape[d])), here)
    return b.broadcast(at, index.shape)


@lowers(aten.gather.default)
def gather(b: Builder, x: Value, dim: int, index: Value, **how: Any) -> Value:
    if x.rank == 0:
        return b.broadcast(x, index.shape)
    flat = b.reshape(x, [times(*x.shape)])
    return b.op("gather", flat, along(b, x, dim % x.rank, index), axis=0)


def scatter_flat(b: Builder, name: str, x: Value, dim: int, index: Value, source: Value) -> Value:
    source = b.cast(source, x.dtype)
    if source.rank == 0:
        source = b.broadcast(source, index.shape)
    for d in range(index.rank):
        source = b.slice(source, d, 0, index.shape[d])
    count = times(*index.shape)
    at = b.reshape(along(b, x, dim % x.rank, index), [count])
    out = b.op(name, b.reshape(x, [times(*x.shape)]), at, b.reshape(source, [count]), axis=0)
    return b.reshape(out, x.shape)


@lowers(aten.scatter.src, aten.scatter.value)
def scatter(b: Builder, x: Value, dim: int, index: Value, source: Any) -> Value:
    source = source if isinstance(source, Value) else b.full(source, x.dtype)
    return scatter_flat(b, "scatter", x, dim, index, source)


@lowers(aten.scatter_add.default)
def scatter_add(b: Builder, x: Value, dim: int, index: Value, source: Value) -> Value:
    return scatter_flat(b, "scatter_add", x, dim, index, source)
