"""Tensors while a model is read: nodes of a graph, or constants that the host knows. Sizes are numbers or texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core, dtypes
from ..sizes import Size

Array = np.ndarray[Any, Any]
FLOATS = ("f16", "bf16", "f32", "f64")


def dim(d: Any) -> int | str:
    """A size as the extension takes it."""
    return d.expr if isinstance(d, Size) else d if isinstance(d, str) else int(d)


def times(sizes: Sequence[Any]) -> int | str:
    """The product of sizes."""
    number = 1
    texts = []
    for d in map(dim, sizes):
        if isinstance(d, int):
            number *= d
        else:
            texts.append(f"({d})")
    return number if not texts else " * ".join([str(number), *texts])


class Builder:
    """The graph that is being made, and the constants in it."""

    def __init__(self) -> None:
        self.graph = _core.Graph()
        self.constants = 0

    def constant(self, data: Any, dtype: str | None = None) -> Value:
        """A constant of the host; it enters the graph when an operation uses it. Entries may be sizes."""
        array = np.asarray(data)
        if dtype is not None and array.dtype != object:
            array = array.astype(dtypes.numpy_dtype(dtype))
        return Value(self, "i64" if array.dtype == object else dtypes.short_name(array.dtype), array.shape, data=array)

    def scalar(self, value: Any, dtype: str) -> Value:
        number = float(value) if dtype in FLOATS else int(value)
        return self.call("full", [], {"dtype": dtype, "shape": [], "value": number})

    def full(self, value: Any, dtype: str, shape: Sequence[Any]) -> Value:
        return self.scalar(value, dtype).broadcast_to(shape)

    def arange(self, count: Any) -> Value:
        return self.call("arange", [], {"count": [dim(count)]})

    def call(self, name: str, inputs: Sequence[Value], attrs: dict[str, Any]) -> Value:
        node = self.graph.op(name, [v.node for v in inputs], attrs)
        return self.node(node, frozenset().union(*(v.origin for v in inputs)))

    def node(self, node: int, origin: frozenset[str] = frozenset()) -> Value:
        dtype, sizes = self.graph.type(node)
        return Value(self, dtype, sizes, node=node, origin=origin)

    def concat(self, parts: Sequence[Value], axis: int) -> Value:
        return parts[0] if len(parts) == 1 else self.call("concat", parts, {"axis": axis})


class Value:
    """`origin`: the inputs of the model whose data it depends on."""

    __slots__ = ("builder", "dtype", "shape", "data", "origin", "_node")

    def __init__(
        self,
        builder: Builder,
        dtype: str,
        shape: Sequence[Any],
        node: int | None = None,
        data: Array | None = None,
        origin: frozenset[str] = frozenset(),
    ) -> None:
        self.builder = builder
        self.dtype = dtype
        self.shape = tuple(shape)
        self.data = data
        self.origin = origin
        self._node = node

    @property
    def node(self) -> int:
        if self._node is None:
            assert self.data is not None
            self._node = self._sizes() if self.data.dtype == object else self._store(self.data)
        return self._node

    def _store(self, data: Array) -> int:
        self.builder.constants += 1
        data = np.ascontiguousarray(data).reshape(data.shape)
        name = f"constant {self.builder.constants}"
        return self.builder.graph.constant(name, self.dtype, list(data.shape), dtypes.as_bytes(data))

    def _sizes(self) -> int:
        """An array with sizes in it: each is the value that it has in a call."""
        assert self.data is not None
        graph = self.builder.graph
        one = {"shape": [1]}
        parts = [
            graph.op("reshape", [graph.expression(f"cast({dim(d)}, i64)")], one)
            if isinstance(d, Size)
            else graph.op("full", [], {"dtype": "i64", "shape": [1], "value": int(d)})
            for d in self.data.reshape(-1)
        ]
        flat = parts[0] if len(parts) == 1 else graph.op("concat", parts, {"axis": 0})
        return graph.op("reshape", [flat], {"shape": list(self.data.shape)})

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    def op(self, name: str, *others: Any, **attrs: Any) -> Value:
        return self.builder.call(name, [self, *(self._same(o) for o in others)], attrs)

    def _same(self, other: Any) -> Value:
        return other if isinstance(other, Value) else self.builder.scalar(other, self.dtype)

    def __add__(self, other: Any) -> Value:
        return self.op("add", other)

    def __sub__(self, other: Any) -> Value:
        return self.op("sub", other)

    def __rsub__(self, other: Any) -> Value:
        return self._same(other).op("sub", self)

    def __mul__(self, other: Any) -> Value:
        return self.op("mul", other)

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Value:
        """Of integers toward zero."""
        return self.op("div" if self.is_float else "trunc_div", other)

    def __rtruediv__(self, other: Any) -> Value:
        return self._same(other).__truediv__(self)

    def __neg__(self) -> Value:
        return self.op("neg")

    def __and__(self, other: Any) -> Value:
        return self.op("bit_and", other)

    def __or__(self, other: Any) -> Value:
        return self.op("bit_or", other)

    def __invert__(self) -> Value:
        return self.op("bit_not")

    def __lt__(self, other: Any) -> Value:
        return self.op("lt", other)

    def __le__(self, other: Any) -> Value:
        return self.op("le", other)

    def __gt__(self, other: Any) -> Value:
        return self.op("gt", other)

    def __ge__(self, other: Any) -> Value:
        return self.op("ge", other)

    def equals(self, other: Any) -> Value:
        return self.op("eq", other)

    def where(self, yes: Value, no: Any) -> Value:
        """Of a condition: `yes` where it holds."""
        return self.op("where", yes, yes._same(no))

    def select(self, condition: Value, no: Any) -> Value:
        """This where the condition holds, else `no`."""
        return condition.where(self, no)

    def cast(self, dtype: str) -> Value:
        return self if dtype == self.dtype else self.op("cast", dtype=dtype)

    def wide(self) -> Value:
        """Halves as f32, in which composed operations compute."""
        return self.cast("f32") if self.dtype in ("f16", "bf16") else self

    def reshape(self, *shape: Any) -> Value:
        sizes = [dim(d) for d in (shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape)]
        return self if tuple(sizes) == self.shape else self.op("reshape", shape=sizes)

    def broadcast_to(self, shape: Sequence[Any]) -> Value:
        sizes = [dim(d) for d in shape]
        return self if tuple(sizes) == self.shape else self.op("broadcast_to", shape=sizes)

    def permute(self, axes: Sequence[int]) -> Value:
        return self if list(axes) == list(range(self.rank)) else self.op("permute", axes=list(axes))

    def move(self, axis: int, to: int) -> Value:
        order = [a for a in range(self.rank) if a != axis % self.rank]
        order.insert(to % self.rank, axis % self.rank)
        return self.permute(order)

    def unsqueeze(self, axis: int) -> Value:
        return self.op("unsqueeze", axis=axis)

    def squeeze(self, axis: int) -> Value:
        return self.op("squeeze", axis=axis)

    def flip(self, *axes: int) -> Value:
        return self.op("flip", axes=list(axes)) if axes else self

    def pad(self, before: Sequence[Any], after: Sequence[Any], value: Any = 0) -> Value:
        if not any(before) and not any(after):
            return self
        number = float(value) if self.is_float else int(value)
        return self.op("pad", before=[dim(d) for d in before], after=[dim(d) for d in after], value=number)

    def slice(self, axis: int, start: Any, stop: Any, step: int = 1) -> Value:
        lead = axis % self.rank
        return self.op(
            "slice",
            starts=[*[None] * lead, None if start is None else dim(start)],
            stops=[*[None] * lead, None if stop is None else dim(stop)],
            steps=[*[1] * lead, step],
        )

    def window(self, axis: int, taps: int, stride: int = 1, dilation: int = 1) -> Value:
        return self.op("window", axis=axis, taps=taps, stride=stride, dilation=dilation)

    def reduce(self, name: str, axes: Sequence[int], keep: bool = False) -> Value:
        """Integers keep their type."""
        if not axes:
            return self
        return self.op(name, axes=[a % self.rank for a in axes], keepdims=int(keep)).cast(
            "bool" if name in ("any", "all") else self.dtype
        )

    def sum(self, axes: Sequence[int], keep: bool = False) -> Value:
        return self.reduce("sum", axes, keep)

    def mean(self, axes: Sequence[int], keep: bool = False) -> Value:
        return self.reduce("mean", axes, keep)

    def gather(self, index: Value, axis: int = 0) -> Value:
        """Negative numbers count from the end."""
        return self.op("gather", index.wrapped(self.shape[axis]) if index.dtype[0] == "i" else index, axis=axis)

    def wrapped(self, size: Any) -> Value:
        """Indices from 0 on, of those that may count from the end."""
        if self.data is not None and isinstance(size, int):
            return self.builder.constant(np.where(self.data < 0, self.data + size, self.data), self.dtype)
        end = self.builder.constant(np.array([Size(str(size))], object)).reshape([]) if isinstance(size, str) else size
        shifted = self + (end.cast(self.dtype) if isinstance(end, Value) else end)
        return (self < 0).where(shifted, self)

    def matmul(self, other: Value) -> Value:
        return self.op("matmul", other)
