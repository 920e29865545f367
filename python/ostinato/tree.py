"""Arguments and results of captured functions: tensors in lists, tuples and dicts, taken apart and put together again."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from .errors import JitError
from .sizes import Size, Var
from .tensor import Tensor

Build = Callable[[list[Tensor]], Any]


class Leaves:
    """What a call passes: tensors by path, numbers by path and bits, variables, and what else must stay the same."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.names: list[str] = []
        self.scalars: list[tuple[str, str, int]] = []
        self.vars: dict[str, Var] = {}
        self.fixed: list[tuple[str, Any]] = []

    def add(self, path: str, value: Any) -> Build:
        """How to put the value together from the list of tensors."""
        if isinstance(value, Tensor):
            i = len(self.tensors)
            self.tensors.append(value)
            self.names.append(path)
            return lambda tensors: tensors[i]
        if isinstance(value, Var):
            self.vars[value.name] = value
            return lambda _: value
        if isinstance(value, Size):
            raise JitError(f"argument {path} is the size {value}; pass the variable that it is made of")
        if value is None or isinstance(value, (str, bytes)):
            self.fixed.append((path, value))
            return lambda _: value
        if isinstance(value, (bool, int, float)):
            self.scalars.append((path, *_bits(path, value)))
            return lambda _: value
        if isinstance(value, (list, tuple)):
            return self._sequence(path, value)
        if isinstance(value, dict):
            return self._dict(path, value)
        return self._other(path, value)

    def _sequence(self, path: str, value: Any) -> Build:
        kind = type(value)
        self.fixed.append((path, (kind.__name__, len(value))))
        parts = [self.add(f"{path}.{i}", v) for i, v in enumerate(value)]
        if hasattr(kind, "_fields"):
            return lambda tensors: kind(*(p(tensors) for p in parts))
        return lambda tensors: kind(p(tensors) for p in parts)

    def _dict(self, path: str, value: dict[Any, Any]) -> Build:
        self.fixed.append((path, ("dict", tuple(map(str, value)))))
        parts = {k: self.add(f"{path}.{k}", v) for k, v in value.items()}
        return lambda tensors: {k: p(tensors) for k, p in parts.items()}

    def _other(self, path: str, value: Any) -> Build:
        if hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
            if getattr(value, "ndim", 1) == 0 and hasattr(value, "item"):
                return self.add(path, value.item())
            return self.add(path, Tensor(value))
        try:
            hash(value)
        except TypeError:
            raise JitError(
                f"argument {path} is a {type(value).__name__}, which can change unseen; a captured function takes "
                "tensors, arrays, numbers, text, variables, and lists, tuples and dicts of them"
            ) from None
        self.fixed.append((path, value))
        return lambda _: value


def _bits(path: str, value: bool | int | float) -> tuple[str, int]:
    """Type and bits of a number: it is a part of the signature, since the program keeps it."""
    if isinstance(value, bool):
        return "bool", int(value)
    if isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 63:
            raise JitError(f"argument {path} is {value}, which has more than 64 bits")
        return "i64", value & 0xFFFFFFFFFFFFFFFF
    return "f64", struct.unpack("<Q", struct.pack("<d", value))[0]


class Results:
    """The tensors of a result, and how to make it of others in their places."""

    def __init__(self, value: Any) -> None:
        self.tensors: list[Tensor] = []
        self.build = self._take(value, "the result")

    def _take(self, value: Any, path: str) -> Build:
        if isinstance(value, Tensor):
            i = len(self.tensors)
            self.tensors.append(value)
            return lambda tensors: tensors[i]
        if value is None:
            return lambda _: None
        if isinstance(value, (list, tuple)):
            kind = type(value)
            parts = [self._take(v, f"{path}[{i}]") for i, v in enumerate(value)]
            if hasattr(kind, "_fields"):
                return lambda tensors: kind(*(p(tensors) for p in parts))
            return lambda tensors: kind(p(tensors) for p in parts)
        if isinstance(value, dict):
            named = {k: self._take(v, f"{path}[{k!r}]") for k, v in value.items()}
            return lambda tensors: {k: p(tensors) for k, p in named.items()}
        raise JitError(
            f"{path} is a {type(value).__name__}; a captured function returns tensors, and lists, tuples and dicts of "
            "them: anything else would be the same in every replay"
        )
