"""Normalisation. Halves compute in f32 and are rounded at the end."""

from __future__ import annotations

from typing import Any

from .table import Call, operator
from .trace import type_of
from .value import Value, times


def _centred(x: Value, axes: list[int]) -> tuple[Value, Value, Value]:
    """The distance from the mean, the mean, and the variance."""
    mean = x.mean(axes, True)
    d = x - mean
    return d, mean, (d * d).mean(axes, True)


def _over_channels(v: Value, rank: int) -> Value:
    return v.reshape(-1, *[1] * (rank - 2)) if rank > 1 else v


@operator("BatchNormalization")
def batch_norm(c: Call) -> Any:
    x, eps = c[0].wide(), c.number("epsilon", 1e-5)
    scale, bias, mean, var = (c[i].cast(x.dtype) for i in range(1, 5))
    training = bool(c.attr("training_mode", 0)) or (c.since < 7 and not c.attr("is_test", 0))
    if not training:
        y = (x - _over_channels(mean, x.rank)) * (_over_channels(var, x.rank) + eps).op("rsqrt")
        return (y * _over_channels(scale, x.rank) + _over_channels(bias, x.rank)).cast(c[0].dtype)
    axes = [a for a in range(x.rank) if a != 1]
    d, now_mean, now_var = _centred(x, axes)
    y = d * (now_var + eps).op("rsqrt") * _over_channels(scale, x.rank) + _over_channels(bias, x.rank)
    keep = c.number("momentum", 0.9)
    running = [old * keep + new.reshape(-1) * (1 - keep) for old, new in ((mean, now_mean), (var, now_var))]
    return y.cast(c[0].dtype), running[0].cast(c[3].dtype), running[1].cast(c[4].dtype)


@operator("InstanceNormalization")
def instance_norm(c: Call) -> Value:
    x = c[0].wide()
    d, _, var = _centred(x, list(range(2, x.rank)))
    y = d * (var + c.number("epsilon", 1e-5)).op("rsqrt")
    y = y * _over_channels(c[1].cast(x.dtype), x.rank) + _over_channels(c[2].cast(x.dtype), x.rank)
    return y.cast(c[0].dtype)


@operator("GroupNormalization")
def group_norm(c: Call) -> Value:
    """Before opset 21 scale and bias were of groups, since then of channels."""
    x, groups = c[0].wide(), c.attr("num_groups")
    batch, channels = x.shape[0], c.number_at(x, 1)
    parts = x.reshape(batch, groups, channels // groups, times(x.shape[2:]))
    d, _, var = _centred(parts, [2, 3])
    y = d * (var + c.number("epsilon", 1e-5)).op("rsqrt")
    shape = [groups, 1, 1] if c.since < 21 else [groups, channels // groups, 1]
    y = y * c[1].cast(x.dtype).reshape(shape) + c[2].cast(x.dtype).reshape(shape)
    return y.reshape(x.shape).cast(c[0].dtype)


@operator("LayerNormalization")
def layer_norm(c: Call) -> Any:
    axes = list(range(c.attr("axis", -1) % c[0].rank, c[0].rank))
    stash = type_of(c.attr("stash_type", 1))
    x = c[0] if c[0].dtype == "f64" else c[0].cast(stash)
    d, mean, var = _centred(x, axes)
    inverse = (var + c.number("epsilon", 1e-5)).op("rsqrt")
    y = (d * inverse).cast(c[0].dtype) * c[1]
    return y if not c.has(2) and c.outputs == 1 else [y + c[2] if c.has(2) else y, mean, inverse][: c.outputs]


@operator("RMSNormalization")
def rms_norm(c: Call) -> Value:
    axes = list(range(c.attr("axis", -1) % c[0].rank, c[0].rank))
    x = c[0] if c[0].dtype == "f64" else c[0].cast(type_of(c.attr("stash_type", 1)))
    inverse = ((x * x).mean(axes, True) + c.number("epsilon", 1e-5)).op("rsqrt")
    y: Value = (x * inverse).cast(c[0].dtype) * c[1]
    return y


@operator("MeanVarianceNormalization")
def mean_variance_norm(c: Call) -> Value:
    x = c[0].wide()
    d, _, var = _centred(x, [a % x.rank for a in c.attr("axes", [0, 2, 3])])
    return (d / (var.op("sqrt") + 1e-9)).cast(c[0].dtype)


@operator("LRN")
def local_response_norm(c: Call) -> Value:
    """Over a window of channels."""
    x, size = c[0].wide(), int(c.attr("size"))
    before = [0] * x.rank
    after = [0] * x.rank
    before[1], after[1] = (size - 1) // 2, size - 1 - (size - 1) // 2
    squares = (x * x).pad(before, after).window(1, size).sum([2])
    factor = squares * (c.number("alpha", 1e-4) / size) + c.number("bias", 1.0)
    quotient: Value = x / factor.op("pow", c.number("beta", 0.75))
    return quotient.cast(c[0].dtype)
