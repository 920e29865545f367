"""Optimisers of ai.onnx.preview.training: one step, elementwise."""

from __future__ import annotations

from .table import Call, operator
from .value import Value

_TRAINING = "ai.onnx.preview.training"


def _groups(c: Call, kinds: int) -> list[list[Value]]:
    """Operands after the rate and the step: all tensors of a kind, then all of the next."""
    count = (len(c.inputs) - 2) // kinds
    return [[c[2 + k * count + i] for k in range(kinds)] for i in range(count)]


def _in_kinds(rows: list[list[Value]]) -> list[Value]:
    return [row[k] for k in range(len(rows[0])) for row in rows]


@operator("Momentum", domain=_TRAINING)
def momentum(c: Call) -> list[Value]:
    rate, step, decay = c[0], c[1], c.attr("norm_coefficient")
    alpha, nesterov = c.attr("alpha"), c.attr("mode") == "nesterov"
    rows: list[list[Value]] = []
    for x, g, v in _groups(c, 3):
        g = x * decay + g
        beta = (step > 0).where(c.like(c.attr("beta"), g), 1.0)
        v = v * alpha + g * beta
        rows.append([x - rate * ((g + v * alpha) if nesterov else v), v])
    return _in_kinds(rows)


@operator("Adagrad", domain=_TRAINING)
def adagrad(c: Call) -> list[Value]:
    rate = c[0] / (c[1].cast("f32") * c.number("decay_factor", 0.0) + 1)
    rows: list[list[Value]] = []
    for x, g, h in _groups(c, 3):
        g = x * c.number("norm_coefficient", 0.0) + g
        h = h + g * g
        rows.append([x - rate * g / (h.op("sqrt") + c.number("epsilon", 1e-6)), h])
    return _in_kinds(rows)


@operator("Adam", domain=_TRAINING)
def adam(c: Call) -> list[Value]:
    step, a, b = c[1].cast("f32"), c.number("alpha", 0.9), c.number("beta", 0.999)
    power = c.builder.scalar(b, "f32").op("pow", step), c.builder.scalar(a, "f32").op("pow", step)
    rate = (step > 0).where(c[0] * (1 - power[0]).op("sqrt") / (1 - power[1]), c[0])
    rows: list[list[Value]] = []
    for x, g, v, h in _groups(c, 4):
        g = x * c.number("norm_coefficient", 0.0) + g
        v, h = v * a + g * (1 - a), h * b + g * g * (1 - b)
        new = x - rate * v / (h.op("sqrt") + c.number("epsilon", 1e-6))
        rows.append([new * (1 - c.number("norm_coefficient_post", 0.0)), v, h])
    return _in_kinds(rows)

