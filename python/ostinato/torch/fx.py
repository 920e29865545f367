"""Models without Dynamo: a model or an FX graph, traced by AOTAutograd for each kind of arguments that it is called
with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._functorch.aot_autograd import aot_module_simplified
from torch.fx import GraphModule

from .dynamo import Inference, compiler
from .decompose import decompositions
from .options import Options
from .save import Saver


def trace_module(model: torch.nn.Module) -> GraphModule:
    """The FX graph of a model: its modules and functions, without running it."""
    return torch.fx.symbolic_trace(model)


def compile_fx(gm: torch.nn.Module, options: Mapping[str, Any] | None = None, **more: Any) -> CompiledModule:
    """A traced graph as a compiled module; the options are those of Options."""
    return CompiledModule(gm, Options.of(options, **more))


def compile(model: torch.nn.Module, options: Mapping[str, Any] | None = None, **more: Any) -> CompiledModule:  # noqa: A001
    """A model as a compiled module: compile_fx() of its trace; one that FX cannot follow is traced while it runs."""
    try:
        traced: torch.nn.Module = trace_module(model)
    except Exception:  # noqa: BLE001  (control flow over values is a TraceError, a TypeError or whatever the model does)
        traced = model
    return compile_fx(traced, options, **more)


class _Flat(torch.nn.Module):
    """The model as a function from a list of tensors to a list of results."""

    def __init__(self, model: torch.nn.Module, leaves: list[Any], spec: pytree.TreeSpec) -> None:
        super().__init__()
        self.model = model
        self.leaves = [None if isinstance(x, torch.Tensor) else x for x in leaves]
        self.tensors = [i for i, x in enumerate(leaves) if isinstance(x, torch.Tensor)]
        self.spec = spec
        self.out_spec: pytree.TreeSpec | None = None

    def forward(self, *tensors: torch.Tensor) -> Any:
        leaves = list(self.leaves)
        for i, t in zip(self.tensors, tensors, strict=True):
            leaves[i] = t
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        flat, self.out_spec = pytree.tree_flatten(self.model(*args, **kwargs))
        return flat


class CompiledModule(torch.nn.Module):
    """Called as the model is; its parameters are the model's own."""

    def __init__(self, model: torch.nn.Module, options: Options) -> None:
        super().__init__()
        self.model = model
        self.options = options
        self._compiled: dict[Any, tuple[Callable[..., Any], pytree.TreeSpec | None]] = {}

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and all(type(a) is torch.Tensor for a in args):
            leaves, spec = list(args), None
        else:
            leaves, spec = pytree.tree_flatten((args, kwargs))
        key = (self.model.training, torch.is_grad_enabled(), spec, *map(_signature, leaves))
        found = self._compiled.get(key)
        if found is None:
            found = self._compiled[key] = self._compile(leaves, spec or pytree.tree_flatten((args, kwargs))[1])
        run, out_spec = found
        flat = run(*leaves) if spec is None else run(*(x for x in leaves if isinstance(x, torch.Tensor)))
        return flat[0] if out_spec is None else pytree.tree_unflatten(flat, out_spec)

    def _compile(self, leaves: list[Any], spec: pytree.TreeSpec) -> tuple[Callable[..., Any], pytree.TreeSpec | None]:
        flat = _Flat(self.model, leaves, spec)
        saver = Saver(self.options) if self.options.save else None
        inference = Inference()
        compile_module: Callable[..., Any] = aot_module_simplified  # its types say less than it takes
        run = compile_module(
            flat,
            [x for x in leaves if isinstance(x, torch.Tensor)],
            fw_compiler=compiler(self.options, "forward", saver),
            bw_compiler=compiler(self.options, "backward", saver),
            inference_compiler=compiler(self.options, "inference", saver, inference),
            decompositions=decompositions(),
            partition_fn=min_cut_rematerialization_partition,
        )
        direct = self._direct(flat, inference)
        if direct is not None:
            run = direct
        one = flat.out_spec is not None and flat.out_spec.is_leaf()
        return run, None if one else flat.out_spec

    def _direct(self, flat: _Flat, inference: Inference) -> Callable[..., Any] | None:
        """The compiled graph without AOTAutograd around it, where that does nothing."""
        weights: list[torch.Tensor] = [p for _, p in flat.named_parameters(remove_duplicate=False)]
        weights += [t for _, t in flat.named_buffers(remove_duplicate=False)]
        compiled, out = inference.run, flat.out_spec
        if compiled is None or out is None or inference.results != out.num_leaves:
            return None
        if inference.arguments != len(weights) + len(flat.tensors):
            return None
        return lambda *tensors: compiled([*weights, *tensors])


def _signature(x: Any) -> Any:
    """What a compiled graph depends on."""
    if isinstance(x, torch.Tensor):
        return x.shape, x.stride(), x.dtype, x.requires_grad, x.device.type
    return type(x), x
