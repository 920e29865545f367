"""Expressions as functions: compile("matmul(A, relu(B)) + softmax(C)", A="8,16", B="16,8", C="8,8"). docs/dsl.md has the
language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import _core, dtypes, interchange, runtime, sizes
from .program import Bindings, Program, read_outputs

__all__ = ["Function", "compile", "evaluate", "function_stats", "jit_tensor"]


class Function:
    """A compiled expression. The same text with the same types, options and device is the same function, which compiles
    nothing again. One call at a time."""

    def __init__(self, core: _core.Function) -> None:
        self._core = core
        self.program = Program(core.program())
        self._inputs = self.program.inputs
        self._outputs = [t[0] for t in self.program.outputs]
        self._vars = {v[0] for v in self.program.vars}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Inputs in the order of the types, or by name. One array, or a dict of several by name."""
        names = {t[0] for t in self._inputs}
        vars = [(n, int(kwargs.pop(n))) for n in list(kwargs) if n in self._vars and n not in names]
        self._core.run(Bindings(self._inputs, args, kwargs).arrays, vars)
        return read_outputs(self._core, self._outputs)

    @property
    def device(self) -> str:
        return self._core.device()

    @property
    def groups(self) -> list[dict[str, Any]]:
        """For each launch what it was made of, and why."""
        return self.program.groups

    @property
    def tiles(self) -> list[str]:
        """For each launch the loops that tile_size split: "100 as 4 x 32"."""
        return [g["tiles"] for g in self.groups]

    @property
    def ir(self) -> str:
        """The kernels in KIR."""
        return self.program.inspect("kir")

    @property
    def source(self) -> str:
        """The kernels as the device's compiler gets them: KIR, or source text."""
        return self._core.source()

    def explain(self, format: str = "text") -> str:
        return self.program.explain(format)

    def manifest(self) -> str:
        return self.program.manifest()

    def save(self, path: Any, images: bool = True) -> None:
        self.program.save(path, images)

    def stats(self) -> dict[str, int]:
        return self._core.stats()


def _type(given: Any) -> str:
    """The text of a type: "f16[n:1..64, 64]" as it is, (8, 16), 5, ("f64", (8, 16)), or that of an array."""
    if isinstance(given, str):
        return given
    if isinstance(given, int):
        return str(given)
    if hasattr(given, "dtype") and hasattr(given, "shape"):
        return f"{dtypes.short_name(given.dtype)}[{','.join(str(d) for d in given.shape)}]"
    if len(given) == 2 and not isinstance(given[0], (int, sizes.Size)) and isinstance(given[1], Sequence):
        return f"{dtypes.short_name(given[0])}[{_sizes(given[1])}]"
    return f"f32[{_sizes(given)}]"


def _sizes(dims: Sequence[Any]) -> str:
    return ",".join(
        f"{d.name}:{d.min}..{d.max}" if isinstance(d, sizes.Var) else getattr(d, "expr", None) or str(d) for d in dims
    )


def compile(
    text: str,
    types: Mapping[str, Any] | None = None,
    *,
    device: str | None = None,
    memory_budget: int = 0,
    arena_limit: int = 0,
    tile_size: int = 0,
    fast: bool = False,
    fuse: bool = True,
    **more_types: Any,
) -> Function:
    """Compiles an expression, or a program of several lines, for the types of its inputs.

    A type is text ("64,64", "f16[n:1..64, 64]"), a shape of numbers and variables (f32), (element type, shape), or an
    array that has it. memory_budget: elements; a larger intermediate is stored. arena_limit: bytes, a hard cap.
    tile_size: longer loops are split. fast: numerics that differ between devices. fuse=False: one kernel an operation.
    """
    named = [(name, _type(t)) for name, t in {**(types or {}), **more_types}.items()]
    core = _core.Function(
        runtime.context(), text, named, device or "", fast, memory_budget, arena_limit, tile_size, fuse
    )
    return Function(core)


def evaluate(text: str, device: str | None = None, **inputs: Any) -> Any:
    """Compiles for the types of the arrays and calls, in one: evaluate("relu(A) + 1", A=a)."""
    arrays = {name: interchange.host_array(value) for name, value in inputs.items()}
    return compile(text, arrays, device=device)(**arrays)


jit_tensor = evaluate


def function_stats() -> dict[str, int]:
    """How often compile() compiled, how often it found the function, how many are kept."""
    return _core.function_stats(runtime.context())
