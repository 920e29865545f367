"""Functions that the graph does not have, composed of those that it defines exactly. Of f32 and halves: within 4 units in
the last place over most of the range; the arc functions have no f64."""

from __future__ import annotations

import math
from collections.abc import Callable

from .table import Call, Unsupported, operator
from .value import Value


def _atan(x: Value) -> Value:
    """Cephes' atanf: reduced to |x| <= tan(pi/8), then a polynomial."""
    size = x.op("abs")
    far, middle = size > math.tan(3 * math.pi / 8), size > math.tan(math.pi / 8)
    reduced = far.where(-1 / size, middle.where((size - 1) / (size + 1), size))
    half, quarter = x.builder.scalar(math.pi / 2, x.dtype), x.builder.scalar(math.pi / 4, x.dtype)
    base = far.where(half, middle.where(quarter, 0))
    z = reduced * reduced
    tail = ((z * 8.05374449538e-2 - 1.38776856032e-1) * z + 1.99777106478e-1) * z - 3.33329491539e-1
    angle = base + (tail * z * reduced + reduced)
    return (x < 0).where(-angle, angle)


def _sinh(x: Value) -> Value:
    """Of half the argument twice, so that it overflows where the result does."""
    e = x.op("abs").op("expm1")
    y = (e + e / (e + 1)) * 0.5
    h = (x.op("abs") * 0.5).op("exp")
    y = (x.op("abs") > 20).where(h * 0.5 * h, y)
    return (x < 0).where(-y, y)


def _cosh(x: Value) -> Value:
    h = (x.op("abs") * 0.5).op("exp")
    return h * 0.5 * h + 0.5 / h / h


def _asinh(x: Value) -> Value:
    size = x.op("abs")
    near = (size + size * size / ((size * size + 1).op("sqrt") + 1)).op("log1p")
    y = (size > 1e9).where(size.op("log") + math.log(2), near)
    return (x < 0).where(-y, y)


def _acosh(x: Value) -> Value:
    t = x - 1
    return (x > 1e9).where(x.op("log") + math.log(2), (t + (t * 2 + t * t).op("sqrt")).op("log1p"))


_FUNCTIONS: dict[str, Callable[[Value], Value]] = {
    "Tan": lambda x: x.op("sin") / x.op("cos"),
    "Sinh": _sinh,
    "Cosh": _cosh,
    "Asinh": _asinh,
    "Acosh": _acosh,
    "Atanh": lambda x: (x * 2 / (1 - x)).op("log1p") * 0.5,
    "Atan": _atan,
    "Asin": lambda x: _atan(x / ((1 - x) * (x + 1)).op("sqrt")),
    "Acos": lambda x: _atan(((1 - x) / (x + 1)).op("sqrt")) * 2,
}


@operator(*_FUNCTIONS)
def composed(c: Call) -> Value:
    if c[0].dtype == "f64" and c.name in ("Atan", "Asin", "Acos"):
        raise Unsupported(f"{c.name} of f64")
    return _FUNCTIONS[c.name](c[0].wide()).cast(c[0].dtype)
