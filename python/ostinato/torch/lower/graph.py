"""A traced graph of torch to a graph of ours, node by node; what is not supported is found and named here."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import GraphModule, Node

from ... import _core
from ...errors import Error
from ..errors import Unsupported
from ..sizes import expression, scalar_text, shape, size, symbols
from .builder import Builder, Dim, Value, dtype_of
from .table import TABLE


@dataclass
class Slot:
    """An input or an output of the program. `order`: the axes from the slowest to the fastest in memory where they
    are not in that order already; the program has it in memory's order."""

    node: Node
    order: tuple[int, ...] | None = None


@dataclass
class Lowered:
    """`reasons`: what could not be lowered, by node. `variables`: the largest value of each."""

    graph: _core.Graph
    inputs: list[Slot] = field(default_factory=list)
    outputs: list[Slot] = field(default_factory=list)
    reasons: dict[Node, str] = field(default_factory=dict)
    variables: dict[str, int] = field(default_factory=dict)
    constants: int = 0


class Lowering:
    """`constants`: tensors that are part of the program instead of inputs, by placeholder; `states`: those
    that it may write. `sizes`: what symbolic sizes must reach at least; `bounded`: their own bounds count."""

    def __init__(
        self,
        gm: GraphModule,
        constants: Mapping[Node, torch.Tensor] | None = None,
        sizes: Mapping[str, int] | None = None,
        states: Mapping[Node, torch.Tensor] | None = None,
        bounded: bool = False,
    ) -> None:
        self.gm = gm
        self.constants = constants or {}
        self.states = states or {}
        self.b = Builder(_core.Graph())
        self.values: dict[Node, Any] = {}
        self.out = Lowered(self.b.g)
        settle_sizes(gm)
        for s in symbols(gm.graph).values():
            if bounded and s.high is None:
                raise Unsupported(f"the size {s.name} has no bound; name one: torch.export.Dim(name, min=1, max=4096)")
            high = s.high if bounded and s.high is not None else s.bound((sizes or {}).get(s.name, 0))
            self.b.g.var(s.name, s.low, high)
            self.out.variables[s.name] = high

    def run(self) -> Lowered:
        for node in self.gm.graph.nodes:
            if node.op == "output":
                continue
            try:
                self.values[node] = self.lower(node)
            except (Unsupported, Error) as e:
                self.out.reasons[node] = str(e).split("\n")[0]
                self.stand_in(node)
        return self.out

    def outputs(self, nodes: list[Node], names: Sequence[str] = ()) -> list[Slot]:
        """Makes them outputs. Without names they are for torch, in the order in which their memory is expected."""
        for i, node in enumerate(nodes):
            value = self.values[node]
            order = None if names else memory_order(node.meta["val"])
            if order is not None:
                value = self.b.permute(value, order)
            self.b.g.output(names[i] if names else f"out{i}", value.id)
            self.out.outputs.append(Slot(node, order))
        return self.out.outputs

    # --- one node

    def lower(self, node: Node) -> Any:
        if node.op == "placeholder":
            return self.placeholder(node)
        if node.op == "get_attr":
            return self.constant(node.name, attribute(self.gm, str(node.target)))
        if node.op != "call_function":
            raise Unsupported(f"{node.op} {node.target}")
        val = node.meta.get("val")
        if is_size(val):
            return None
        if node.target is operator.getitem:
            return self.values[node.args[0]][node.args[1]]  # type: ignore[index]
        f = TABLE.get(node.target)
        if f is None:
            raise Unsupported(absent(node.target))
        b = self.b
        b.node, b.out = node, val
        args = torch.fx.map_arg(node.args, self.argument)
        kwargs = torch.fx.map_arg(node.kwargs, self.argument)
        return self.check(f(b, *args, **kwargs), val)

    def argument(self, node: Node) -> Any:
        val = node.meta.get("val")
        if is_size(val):
            if isinstance(val, torch.SymInt):
                number = size(val)
                return Dim(number, scalar_text(expression(val))) if isinstance(number, str) else number
            return val
        value = self.values[node]
        if value is None:
            raise Unsupported("a result that is not a tensor")
        return value

    def check(self, value: Any, val: Any) -> Any:
        """Of the type that torch says; the lowering and torch agree, or the operation is not supported."""
        if isinstance(value, list | tuple):
            return [None if v is None else self.check(v, w) for v, w in zip(value, val, strict=True)]
        wanted = shape(val.shape)
        pairs = zip(value.shape, wanted, strict=False)
        if len(value.shape) != len(wanted) or any(isinstance(a, int) and isinstance(c, int) and a != c for a, c in pairs):
            raise Unsupported(f"it was lowered to the shape {value.shape}, torch has {wanted}")
        return self.b.cast(value, dtype_of(val.dtype))

    # --- leaves

    def placeholder(self, node: Node) -> Any:
        val = node.meta.get("val")
        if not isinstance(val, torch.Tensor):
            return None
        if node in self.constants:
            return self.constant(node.name, self.constants[node])
        if node in self.states:
            return self.b.wrap(self.b.g.state(node.name, *literal(self.states[node])))
        order = None if self.states or self.constants else memory_order(val)
        dims = shape(val.shape)
        held = dims if order is None else [dims[d] for d in order]
        value = self.b.wrap(self.b.g.input(node.name, dtype_of(val.dtype), list(held)))
        self.out.inputs.append(Slot(node, order))
        if order is None:
            return value
        return self.b.permute(value, [order.index(d) for d in range(len(order))])

    def constant(self, name: str, tensor: Any) -> Value:
        if not isinstance(tensor, torch.Tensor):
            raise Unsupported("an attribute that is not a tensor")
        self.out.constants += 1
        return self.b.wrap(self.b.g.constant(name, *literal(tensor)))

    def assign(self, target: Node, value: Node) -> None:
        """The state has this value behind a call."""
        self.b.op("assign", self.values[target], self.values[value])

    def stand_in(self, node: Node) -> None:
        """An input for what eager torch will compute, so that what follows is looked at too."""

        def made(v: Any, name: str) -> Any:
            if isinstance(v, tuple | list):
                return [made(w, f"{name}_{i}") for i, w in enumerate(v)]
            if not isinstance(v, torch.Tensor):
                return None
            try:
                return self.b.wrap(self.b.g.input(name, dtype_of(v.dtype), list(shape(v.shape))))
            except (Unsupported, Error):
                return None

        self.values[node] = made(node.meta.get("val"), f"eager_{node.name}")


def settle_sizes(gm: GraphModule) -> None:
    """torch does not ask whether there are as many values as keys; the graph needs to know, so it becomes a guard."""
    names = ("aten::_scaled_dot_product_flash_attention_for_cpu", "aten::scaled_dot_product_attention")
    for node in gm.graph.nodes:
        if node.op == "call_function" and getattr(getattr(node.target, "_schema", None), "name", "") in names:
            keys, values = (a.meta["val"].shape[-2] for a in node.args[1:3])
            rest = expression(keys) - expression(values)
            if not rest.is_number:  # "a = b" makes one symbol of two, "a + c = b + c" does not
                env = next(d.node.shape_env for d in (keys, values) if isinstance(d, torch.SymInt))
                left = sum(c * t for t, c in rest.as_coefficients_dict().items() if c > 0)
                env.evaluate_expr(sympy.Eq(left, left - rest))


def literal(tensor: torch.Tensor) -> tuple[str, list[int], Any]:
    """(element type, shape, bytes) of a tensor."""
    with unset_fake_temporarily(), torch.no_grad():  # a graph is compiled while torch makes fake tensors
        t = tensor.detach().cpu().contiguous()
        return dtype_of(t.dtype), list(t.shape), t.reshape(-1).view(torch.uint8).numpy() if t.numel() else b""


def attribute(gm: GraphModule, path: str) -> Any:
    for name in path.split("."):
        gm = getattr(gm, name)
    return gm


def is_size(val: Any) -> bool:
    return isinstance(val, torch.SymInt | torch.SymBool | torch.SymFloat | int | float | bool)


def memory_order(val: torch.Tensor) -> tuple[int, ...] | None:
    """The axes by stride where a dense tensor is not row-major; None where it is, or is not dense. Symbolic sizes count
    as what they were while tracing."""
    sizes = [seen(s) for s in val.shape]
    strides = [seen(s) for s in val.stride()]
    if 0 in sizes or -1 in sizes or -1 in strides or dense(sizes, strides, list(range(len(sizes)))):
        return None
    order = sorted(range(len(sizes)), key=lambda d: (-strides[d], d))
    return tuple(order) if dense(sizes, strides, order) else None


def dense(sizes: list[int], strides: list[int], order: list[int]) -> bool:
    wanted = 1
    for d in reversed(order):
        if sizes[d] != 1 and strides[d] != wanted:
            return False
        wanted *= sizes[d]
    return True


def seen(size: Any) -> int:
    """The value of a size while tracing, -1 if it had none."""
    if isinstance(size, int):
        return size
    hint = size.node.hint
    return -1 if hint is None else int(hint)


RANDOM = "random numbers are drawn by torch, so that its seeds hold"


def absent(target: Any) -> str:
    """Why an operation is not in the table."""
    if torch.Tag.nondeterministic_seeded in getattr(target, "tags", ()):
        return RANDOM
    if torch.Tag.dynamic_output_shape in getattr(target, "tags", ()) or torch.Tag.data_dependent_output in getattr(target, "tags", ()):
        return "the size of its result depends on values"
    return "there is no lowering of it"
