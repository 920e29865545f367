"""Shapes and places: no arithmetic touches the elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..sizes import Size
from .fold import plain
from .table import Call, Unsupported, operator
from .value import Value, dim, times


@operator("Identity")
def identity(c: Call) -> Value:
    return c[0]


@operator("Dropout")
def dropout(c: Call) -> Any:
    """At inference nothing is dropped; with training_mode only a ratio of 0 is defined without random numbers."""
    training = (c.since >= 12 and c.has(2) and bool(c.fixed(2))) or (c.since < 7 and not c.attr("is_test", 0))
    if training and (float(c.fixed(1)) if c.has(1) else c.attr("ratio", 0.5)) != 0:
        raise Unsupported("random numbers that ONNX does not define")
    if c.outputs < 2:
        return c[0]
    return c[0], c.builder.full(1, c[0].dtype if c.since < 10 else "bool", c[0].shape)


def sizes_from(shape: list[Any], c: Call) -> Value:
    if all(isinstance(d, int) for d in shape):
        return c.builder.constant(np.array(shape, np.int64))
    data = np.empty(len(shape), object)
    data[:] = [d if isinstance(d, int) else Size(d) for d in shape]
    return c.builder.constant(data)


@operator("Shape")
def shape(c: Call) -> Value:
    x = c[0]
    return sizes_from(list(x.shape)[slice(c.attr("start", 0), c.attr("end"))], c)


@operator("Size")
def size(c: Call) -> Value:
    n = times(c[0].shape)
    return c.builder.constant(np.array(n, np.int64)) if isinstance(n, int) else sizes_from([n], c).reshape([])


@operator("Reshape")
def reshape(c: Call) -> Value:
    wanted = list(c.attr("shape")) if c.since < 5 else c.sizes(1)
    if not c.attr("allowzero", 0):
        wanted = [c[0].shape[i] if isinstance(d, int) and d == 0 else d for i, d in enumerate(wanted)]
    if -1 in [d for d in wanted if isinstance(d, int)] and 0 in c[0].shape:
        raise Unsupported("Reshape with -1 of no elements")
    return c[0].reshape(*wanted)


@operator("Flatten")
def flatten(c: Call) -> Value:
    axis = c.attr("axis", 1)
    axis = axis + c[0].rank if axis < 0 else axis
    return c[0].reshape(times(c[0].shape[:axis]), times(c[0].shape[axis:]))


@operator("Transpose")
def transpose(c: Call) -> Value:
    return c[0].permute(c.attr("perm") or list(reversed(range(c[0].rank))))


@operator("Squeeze")
def squeeze(c: Call) -> Value:
    x = c[0]
    axes = c.axes(1, x.rank)
    gone = axes if axes is not None else [i for i, d in enumerate(x.shape) if d == 1]
    for axis in sorted(gone, reverse=True):
        x = x.squeeze(axis)
    return x


@operator("Unsqueeze")
def unsqueeze(c: Call) -> Value:
    x = c[0]
    given = c.attr("axes") or c.ints(1)
    for axis in sorted(a % (x.rank + len(given)) for a in given):
        x = x.unsqueeze(axis)
    return x


@operator("Expand")
def expand(c: Call) -> Value:
    x = c[0]
    wanted = [dim(d) for d in c.sizes(1)]
    rank = max(len(wanted), x.rank)
    mine = [1] * (rank - x.rank) + list(x.shape)
    theirs = [1] * (rank - len(wanted)) + wanted
    return x.broadcast_to([a if b == 1 else b for a, b in zip(mine, theirs, strict=True)])


@operator("Tile")
def tile(c: Call) -> Value:
    x = c[0]
    repeats = c.sizes(1)
    inner = [d for size in x.shape for d in (1, size)]
    outer = [d for n, size in zip(repeats, x.shape, strict=True) for d in (dim(n), size)]
    if x.rank > 8:
        raise Unsupported("Tile of more than 8 axes")
    return x.reshape(inner).broadcast_to(outer).reshape([times((n, d)) for n, d in zip(repeats, x.shape, strict=True)])


@operator("Concat")
def concat(c: Call) -> Value:
    parts = [c[i] for i in range(len(c.inputs))]
    axis = c.attr("axis", 1) % parts[0].rank
    filled = [p for p in parts if p.shape[axis] != 0]
    return c.builder.concat(filled or parts[:1], axis)


@operator("Split")
def split(c: Call) -> list[Value]:
    x = c[0]
    axis = c.attr("axis", 0) % x.rank
    lengths = c.attr("split") if c.since < 13 else c.ints(1) if c.has(1) else None
    if lengths is None:
        total = x.shape[axis]
        count = c.attr("num_outputs", c.outputs)
        if isinstance(total, str):
            raise Unsupported("Split of a size that is a variable")
        each = -(-total // count)
        lengths = [min(each, max(total - each * k, 0)) for k in range(count)]
    at, out = 0, []
    if x.data is not None:  # sizes that are taken apart
        ends = [sum(lengths[:k]) for k in range(1, len(lengths))]
        return [c.builder.constant(plain(part)) for part in np.split(x.data, ends, axis)]
    for n in lengths:
        out.append(x.slice(axis, at, at + n))
        at += n
    return out


@operator("Slice")
def slice_(c: Call) -> Value:
    x = c[0]
    if c.since < 10:
        starts, stops, axes, steps = c.attr("starts"), c.attr("ends"), c.attr("axes"), None
    else:
        starts, stops = c.sizes(1), c.sizes(2)
        axes = c.ints(3) if c.has(3) else None
        steps = c.ints(4) if c.has(4) else None
    for i, axis in enumerate(axes if axes is not None else range(len(starts))):
        x = _cut(x, axis % x.rank, starts[i], stops[i], steps[i] if steps else 1)
    return x


def _cut(x: Value, axis: int, start: Any, stop: Any, step: int) -> Value:
    size = x.shape[axis]
    if isinstance(size, int) and isinstance(start, int) and isinstance(stop, int):
        start, stop, step = slice(start, stop, step).indices(size)
        if len(range(start, stop, step)) == size and step == 1:
            return x
        if not range(start, stop, step):
            return x.slice(axis, 0, 0)
        return x.slice(axis, start, None if stop < 0 else stop, step)
    far = 1 << 31
    start = None if isinstance(start, int) and (start == 0 if step > 0 else start >= far - 1) else start
    stop = None if isinstance(stop, int) and (stop >= far - 1 if step > 0 else stop <= 1 - far) else stop
    return x if start is None and stop is None and step == 1 else x.slice(axis, start, stop, step)


@operator("Pad")
def pad(c: Call) -> Value:
    x = c[0]
    widths = c.attr("pads", c.attr("paddings")) if c.since < 11 else c.ints(1)
    axes = [a % x.rank for a in c.ints(3)] if c.has(3) else list(range(x.rank))
    value = c.attr("value", 0.0) if c.since < 11 else c.fixed(2).reshape(-1)[0] if c.has(2) else 0
    before, after = [0] * x.rank, [0] * x.rank
    for i, axis in enumerate(axes):
        before[axis], after[axis] = widths[i], widths[i + len(axes)]
    for axis in range(x.rank):  # a negative width cuts
        low, high = max(-before[axis], 0), max(-after[axis], 0)
        if low or high:
            x = x.slice(axis, low, None if high == 0 else -high)
    before, after = [max(n, 0) for n in before], [max(n, 0) for n in after]
    mode = c.attr("mode", "constant")
    if mode == "constant":
        if x.dtype == "bool":
            return x.cast("u8").pad(before, after, int(value)).cast("bool")
        return x.pad(before, after, value)
    for axis, (low, high) in enumerate(zip(before, after, strict=True)):
        if low or high:
            index = np.pad(np.arange(c.numbers_of(x)[axis]), (low, high), mode=mode)
            x = x.gather(c.builder.constant(index), axis)
    return x


@operator("DepthToSpace")
def depth_to_space(c: Call) -> Value:
    n, _, h, w = c[0].shape
    b = c.attr("blocksize")
    depth = c.number_at(c[0], 1) // (b * b)
    if c.attr("mode", "DCR") == "DCR":
        x = c[0].reshape(n, b, b, depth, h, w).permute([0, 3, 4, 1, 5, 2])
    else:
        x = c[0].reshape(n, depth, b, b, h, w).permute([0, 1, 4, 2, 5, 3])
    return x.reshape(n, depth, times((h, b)), times((w, b)))


@operator("SpaceToDepth")
def space_to_depth(c: Call) -> Value:
    n, d, h, w = c.numbers_of(c[0])
    b = c.attr("blocksize")
    if h % b or w % b:
        raise Unsupported(f"SpaceToDepth of {h} x {w} by {b}, which does not divide them")
    order = [0, 3, 5, 1, 2, 4] if c.attr("mode", "DCR") == "DCR" else [0, 1, 3, 5, 2, 4]
    x = c[0].reshape(n, d, h // b, b, w // b, b).permute(order)
    return x.reshape(n, b * b * d, h // b, w // b)


@operator("Trilu")
def trilu(c: Call) -> Value:
    x = c[0]
    k = int(c.fixed(1)) if c.has(1) else 0
    rows = c.builder.arange(x.shape[-2]).reshape(-1, 1) if x.shape[-2] != 0 else None
    if rows is None or 0 in x.shape:
        return x
    reach = c.builder.arange(x.shape[-1]) - rows
    seen = reach >= k if c.attr("upper", 1) else reach <= k
    return x.select(seen, c.builder.scalar(0, x.dtype))


@operator("ReverseSequence")
def reverse_sequence(c: Call) -> Value:
    x, lengths = c[0], c[1]
    time, batch = c.attr("time_axis", 0), c.attr("batch_axis", 1)
    x = x.move(batch, 0).move(time if time > batch else time + 1, 1)
    steps = c.builder.arange(x.shape[1])
    ends = lengths.cast("i64").reshape(-1, 1)
    index = (steps < ends).where(ends - 1 - steps, steps)
    n = c.numbers_of(x)
    flat = index + c.builder.arange(n[0]).reshape(-1, 1) * n[1]
    y = x.reshape(n[0] * n[1], *n[2:]).gather(flat.reshape(-1)).reshape(*n)
    return y.move(1, time if time > batch else time + 1).move(0, batch)
