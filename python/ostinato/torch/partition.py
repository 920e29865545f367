"""A traced graph as compiled regions and what stays in eager torch between them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from .lower import Lowered, Lowering
from .lower.graph import is_size
from .options import Options
from .region import Region
from .report import Eager, GraphReport, finish

aten = torch.ops.aten
# A region of these alone is left to torch, where it is a view.
_MOVEMENT = {
    aten.view.default, aten._unsafe_view.default, aten.reshape.default, aten.unsqueeze.default, aten.squeeze.dim,
    aten.squeeze.dims, aten.squeeze.default, aten.expand.default, aten.permute.default, aten.t.default,
    aten.transpose.int, aten.slice.Tensor, aten.select.int, aten.detach.default, aten.alias.default,
}  # fmt: skip

Call = Callable[[Sequence[Any]], list[Any]]


def compile_graph(gm: GraphModule, options: Options, kind: str) -> Call:
    """Arguments in a list to results in a list. The graph is functional: AOTAutograd made it."""
    report = GraphReport(kind, options.device)
    lowering = Lowering(gm)
    lowered = lowering.run()
    report.ops = sum(_is_operation(n) for n in gm.graph.nodes)
    for node, reason in lowered.reasons.items():
        report.eager.append(Eager(op_name(node), node.name, reason))
    if not lowered.reasons:
        call: Call = _region(lowering, lowered, options, report)
    else:
        call = _mixed(gm, set(lowered.reasons), options, report)
    finish(report)
    return call


def _region(lowering: Lowering, lowered: Lowered, options: Options, report: GraphReport) -> Region:
    region = Region(lowering, lowered, options)
    if region.program is not None:
        report.programs.append(region.program)
    return region


def _is_operation(node: Node) -> bool:
    import operator

    return node.op == "call_function" and not is_size(node.meta.get("val")) and node.target is not operator.getitem


def op_name(node: Node) -> str:
    target = node.target
    return str(target) if isinstance(target, str) else getattr(target, "__name__", str(target)) if not hasattr(target, "_schema") else str(target)


class _Support(OperatorSupportBase):
    def __init__(self, unsupported: set[Node]) -> None:
        self.unsupported = unsupported

    def is_node_supported(self, submodules: Any, node: Node) -> bool:
        return node.op == "call_function" and node not in self.unsupported and not is_size(node.meta.get("val"))


class _Call(torch.nn.Module):
    """A region as a submodule of the graph around it."""

    def __init__(self, region: Region, bare: bool) -> None:
        super().__init__()
        self.region = region
        self.bare = bare

    def forward(self, *args: Any) -> Any:
        results = self.region(args)
        return results[0] if self.bare else results


def _mixed(gm: GraphModule, unsupported: set[Node], options: Options, report: GraphReport) -> Call:
    partitioner = CapabilityBasedPartitioner(gm, _Support(unsupported), allows_single_node_partition=True)
    partitions = []
    for p in partitioner.propose_partitions():
        if any(n.target not in _MOVEMENT for n in p.nodes if _is_operation(n)):
            partitions.append(p)
    gm = partitioner.fuse_partitions(partitions)
    for node in list(gm.graph.nodes):
        if node.op != "call_module":
            continue
        part = getattr(gm, str(node.target))
        lowering = Lowering(part)
        lowered = lowering.run()
        if lowered.reasons:
            for inner, reason in lowered.reasons.items():
                report.eager.append(Eager(op_name(inner), inner.name, reason))
            continue
        bare = not isinstance(next(n for n in reversed(part.graph.nodes) if n.op == "output").args[0], tuple | list)
        setattr(gm, str(node.target), _Call(_region(lowering, lowered, options, report), bare))
    gm.recompile()
    return functools.partial(_unpack, gm.forward)


def _unpack(forward: Callable[..., Any], args: Sequence[Any]) -> list[Any]:
    return list(forward(*args))
