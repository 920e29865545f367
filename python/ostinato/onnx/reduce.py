"""Reductions, arg-extremes, running sums, softmax."""

from __future__ import annotations

import math
from typing import Any

from .table import Call, Unsupported, operator
from .value import Value, times


def _axes(c: Call, x: Value) -> list[int]:
    given = c.axes(1, x.rank)
    if given:
        return given
    return [] if c.attr("noop_with_empty_axes", 0) else list(range(x.rank))


@operator("ReduceSum", "ReduceMean", "ReduceProd")
def reduce_plain(c: Call) -> Value:
    name = c.name[len("Reduce") :].lower()
    return c[0].reduce(name, _axes(c, c[0]), bool(c.attr("keepdims", 1)))


@operator("ReduceMax", "ReduceMin")
def reduce_extreme(c: Call) -> Value:
    x, axes, keep = c[0], _axes(c, c[0]), bool(c.attr("keepdims", 1))
    name = c.name[len("Reduce") :].lower()
    if x.dtype == "bool":
        return x.reduce("any" if name == "max" else "all", axes, keep)
    if any(x.shape[a] == 0 for a in axes):
        shape = [1 if i in axes else d for i, d in enumerate(x.shape) if keep or i not in axes]
        return c.builder.full(lowest(x.dtype) if name == "max" else highest(x.dtype), x.dtype, shape)
    return x.reduce(name, axes, keep)


def lowest(dtype: str) -> Any:
    """The identity of max."""
    if dtype[0] in "fb":
        return -math.inf
    return 0 if dtype[0] == "u" else -(1 << (int(dtype[1:]) - 1))


def highest(dtype: str) -> Any:
    if dtype[0] in "fb":
        return math.inf
    bits = int(dtype[1:])
    return (1 << (bits if dtype[0] == "u" else bits - 1)) - 1


@operator("ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")
def reduce_composed(c: Call) -> Value:
    x, axes, keep = c[0].wide(), _axes(c, c[0]), bool(c.attr("keepdims", 1))
    if c.name == "ReduceL1":
        out = x.op("abs").sum(axes, keep)
    elif c.name == "ReduceSumSquare":
        out = (x * x).sum(axes, keep)
    elif c.name == "ReduceL2":
        out = _float(x * x).sum(axes, keep).op("sqrt")
    elif c.name == "ReduceLogSum":
        out = _float(x).sum(axes, keep).op("log")
    else:
        out = _log_sum_exp(_float(x), axes, keep)
    return out.cast(c[0].dtype)


def _float(x: Value) -> Value:
    return x if x.is_float else x.cast("f64")


def _log_sum_exp(x: Value, axes: list[int], keep: bool) -> Value:
    if any(x.shape[a] == 0 for a in axes):
        return x.sum(axes, keep).op("log")
    top = x.reduce("max", axes, True)
    top = (top.op("abs") < math.inf).where(top, 0)
    out = (x - top).op("exp").sum(axes, True).op("log") + top
    return out.sum(axes) if not keep else out


@operator("ArgMax", "ArgMin")
def arg_extreme(c: Call) -> Value:
    x = c[0]
    axis = c.attr("axis", 0) % x.rank
    keep = int(c.attr("keepdims", 1))
    if not c.attr("select_last_index", 0):
        return x.op(c.name.lower(), axis=axis, keepdims=keep)
    return (c.number_at(x, axis) - 1) - x.flip(axis).op(c.name.lower(), axis=axis, keepdims=keep)


@operator("CumSum", "CumProd")
def cumulative(c: Call) -> Value:
    """Each element reduces its own window: n^2 operations, in the order that a reduction has, and no 0 * infinity."""
    x = c[0]
    axis = int(c.fixed(1).reshape(-1)[0]) % x.rank
    n = c.number_at(x, axis)
    if n == 0:
        return x
    name, identity = ("sum", 0) if c.name == "CumSum" else ("prod", 1)
    backward = c.attr("reverse", 0)
    y = x.flip(axis) if backward else x
    if c.attr("exclusive", 0):
        y = y.slice(axis, 0, n - 1)
    before = [0] * x.rank
    before[axis] = n if c.attr("exclusive", 0) else n - 1
    y = y.pad(before, [0] * x.rank, identity).window(axis, n).reduce(name, [axis + 1])
    return y.flip(axis) if backward else y


# --- softmax


def _as_rows(c: Call) -> tuple[Value, int]:
    """Before opset 13 all axes from the given one on were one."""
    x = c[0]
    if c.since >= 13:
        return x, c.attr("axis", -1)
    axis = c.attr("axis", 1) % x.rank
    return x.reshape(times(x.shape[:axis]), times(x.shape[axis:])), 1


@operator("Softmax", "LogSoftmax")
def softmax(c: Call) -> Value:
    x, axis = _as_rows(c)
    name = "softmax" if c.name == "Softmax" else "log_softmax"
    return x.op(name, axis=axis).reshape(*c[0].shape)


@operator("Hardmax")
def hardmax(c: Call) -> Value:
    x, axis = _as_rows(c)
    x = x.move(axis, -1)
    best = x.op("argmax", axis=-1, keepdims=1)
    return best.equals(c.builder.arange(x.shape[-1])).cast(x.dtype).move(-1, axis).reshape(*c[0].shape)


@operator("LpNormalization")
def lp_normalization(c: Call) -> Value:
    x, axis, p = c[0], c.attr("axis", -1), c.attr("p", 2)
    if p not in (1, 2):
        raise Unsupported(f"LpNormalization with p = {p}")
    norm = x.op("abs").sum([axis], True) if p == 1 else (x * x).sum([axis], True).op("sqrt")
    return norm.equals(0).where(x * 0, x / norm)
