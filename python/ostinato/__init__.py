"""Ostinato: capture a tensor program once, replay it on any device, bit for bit."""

from __future__ import annotations

from . import _core, dsl, errors, ops
from .dsl import evaluate
from .errors import Error, JitError
from .interchange import from_dlpack
from .jit import Jit, jit
from .ops import *  # noqa: F403
from .program import Program, Runnable, load
from .runtime import Device, Plugin, configure, devices, manual_seed, plugins
from .sizes import Size, Var, var
from .tensor import Tensor, realize

_core.set_error_factory(errors.make)

__version__ = _core.version()

tensor = Tensor

__all__ = [
    "Device",
    "Error",
    "Jit",
    "JitError",
    "Plugin",
    "Program",
    "Runnable",
    "Size",
    "Tensor",
    "Var",
    "configure",
    "devices",
    "dsl",
    "evaluate",
    "from_dlpack",
    "jit",
    "load",
    "manual_seed",
    "plugins",
    "realize",
    "tensor",
    "var",
    *ops.__all__,
]
