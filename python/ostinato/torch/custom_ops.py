"""torch.ops.ostinato.linear_act and torch.ops.ostinato.pointwise: fused kernels as operations of torch. They have fake
kernels and gradients, so torch.compile traces through them, with any backend; with ours they fuse with what is around
them."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from .. import _core
from .elementwise_program import Program
from .lower.builder import Builder, Value, dtype_of
from .lower.table import lowers
from .region import runner

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "none": lambda x: x,
    "relu": F.relu,
    "silu": F.silu,
    "gelu": F.gelu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}

_LINEAR = "(Tensor x, Tensor weight, Tensor? bias=None, str act='none', *, bool trans_b=True) -> Tensor"
_POINTWISE = "(Tensor[] inputs, int[] ops, int[] a, int[] b, int[] input_ids, float[] alphas, float[] consts) -> Tensor"


class Kernel:
    """A graph over tensors of fixed types, compiled and ready to be called."""

    def __init__(self, types: Sequence[tuple[str, tuple[int, ...]]], build: Callable[..., Value]) -> None:
        g = _core.Graph()
        b = Builder(g)
        inputs = [b.wrap(g.input(f"x{i}", dtype, list(shape))) for i, (dtype, shape) in enumerate(types)]
        out = build(b, *inputs)
        g.output("out", out.id)
        self.shape = [int(d) for d in out.shape]
        self.program = g.compile()
        self._runner = runner(self.program, "cpu:0")
        self._lock = threading.Lock()

    def __call__(self, inputs: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
        held = [t.contiguous() for t in inputs]
        out = torch.empty(self.shape, dtype=dtype)
        with self._lock:
            self._runner.bind([t.data_ptr() for t in held], [], [])
            self._runner.run([out.data_ptr()])
        return out


def type_of(t: Tensor) -> tuple[str, tuple[int, ...]]:
    return dtype_of(t.dtype), tuple(t.shape)


# --- linear_act


def lower_linear(b: Builder, x: Value, weight: Value, bias: Value | None, act: str, trans_b: bool) -> Value:
    """Halves are rounded once, behind the activation."""
    w = b.wide(weight)
    y = b.op("matmul", b.wide(x), b.swap(w, -2, -1) if trans_b else w)
    if bias is not None:
        y = b.op("add", y, b.wide(bias))
    return b.cast(y if act == "none" else b.op(act, y), x.dtype)


@functools.lru_cache(maxsize=256)
def linear_kernel(act: str, trans_b: bool, has_bias: bool, *types: tuple[str, tuple[int, ...]]) -> Kernel:
    def build(b: Builder, x: Value, weight: Value, bias: Value | None = None) -> Value:
        return lower_linear(b, x, weight, bias, act, trans_b)

    return Kernel(types, build)


def check_linear(x: Tensor, weight: Tensor, bias: Tensor | None, act: str, trans_b: bool) -> int:
    """The number of output features."""
    if act not in ACTIVATIONS:
        raise ValueError(f"linear_act: activation {act!r}; there are {', '.join(ACTIVATIONS)}")
    if weight.dim() != 2 or x.dim() < 1:
        raise ValueError(f"linear_act: x has {x.dim()} axes and weight {weight.dim()}, wanted at least 1, and 2")
    n, k = weight.shape if trans_b else reversed(weight.shape)
    if x.shape[-1] != k:
        raise ValueError(f"linear_act: x has {x.shape[-1]} features, weight takes {k} (trans_b={trans_b})")
    if weight.dtype != x.dtype or not x.dtype.is_floating_point:
        raise ValueError(f"linear_act: x is {x.dtype}, weight {weight.dtype}; wanted one floating-point type")
    if bias is not None and (tuple(bias.shape) != (n,) or bias.dtype != x.dtype):
        raise ValueError(f"linear_act: bias is {bias.dtype}{list(bias.shape)}, wanted {x.dtype}[{n}]")
    return int(n) if isinstance(n, int) else n


@torch.library.custom_op("ostinato::linear_act", mutates_args=(), device_types="cpu", schema=_LINEAR)
def linear_act(x: Tensor, weight: Tensor, bias: Tensor | None = None, act: str = "none", *, trans_b: bool = True) -> Tensor:
    check_linear(x, weight, bias, act, trans_b)
    tensors = [x, weight] if bias is None else [x, weight, bias]
    return linear_kernel(act, trans_b, bias is not None, *map(type_of, tensors))(tensors, x.dtype)


@linear_act.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor | None = None, act: str = "none", *, trans_b: bool = True) -> Tensor:
    return x.new_empty((*x.shape[:-1], check_linear(x, weight, bias, act, trans_b)))


def _linear_setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    x, weight, bias, act = inputs
    ctx.save_for_backward(x, weight, bias)
    ctx.act, ctx.trans_b = act, keyword_only_inputs["trans_b"]


def _linear_backward(ctx: Any, grad: Tensor) -> Any:
    x, weight, bias = ctx.saved_tensors
    needed = [t is not None and n for t, n in zip((x, weight, bias), ctx.needs_input_grad, strict=False)]

    def forward(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        y = x @ (weight.mT if ctx.trans_b else weight)
        return ACTIVATIONS[ctx.act](y if bias is None else y + bias)

    return (*gradients(forward, (x, weight, bias), needed, grad), None)


def gradients(forward: Callable[..., Tensor], inputs: Sequence[Tensor | None], needed: Sequence[bool],
              grad: Tensor) -> list[Tensor | None]:  # fmt: skip
    """By running what the operation means once more, in torch's operations."""
    with torch.enable_grad():
        leaves = [t.detach().requires_grad_(n) if t is not None else None for t, n in zip(inputs, needed, strict=True)]
        out = forward(*leaves)
        wanted = [t for t, n in zip(leaves, needed, strict=True) if n and t is not None]
        found = iter(torch.autograd.grad(out, wanted, grad, allow_unused=True))
    return [next(found) if n else None for n in needed]


linear_act.register_autograd(_linear_backward, setup_context=_linear_setup)


@lowers(torch.ops.ostinato.linear_act.default)
def _(b: Builder, x: Value, weight: Value, bias: Value | None = None, act: str = "none", *, trans_b: bool = True) -> Value:
    return lower_linear(b, x, weight, bias, act, trans_b)


# --- pointwise


def result_type(inputs: Sequence[Tensor]) -> torch.dtype:
    if not inputs:
        raise ValueError("pointwise: there are no inputs")
    dtype = functools.reduce(torch.promote_types, (t.dtype for t in inputs))
    return dtype if dtype.is_floating_point else torch.get_default_dtype()


@functools.lru_cache(maxsize=256)
def pointwise_kernel(program: Program, dtype: str, *types: tuple[str, tuple[int, ...]]) -> Kernel:
    shape = list(np.broadcast_shapes(*(s for _, s in types)))
    return Kernel(types, lambda b, *xs: b.broadcast(program.lowered(b, xs, dtype), shape))


@torch.library.custom_op("ostinato::pointwise", mutates_args=(), device_types="cpu", schema=_POINTWISE)
def pointwise(inputs: Sequence[Tensor], ops: Sequence[int], a: Sequence[int], b: Sequence[int],
              input_ids: Sequence[int], alphas: Sequence[float], consts: Sequence[float]) -> Tensor:  # fmt: skip
    program = Program.of(len(inputs), ops, a, b, input_ids, alphas, consts)
    dtype = result_type(inputs)
    return pointwise_kernel(program, dtype_of(dtype), *map(type_of, inputs))(inputs, dtype)


@pointwise.register_fake
def _(inputs: Sequence[Tensor], *columns: Any) -> Tensor:
    Program.of(len(inputs), *columns)
    shape = torch.broadcast_shapes(*(t.shape for t in inputs))  # type: ignore[no-untyped-call]
    return inputs[0].new_empty(shape, dtype=result_type(inputs))


def _pointwise_setup(ctx: Any, inputs: Any, output: Any) -> None:
    tensors, *columns = inputs
    ctx.save_for_backward(*tensors)
    ctx.columns, ctx.dtype, ctx.shape = columns, output.dtype, output.shape


def _pointwise_backward(ctx: Any, grad: Tensor) -> Any:
    program = Program.of(len(ctx.saved_tensors), *ctx.columns)
    needed = [t.dtype.is_floating_point for t in ctx.saved_tensors]

    def forward(*inputs: Tensor) -> Tensor:
        return program.in_torch(inputs, ctx.dtype).expand(ctx.shape)

    return (gradients(forward, ctx.saved_tensors, needed, grad), None, None, None, None, None, None)


pointwise.register_autograd(_pointwise_backward, setup_context=_pointwise_setup)


@lowers(torch.ops.ostinato.pointwise.default)
def _(b: Builder, inputs: Sequence[Value], *columns: Any) -> Value:
    return b.broadcast(Program.of(len(inputs), *columns).lowered(b, inputs, b.out_dtype()), b.out_shape())
