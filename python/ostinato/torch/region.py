"""A traced graph, or a part of one, as a program on a device that is called with torch's tensors.

The tensors are bound by address: nothing is copied where the device shares the host's memory, and a parameter that was
updated in place is seen.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.fx import GraphModule, Node

from .. import _core, runtime
from .lower import Lowered, Lowering, Slot
from .lower.graph import memory_order
from .options import Options
from .sizes import expression

Result = Callable[[Sequence[Any], Sequence[torch.Tensor]], Any]  # of the arguments and the program's outputs


class Region:
    """Called with the graph's arguments as a list, gives its results as a list."""

    def __init__(self, lowering: Lowering, lowered: Lowered, options: Options) -> None:
        self.gm = lowering.gm
        self.options = options
        self.places = {n: i for i, n in enumerate(n for n in self.gm.graph.nodes if n.op == "placeholder")}
        results = returned(self.gm)
        self.computed, made = computed_nodes(results, lowering)
        self._results = [_result(r, self.places, made) for r in results]
        self._simple = results == self.computed
        self._sources = _sources(self.places)
        self._lock = threading.Lock()
        self.program: _core.Program | None = None
        if self.computed:
            self._build(lowering, lowered)

    def _build(self, lowering: Lowering, lowered: Lowered) -> None:
        slots = lowering.outputs(self.computed)
        o = self.options
        self.program = lowered.graph.compile(fast=o.numerics == "fast", memory_budget=o.memory_budget)
        self._runner = runner(self.program, o.device)
        self._inputs = [_Input(s, self.places[s.node]) for s in lowered.inputs]
        self._outputs = [_Output(s) for s in slots]
        self._bounds = lowered.variables
        self._fixed = not self._bounds
        known = _in_shapes(lowered)
        self._vars = [name for name in self._bounds if name not in known]
        self._fast = self._tensor_call() if self._fixed else None

    def _tensor_call(self) -> Any:
        """The whole call in the extension, where torch has what that needs."""
        table = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
        if table is None:
            return None
        inputs = [(i.place, (i.sizes, i.stride)) for i in self._inputs]
        outputs = [(o.sizes, o.stride, o.dtype) for o in self._outputs]
        return _core.TensorCall(self._runner, table, torch.empty_strided, inputs, outputs)

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        made = self._run(args) if self.program is not None else []
        return made if self._simple else [r(args, made) for r in self._results]

    def _run(self, args: Sequence[Any]) -> list[torch.Tensor]:
        if self._fast is not None:
            made = self._fast(args)
            if made is not None:
                return made  # type: ignore[no-any-return]
        if self._fixed:
            return self._run_fixed(args)
        with self._lock:
            values = {name: source(args) for name, source in self._sources.items()}
            if any(values.get(name, 0) > high for name, high in self._bounds.items()):
                self._grow(values)
            inputs = [i.take(args[i.place]) for i in self._inputs]
            runner = self._runner
            shapes = [i.shape(t) for i, t in zip(self._inputs, inputs, strict=True)]
            runner.bind([t.data_ptr() for t in inputs], shapes, [(name, values[name]) for name in self._vars])
            outputs = [o.sized(s) for o, s in zip(self._outputs, runner.output_shapes(), strict=True)]
            runner.run([t.data_ptr() for t in outputs])
            return outputs

    def _run_fixed(self, args: Sequence[Any]) -> list[torch.Tensor]:
        inputs = [i.take(args[i.place]) for i in self._inputs]
        outputs = [o.fixed() for o in self._outputs]
        self._runner.call_fixed([t.data_ptr() for t in inputs], [t.data_ptr() for t in outputs])
        return outputs

    def _grow(self, values: dict[str, int]) -> None:
        """The program again, with room for larger sizes."""
        lowering = Lowering(self.gm, sizes={n: max(values.get(n, 0), high // 2) for n, high in self._bounds.items()})
        self._build(lowering, lowering.run())

    def stats(self) -> dict[str, int]:
        return {} if self.program is None else self._runner.stats()


def runner(program: _core.Program, device: str) -> _core.Runner:
    """Outputs that are an input, a constant or another output as it is have no memory of their own to be written to:
    they are copied."""
    report = json.loads(program.inspect(_core.FORMAT_JSON))
    written = {m["where"].removeprefix("output ") for m in report["memory"] if m["where"].startswith("output ")}
    copied = [i for i, (name, *_) in enumerate(program.outputs()) if name not in written]
    return _core.Runner(runtime.context(), program, device, copied)


class _Input:
    """How the argument at a place becomes what the program has: row-major memory, perhaps of permuted axes."""

    def __init__(self, slot: Slot, place: int) -> None:
        val = slot.node.meta["val"]
        self.place = place
        self.order = slot.order
        self.fixed = all(isinstance(d, int) for d in val.shape)
        if self.fixed:
            self.sizes = list(val.shape)
            self.stride = list(val.stride()) if self.order is not None else row_major(self.sizes)

    def take(self, t: torch.Tensor) -> torch.Tensor:
        """The tensor, or a copy whose memory is as it must be; only its address and its shape are looked at."""
        if t.is_neg():
            t = t.resolve_neg()
        if self.order is None:
            return t.contiguous()
        return t.permute(self.order).contiguous().permute(inverse(self.order))

    def shape(self, t: torch.Tensor) -> list[int]:
        if self.fixed:
            return []
        return list(t.shape) if self.order is None else [t.shape[d] for d in self.order]


class _Output:
    def __init__(self, slot: Slot) -> None:
        val = slot.node.meta["val"]
        self.order = slot.order
        self.dtype = val.dtype
        if all(isinstance(d, int) for d in val.shape):
            self.sizes = list(val.shape)
            self.stride = list(val.stride()) if self.order is not None else row_major(self.sizes)

    def fixed(self) -> torch.Tensor:
        return torch.empty_strided(self.sizes, self.stride, dtype=self.dtype)

    def sized(self, shape: list[int]) -> torch.Tensor:
        """`shape` is in the order of memory."""
        t = torch.empty(shape, dtype=self.dtype)
        return t if self.order is None else t.permute(inverse(self.order))


def row_major(sizes: list[int]) -> list[int]:
    strides = []
    step = 1
    for d in reversed(sizes):
        strides.append(step)
        step *= max(d, 1)
    return strides[::-1]


def inverse(order: Sequence[int]) -> list[int]:
    return [order.index(d) for d in range(len(order))]


def returned(gm: GraphModule) -> list[Any]:
    """What the graph returns: nodes, None, numbers; a graph with one result may return it bare."""
    (value,) = next(n for n in reversed(gm.graph.nodes) if n.op == "output").args
    return list(value) if isinstance(value, tuple | list) else [value]


def computed_nodes(results: list[Any], lowering: Lowering) -> tuple[list[Node], dict[Node, int]]:
    """Each tensor that the program makes, once, and which of them a result is: aliases of one value are one."""
    order: list[Node] = []
    place: dict[Node, int] = {}
    seen: dict[Any, int] = {}
    for r in results:
        if r in place or not isinstance(r, Node) or r.op == "placeholder" or not isinstance(r.meta.get("val"), torch.Tensor):
            continue
        val = r.meta["val"]
        key = lowering.values[r].id, memory_order(val), val.untyped_storage()._cdata
        if key not in seen:
            seen[key] = len(order)
            order.append(r)
        place[r] = seen[key]
    return order, place


def _result(value: Any, places: dict[Node, int], computed: dict[Node, int]) -> Result:
    if not isinstance(value, Node):
        return lambda args, made: value
    if value in places:
        place = places[value]
        return lambda args, made: args[place]
    if value in computed:
        at = computed[value]
        return lambda args, made: made[at]
    return _size_result(value, places)


def _in_shapes(lowered: Lowered) -> set[str]:
    """Symbolic sizes that the shape of an input gives by itself."""
    dims = [d for s in lowered.inputs for d in s.node.meta["val"].shape if isinstance(d, torch.SymInt)]
    return {expression(d).name for d in dims if expression(d).is_Symbol}


def _sources(places: dict[Node, int]) -> dict[str, Callable[[Sequence[Any]], int]]:
    """Where the arguments of a call have the value of each symbolic size."""
    out: dict[str, Callable[[Sequence[Any]], int]] = {}

    def of_shape(place: int, axis: int) -> Callable[[Sequence[Any]], int]:
        return lambda args: int(args[place].shape[axis])

    def of_argument(place: int) -> Callable[[Sequence[Any]], int]:
        return lambda args: int(args[place])

    for node, place in places.items():
        val = node.meta.get("val")
        if isinstance(val, torch.SymInt) and expression(val).is_Symbol:
            out.setdefault(expression(val).name, of_argument(place))
        elif isinstance(val, torch.Tensor):
            for axis, d in enumerate(val.shape):
                if isinstance(d, torch.SymInt) and expression(d).is_Symbol:
                    out.setdefault(expression(d).name, of_shape(place, axis))
    return out


def _size_result(value: Node, places: dict[Node, int]) -> Result:
    """A size that the graph returns (for the backward pass): computed from the sizes of this call."""
    val = value.meta["val"]
    if not isinstance(val, torch.SymInt):
        return lambda args, made: val
    expr = expression(val)
    sources = _sources(places)
    symbols = sorted(expr.free_symbols, key=str)
    return lambda args, made: int(expr.xreplace({s: sympy.Integer(sources[s.name](args)) for s in symbols}))
