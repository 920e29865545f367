"""Branches and loops that are decided at compile time: loops are unrolled."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from .table import Call, Unsupported, operator
from .trace import Scope
from .value import Value

_MOST_STEPS = 4096


def _body(c: Call, graph: onnx.GraphProto, values: Sequence[Value | None]) -> list[Value]:
    scope = Scope(c.scope.opsets, c.scope)
    for info, value in zip(graph.input, values, strict=True):
        scope.values[info.name] = value
    before = len(c.trace.problems)
    results = c.trace.graph(graph, scope)
    made = [v for v in results if v is not None]
    if len(c.trace.problems) > before or len(made) < len(results):
        raise Unsupported("its body has what is not covered")
    return made


@operator("If")
def if_(c: Call) -> list[Value]:
    condition = bool(c.fixed(0).reshape(-1)[0])
    return _body(c, c.attr("then_branch" if condition else "else_branch"), [])


def _stacked(c: Call, parts: list[Value], axis: int, backward: bool) -> Value:
    axis = axis % (parts[0].rank + 1)
    return c.builder.concat([p.unsqueeze(axis) for p in (reversed(parts) if backward else parts)], axis)


@operator("Loop")
def loop(c: Call) -> list[Value]:
    """The number of rounds is a constant, and the condition too, from round to round."""
    if not c.has(0):
        raise Unsupported("a loop without a number of rounds")
    rounds, goes_on = c.ints(0)[0], not c.has(1) or bool(c.fixed(1).reshape(-1)[0])
    graph: onnx.GraphProto = c.attr("body")
    state = [c[i] for i in range(2, len(c.inputs))]
    collected: list[list[Value]] = [[] for _ in range(len(graph.output) - 1 - len(state))]
    done = 0
    while goes_on and done < rounds:
        if done == _MOST_STEPS:
            raise Unsupported(f"a loop of more than {_MOST_STEPS} rounds")
        results = _body(c, graph, [c.builder.constant(done, "i64"), c.builder.constant(True), *state])
        if results[0].data is None:
            raise Unsupported("a loop that data ends")
        goes_on = bool(results[0].data.reshape(-1)[0])
        state = results[1 : 1 + len(state)]
        for parts, new in zip(collected, results[1 + len(state) :], strict=True):
            parts.append(new)
        done += 1
    if collected and done == 0:
        raise Unsupported("a loop of no rounds that collects results")
    return [*state, *[_stacked(c, parts, 0, False) for parts in collected]]


@operator("Scan")
def scan(c: Call) -> list[Value]:
    if c.since < 9:
        raise Unsupported("Scan of opset 8")
    graph: onnx.GraphProto = c.attr("body")
    scanned = c.attr("num_scan_inputs")
    states = len(c.inputs) - scanned
    made = len(graph.output) - states
    axes = c.attr("scan_input_axes") or [0] * scanned
    backward = c.attr("scan_input_directions") or [0] * scanned
    axes = [a % c[states + i].rank for i, a in enumerate(axes)]
    rounds = c[states].shape[axes[0]]
    if isinstance(rounds, str) or not 1 <= rounds <= _MOST_STEPS:
        raise Unsupported(f"Scan over {rounds} elements; it is made for 1 to {_MOST_STEPS}")
    state = [c[i] for i in range(states)]
    collected: list[list[Value]] = [[] for _ in range(made)]
    for t in range(rounds):
        at = [rounds - 1 - t if b else t for b in backward]
        parts = [c[states + i].slice(axes[i], at[i], at[i] + 1).squeeze(axes[i]) for i in range(scanned)]
        results = _body(c, graph, [*state, *parts])
        state = results[:states]
        for seen, new in zip(collected, results[states:], strict=True):
            seen.append(new)
    out_axes = c.attr("scan_output_axes") or [0] * made
    out_backward = c.attr("scan_output_directions") or [0] * made
    stacked = [_stacked(c, p, a, bool(b)) for p, a, b in zip(collected, out_axes, out_backward, strict=True)]
    return [*state, *stacked]
