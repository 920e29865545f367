"""torch.compile(model, backend="ostinato"): found through the entry point group torch_dynamo_backends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._dynamo.backends.common import aot_autograd
from torch.fx import GraphModule, Node

from .decompose import decompositions
from .options import Options
from .partition import Call, compile_graph
from .region import returned
from .save import Saver


class Inference:
    """The compiled inference graph, where it can be called as it is: it writes no argument, and no result shares
    memory with an argument or another result, so AOTAutograd has nothing to do around it."""

    run: Call | None = None
    arguments = 0
    results = 0

    def offer(self, gm: GraphModule, run: Call) -> None:
        made = returned(gm)
        values = [n.meta.get("val") if isinstance(n, Node) else None for n in made]
        places = [n for n in gm.graph.nodes if n.op == "placeholder"]
        if not all(isinstance(v, torch.Tensor) for v in values):
            return
        storages = [v.untyped_storage()._cdata for v in [*values, *(p.meta.get("val") for p in places)] if isinstance(v, torch.Tensor)]
        if len(set(storages[: len(values)])) == len(values) and not set(storages[: len(values)]) & set(storages[len(values) :]):
            self.run, self.arguments, self.results = run, len(places), len(made)


def compiler(
    options: Options, kind: str, saver: Saver | None, inference: Inference | None = None
) -> Callable[[GraphModule, Sequence[Any]], Any]:
    """What AOTAutograd calls with a functional graph of ATen operations."""

    def compile_(gm: GraphModule, example_inputs: Sequence[Any]) -> Any:
        run = compile_graph(gm, options, kind)
        if saver is not None:
            run = saver.watch(gm, run, kind)
        if inference is not None:
            inference.offer(gm, run)

        def boxed(args: list[Any]) -> list[Any]:
            return run(args)

        boxed._boxed_call = True  # type: ignore[attr-defined]
        return boxed

    return compile_


def backend(gm: GraphModule, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None, **how: Any) -> Any:
    """Forward and backward are captured by AOTAutograd and compiled; `options` are those of Options."""
    o = Options.of(options)
    if how.get("mode") not in (None, "default"):
        raise ValueError(f"mode {how['mode']!r}: backend 'ostinato' has none; say what is wanted in options=")
    saver = Saver(o) if o.save else None
    inference = Inference()
    compiled = aot_autograd(
        fw_compiler=compiler(o, "forward", saver),
        bw_compiler=compiler(o, "backward", saver),
        inference_compiler=compiler(o, "inference", saver, inference),
        decompositions=decompositions(),
        partition_fn=min_cut_rematerialization_partition,
    )(gm, example_inputs)
    run = inference.run
    if run is None or (inference.arguments, inference.results) != (len(example_inputs), len(returned(gm))):
        return compiled
    return lambda *args: run(args)


def register() -> None:
    """The entry point of an installed package, for a process that found none (a build tree): the name works after this
    import too."""
    from importlib.metadata import EntryPoint

    from torch._dynamo.backends import registry

    registry._BACKENDS.setdefault("ostinato", EntryPoint("ostinato", "ostinato.torch:backend", "torch_dynamo_backends"))
