"""Convolutions of one and two axes, their transposes and gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..errors import Unsupported
from .builder import Builder, Value, times
from .table import lowers

aten = torch.ops.aten


def pair(values: Sequence[int], rank: int, one: int) -> list[int]:
    """For two axes; of a convolution along one the other is trivial."""
    values = list(values) * (rank if len(values) == 1 else 1)
    return values if rank == 2 else [one, *values]


def planes(b: Builder, x: Value) -> Value:
    return b.reshape(x, [*x.shape[:2], 1, x.shape[2]]) if x.rank == 3 else x


def spaced(b: Builder, x: Value, stride: Sequence[int]) -> Value:
    """stride - 1 zeros between elements of the last two axes."""
    if list(stride) == [1, 1]:
        return x
    n, c, h, w = x.shape
    if not isinstance(h, int) or not isinstance(w, int):
        raise Unsupported("a transposed convolution over symbolic sizes")
    apart = b.reshape(x, [n, c, h, 1, w, 1])
    apart = b.pad(apart, [0] * 6, [0, 0, 0, stride[0] - 1, 0, stride[1] - 1])
    x = b.reshape(apart, [n, c, h * stride[0], w * stride[1]])
    return b.slice(b.slice(x, 2, 0, (h - 1) * stride[0] + 1), 3, 0, (w - 1) * stride[1] + 1)


def transposed(b: Builder, x: Value, w: Value, stride: Sequence[int], padding: Sequence[int],
               dilation: Sequence[int], extra: Sequence[int], groups: int) -> Value:  # fmt: skip
    """w[C, O / groups, kh, kw]: a convolution of the spaced image with the mirrored filters."""
    c, per_group, kh, kw = (int(d) for d in w.shape)
    x = spaced(b, x, stride)
    edge = [dilation[i] * (k - 1) - padding[i] for i, k in enumerate((kh, kw))]
    x = b.pad(x, [0, 0, *edge], [0, 0, edge[0] + extra[0], edge[1] + extra[1]])
    w = b.op("flip", w, axes=[2, 3])
    w = b.reshape(w, [groups, c // groups, per_group, kh, kw])
    w = b.reshape(b.permute(w, [0, 2, 1, 3, 4]), [groups * per_group, c // groups, kh, kw])
    return b.op("conv2d", x, w, dilation=list(dilation), groups=groups)


@lowers(aten.convolution.default)
def convolution(b: Builder, x: Value, w: Value, bias: Value | None, stride: Sequence[int], padding: Sequence[int],
                dilation: Sequence[int], is_transposed: bool, extra: Sequence[int], groups: int) -> Value:  # fmt: skip
    rank = x.rank - 2
    if rank not in (1, 2):
        raise Unsupported(f"a convolution over {rank} axes; there are 1 and 2")
    s, p, d = pair(stride, rank, 1), pair(padding, rank, 0), pair(dilation, rank, 1)
    dtype = x.dtype
    x, w = b.wide(planes(b, x)), b.wide(planes(b, w))
    if is_transposed:
        y = transposed(b, x, w, s, p, d, pair(extra, rank, 0), groups)
    else:
        y = b.op("conv2d", x, w, stride=s, padding=p, dilation=d, groups=groups)
    if bias is not None:
        y = b.op("add", y, b.reshape(b.wide(bias), [bias.shape[0], 1, 1]))
    return b.cast(b.reshape(y, b.out_shape()), dtype)


@lowers(aten.convolution_backward.default)
def convolution_backward(b: Builder, grad: Value, x: Value, w: Value, bias: Any, stride: Sequence[int],
                         padding: Sequence[int], dilation: Sequence[int], is_transposed: bool, extra: Sequence[int],
                         groups: int, mask: Sequence[bool]) -> list[Value | None]:  # fmt: skip
    rank = x.rank - 2
    if rank not in (1, 2):
        raise Unsupported(f"the gradient of a convolution over {rank} axes; there are 1 and 2")
    s, p, d = pair(stride, rank, 1), pair(padding, rank, 0), pair(dilation, rank, 1)
    shapes, dtype = (x.shape, w.shape), x.dtype
    grad, x, w = (b.wide(planes(b, t)) for t in (grad, x, w))
    results: list[Value | None] = [None, None, None]
    if mask[0] and is_transposed:  # the convolution that it is the transpose of
        image = b.op("conv2d", grad, w, stride=s, padding=p, dilation=d, groups=groups)
        results[0] = b.reshape(image, shapes[0])
    elif mask[0]:
        results[0] = b.reshape(of_image(b, grad, x, w, s, p, d, groups), shapes[0])
    if mask[1]:
        ends = (x, grad) if is_transposed else (grad, x)
        results[1] = b.reshape(of_filters(b, *ends, w, s, p, d, groups), shapes[1])
    if mask[2]:
        results[2] = b.op("sum", grad, axes=[0, 2, 3])
    return [None if r is None else b.cast(r, dtype) for r in results]


def of_image(b: Builder, grad: Value, x: Value, w: Value, s: Sequence[int], p: Sequence[int], d: Sequence[int],
             groups: int) -> Value:  # fmt: skip
    extra = []
    for i in range(2):
        have, want = grad.shape[2 + i], x.shape[2 + i]
        if not isinstance(have, int) or not isinstance(want, int):
            raise Unsupported("the gradient of a convolution over symbolic sizes")
        extra.append(want - ((have - 1) * s[i] - 2 * p[i] + d[i] * (int(w.shape[2 + i]) - 1) + 1))
    return transposed(b, grad, w, s, p, d, extra, groups)


def of_filters(b: Builder, grad: Value, x: Value, w: Value, s: Sequence[int], p: Sequence[int], d: Sequence[int],
               groups: int) -> Value:  # fmt: skip
    """A convolution of the images with the gradients: the batch is what is contracted, stride and dilation change
    places."""
    n, c, h, width = x.shape
    o, per_group, kh, kw = (int(e) for e in w.shape)
    images = b.reshape(x, [n, groups, per_group, h, width])
    images = b.reshape(b.permute(images, [2, 1, 0, 3, 4]), [per_group, times(groups, n), h, width])
    filters = b.permute(grad, [1, 0, 2, 3])
    y = b.op("conv2d", images, filters, stride=list(d), padding=list(p), dilation=list(s), groups=groups)
    y = b.slice(b.slice(y, 2, 0, kh), 3, 0, kw)
    return b.permute(y, [1, 0, 2, 3])
