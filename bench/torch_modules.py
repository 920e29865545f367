"""The modules of torch_models.py: eager torch, torch.compile(backend="ostinato") and inductor, one thread, inference.

The three are called in turn, in bursts; a figure is the median over rounds, a ratio the median of the rounds' ratios, so
that what else the machine does hits all of them. Times are of the calling thread (CLOCK_THREAD_CPUTIME_ID).

usage: PYTHONPATH=build/ci/python python bench/torch_modules.py [--rounds N] [--no-inductor] [--only NAME,...]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch_models import CASES

import ostinato
import ostinato.torch as ot


def burst(call: Callable[[], Any], count: int) -> float:
    """Microseconds a call."""
    start = time.thread_time()
    for _ in range(count):
        call()
    return (time.thread_time() - start) / count * 1e6


def compare(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    for call in calls.values():
        for _ in range(5):
            call()
    counts = {name: max(1, min(200, int(4000 / max(burst(call, 3), 1)))) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(burst(call, counts[name]))
    return times


def row(name: str, times: dict[str, list[float]], *more: Any) -> None:
    cells = [f"{statistics.median(t):.0f}" if t else "-" for t in times.values()]
    ours = times["ostinato"]
    for other in ("eager", "inductor"):
        found = times.get(other)
        cells.append(f"{statistics.median(a / b for a, b in zip(found, ours, strict=True)):.2f}" if found else "-")
    print("| " + " | ".join([name, *cells, *map(str, more)]) + " |", flush=True)


def module(case: Any, rounds: int, inductor: bool) -> None:
    torch.manual_seed(0)
    model, args = case.model().eval(), case.args()
    calls: dict[str, Callable[[], Any]] = {"eager": lambda: model(*args)}
    torch._dynamo.reset()
    ours = torch.compile(model, backend="ostinato", fullgraph=True)
    ours(*args)
    kernels = ot.last_log["kernels"]
    calls["ostinato"] = lambda: ours(*args)
    if inductor:
        theirs = torch.compile(case.model().eval(), fullgraph=True)
        calls["inductor"] = lambda: theirs(*args)
    row(case.name, compare(calls, rounds), kernels)


def overhead(rounds: int, inductor: bool) -> None:
    """A call whose work is nothing: 4 x 8 by 8 x 8 and relu."""
    model, x = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval(), torch.randn(4, 8)
    torch._dynamo.reset()
    direct, compiled = ot.compile(model), torch.compile(model, backend="ostinato")
    calls = {"eager": lambda: model(x), "ostinato.torch.compile": lambda: direct(x), "torch.compile": lambda: compiled(x)}
    if inductor:
        other = torch.compile(nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval())
        calls["inductor"] = lambda: other(x)
    times = compare(calls, rounds)
    print("\ncall of a tiny module, µs, median (least):")
    for name, t in times.items():
        print(f"  {name}: {statistics.median(t):.1f} ({min(t):.1f})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--no-inductor", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    torch.set_num_threads(1)
    ostinato.configure(options={"cpu.threads": "1"})
    inductor = not options.no_inductor
    print("| module | eager µs | ostinato µs | inductor µs | eager / ostinato | inductor / ostinato | kernels |")
    print("|---|---|---|---|---|---|---|")
    with torch.inference_mode(False), torch.no_grad():
        for case in CASES:
            if not options.only or case.name in options.only.split(","):
                module(case, options.rounds, inductor)
        overhead(options.rounds, inductor)


main()
