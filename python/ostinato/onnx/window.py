"""Convolution and pooling: windows over the spatial axes, in any number of dimensions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .reduce import lowest
from .table import Call, Unsupported, operator
from .value import Value, times


class Sliding:
    """How a window of `size` slides over the spatial axes of x."""

    def __init__(self, c: Call, x: Value, size: list[int]) -> None:
        n = len(size)
        self.size = size
        self.stride: list[int] = list(c.attr("strides") or [1] * n)
        self.dilation: list[int] = list(c.attr("dilations") or [1] * n)
        self.span = [(k - 1) * d + 1 for k, d in zip(size, self.dilation, strict=True)]
        pads = list(c.attr("pads") or [0] * (2 * n))
        self.before, self.after = pads[:n], pads[n:]
        auto = c.attr("auto_pad", "NOTSET")
        if auto == "VALID":
            self.before, self.after = [0] * n, [0] * n
        elif auto != "NOTSET":
            for i, (d, stride, span) in enumerate(zip(c.numbers_of(x)[2:], self.stride, self.span, strict=True)):
                total = max((-(-d // stride) - 1) * stride + span - d, 0)
                small, large = total // 2, total - total // 2
                self.before[i], self.after[i] = (small, large) if auto == "SAME_UPPER" else (large, small)
        self.extra = [0] * n  # behind the padding, of ceil_mode
        if c.attr("ceil_mode", 0):
            for i, d in enumerate(c.numbers_of(x)[2:]):
                whole = d + self.before[i] + self.after[i]
                positions = -(-(whole - self.span[i]) // self.stride[i]) + 1
                if (positions - 1) * self.stride[i] >= d + self.before[i]:  # it would start in the padding
                    positions -= 1
                self.extra[i] = max((positions - 1) * self.stride[i] + self.span[i] - whole, 0)

    def windows(self, x: Value, value: Any = 0) -> Value:
        """[N, C, positions..., taps...] of the padded x."""
        n = len(self.size)
        after = [a + e for a, e in zip(self.after, self.extra, strict=True)]
        x = x.pad([0, 0, *self.before], [0, 0, *after], value)
        for i in range(n):
            x = x.window(2 + 2 * i, self.size[i], self.stride[i], self.dilation[i])
        return x.permute([0, 1, *range(2, 2 + 2 * n, 2), *range(3, 3 + 2 * n, 2)])

    def taps(self, x: Value, value: Any = 0) -> Value:
        """The taps as one axis, the last."""
        w = self.windows(x, value)
        n = len(self.size)
        return w.reshape(*w.shape[: 2 + n], math.prod(self.size))


def convolve(x: Value, w: Value, how: Sliding, groups: int) -> Value:
    n = len(how.size)
    if n == 2 and x.is_float:
        x = x.pad([0, 0, *how.before], [0, 0, *how.after])
        return x.op("conv2d", w, stride=how.stride, dilation=how.dilation, groups=groups)
    windows = how.windows(x)
    batch, channels, *rest = windows.shape
    positions, each = rest[:n], w.shape[1]
    taps = windows.reshape(batch, groups, each, *rest)
    order = [0, 1, *range(3, 3 + n), *range(3 + n, 3 + 2 * n), 2]
    taps = taps.permute(order).reshape(batch, groups, times(positions), times([*how.size, each]))
    filters = w.permute([0, *range(2, 2 + n), 1]).reshape(groups, w.shape[0] // groups, times([*how.size, each]))
    out = filters.matmul(taps.op("transpose"))
    return out.reshape(batch, w.shape[0], *positions)


def add_bias(y: Value, bias: Value | None) -> Value:
    return y if bias is None else y + bias.reshape(-1, *[1] * (y.rank - 2))


@operator("Conv")
def conv(c: Call) -> Value:
    size = c.numbers_of(c[1])[2:]
    return add_bias(convolve(c[0], c[1], Sliding(c, c[0], size), c.attr("group", 1)), c.get(2))


@operator("ConvTranspose")
def conv_transpose(c: Call) -> Value:
    """A convolution of x with zeros between its elements."""
    x, w, groups = c[0], c[1], c.attr("group", 1)
    sizes, size = c.numbers_of(x), c.numbers_of(w)[2:]
    n = len(size)
    how = Sliding(_without_padding(c), x, size)
    extra = list(c.attr("output_padding") or [0] * n)
    pads = list(c.attr("pads") or [0] * (2 * n))
    whole = [(sizes[2 + i] - 1) * how.stride[i] + how.span[i] + extra[i] for i in range(n)]
    auto = c.attr("auto_pad", "NOTSET")
    if c.attr("output_shape") or auto in ("SAME_UPPER", "SAME_LOWER"):
        wanted = list(c.attr("output_shape") or [d * s for d, s in zip(sizes[2:], how.stride, strict=True)])[-n:]
        for i in range(n):
            total = max(whole[i] - wanted[i], 0)
            small, large = total // 2, total - total // 2
            pads[i], pads[n + i] = (small, large) if auto == "SAME_UPPER" else (large, small)
            extra[i] += max(wanted[i] - whole[i], 0)
    for i in range(n):
        x = _spread(x, 2 + i, how.stride[i])
        how.before[i] = how.span[i] - 1 - pads[i]
        how.after[i] = how.span[i] - 1 - pads[n + i] + extra[i]
        low, high = max(-how.before[i], 0), max(-how.after[i], 0)
        if low or high:  # a padding beyond the filter cuts
            x = x.slice(2 + i, low, None if high == 0 else -high)
        how.before[i], how.after[i] = max(how.before[i], 0), max(how.after[i], 0)
    how.stride = [1] * n
    each = w.shape[1]
    turned = w.flip(*range(2, 2 + n)).reshape(groups, sizes[1] // groups, each, *size)
    turned = turned.permute([0, 2, 1, *range(3, 3 + n)]).reshape(groups * each, sizes[1] // groups, *size)
    return add_bias(convolve(x, turned, how, groups), c.get(2))


def _without_padding(c: Call) -> Call:
    attrs = {k: v for k, v in c.attrs.items() if k not in ("pads", "auto_pad")}
    return Call(c.trace, c.name, c.inputs, attrs, c.since, c.outputs)


def _spread(x: Value, axis: int, stride: int) -> Value:
    """stride - 1 zeros between neighbours."""
    if stride == 1:
        return x
    n = x.shape[axis]
    wide = x.unsqueeze(axis + 1)
    after = [0] * wide.rank
    after[axis + 1] = stride - 1
    shape = [*x.shape[:axis], n * stride, *x.shape[axis + 1 :]]
    return wide.pad([0] * wide.rank, after).reshape(shape).slice(axis, 0, (n - 1) * stride + 1)


# --- pools


@operator("MaxPool")
def max_pool(c: Call) -> Any:
    x = c[0]
    how = Sliding(c, x, list(c.attr("kernel_shape")))
    taps = how.taps(x, lowest(x.dtype))
    if c.outputs < 2:
        return taps.reduce("max", [-1])
    best = taps.op("argmax", axis=-1, keepdims=1)
    numbers = c.builder.constant(_places(c, x, how))
    place = best.equals(c.builder.arange(taps.shape[-1])).where(numbers, 0).sum([-1])
    return taps.reduce("max", [-1]), place


def _places(c: Call, x: Value, how: Sliding) -> Any:
    """For each position and tap the number of the element in x; [N, C, positions..., taps]."""
    sizes = c.numbers_of(x)
    n = len(how.size)
    columns_first = bool(c.attr("storage_order", 0))
    plane = np.arange(math.prod(sizes[2:])).reshape(sizes[2:])
    if columns_first:
        plane = np.arange(plane.size).reshape(sizes[:1:-1]).transpose()
    plane = np.pad(plane, [(b, a + e) for b, a, e in zip(how.before, how.after, how.extra, strict=True)])
    windows = np.lib.stride_tricks.sliding_window_view(plane, how.span)
    windows = windows[tuple(slice(None, None, s) for s in how.stride)]
    windows = windows[(slice(None),) * n + tuple(slice(None, None, d) for d in how.dilation)]
    flat = windows.reshape(*windows.shape[:n], -1)
    planes = np.arange(sizes[0] * sizes[1]).reshape(sizes[0], sizes[1], *[1] * (n + 1))
    return (planes * math.prod(sizes[2:]) + flat).astype(np.int64)


@operator("AveragePool")
def average_pool(c: Call) -> Value:
    x = c[0]
    how = Sliding(c, x, list(c.attr("kernel_shape")))
    total = how.taps(x.wide()).sum([-1])
    inside = all(not any(p) for p in (how.before, how.after, how.extra))
    if inside or (c.attr("count_include_pad", 0) and not any(how.extra)):
        return (total / math.prod(how.size)).cast(x.dtype)
    ones = c.builder.full(1, total.dtype, [1, 1, *x.shape[2:]])
    if c.attr("count_include_pad", 0):
        ones = ones.pad([0, 0, *how.before], [0, 0, *how.after], 1)
        outer = Sliding(c, x, how.size)
        outer.before, outer.after, outer.extra = [0] * len(how.size), [0] * len(how.size), how.extra
        return (total / outer.taps(ones).sum([-1])).cast(x.dtype)
    return (total / how.taps(ones).sum([-1])).cast(x.dtype)


@operator("LpPool")
def lp_pool(c: Call) -> Value:
    x = c[0].wide()
    p = float(c.attr("p", 2))
    taps = Sliding(c, x, list(c.attr("kernel_shape"))).taps(x)
    return _root((taps * taps if p == 2 else taps.op("abs").op("pow", p)).sum([-1]), p).cast(c[0].dtype)


def _root(x: Value, p: float) -> Value:
    return x.op("sqrt") if p == 2 else x if p == 1 else x.op("pow", 1 / p)


@operator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(c: Call) -> Value:
    x, axes = c[0], list(range(2, c[0].rank))
    if c.name == "GlobalAveragePool":
        return x.mean(axes, True)
    if c.name == "GlobalMaxPool":
        return x.reduce("max", axes, True)
    p = float(c.attr("p", 2))
    return _root(x.op("abs").op("pow", p).sum(axes, True), p)


@operator("MaxUnpool")
def max_unpool(c: Call) -> Value:
    x, places, size = c[0], c[1], list(c.attr("kernel_shape"))
    n = len(size)
    sizes = c.numbers_of(x)
    stride = list(c.attr("strides") or [1] * n)
    pads = list(c.attr("pads") or [0] * (2 * n))
    inferred = [(sizes[2 + i] - 1) * stride[i] - pads[i] - pads[n + i] + size[i] for i in range(n)]
    shape = sizes[:2] + inferred
    base = c.builder.full(0, x.dtype, [math.prod(shape)])
    out = base.op("scatter", places.reshape(-1), x.reshape(-1)).reshape(*shape)
    if not c.has(2):
        return out
    wanted = c.ints(2)
    if any(a < b for a, b in zip(wanted, shape, strict=True)):
        raise Unsupported(f"MaxUnpool to {wanted}, less than {shape}")
    return out.pad([0] * x.rank, [a - b for a, b in zip(wanted, shape, strict=True)])


@operator("Col2Im")
def col_to_im(c: Call) -> Value:
    """Each tap of each block is placed by padding, and all are added."""
    x, image, block = c[0], c.ints(1), c.ints(2)
    how = Sliding(c, c.builder.full(0, x.dtype, [1, 1, *image]), block)
    n = len(image)
    whole = [d + b + a for d, b, a in zip(image, how.before, how.after, strict=True)]
    positions = [(w - s) // k + 1 for w, s, k in zip(whole, how.span, how.stride, strict=True)]
    batch, rows, _ = c.numbers_of(x)
    channels = rows // math.prod(block)
    blocks = x.reshape(batch, channels, math.prod(block), *positions)
    out = None
    for k, tap in enumerate(np.ndindex(*block)):
        part = blocks.slice(2, k, k + 1).squeeze(2)
        for i in range(n):
            part = _spread(part, 2 + i, how.stride[i])
        low = [t * d for t, d in zip(tap, how.dilation, strict=True)]
        high = [w - b - part.shape[2 + i] for i, (w, b) in enumerate(zip(whole, low, strict=True))]
        part = part.pad([0, 0, *low], [0, 0, *high])
        out = part if out is None else out + part
    assert out is not None
    for i in range(n):
        out = out.slice(2 + i, how.before[i], how.before[i] + image[i])
    return out
