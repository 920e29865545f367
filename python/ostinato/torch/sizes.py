"""Sizes of traced graphs (sympy expressions over symbols) as sizes of ours (text over variables with bounds)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.utils._sympy.functions import CeilDiv, CleanDiv, FloorDiv, Mod, PythonMod
from torch.utils._sympy.functions import Max as TorchMax
from torch.utils._sympy.functions import Min as TorchMin

from .errors import Unsupported

Size = int | str  # a number, or an expression

_START = 64  # the smallest bound that a symbol gets; it grows when a call needs more


def expression(value: Any) -> sympy.Expr:
    """Of a SymInt or an int."""
    return value.node.expr if isinstance(value, torch.SymInt) else sympy.Integer(value)


def size(value: Any) -> Size:
    if isinstance(value, int):
        return value
    expr = expression(value)
    for s in expr.free_symbols:
        if s.name.startswith("u"):
            raise Unsupported(f"the size {s} is known only when the operation before it has run")
    return int(expr) if expr.is_number else _text(expr, _CALLS)


def shape(values: Any) -> tuple[Size, ...]:
    return tuple(size(v) for v in values)


def scalar_text(expr: sympy.Expr) -> str:
    """The same in the expression language, where it is a value."""
    return _text(expr, _OPERATORS)


_CALLS = {"div": "floordiv({}, {})", "mod": "mod({}, {})"}
_OPERATORS = {"div": "({} // {})", "mod": "({} % {})"}


def _text(e: sympy.Expr, style: dict[str, str]) -> str:
    args = [_text(a, style) for a in e.args]
    if e.is_Integer or e.is_Symbol:
        return str(e)
    if e.is_Add:
        return "(" + " + ".join(args) + ")"
    if e.is_Mul and all(not a.is_Rational or a.is_Integer for a in e.args):
        return "(" + " * ".join(args) + ")"
    if e.is_Pow and e.exp.is_Integer and e.exp > 0:
        return "(" + " * ".join([args[0]] * int(e.exp)) + ")"
    if isinstance(e, FloorDiv | CleanDiv):
        return style["div"].format(*args)
    if isinstance(e, CeilDiv):
        return style["div"].format(f"({args[0]} + {args[1]} - 1)", args[1])
    if isinstance(e, Mod | PythonMod):
        return style["mod"].format(*args)
    if isinstance(e, TorchMin | TorchMax):
        name = "min" if isinstance(e, TorchMin) else "max"
        out = args[0]
        for a in args[1:]:
            out = f"{name}({out}, {a})"
        return out
    raise Unsupported(f"the size {e}: there is no such function of sizes")


@dataclass(frozen=True)
class Symbol:
    """A symbolic size of a graph. `high` is None if there is no bound; `hint` is its value while tracing."""

    name: str
    low: int
    high: int | None
    hint: int

    def bound(self, at_least: int = 0) -> int:
        """What a program is compiled for: it has memory for its largest sizes, so they are not the largest possible
        but a few times what was seen."""
        room = max(_START, 4 * self.hint, 2 * at_least)
        room = 1 << (room - 1).bit_length()
        return room if self.high is None else min(self.high, room)


def symbols(graph: torch.fx.Graph) -> dict[str, Symbol]:
    """Of the graph's tensors; not those that are known only when something has run."""
    out: dict[str, Symbol] = {}
    for node in graph.nodes:
        for v in tensors_of(node.meta.get("val")):
            for d in v.shape if isinstance(v, torch.Tensor) else (v,):
                if isinstance(d, torch.SymInt):
                    for s in d.node.expr.free_symbols:
                        if s.name not in out and not s.name.startswith("u"):
                            out[s.name] = _symbol(d.node.shape_env, s)
    return out


def _symbol(shape_env: Any, s: sympy.Symbol) -> Symbol:
    r = shape_env.var_to_range[s]
    low = max(0, int(r.lower)) if r.lower.is_Integer else 0
    high = int(r.upper) if r.upper.is_Integer and int(r.upper) < 1 << 31 else None
    hint = shape_env.backed_var_to_val.get(s, 0)
    return Symbol(s.name, low, high, max(0, int(hint)))


def tensors_of(value: Any) -> list[Any]:
    """The tensors (and symbolic integers) among what a node gives."""
    if isinstance(value, torch.Tensor | torch.SymInt):
        return [value]
    if isinstance(value, tuple | list):
        return [t for v in value for t in tensors_of(v)]
    return []
