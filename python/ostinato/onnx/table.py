"""The table of operators: one function each, found by domain and name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..sizes import Size
from .value import Array, Builder, Value

if TYPE_CHECKING:
    from .trace import Scope, Trace

Results = Any  # a Value, or a sequence of them
Operator = Callable[["Call"], Results]

OPERATORS: dict[tuple[str, str], Operator] = {}


class Unsupported(Exception):
    """Why an operator is not covered as it is used here."""


class ValueNeeded(Exception):
    """An operator needs data at compile time that depends on these inputs."""

    def __init__(self, inputs: frozenset[str], what: str) -> None:
        super().__init__(what)
        self.inputs = inputs


def operator(*names: str, domain: str = "") -> Callable[[Operator], Operator]:
    """Enters a function into the table."""

    def enter(function: Operator) -> Operator:
        for name in names:
            OPERATORS[domain, name] = function
        return function

    return enter


class Call:
    """One node of the model: its operands, attributes, and the version of its operator."""

    scope: Scope  # where the node is; subgraphs see it

    def __init__(
        self, trace: Trace, name: str, inputs: Sequence[Value | None], attrs: dict[str, Any], since: int, outputs: int
    ) -> None:
        self.trace = trace
        self.name = name
        self.inputs = inputs
        self.attrs = attrs
        self.since = since  # the opset in which this version of the operator came
        self.outputs = outputs

    @property
    def builder(self) -> Builder:
        return self.trace.builder

    def attr(self, name: str, otherwise: Any = None) -> Any:
        return self.attrs.get(name, otherwise)

    def number(self, name: str, otherwise: float) -> float:
        return float(self.attrs.get(name, otherwise))

    def has(self, i: int) -> bool:
        return i < len(self.inputs) and self.inputs[i] is not None

    def __getitem__(self, i: int) -> Value:
        value = self.inputs[i] if i < len(self.inputs) else None
        if value is None:
            raise ValueError(f"{self.name}: operand {i} is missing")
        return value

    def get(self, i: int) -> Value | None:
        return self[i] if self.has(i) else None

    def fixed(self, i: int) -> Array:
        """The data of an operand, which decides the program. Entries may be sizes."""
        value = self[i]
        if value.data is None:
            raise ValueNeeded(value.origin, f"operand {i} of {self.name}")
        return value.data

    def ints(self, i: int) -> list[int]:
        data = self.fixed(i)
        if data.dtype == object and any(isinstance(d, Size) for d in data.reshape(-1)):
            raise Unsupported(f"operand {i} of {self.name} depends on sizes that are variables")
        return [int(d) for d in data.reshape(-1)]

    def sizes(self, i: int) -> list[Any]:
        """Numbers and sizes."""
        return [d if isinstance(d, Size) else int(d) for d in self.fixed(i).reshape(-1)]

    def numbers_of(self, x: Value) -> list[int]:
        """The sizes of an operand, which must not be variables."""
        if any(isinstance(d, str) for d in x.shape):
            raise Unsupported(f"{self.name} of sizes that are variables: {list(x.shape)}")
        return list(x.shape)

    def number_at(self, x: Value, axis: int) -> int:
        """One of its sizes, which must not be a variable."""
        n = x.shape[axis]
        if isinstance(n, str):
            raise Unsupported(f"{self.name} of a size that is a variable: {n}, axis {axis} of {list(x.shape)}")
        return int(n)

    def axes(self, at: int, rank: int) -> list[int] | None:
        """From the attribute, or from the operand that it became. None: there are none."""
        given = self.attr("axes")
        if given is None and self.has(at):
            given = self.ints(at)
        return None if given is None else [a % rank if rank else a for a in given]

    def like(self, data: Any, x: Value) -> Value:
        """A constant of the type of x."""
        return self.builder.constant(np.asarray(data), x.dtype)
