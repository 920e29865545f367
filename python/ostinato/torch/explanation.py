"""explain(model, *args): what is compiled to which kernels, what stays in eager torch and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from .dynamo import backend
from .report import GraphReport, collect


@dataclass(frozen=True)
class Break:
    """Where Dynamo ended a graph; `where` is file:line."""

    reason: str
    where: str


@dataclass
class Explanation:
    graphs: list[GraphReport] = field(default_factory=list)
    breaks: list[Break] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{len(self.graphs)} graphs, {len(self.breaks)} graph breaks"]
        lines += [f"break at {b.where}: {b.reason}" for b in self.breaks]
        for i, g in enumerate(self.graphs):
            lines.append(f"graph {i}: {g.summary()}")
            lines += [f"  eager {e.op} ({e.node}): {e.reason}" for e in g.eager]
            for p in g.programs:
                lines += [f"  {x['kind']}({x['ops']})" for x in p.groups()]
        return "\n".join(lines)


def explain(model: Callable[..., Any], *args: Any, options: Mapping[str, Any] | None = None, **kwargs: Any) -> Explanation:
    """Compiles the model for these arguments, runs it once and says what was made of it; what torch.compile had made
    before is forgotten."""
    torch._dynamo.reset()
    found = torch._dynamo.explain(model)(*args, **kwargs)
    out = Explanation()
    for reason in found.break_reasons:
        if not reason.graph_break:
            continue
        stack = reason.user_stack[-1] if reason.user_stack else None
        out.breaks.append(Break(reason.reason.split("\n")[0], f"{stack.filename}:{stack.lineno}" if stack else "?"))
    torch._dynamo.reset()
    with collect() as graphs:
        torch.compile(model, backend=lambda gm, inputs: backend(gm, inputs, options=options))(*args, **kwargs)
    out.graphs = graphs
    torch._dynamo.reset()
    return out
