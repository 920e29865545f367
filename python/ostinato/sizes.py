"""Sizes that are known only when a program is called: variables with bounds, and expressions over them."""

from __future__ import annotations

import ast
import re
import threading
from collections.abc import Iterable, Sequence
from typing import Any, Union

from . import runtime
from .errors import JitError

__all__ = ["Dim", "Size", "Var", "var"]

_vars: dict[str, Var] = {}
_values: dict[str, int] = {}


class Size:
    """An integer expression over variables: "2*n + 1". Arithmetic gives a Size; as a number it is the value at the
    variables' present values. While a function is captured it has no number: a program serves all values."""

    __slots__ = ("expr",)

    def __init__(self, expr: str) -> None:
        self.expr = expr

    def _with(self, op: str, other: Any, reflected: bool = False) -> Any:
        if not isinstance(other, (int, Size)) or isinstance(other, bool):
            return NotImplemented
        text = other.expr if isinstance(other, Size) else str(int(other))
        a, b = (text, self.expr) if reflected else (self.expr, text)
        return Size(f"({a}) {op} ({b})")

    def __add__(self, other: Any) -> Any:
        return self._with("+", other)

    def __radd__(self, other: Any) -> Any:
        return self._with("+", other, True)

    def __sub__(self, other: Any) -> Any:
        return self._with("-", other)

    def __rsub__(self, other: Any) -> Any:
        return self._with("-", other, True)

    def __mul__(self, other: Any) -> Any:
        return self._with("*", other)

    def __rmul__(self, other: Any) -> Any:
        return self._with("*", other, True)

    def __floordiv__(self, other: Any) -> Any:
        return self._with("//", other)

    def __mod__(self, other: Any) -> Any:
        return self._with("%", other)

    def __int__(self) -> int:
        if are_hidden():
            raise JitError(
                f"size {self.expr} has no number while a function is captured: the program would keep it for ever; "
                "use the size itself in shapes, slices and arithmetic"
            )
        return evaluate(self.expr)

    __index__ = __int__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Size) and other.expr == self.expr:
            return True
        return int(self) == (int(other) if isinstance(other, Size) else other)

    def __hash__(self) -> int:
        return hash(self.expr)

    def __repr__(self) -> str:
        return self.expr


class Var(Size):
    """A variable with inclusive bounds, min >= 0."""

    __slots__ = ("name", "min", "max")

    def __init__(self, name: str, min: int, max: int) -> None:
        super().__init__(name)
        self.name = name
        self.min = int(min)
        self.max = int(max)

    def bind(self, value: int) -> Var:
        """Gives it a value, which holds until the next bind. A call of a captured function that gets the variable as an
        argument takes the value along."""
        runtime.session().bind(self.name, self.min, self.max, int(value))
        _values[self.name] = int(value)
        return self

    @property
    def value(self) -> int:
        """Its present value; an error if it has none."""
        if self.name not in _values:
            raise JitError(f"variable {self.name!r} is not bound to a value; bind() gives it one")
        return _values[self.name]


def var(name: str, min: int, max: int) -> Var:
    """The variable of this name. The same name always has the same bounds."""
    known = _vars.get(name)
    if known is None:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ValueError(f"variable {name!r}: wanted a name of letters, digits and _")
        known = _vars[name] = Var(name, min, max)
    elif (known.min, known.max) != (min, max):
        raise ValueError(f"variable {name!r} has the bounds {known.min} to {known.max}, not {min} to {max}")
    return known


Dim = Union[int, Size]

_hidden = threading.local()


def are_hidden() -> bool:
    """Whether this thread runs the body of a captured function, where sizes have no numbers."""
    return getattr(_hidden, "depth", 0) > 0


class numbers_hidden:
    """Within it, sizes have no numbers."""

    def __enter__(self) -> None:
        _hidden.depth = getattr(_hidden, "depth", 0) + 1

    def __exit__(self, *_: object) -> None:
        _hidden.depth -= 1


def evaluate(expr: str) -> int:
    """The value of an expression at the present values."""
    tree = ast.parse(expr, mode="eval")
    names = {n.id: _vars[n.id].value for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in _vars}
    return int(eval(compile(tree, expr, "eval"), {"__builtins__": {}, "min": min, "max": max}, names))  # noqa: S307


def to_core(dims: Iterable[Dim]) -> list[int | str]:
    """As the extension takes them."""
    return [d.expr if isinstance(d, Size) else int(d) for d in dims]


def from_core(dims: Sequence[int | str]) -> tuple[Any, ...]:
    """Numbers stay numbers, expressions become sizes."""
    return tuple(d if isinstance(d, int) else _vars.get(d, Size(d)) for d in dims)


def names_in(dims: Iterable[int | str]) -> set[str]:
    """Variables that sizes use."""
    out: set[str] = set()
    for d in dims:
        if isinstance(d, str):
            out.update(n for n in re.findall(r"[A-Za-z_][A-Za-z0-9_]*", d) if n in _vars)
    return out


def known(name: str) -> Var:
    """The variable of a name that occurs in a size."""
    return _vars[name]
