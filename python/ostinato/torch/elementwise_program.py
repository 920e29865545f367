"""Elementwise programs as data: the operation codes of torch.ops.ostinato.pointwise, and what each one means.

A program is a list of instructions in SSA form. Instruction i has an operation code ops[i], the instructions a[i] and
b[i] (smaller than i) as operands, input_ids[i] (the tensor that LOAD reads), alphas[i] and consts[i]; what an operation
does not use is ignored. The result is that of the last instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .lower.builder import Builder, Value
from .lower.pointwise import leaky_relu as lower_leaky_relu


class Code(IntEnum):
    LOAD = 0
    CONST = 1
    ADD = 2
    SUB = 3
    MUL = 4
    DIV = 5
    MAXIMUM = 6
    MINIMUM = 7
    POW = 8
    NEG = 9
    ABS = 10
    EXP = 11
    LOG = 12
    SQRT = 13
    RSQRT = 14
    SIN = 15
    COS = 16
    TANH = 17
    ERF = 18
    SIGMOID = 19
    RELU = 20
    SILU = 21
    GELU = 22
    LEAKY_RELU = 23


@dataclass(frozen=True)
class Meaning:
    operands: int
    text: str
    torch: Callable[..., Tensor]  # of the operands and alpha
    lower: Callable[..., Value]  # of a builder, the operands and alpha


def _scaled(b: Builder, y: Value, alpha: float) -> Value:
    return y if alpha == 1 else b.op("mul", y, b.number(alpha, y))


def _named(name: str, text: str, f: Callable[..., Tensor], operands: int = 1) -> Meaning:
    return Meaning(operands, text, lambda *xs: f(*xs[:-1]), lambda b, *xs: b.op(name, *xs[:-1]))


MEANINGS: dict[Code, Meaning] = {
    Code.ADD: Meaning(2, "a + alpha * b", lambda x, y, s: x + y * s, lambda b, x, y, s: b.op("add", x, _scaled(b, y, s))),
    Code.SUB: Meaning(2, "a - alpha * b", lambda x, y, s: x - y * s, lambda b, x, y, s: b.op("sub", x, _scaled(b, y, s))),
    Code.MUL: _named("mul", "a * b", torch.mul, 2),
    Code.DIV: _named("div", "a / b", torch.div, 2),
    Code.MAXIMUM: _named("maximum", "the larger one; NaN wins", torch.maximum, 2),
    Code.MINIMUM: _named("minimum", "the smaller one; NaN wins", torch.minimum, 2),
    Code.POW: _named("pow", "a to the b", torch.pow, 2),
    Code.NEG: _named("neg", "-a", torch.neg),
    Code.ABS: _named("abs", "|a|", torch.abs),
    Code.EXP: _named("exp", "e to the a", torch.exp),
    Code.LOG: _named("log", "natural logarithm", torch.log),
    Code.SQRT: _named("sqrt", "square root", torch.sqrt),
    Code.RSQRT: _named("rsqrt", "1 / square root", torch.rsqrt),
    Code.SIN: _named("sin", "sine", torch.sin),
    Code.COS: _named("cos", "cosine", torch.cos),
    Code.TANH: _named("tanh", "hyperbolic tangent", torch.tanh),
    Code.ERF: _named("erf", "error function", torch.erf),
    Code.SIGMOID: _named("sigmoid", "1 / (1 + exp(-a))", torch.sigmoid),
    Code.RELU: _named("relu", "0 where a < 0", torch.relu),
    Code.SILU: _named("silu", "a * sigmoid(a)", F.silu),
    Code.GELU: _named("gelu", "a / 2 * (1 + erf(a / sqrt 2))", F.gelu),
    Code.LEAKY_RELU: Meaning(1, "alpha * a where a <= 0", lambda x, s: F.leaky_relu(x, s), lower_leaky_relu),
}


@dataclass(frozen=True)
class Program:
    ops: tuple[int, ...]
    a: tuple[int, ...]
    b: tuple[int, ...]
    input_ids: tuple[int, ...]
    alphas: tuple[float, ...]
    consts: tuple[float, ...]

    @classmethod
    def of(cls, inputs: int, *columns: Sequence[Any]) -> Program:
        """Checked: every code is known and every operand is an earlier instruction."""
        p = cls(*(tuple(c) for c in columns))
        lengths = {len(c) for c in columns}
        if len(lengths) != 1 or not p.ops:
            raise ValueError(f"pointwise: the lists have {[len(c) for c in columns]} entries, wanted one each an instruction")
        for i, code in enumerate(p.ops):
            if code not in Code._value2member_map_:
                raise ValueError(f"pointwise: instruction {i} has the code {code}; there are 0 to {max(Code)}")
            if code == Code.LOAD and not 0 <= p.input_ids[i] < inputs:
                raise ValueError(f"pointwise: instruction {i} loads input {p.input_ids[i]}, there are {inputs}")
            for operand in p.operands(i):
                if not 0 <= operand < i:
                    raise ValueError(f"pointwise: instruction {i} uses the result of {operand}, wanted one of 0 to {i - 1}")
        return p

    def operands(self, i: int) -> tuple[int, ...]:
        if self.ops[i] in (Code.LOAD, Code.CONST):
            return ()
        return (self.a[i], self.b[i])[: MEANINGS[Code(self.ops[i])].operands]

    def run(self, load: Callable[[int], Any], const: Callable[[float], Any], step: Callable[..., Any]) -> Any:
        """The program over values of any kind; step(meaning, operands, alpha)."""
        values: list[Any] = []
        for i, code in enumerate(self.ops):
            if code == Code.LOAD:
                values.append(load(self.input_ids[i]))
            elif code == Code.CONST:
                values.append(const(self.consts[i]))
            else:
                values.append(step(MEANINGS[Code(code)], [values[k] for k in self.operands(i)], self.alphas[i]))
        return values[-1]

    def in_torch(self, inputs: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
        """What it means, in torch's operations."""
        like = inputs[0]
        out: Tensor = self.run(
            lambda i: inputs[i].to(dtype),
            lambda c: torch.full((), c, dtype=dtype, device=like.device),
            lambda m, xs, alpha: m.torch(*xs, alpha),
        )
        return out

    def lowered(self, b: Builder, inputs: Sequence[Value], dtype: str) -> Value:
        out: Value = self.run(
            lambda i: b.cast(inputs[i], dtype),
            lambda c: b.full(c, dtype),
            lambda m, xs, alpha: m.lower(b, *xs, alpha),
        )
        return out
