"""Elements that are addressed by data. An index outside of its axis reads 0 and writes nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .reduce import highest, lowest
from .table import Call, Unsupported, operator
from .value import Value


@operator("Gather")
def gather(c: Call) -> Value:
    axis = c.attr("axis", 0) % c[0].rank
    return c[0].gather(c[1], axis)


@operator("ArrayFeatureExtractor", domain="ai.onnx.ml")
def array_feature_extractor(c: Call) -> Value:
    x = c[0] if c[0].rank > 1 else c[0].unsqueeze(0)
    return x.gather(c[1].reshape(-1), x.rank - 1)


@operator("Compress")
def compress(c: Call) -> Value:
    """The condition decides the shape, so it is known at compile time."""
    axis = c.attr("axis")
    x = c[0] if axis is not None else c[0].reshape(-1)
    return x.gather(c.builder.constant(np.flatnonzero(c.fixed(1))), axis or 0)


def _strides(shape: list[int]) -> list[int]:
    return [math.prod(shape[k + 1 :]) for k in range(len(shape))]


def _along(c: Call, x: Value, index: Value, axis: int) -> Value:
    """The number in x of each element that `index` names along one axis, and beyond the end where it names none."""
    sizes, shape = c.numbers_of(x), c.numbers_of(index)
    strides = _strides(sizes)
    wide = index.cast("i64").wrapped(sizes[axis])
    place = wide * strides[axis]
    for k in range(len(shape)):
        if k != axis and shape[k] > 1:
            place = place + (c.builder.arange(shape[k]) * strides[k]).reshape(-1, *[1] * (len(shape) - k - 1))
    inside = (wide >= 0) & (wide < sizes[axis])
    return inside.where(place, math.prod(sizes))


@operator("GatherElements")
def gather_elements(c: Call) -> Value:
    axis = c.attr("axis", 0) % c[0].rank
    return c[0].reshape(-1).gather(_along(c, c[0], c[1], axis))


def _places(c: Call, sizes: list[int], index: Value, batch: int) -> tuple[Value, list[int]]:
    """The number of the block that each row of `index` names, and the shape of a block."""
    shape = c.numbers_of(index)
    depth = shape[-1]
    strides = _strides(sizes[: batch + depth])
    place: Any = None
    inside: Any = None
    for k in range(depth):
        one = index.cast("i64").slice(index.rank - 1, k, k + 1).squeeze(index.rank - 1).wrapped(sizes[batch + k])
        fits = (one >= 0) & (one < sizes[batch + k])
        inside = fits if inside is None else inside & fits
        place = one * strides[batch + k] if place is None else place + one * strides[batch + k]
    for k in range(batch):
        place = place + (c.builder.arange(shape[k]) * strides[k]).reshape(-1, *[1] * (len(shape) - 2 - k))
    return inside.where(place, math.prod(sizes[: batch + depth])), sizes[batch + depth :]


@operator("GatherND")
def gather_nd(c: Call) -> Value:
    sizes, batch = c.numbers_of(c[0]), c.attr("batch_dims", 0)
    place, block = _places(c, sizes, c[1], batch)
    blocks = c[0].reshape(math.prod(sizes[: len(sizes) - len(block)]), *block)
    return blocks.gather(place)


def _write(base: Value, place: Value, updates: Value, how: str) -> Value:
    """Writes rows of `updates` at `place` in ascending order; mul, max and min compare every place with every row."""
    if how == "none":
        return base.op("scatter", place, updates)
    if how == "add":
        if base.is_float or base.dtype != "bool":
            return base.op("scatter_add", place, updates)
        raise Unsupported(f"adding of {base.dtype}")
    name, combine, identity = {
        "mul": ("prod", "mul", 1),
        "max": ("max", "maximum", lowest(base.dtype)),
        "min": ("min", "minimum", highest(base.dtype)),
    }[how]
    rows = base.builder.arange(base.shape[0]).reshape(-1, 1)
    hits = rows.equals(place).reshape(base.shape[0], place.shape[0], *[1] * (base.rank - 1))
    gathered = updates.unsqueeze(0).select(hits, base.builder.scalar(identity, base.dtype)).reduce(name, [1])
    return base.op(combine, gathered)


@operator("ScatterElements", "Scatter")
def scatter_elements(c: Call) -> Value:
    axis = c.attr("axis", 0) % c[0].rank
    if 0 in c[1].shape:
        return c[0]
    place = _along(c, c[0], c[1], axis).reshape(-1)
    out = _write(c[0].reshape(-1), place, c[2].reshape(-1), c.attr("reduction", "none"))
    return out.reshape(c[0].shape)


@operator("ScatterND")
def scatter_nd(c: Call) -> Value:
    sizes = c.numbers_of(c[0])
    place, block = _places(c, sizes, c[1], 0)
    lead = math.prod(sizes[: len(sizes) - len(block)])
    rows = place.reshape(-1)
    updates = c[2].reshape(rows.shape[0], *block)
    return _write(c[0].reshape(lead, *block), rows, updates, c.attr("reduction", "none")).reshape(sizes)


@operator("TensorScatter")
def tensor_scatter(c: Call) -> Value:
    """Writes a stretch into each row of a cache, from its own start on."""
    cache, update = c[0], c[1]
    axis = c.attr("axis", -2) % cache.rank
    sizes, length = c.numbers_of(cache), c.numbers_of(update)[axis]
    start = c[2].cast("i64") if c.has(2) else c.builder.full(0, "i64", [sizes[0]])
    x, u = cache.move(axis, 1), update.move(axis, 1)
    place = start.reshape(-1, 1) + c.builder.arange(length)
    if c.attr("mode", "linear") == "circular":
        place = place.op("floor_mod", sizes[axis])
    inside = (place >= 0) & (place < sizes[axis])
    rows = inside.where(place + (c.builder.arange(sizes[0]) * sizes[axis]).reshape(-1, 1), sizes[0] * sizes[axis])
    flat = x.reshape(sizes[0] * sizes[axis], *x.shape[2:])
    out = flat.op("scatter", rows.reshape(-1), u.reshape(sizes[0] * length, *u.shape[2:]))
    return out.reshape(x.shape).move(1, axis)


@operator("OneHot")
def one_hot(c: Call) -> Value:
    index, values = c[0], c[2]
    depth = int(c.fixed(1).reshape(-1)[0])
    axis = c.attr("axis", -1) % (index.rank + 1)
    wide = index.cast("i64") if not index.is_float else index.cast("f64").cast("i64")
    on = wide.wrapped(depth).unsqueeze(-1).equals(c.builder.arange(depth))
    return on.where(values.slice(0, 1, 2).reshape([]), values.slice(0, 0, 1).reshape([])).move(-1, axis)


@operator("TopK")
def top_k(c: Call) -> list[Value]:
    """By rank: each element counts those before it, n^2 comparisons. Equal elements keep their order."""
    x, axis = c[0], c.attr("axis", -1) % c[0].rank
    k = c.attr("k") if c.since < 10 else c.ints(1)[0]
    x = x.move(axis, -1)
    n = c.number_at(x, -1)
    mine, other = x.unsqueeze(-1), x.unsqueeze(-2)
    ahead = other > mine if c.attr("largest", 1) else other < mine
    place = c.builder.arange(n)
    earlier = place < place.reshape(-1, 1)
    rank = (ahead | (other.equals(mine) & earlier)).cast("i64").sum([-1])
    chosen = rank.unsqueeze(-2).equals(c.builder.arange(k).reshape(-1, 1))  # [..., k, n]
    index = chosen.cast("i8").op("argmax", axis=-1, keepdims=0)
    values = chosen.where(x.unsqueeze(-2), c.builder.scalar(0, x.dtype)).sum([-1])
    return [values.move(-1, axis), index.move(-1, axis)]
