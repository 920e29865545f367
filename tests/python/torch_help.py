"""What the tests of ostinato.torch share."""

from __future__ import annotations

import copy
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.utils._pytree as pytree

import ostinato.torch as ot
from ostinato.torch import report

logging.getLogger("ostinato.torch").setLevel(logging.ERROR)
sys.path.insert(0, os.path.join(os.environ["OSTINATO_SOURCE_DIR"], "bench"))

# Relative and absolute at once: sums are taken in another order than eager torch takes them.
BOUNDS = {torch.float64: 1e-11, torch.float32: 2e-5, torch.bfloat16: 2e-2, torch.float16: 3e-3}


def close(got: Any, want: Any) -> None:
    """Equal within the bound of their type, of one type and with one layout."""
    a, b = pytree.tree_leaves(got), pytree.tree_leaves(want)
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        bound = BOUNDS.get(y.dtype, 0.0)
        torch.testing.assert_close(x, y, rtol=bound, atol=bound, equal_nan=True)
        assert x.stride() == y.stride()


@contextmanager
def reports() -> Iterator[list[report.GraphReport]]:
    with report.collect() as got:
        yield got


def inference(f: Callable[..., Any], *args: Any, options: Any = None, **how: Any) -> list[report.GraphReport]:
    """Compiled equals eager; the reports of what was compiled."""
    torch._dynamo.reset()
    with torch.no_grad(), reports() as got:
        # What a function changes in its arguments must be equal too.
        mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
        close(torch.compile(f, backend="ostinato", options=options, **how)(*mine), f(*theirs))
        close(mine, theirs)
    return got


def training(model: torch.nn.Module, *args: torch.Tensor) -> list[report.GraphReport]:
    """Results, gradients of parameters and of arguments, and buffers are equal."""
    torch._dynamo.reset()
    other = copy.deepcopy(model)
    mine = [a.clone().requires_grad_(a.is_floating_point()) for a in args]
    theirs = [a.clone().requires_grad_(a.is_floating_point()) for a in args]
    with reports() as got:
        a, b = torch.compile(other, backend="ostinato")(*mine), model(*theirs)
        close(a, b)
        weights = [torch.randn_like(x) for x in pytree.tree_leaves(b)]
        for results in (a, b):
            leaves = pytree.tree_leaves(results)
            sum((x * w).sum() for x, w in zip(leaves, weights, strict=True)).backward()
    for x, y in zip([*other.parameters(), *mine], [*model.parameters(), *theirs], strict=True):
        assert (x.grad is None) == (y.grad is None)
        if y.grad is not None:
            bound = 5e-5 * max(1.0, float(y.grad.abs().max()))
            torch.testing.assert_close(x.grad, y.grad, rtol=1e-4, atol=bound)
    for x, y in zip(other.buffers(), model.buffers(), strict=True):
        torch.testing.assert_close(x, y, rtol=1e-5, atol=1e-6)
    return got


def eager_ops(got: list[report.GraphReport]) -> list[str]:
    return [e.op for g in got for e in g.eager]


__all__ = ["close", "eager_ops", "inference", "ot", "reports", "training"]
