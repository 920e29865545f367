"""The one table of what is lowered: operation of torch to a function that makes nodes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch

# (builder, arguments of the operation): tensors as Value, sizes as int or text, the rest as it is. The result is a
# Value, or one a result (None for those that nobody uses).
Lower = Callable[..., Any]

TABLE: dict[Any, Lower] = {}


F = TypeVar("F", bound=Lower)


def lowers(*targets: Any) -> Callable[[F], F]:
    """Registers a function for overloads; a packet stands for all of its overloads without `out`."""

    def register(f: F) -> F:
        for t in targets:
            if isinstance(t, torch._ops.OpOverloadPacket):
                for name in t.overloads():  # type: ignore[no-untyped-call]
                    if "out" not in name:
                        TABLE[getattr(t, name)] = f
            else:
                TABLE[t] = f
        return f

    return register
