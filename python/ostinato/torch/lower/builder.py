"""Makes nodes of a graph; what every lowering is written with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ... import _core
from ...dtypes import NUMPY_NAMES, short_name
from ..errors import Unsupported
from ..sizes import Size

HALVES = ("f16", "bf16")
FLOATS = ("f16", "bf16", "f32", "f64")


@dataclass(frozen=True)
class Value:
    """A node of the graph with its type."""

    id: int
    dtype: str
    shape: tuple[Size, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True)
class Dim:
    """A symbolic size where a value may be wanted: `size` names a size, `scalar` a value."""

    size: str
    scalar: str


def dtype_of(t: torch.dtype) -> str:
    name = str(t).removeprefix("torch.")
    if name not in NUMPY_NAMES.values():
        raise Unsupported(f"element type {name}")
    return short_name(t)


def is_one(d: Size) -> bool:
    return d == 1


def times(*sizes: Size) -> Size:
    if all(isinstance(s, int) for s in sizes):
        return math.prod(s for s in sizes if isinstance(s, int))
    return " * ".join(f"({s})" for s in sizes) if sizes else 1


def plus(a: Size, b: Size) -> Size:
    return a + b if isinstance(a, int) and isinstance(b, int) else f"({a}) + ({b})"


def minus(a: Size, b: Size) -> Size:
    return a - b if isinstance(a, int) and isinstance(b, int) else f"({a}) - ({b})"


class Builder:
    """`out` is what the operation that is lowered now gives: a fake tensor, or a tuple of them."""

    def __init__(self, graph: _core.Graph) -> None:
        self.g = graph
        self.node: torch.fx.Node | None = None
        self.out: Any = None

    # --- of the operation that is lowered

    @property
    def target(self) -> Any:
        """The operation of torch."""
        assert self.node is not None
        return self.node.target

    @property
    def name(self) -> str:
        """Its name: "clamp_min"."""
        return str(self.target._schema.name).split("::")[-1]

    def out_shape(self, index: int | None = None) -> tuple[Size, ...]:
        from ..sizes import shape

        return shape((self.out if index is None else self.out[index]).shape)

    def out_dtype(self, index: int | None = None) -> str:
        return dtype_of((self.out if index is None else self.out[index]).dtype)

    def used(self, index: int) -> bool:
        """Whether somebody takes this one of several results."""
        assert self.node is not None
        return any(u.op == "output" or u.args[1:] == (index,) for u in self.node.users)

    def vals(self) -> list[Any]:
        """What is known about the operation's positional arguments: fake tensors and numbers."""
        assert self.node is not None
        return [a.meta["val"] if isinstance(a, torch.fx.Node) else a for a in self.node.args]

    # --- nodes

    def wrap(self, node: int) -> Value:
        dtype, dims = self.g.type(node)
        return Value(node, dtype, tuple(dims))

    def op(self, name: str, *inputs: Value, **attrs: Any) -> Value:
        return self.wrap(self.g.op(name, [x.id for x in inputs], attrs))

    def full(self, value: Any, dtype: str, shape: Sequence[Size] = ()) -> Value:
        if isinstance(value, Dim):
            return self.broadcast(self.cast(self.wrap(self.g.expression(value.scalar)), dtype), shape)
        if isinstance(value, complex):
            raise Unsupported("a complex number")
        value = float(value) if dtype in FLOATS else int(value != 0) if dtype == "bool" else int(value)
        return self.op("full", dtype=dtype, shape=list(shape), value=value)

    def scalar_of(self, size: Size, dtype: str = "i64") -> Value:
        """A size as a value."""
        if isinstance(size, int):
            return self.full(size, dtype)
        text = size.replace("floordiv", "_div").replace("mod(", "_mod(")
        if "_div" in text or "_mod(" in text:
            text = f"def _div(a, b): a // b\ndef _mod(a, b): a % b\n{text}"
        return self.cast(self.wrap(self.g.expression(text)), dtype)

    def cast(self, x: Value, dtype: str) -> Value:
        return x if x.dtype == dtype else self.op("cast", x, dtype=dtype)

    def reshape(self, x: Value, shape: Sequence[Size]) -> Value:
        return x if x.shape == tuple(shape) else self.op("reshape", x, shape=list(shape))

    def broadcast(self, x: Value, shape: Sequence[Size]) -> Value:
        return x if x.shape == tuple(shape) else self.op("broadcast_to", x, shape=list(shape))

    def permute(self, x: Value, axes: Sequence[int]) -> Value:
        axes = [a % x.rank for a in axes]
        return x if axes == list(range(x.rank)) else self.op("permute", x, axes=axes)

    def swap(self, x: Value, a: int, b: int) -> Value:
        axes = list(range(x.rank))
        axes[a], axes[b] = axes[b], axes[a]
        return self.permute(x, axes)

    def slice(self, x: Value, axis: int, start: Size, length: Size, step: int = 1) -> Value:
        """Elements start, start + step, ...: `length` of them, all within the axis."""
        if start == 0 and step == 1 and length == x.shape[axis]:
            return x
        last = times(minus(length, 1), step) if step != 1 else minus(length, 1)
        stop = plus(plus(start, last), 1) if length != 0 else start
        whole = list(x.shape[:axis])
        return self.op("slice", x, starts=[0] * axis + [start], stops=[*whole, stop], steps=[1] * axis + [step])

    def pad(self, x: Value, before: Sequence[Size], after: Sequence[Size], value: float = 0.0) -> Value:
        """Negative widths cut off."""
        for axis, (b, a) in enumerate(zip(before, after, strict=True)):
            cut_b = -b if isinstance(b, int) and b < 0 else 0
            cut_a = -a if isinstance(a, int) and a < 0 else 0
            if cut_b or cut_a:
                x = self.slice(x, axis, cut_b, minus(x.shape[axis], cut_a + cut_b))
        before = [0 if isinstance(b, int) and b < 0 else b for b in before]
        after = [0 if isinstance(a, int) and a < 0 else a for a in after]
        if all(w == 0 for w in [*before, *after]):
            return x
        return self.op("pad", x, before=before, after=after, value=float(value))

    def arange(self, count: Size) -> Value:
        return self.op("arange", count=[count])

    def iota(self, shape: Sequence[Size], axis: int) -> Value:
        """i64, the index along an axis, of a shape that broadcasts."""
        return self.reshape(self.arange(shape[axis]), [shape[axis] if d == axis else 1 for d in range(len(shape))])

    def wide(self, x: Value) -> Value:
        """Halves as f32: composites compute in it and round once."""
        return self.cast(x, "f32") if x.dtype in HALVES else x

    def number(self, value: float, like: Value) -> Value:
        return self.full(value, like.dtype)
