"""RNN, GRU and LSTM, unrolled: the number of steps is constant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .elementwise import softplus_of
from .table import Call, Unsupported, operator
from .value import Value

_ACTIVATIONS: dict[str, Callable[[Value, float, float], Value]] = {
    "sigmoid": lambda x, a, b: x.op("sigmoid"),
    "tanh": lambda x, a, b: x.op("tanh"),
    "relu": lambda x, a, b: x.op("relu"),
    "affine": lambda x, a, b: x * a + b,
    "leakyrelu": lambda x, a, b: (x < 0).where(x * a, x),
    "thresholdedrelu": lambda x, a, b: (x > a).where(x, 0),
    "scaledtanh": lambda x, a, b: (x * b).op("tanh") * a,
    "hardsigmoid": lambda x, a, b: (x * a + b).op("maximum", 0).op("minimum", 1),
    "elu": lambda x, a, b: (x < 0).where(x.op("expm1") * a, x),
    "softsign": lambda x, a, b: x / (x.op("abs") + 1),
    "softplus": lambda x, a, b: softplus_of(x),
}
_ALPHA = {"leakyrelu": 0.01, "thresholdedrelu": 1.0, "hardsigmoid": 0.2, "elu": 1.0, "affine": 1.0, "scaledtanh": 1.0}
_BETA = {"hardsigmoid": 0.5, "scaledtanh": 1.0}


class Layer:
    """One direction: its weights, activations, and initial states."""

    def __init__(self, c: Call, which: int, gates: int, states: int, default: list[str]) -> None:
        def part(i: int) -> Value | None:
            return c[i].slice(0, which, which + 1).squeeze(0) if c.has(i) else None

        w, r, bias = part(1), part(2), part(3)
        assert w is not None and r is not None
        self.hidden = c.attr("hidden_size") or c.numbers_of(r)[-1]
        self.w, self.r = w.op("transpose"), r.op("transpose")
        n = gates * self.hidden
        self.input_bias = bias.slice(0, 0, n) if bias is not None else None
        self.state_bias = bias.slice(0, n, 2 * n) if bias is not None else None
        peep = part(7) if states == 2 else None
        self.peep = [peep.slice(0, k * self.hidden, (k + 1) * self.hidden) for k in range(3)] if peep is not None else None
        zero = c.builder.full(0, c[0].dtype, [c[0].shape[1], self.hidden])
        self.state = [part(5 + k) or zero for k in range(states)]
        names = [n.decode() if isinstance(n, bytes) else n for n in c.attr("activations") or default * (which + 1)]
        alphas, betas = list(c.attr("activation_alpha") or []), list(c.attr("activation_beta") or [])
        self.functions = [self._function(n, alphas, betas) for n in names][which * len(default) :][: len(default)]
        clip = c.attr("clip")
        if clip:
            self.functions = [
                lambda x, f=f: f(x.op("maximum", -clip).op("minimum", clip))  # type: ignore[misc]
                for f in self.functions
            ]

    @staticmethod
    def _function(name: str, alphas: list[float], betas: list[float]) -> Callable[[Value], Value]:
        key = name.lower()
        if key not in _ACTIVATIONS:
            raise Unsupported(f"activation {name}")
        a = alphas.pop(0) if alphas and key in _ALPHA else _ALPHA.get(key, 0.0)
        b = betas.pop(0) if betas and key in ("affine", *_BETA) else _BETA.get(key, 0.0)
        return lambda x: _ACTIVATIONS[key](x, a, b)

    def gate(self, x: Value, k: int) -> Value:
        return x.slice(x.rank - 1, k * self.hidden, (k + 1) * self.hidden)

    def inputs(self, x: Value) -> Value:
        y = x.matmul(self.w)
        return y if self.input_bias is None else y + self.input_bias

    def recurrent(self, h: Value) -> Value:
        y = h.matmul(self.r)
        return y if self.state_bias is None else y + self.state_bias


Step = Callable[[Layer, Value, list[Value]], list[Value]]


def _run(c: Call, gates: int, states: int, default: list[str], step: Step) -> list[Value]:
    """[Y, Y_h, Y_c]"""
    if c.attr("layout", 0):
        c = Call(c.trace, c.name, [_batch_second(v, i) for i, v in enumerate(c.inputs)], c.attrs, c.since, c.outputs)
    x = c[0]
    length = c.number_at(x, 0)
    direction = c.attr("direction", "forward")
    every: list[Value] = []
    last: list[list[Value]] = []
    for which in range(2 if direction == "bidirectional" else 1):
        layer = Layer(c, which, gates, states, default)
        backward = direction == "reverse" or which == 1
        state, outputs = layer.state, [layer.state[0]] * length
        for t in reversed(range(length)) if backward else range(length):
            new = step(layer, x.slice(0, t, t + 1).squeeze(0), state)
            shown = new[0]
            if c.has(4):  # rows that have ended, or in reverse not begun, keep their state
                alive = (c[4] > t).reshape(-1, 1)
                new = [alive.where(n, s) for n, s in zip(new, state, strict=True)]
                shown = alive.where(shown, 0)
            state = new
            outputs[t] = shown
        every.append(c.builder.concat([o.unsqueeze(0).unsqueeze(0) for o in outputs], 1))
        last.append(state)
    y = c.builder.concat(every, 0).move(0, 1)
    finals = [c.builder.concat([s[k].unsqueeze(0) for s in last], 0) for k in range(states)]
    if c.attr("layout", 0):
        return [y.permute([2, 0, 1, 3]), *[f.move(0, 1) for f in finals]]
    return [y, *finals]


def _batch_second(v: Value | None, i: int) -> Value | None:
    return v.move(0, 1) if v is not None and i in (0, 5, 6) else v


@operator("RNN")
def rnn(c: Call) -> Any:
    def step(p: Layer, x: Value, s: list[Value]) -> list[Value]:
        return [p.functions[0](p.inputs(x) + p.recurrent(s[0]))]

    return _run(c, 1, 1, ["Tanh"], step)


@operator("GRU")
def gru(c: Call) -> Any:
    after = c.attr("linear_before_reset", 0)

    def step(p: Layer, x: Value, s: list[Value]) -> list[Value]:
        f, g = p.functions
        i, h = p.inputs(x), p.recurrent(s[0])
        z, r = f(p.gate(i, 0) + p.gate(h, 0)), f(p.gate(i, 1) + p.gate(h, 1))
        if after:
            rest = r * p.gate(h, 2)
        else:
            rest = (r * s[0]).matmul(p.gate(p.r, 2))
            rest = rest if p.state_bias is None else rest + p.gate(p.state_bias, 2)
        return [(1 - z) * g(p.gate(i, 2) + rest) + z * s[0]]

    return _run(c, 3, 1, ["Sigmoid", "Tanh"], step)


@operator("LSTM")
def lstm(c: Call) -> Any:
    coupled = c.attr("input_forget", 0)

    def step(p: Layer, x: Value, s: list[Value]) -> list[Value]:
        f, g, h = p.functions
        gates = p.inputs(x) + p.recurrent(s[0])
        parts = [p.gate(gates, k) for k in range(4)]  # i, o, f, c
        if p.peep is not None:
            parts[0], parts[2] = parts[0] + p.peep[0] * s[1], parts[2] + p.peep[2] * s[1]
        i = f(parts[0])
        forget = 1 - i if coupled else f(parts[2])
        cell = forget * s[1] + i * g(parts[3])
        o = f(parts[1] if p.peep is None else parts[1] + p.peep[1] * cell)
        return [o * h(cell), cell]

    return _run(c, 4, 2, ["Sigmoid", "Tanh", "Tanh"], step)
