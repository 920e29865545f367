"""Arithmetic of shapes: operators of small constants, computed here. Entries may be sizes.

Only what has one result by IEEE 754: everything else is left to kernels, whose bits are defined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from ..sizes import Size
from .value import Array

if TYPE_CHECKING:
    from .table import Call

Fold = Callable[["Call", Sequence[Array]], Any]
_MOST = 1 << 16  # elements


def _ordered(x: Array) -> bool:
    return x.dtype == object or x.dtype.kind in "iub"


def _divide(x: Array, y: Array) -> Any:
    if x.dtype == object or y.dtype == object:
        return x // y
    if x.dtype.kind == "f":
        return x / y
    return np.where(y == 0, 0, np.sign(x) * np.sign(y) * (np.abs(x) // np.where(y == 0, 1, np.abs(y)))).astype(x.dtype)


def _modulo(c: Call, x: Array, y: Array) -> Any:
    if c.attr("fmod", 0):
        return None
    return np.where(y == 0, 0, x % np.where(y == 0, 1, y)).astype(x.dtype)


def _slice(c: Call, v: Sequence[Array]) -> Any:
    if c.since < 10:
        starts, ends, axes, steps = c.attr("starts"), c.attr("ends"), c.attr("axes"), None
    else:
        starts, ends = v[1].tolist(), v[2].tolist()
        axes = v[3].tolist() if len(v) > 3 else None
        steps = v[4].tolist() if len(v) > 4 else None
    key = [slice(None)] * v[0].ndim
    for i, axis in enumerate(axes if axes is not None else range(len(starts))):
        key[axis] = slice(int(starts[i]), int(ends[i]), int(steps[i]) if steps else 1)
    return v[0][tuple(key)]


def _axes(c: Call, v: Sequence[Array]) -> tuple[int, ...] | None:
    if len(v) > 1:
        return tuple(int(a) for a in v[1])
    given = c.attr("axes")
    return None if given is None else tuple(given)


def _unsqueeze(c: Call, v: Sequence[Array]) -> Any:
    return np.expand_dims(v[0], _axes(c, v) or ())


def _cast(x: Array, wanted: Any) -> Any:
    """Where NumPy and the kernels cannot differ: one rounding to nearest, or a number that the integer type has."""
    if x.dtype == object:
        return x if wanted == np.int64 else None
    if wanted.name not in dtypes.NUMPY_NAMES.values():
        return None
    if wanted.kind in "iu" and not _ordered(x):
        wide, limits = x.astype(np.float64), np.iinfo(wanted)
        if not ((wide > limits.min) & (wide < limits.max)).all():
            return None
    return x.astype(wanted)


def _cast_to(c: Call, v: Sequence[Array]) -> Any:
    import onnx

    return _cast(v[0], onnx.helper.tensor_dtype_to_np_dtype(c.attr("to")))


def _filled(c: Call, v: Sequence[Array]) -> Any:
    import onnx

    given = c.attr("value")
    if given is None or np.prod(v[0], dtype=np.float64) > 256:
        return None
    value = onnx.numpy_helper.to_array(given).reshape(-1)[0]
    return np.full([int(n) for n in v[0]], value) if value.dtype == np.int64 else None


def _reshape(c: Call, v: Sequence[Array]) -> Any:
    if len(v) < 2 or c.attr("allowzero"):
        return None
    return v[0].reshape([v[0].shape[i] if n == 0 else int(n) for i, n in enumerate(v[1])])


def _product(c: Call, v: Sequence[Array]) -> Any:
    return np.prod(v[0], axis=_axes(c, v), keepdims=bool(c.attr("keepdims", 1)), dtype=v[0].dtype)


FOLDS: dict[str, Fold] = {
    "Add": lambda c, v: v[0] + v[1],
    "Sub": lambda c, v: v[0] - v[1],
    "Mul": lambda c, v: v[0] * v[1],
    "Div": lambda c, v: _divide(v[0], v[1]),
    "Gather": lambda c, v: np.take(v[0], v[1].astype(np.int64), axis=c.attr("axis", 0)),
    "Concat": lambda c, v: np.concatenate(v, axis=c.attr("axis")),
    "Slice": _slice,
    "Unsqueeze": _unsqueeze,
    "Squeeze": lambda c, v: np.squeeze(v[0], _axes(c, v)),
    "Cast": _cast_to,
    "Mod": lambda c, v: _modulo(c, v[0], v[1]),
    "Relu": lambda c, v: np.maximum(v[0], 0),
    "Range": lambda c, v: np.arange(int(v[0].item()), int(v[1].item()), int(v[2].item())).astype(v[0].dtype),
    "ConstantOfShape": _filled,
    "Expand": lambda c, v: np.broadcast_to(v[0], np.broadcast_shapes(v[0].shape, tuple(int(n) for n in v[1]))),
    "Abs": lambda c, v: np.abs(v[0]),
    "Floor": lambda c, v: np.floor(v[0]),
    "Ceil": lambda c, v: np.ceil(v[0]),
    "Sqrt": lambda c, v: np.sqrt(v[0]),
    "Identity": lambda c, v: v[0],
    "Reshape": _reshape,
    "ReduceProd": _product,
    "Neg": lambda c, v: -v[0],
    "Max": lambda c, v: np.maximum.reduce(v),
    "Min": lambda c, v: np.minimum.reduce(v),
    "Equal": lambda c, v: v[0] == v[1],
    "Less": lambda c, v: v[0] < v[1],
    "Greater": lambda c, v: v[0] > v[1],
    "LessOrEqual": lambda c, v: v[0] <= v[1],
    "GreaterOrEqual": lambda c, v: v[0] >= v[1],
    "Not": lambda c, v: ~v[0],
    "And": lambda c, v: v[0] & v[1],
    "Or": lambda c, v: v[0] | v[1],
    "Where": lambda c, v: np.where(v[0], v[1], v[2]),
}
_MOVES = {"Gather", "Concat", "Slice", "Unsqueeze", "Squeeze", "Cast", "Identity", "Reshape"}
_OF_SIZES = _MOVES | {"Add", "Sub", "Mul", "Div", "ReduceProd"}
_OF_FLOATS = {"Add", "Sub", "Mul", "Div", "Floor", "Ceil", "Sqrt"}  # correctly rounded everywhere


def _fits(name: str, x: Array) -> bool:
    if x.size > _MOST:
        return False
    if x.dtype == object:
        return name in _OF_SIZES
    return _ordered(x) or name in _MOVES or (name in _OF_FLOATS and x.dtype in (np.float32, np.float64))


def fold(c: Call) -> Array | None:
    """The result, or None: it is left to a kernel."""
    if c.name == "CastLike" and c.has(0) and c[0].data is not None and c[0].data.size <= _MOST:
        made = _cast(c[0].data, dtypes.numpy_dtype(c[1].dtype))
        return None if made is None else np.asarray(made)
    values = [v.data for v in c.inputs if v is not None]
    if c.name not in FOLDS or not values or len(values) != len(c.inputs):
        return None
    arrays = [v for v in values if v is not None and _fits(c.name, v)]
    if len(arrays) != len(values):
        return None
    with np.errstate(all="ignore"):
        result = FOLDS[c.name](c, arrays)
    if result is None:
        return None
    return plain(np.asarray(result, object if any(v.dtype == object for v in arrays) else None))


def plain(data: Array) -> Array:
    """Without sizes an array of numbers again."""
    if data.dtype == object and not any(isinstance(d, Size) for d in data.reshape(-1)):
        return data.astype(np.int64)
    return data
