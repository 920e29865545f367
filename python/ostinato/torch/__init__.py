"""PyTorch models as programs: torch.compile(model, backend="ostinato"), and what that needs around it."""

from __future__ import annotations

from . import custom_ops as _custom_ops
from .dynamo import backend, register
from .errors import Unsupported
from .explanation import Explanation, explain
from .fx import CompiledModule, compile, compile_fx, trace_module  # noqa: A004
from .options import Options
from .report import counters, last_log
from .save import save_program

__all__ = [
    "CompiledModule",
    "Explanation",
    "Options",
    "Unsupported",
    "backend",
    "compile",
    "compile_fx",
    "counters",
    "explain",
    "last_log",
    "save_program",
    "trace_module",
]

_ = _custom_ops  # it registers torch.ops.ostinato.*
register()
