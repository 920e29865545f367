"""Functions that are captured: call 1 runs the function, call 2 records what it computes as one program, later calls run
that program and never the function. docs/capture.md has the contract."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, overload

from . import _core, runtime, sizes
from .errors import JitError
from .program import Program
from .tensor import Tensor
from .tree import Leaves, Results

__all__ = ["Jit", "jit"]

P = ParamSpec("P")
R = TypeVar("R")

_OUTPUTS = {"reuse": _core.JIT_REUSE, "fresh": _core.JIT_FRESH, "donate": _core.JIT_DONATE}


class Jit(Generic[P, R]):
    """A captured function; what jit() gives."""

    def __init__(self, function: Callable[P, R], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._options = options
        self._signature = inspect.signature(function)
        self._simple = all(
            p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for p in self._signature.parameters.values()
        )
        self._names = list(self._signature.parameters)
        self._jit: _core.Jit | None = None
        self._fixed: list[tuple[str, Any]] | None = None
        self._results: dict[Any, Any] = {}
        self._attribute = f"_ostinato_jit_{id(self)}"

    # --- as a method: each receiver has its own capture

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        try:
            own = instance.__dict__
        except AttributeError:
            raise TypeError(
                f"{type(instance).__name__} has no __dict__, where the capture of its method would be kept"
            ) from None
        if self._attribute not in own:
            own[self._attribute] = Jit(self._function.__get__(instance, owner), self._options)
        return own[self._attribute]

    # --- calls

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        leaves = Leaves()
        build: Callable[[list[Tensor]], Any]
        if self._simple and not kwargs and len(args) == len(self._names) and all(type(a) is Tensor for a in args):
            leaves.tensors, leaves.names = list(args), self._names  # type: ignore[arg-type]
            build = tuple
            names: dict[str, Any] = {}
        else:
            bound = self._signature.bind(*args, **kwargs)
            bound.apply_defaults()
            parts = {name: leaves.add(name, value) for name, value in bound.arguments.items()}
            names = bound.arguments

            def build(tensors: list[Tensor]) -> Any:
                for name, part in parts.items():
                    names[name] = part(tensors)
                return bound

        return self._call(leaves, build)  # type: ignore[no-any-return]

    def _call(self, leaves: Leaves, build: Callable[[list[Tensor]], Any]) -> Any:
        self._check_fixed(leaves.fixed)
        if self._jit is None:
            self._jit = self._make(leaves.names)
        scalars = leaves.scalars
        if leaves.fixed:
            digest = hashlib.blake2b(repr(leaves.fixed).encode(), digest_size=8).digest()
            scalars = [*scalars, ("(other arguments)", "u64", int.from_bytes(digest, "little"))]
        key = self._key(leaves)

        def body(inputs: list[_core.Tensor]) -> list[_core.Tensor]:
            given = build([Tensor._of(h) for h in inputs])
            with sizes.numbers_hidden():
                if isinstance(given, tuple):
                    out = self._function(*given)  # type: ignore[call-arg]
                else:
                    out = self._function(*given.args, **given.kwargs)
                results = Results(out)
            self._results[key] = results.build
            return [t._h for t in results.tensors]

        out = self._jit.call(body, [t._h for t in leaves.tensors], leaves.names, scalars, self._vars(leaves))
        return self._results[key]([Tensor._of(h) for h in out])

    def _make(self, names: list[str]) -> _core.Jit:
        o = self._options
        donated = []
        for name in o["donate"]:
            at = [i for i, n in enumerate(names) if n == name or n.startswith(name + ".")]
            if not at:
                raise JitError(f"donate: the function got no tensor {name!r}; there are {', '.join(names)}")
            donated += at
        return _core.Jit(
            runtime.session(), _OUTPUTS[o["outputs"]], o["disabled"], o["prune"], o["programs"], donated
        )

    def _check_fixed(self, fixed: list[tuple[str, Any]]) -> None:
        if self._options["programs"] > 1 or self._options["disabled"] or self._fixed is None or self._jit is None:
            self._fixed = fixed
            return
        if fixed == self._fixed:
            return
        if not self.captured:
            self._fixed = fixed
            return
        now, then = dict(fixed), dict(self._fixed)
        for path in {**then, **now}:
            if path not in now or path not in then or now[path] != then[path]:
                raise JitError(
                    f"argument {path} is {now.get(path, 'missing')!r}, the capture has {then.get(path, 'none')!r}; "
                    "reset() captures anew, programs=N keeps several"
                )

    def _key(self, leaves: Leaves) -> Any:
        """Which program's result it is; with one program there is one."""
        if self._options["programs"] <= 1:
            return None
        types = tuple((t._h.type()[0], t._h.type()[2]) for t in leaves.tensors)
        return types, tuple(leaves.scalars), repr(leaves.fixed)

    def _vars(self, leaves: Leaves) -> list[tuple[str, int, int, int]]:
        """Those that are arguments, and those that the inputs' sizes name."""
        used = set(leaves.vars)
        if sizes._vars:
            for t in leaves.tensors:
                used |= sizes.names_in(t._h.type()[2])
        known = [sizes.known(name) for name in sorted(used)]
        return [(v.name, v.min, v.max, v.value) for v in known]

    # --- what was captured

    @property
    def captured(self) -> bool:
        return self._jit is not None and self._jit.captured()

    def reset(self) -> None:
        """Discards what was captured; the next two calls run and capture again."""
        if self._jit is not None:
            self._jit.reset()
        self._jit = None
        self._fixed = None
        self._results.clear()

    @property
    def program(self) -> Program:
        """The captured program, with what the tensors that the function closes over hold now."""
        if self._jit is None:
            raise JitError("nothing is captured yet; the second call captures")
        return Program(self._jit.program())

    def manifest(self) -> str:
        """The text of the saved form, with all data inline."""
        return self.program.manifest()

    def save(self, path: Any, images: bool = True) -> None:
        """Writes x.ost.json, and beside it x.safetensors and x.images where needed."""
        self.program.save(path, images)

    def stats(self) -> dict[str, int]:
        """Of the last run: launches, copies, allocations, compiles, wall_ns, ..."""
        if self._jit is None:
            raise JitError("nothing has run yet")
        return self._jit.stats()

    def free_intermediates(self) -> int:
        """Frees arenas and output storage that no tensor holds, until the next call; how many bytes."""
        return 0 if self._jit is None else self._jit.free_intermediates()


@overload
def jit(function: Callable[P, R]) -> Jit[P, R]: ...
@overload
def jit(
    *,
    outputs: str = ...,
    donate: Sequence[str] = ...,
    programs: int = ...,
    prune: bool = ...,
    disabled: bool = ...,
) -> Callable[[Callable[P, R]], Jit[P, R]]: ...


def jit(
    function: Callable[P, R] | None = None,
    *,
    outputs: str = "reuse",
    donate: Sequence[str] = (),
    programs: int = 1,
    prune: bool = True,
    disabled: bool = False,
) -> Any:
    """Captures a function of tensors, numbers, text, variables, and lists, tuples and dicts of them.

    outputs: "reuse", a result is stale after the next call and using it then is an error; "fresh", new memory for each
    call; "donate", the memory of the parameters named in `donate` (all of them, if none is) serves later results.
    programs: how many signatures may have a program at once; with 1, another signature than the captured one is an error.
    prune: compute what depends on constants and frozen tensors alone once. disabled: every call is eager.
    """
    if outputs not in _OUTPUTS:
        raise ValueError(f"outputs {outputs!r}: wanted one of {', '.join(_OUTPUTS)}")
    if donate and outputs != "donate":
        raise ValueError("donate names parameters, and outputs is not 'donate'")
    options = {
        "outputs": outputs,
        "donate": tuple(donate),
        "programs": programs,
        "prune": prune,
        "disabled": disabled,
    }
    if function is None:
        return lambda f: Jit(f, options)
    return Jit(function, options)
