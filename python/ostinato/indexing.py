"""x[...] and x[...] = y: integers, slices, None, ..., and integer tensors, as NumPy has them."""

from __future__ import annotations

import operator
from typing import Any

from . import sizes
from .sizes import Dim, Size
from .tensor import Tensor, apply, lift


def _whole(x: Tensor, key: Any) -> list[Any]:
    """The key with one entry for each dimension, and None for new ones."""
    keys = list(key) if isinstance(key, tuple) else [key]
    used = sum(1 for k in keys if k is not None and k is not Ellipsis)
    if used > x.ndim:
        raise IndexError(f"{used} subscripts for a tensor of {x.ndim} dimensions")
    dots = [i for i, k in enumerate(keys) if k is Ellipsis]
    if len(dots) > 1:
        raise IndexError("a subscript can have one ...")
    at = dots[0] if dots else len(keys)
    rest = [slice(None)] * (x.ndim - used)
    return keys[:at] + rest + keys[at + 1 :]


def _position(p: Any) -> int | str | None:
    if p is None:
        return None
    return p.expr if isinstance(p, Size) else operator.index(p)


def _integer(k: Any, size: Any, axis: int) -> tuple[Any, Any]:
    """Start and stop of one position."""
    if isinstance(k, Size):
        return k.expr, (k + 1).expr
    i = operator.index(k)
    if isinstance(size, int) and not -size <= i < size:
        raise IndexError(f"index {i} is outside of axis {axis}, whose size is {size}")
    return i, (None if i == -1 else i + 1)


def _is_position(k: Any) -> bool:
    return isinstance(k, Size) or (not isinstance(k, (bool, slice, Tensor)) and hasattr(k, "__index__"))


def get(x: Tensor, key: Any) -> Tensor:
    keys = _whole(x, key)
    if any(isinstance(k, bool) or (isinstance(k, Tensor) and k._dtype == "bool") for k in keys):
        raise IndexError("a mask gives a shape that depends on data; use where()")
    starts: list[Any] = []
    stops: list[Any] = []
    steps: list[int] = []
    gone: list[int] = []
    gathers: list[tuple[int, Tensor]] = []
    shape = x.shape
    axis = 0
    for k in keys:
        if k is None:
            continue
        start: Any = None
        stop: Any = None
        step = 1
        if isinstance(k, slice):
            start, stop = _position(k.start), _position(k.stop)
            step = 1 if k.step is None else operator.index(k.step)
        elif _is_position(k):
            start, stop = _integer(k, shape[axis], axis)
            gone.append(axis)
        else:
            gathers.append((axis, lift(k)))
        starts.append(start)
        stops.append(stop)
        steps.append(step)
        axis += 1
    out = x
    if any(s is not None for s in starts + stops) or any(s != 1 for s in steps):
        out = apply("slice", out, starts=starts, stops=stops, steps=steps)
    if len(gathers) > 1:
        raise IndexError("one axis can be indexed by a tensor at a time")
    # From the last axis to the first, so that the numbers of the others stay right.
    for a in range(axis - 1, -1, -1):
        if a in gone:
            out = apply("squeeze", out, axis=a)
        elif gathers and gathers[0][0] == a:
            out = apply("gather", out, gathers[0][1], axis=a)
    return _with_new_axes(out, keys, gathers)


def _with_new_axes(out: Tensor, keys: list[Any], gathers: list[tuple[int, Tensor]]) -> Tensor:
    at = 0
    for k in keys:
        if k is None:
            out = out.unsqueeze(at)
            at += 1
        elif isinstance(k, Tensor) or not (isinstance(k, slice) or _is_position(k)):
            at += gathers[0][1].ndim
        elif isinstance(k, slice):
            at += 1
    return out


def put(x: Tensor, key: Any, value: Any) -> None:
    """Regions of step 1 only: a write is one block."""
    keys = _whole(x, key)
    starts: list[Dim] = []
    region: list[Dim] = []  # of the written block
    visible: list[Dim] = []  # without the axes of integers, to which the value is broadcast
    for axis, (k, size) in enumerate(zip((k for k in keys if k is not None), x.shape, strict=True)):
        if isinstance(k, slice):
            if k.step not in (None, 1):
                raise IndexError(f"axis {axis}: only slices of step 1 can be assigned to")
            start, length = _extent(k, size)
            visible.append(length)
        elif _is_position(k):
            start = k if isinstance(k, Size) else _integer(k, size, axis)[0]
            start = size + start if isinstance(start, int) and start < 0 else start
            length = 1
        else:
            raise IndexError("only integers and slices can be assigned to; use scatter()")
        starts.append(start)
        region.append(length)
    block = lift(value, x).astype(x._dtype).broadcast_to(visible)
    x.assign(block.reshape(*region) if x.ndim else block, starts)


def _extent(k: slice, size: Any) -> tuple[Dim, Dim]:
    """Start and length of a slice; numbers are clamped as Python's are."""
    start: Any = 0 if k.start is None else k.start
    stop: Any = size if k.stop is None else k.stop
    if isinstance(size, int) and isinstance(start, int) and isinstance(stop, int):
        start, stop, _ = slice(start, stop).indices(size)
        return start, max(stop - start, 0)
    if isinstance(start, int) and start < 0:
        start = size + start
    if isinstance(stop, int) and stop < 0:
        stop = size + stop
    if isinstance(start, int) and start == 0:
        return 0, stop
    return start, sizes.Size(f"({getattr(stop, 'expr', stop)}) - ({getattr(start, 'expr', start)})")
