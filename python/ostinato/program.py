"""Programs: saved, loaded, explained, and run on devices without the code that made them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _core, dtypes, interchange, runtime

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Program", "Runnable", "load"]

_FORMATS = {
    "text": _core.FORMAT_TEXT,
    "json": _core.FORMAT_JSON,
    "dot": _core.FORMAT_DOT,
    "html": _core.FORMAT_HTML,
    "manifest": _core.FORMAT_MANIFEST,
    "kir": _core.FORMAT_KIR,
}


def _format(name: str) -> int:
    if name not in _FORMATS:
        raise ValueError(f"format {name!r}: wanted one of {', '.join(_FORMATS)}")
    return _FORMATS[name]


class Program:
    """Kernels, steps and a memory plan: what a manifest holds. Immutable."""

    def __init__(self, core: _core.Program) -> None:
        self._core = core

    @property
    def id(self) -> str:
        """64 hex digits: what it computes, and how."""
        return str(self._describe("id"))

    @property
    def summary(self) -> str:
        return str(self._describe("summary"))

    @property
    def counts(self) -> dict[str, int]:
        """Launches by kind: {"gemm_epilogue": 1, ...}."""
        counts: dict[str, int] = json.loads(self._describe("counts"))
        return counts

    @property
    def kernels(self) -> int:
        return int(self._describe("kernels"))

    @property
    def launches(self) -> int:
        return int(self._describe("launches"))

    def _describe(self, name: str) -> Any:
        return self._core.describe()[name]

    @property
    def inputs(self) -> list[tuple[str, str, tuple[Any, ...]]]:
        """(name, element type, sizes) of each."""
        return self._core.inputs()

    @property
    def outputs(self) -> list[tuple[str, str, tuple[Any, ...]]]:
        return self._core.outputs()

    @property
    def vars(self) -> list[tuple[str, int, int]]:
        """(name, min, max) of each variable."""
        return self._core.vars()

    @property
    def groups(self) -> list[dict[str, Any]]:
        """For each launch what it was made of, and why."""
        return self._core.groups()

    def explain(self, format: str = "text") -> str:
        return self._core.explain(_format(format))

    def inspect(self, format: str = "text") -> str:
        """ "text", "json", "dot", "html", "manifest" or "kir"."""
        return self._core.inspect(_format(format))

    def manifest(self) -> str:
        return self.inspect("manifest")

    def save(self, path: Any, images: bool = True) -> None:
        self._core.save(os.fspath(path), images)

    def link(self, *targets: str) -> Program:
        """The same program with its kernels compiled for targets, which need not be here: "cpu:0", "hip:gfx90a"."""
        return Program(self._core.link(runtime.context(), list(targets)))

    def on(self, *devices: str) -> Runnable:
        """Compiled and loaded on one device, or on as many as it has logical devices."""
        return Runnable(self, list(devices) or ["auto"])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs once, on the device that the library chooses; on() keeps what is compiled."""
        return self.on()(*args, **kwargs)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{n}: {t}[{', '.join(map(str, s))}]" for n, t, s in self.inputs)
        outputs = ", ".join(f"{n}: {t}[{', '.join(map(str, s))}]" for n, t, s in self.outputs)
        return f"Program({inputs} -> {outputs}; {self.launches} launches)"


class Bindings:
    """Arguments by position or by name, as the extension takes them."""

    def __init__(self, types: Sequence[tuple[str, str, Any]], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        names = [t[0] for t in types]
        if len(args) > len(names):
            raise TypeError(f"{len(args)} arguments were given, there are {len(names)} inputs: {', '.join(names)}")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name in given:
                raise TypeError(f"input {name} was given by position and by name")
            given[name] = value
        missing = [n for n in names if n not in given]
        if missing:
            raise TypeError(f"input {missing[0]} is missing; the inputs are {', '.join(names)}")
        strange = [n for n in given if n not in names]
        if strange:
            raise TypeError(f"there is no input {strange[0]}; the inputs are {', '.join(names) or 'none'}")
        wanted = {t[0]: t[1] for t in types}
        self.arrays = []
        for name, value in given.items():
            numbers = isinstance(value, (bool, int, float, list, tuple))
            array = interchange.host_array(value, wanted[name] if numbers else None)
            self.arrays.append((name, dtypes.short_name(array.dtype), list(array.shape), dtypes.as_bytes(array)))


def read_outputs(core: Any, names: Sequence[str]) -> Any:
    """One array, or a dict of several by name."""
    import numpy as np

    out: dict[str, np.ndarray[Any, Any]] = {}
    for i, name in enumerate(names):
        dtype, shape = core.output_type(i)
        out[name] = np.empty(shape, dtypes.numpy_dtype(dtype))
        core.read(i, dtypes.as_bytes(out[name]))
    return next(iter(out.values())) if len(out) == 1 else out


class Runnable:
    """A program on devices. One call at a time."""

    def __init__(self, program: Program, devices: list[str]) -> None:
        self.program = program
        self._core = _core.Instance(runtime.context(), program._core, devices)
        self._vars = {v[0] for v in program.vars}

    @property
    def device(self) -> str:
        return self._core.device()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Inputs by position or name, NumPy arrays or anything that becomes one; variables that the shapes do not decide
        by name too. One array, or a dict of several by name."""
        self.bind(*args, **kwargs)
        self.run()
        return self.outputs()

    def bind(self, *args: Any, **kwargs: Any) -> None:
        """Copies the inputs to the device, for one run or many."""
        inputs = self.program.inputs
        names = {t[0] for t in inputs}
        vars = [(n, int(kwargs.pop(n))) for n in list(kwargs) if n in self._vars and n not in names]
        self._core.bind(Bindings(inputs, args, kwargs).arrays, vars)

    def run(self) -> None:
        """Runs what is bound, and waits. Allocates and compiles nothing."""
        self._core.run()

    def outputs(self) -> Any:
        """Of the last run."""
        return read_outputs(self._core, [t[0] for t in self.program.outputs])

    def stats(self) -> dict[str, int]:
        """Of the last run, and of building it: launches, allocations, compiles, build_cache_hits, ..."""
        return self._core.stats()


def load(path: Any, trust: bool = False, accept_edited: bool = False) -> Program:
    """Opens and verifies a manifest; safe on files from strangers. trust: run native code that is in it, only if you trust
    its author. accept_edited: do not compare the program with its id."""
    return Program(_core.Program.load(os.fspath(path), trust, accept_edited))

