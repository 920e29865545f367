"""Programs that a model was compiled to, as files; parameters and buffers are constants in them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import GraphModule, Node

from .. import _core
from .decompose import decompositions
from .errors import Unsupported
from .lower import Lowering
from .options import Options
from .partition import op_name
from .region import returned

Call = Callable[[Sequence[Any]], list[Any]]


def whole(lowering: Lowering) -> None:
    """Lowers all; a saved program has no eager torch to run, so what is not supported is one error that names it."""
    reasons = lowering.run().reasons
    if reasons:
        lines = [f"{op_name(n)} ({n.name}): {reason}" for n, reason in reasons.items()]
        raise Unsupported("a saved program cannot have what only eager torch runs:\n  " + "\n  ".join(lines))


def finish(lowering: Lowering, results: list[Node], options: Options) -> _core.Program:
    if not results:
        raise Unsupported("the model computes nothing")
    names = ["out"] if len(results) == 1 else [f"out{i}" for i in range(len(results))]
    lowering.outputs(results, names)
    return lowering.out.graph.compile(fast=options.numerics == "fast", memory_budget=options.memory_budget)


def save_program(model: torch.nn.Module, args: tuple[Any, ...], path: str | os.PathLike[str], *,
                 kwargs: Mapping[str, Any] | None = None, dynamic_shapes: Any = None, numerics: str = "strict",
                 memory_budget: int = 0) -> _core.Program:  # fmt: skip
    """A model as a file for `ost replay`. `dynamic_shapes` is torch.export's; each Dim needs a max. Buffers that the
    model writes are states of the program."""
    options = Options(numerics=numerics, memory_budget=memory_budget)
    exported = torch.export.export(model, args, dict(kwargs or {}), dynamic_shapes=dynamic_shapes)
    exported = exported.run_decompositions(decompositions())
    gm, signature = exported.graph_module, exported.graph_signature
    placeholders = {n.name: n for n in gm.graph.nodes if n.op == "placeholder"}
    written = {s.target for s in signature.output_specs if s.kind == OutputKind.BUFFER_MUTATION}
    constants: dict[Node, torch.Tensor] = {}
    states: dict[Node, torch.Tensor] = {}
    by_target: dict[str, Node] = {}
    for spec in signature.input_specs:
        if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
            target = str(spec.target)
            held = exported.state_dict.get(target, exported.constants.get(target))
            by_target[target] = placeholders[spec.arg.name]
            (states if spec.target in written else constants)[placeholders[spec.arg.name]] = held
    lowering = Lowering(gm, constants, states=states, bounded=True)
    whole(lowering)
    results = []
    for spec, node in zip(signature.output_specs, returned(gm), strict=True):
        if spec.kind == OutputKind.BUFFER_MUTATION:
            lowering.assign(by_target[str(spec.target)], node)
        elif spec.kind == OutputKind.USER_OUTPUT:
            results.append(node)
        else:
            raise Unsupported(f"the model changes its argument {spec.target}; return the new value instead")
    program = finish(lowering, results, options)
    program.save(os.fspath(path), False)
    return program


class Saver:
    """Of one compiled frame: `save="model.ost.json"` becomes that file, then model.1.ost.json, ..."""

    _numbers: dict[str, itertools.count[int]] = {}

    def __init__(self, options: Options) -> None:
        self.options = options

    def watch(self, gm: GraphModule, run: Call, kind: str) -> Call:
        """Saves at the first call, when the parameters are there."""
        if kind == "backward":
            return run
        static = static_inputs()
        places = [n for n in gm.graph.nodes if n.op == "placeholder"]
        pending = [True]

        def call(args: Sequence[Any]) -> list[Any]:
            if pending:
                pending.clear()
                known = {n: a for i, (n, a) in enumerate(zip(places, args, strict=True)) if is_weight(a) or i in static}
                self.save(gm, known)
            return run(args)

        return call

    def save(self, gm: GraphModule, constants: Mapping[Node, torch.Tensor]) -> None:
        lowering = Lowering(gm, constants)
        whole(lowering)
        results = [n for n in returned(gm) if isinstance(n, Node) and isinstance(n.meta.get("val"), torch.Tensor)]
        finish(lowering, list(dict.fromkeys(results)), self.options).save(self._path(), False)

    def _path(self) -> str:
        path = self.options.save
        number = next(self._numbers.setdefault(path, itertools.count()))
        stem = path.removesuffix(".json").removesuffix(".ost")
        return f"{stem}.{number}.ost.json" if number else f"{stem}.ost.json"


def is_weight(x: Any) -> bool:
    return isinstance(x, torch.nn.Parameter)


def static_inputs() -> set[int]:
    """Which arguments of the graph that is compiled now are parameters and buffers of the model."""
    context = torch._guards.TracingContext.try_get()
    meta = None if context is None else context.fw_metadata
    return set() if meta is None else set(meta.static_input_indices)
