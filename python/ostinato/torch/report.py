"""What was compiled, what stays in eager torch, and why; kept for explain(), counts and the summary line."""

from __future__ import annotations

import json
import logging
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

log = logging.getLogger("ostinato.torch")


@dataclass(frozen=True)
class Eager:
    """An operation that eager torch runs: its name in torch, its name in the traced graph, the reason."""

    op: str
    node: str
    reason: str


@dataclass
class GraphReport:
    """One traced graph. `kind`: "inference", "forward", "backward", "save". `counts` is the sum over its programs."""

    kind: str
    device: str
    ops: int = 0
    programs: list[Any] = field(default_factory=list)
    eager: list[Eager] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        total: Counter[str] = Counter()
        for p in self.programs:
            total.update({k: v for k, v in json.loads(p.describe()["counts"]).items() if isinstance(v, int)})
        return dict(total)

    def summary(self) -> str:
        counts = self.counts
        text = f"{self.kind} graph on {self.device}: {self.ops - len(self.eager)} of {self.ops} operations in "
        text += f"{counts.get('kernels', 0)} kernels of {len(self.programs)} programs"
        if not self.eager:
            return text
        names = Counter(e.op for e in self.eager)
        listed = ", ".join(f"{n} x {op}" if n > 1 else op for op, n in names.items())
        return f"{text}; {len(self.eager)} in eager torch: {listed}"


_lock = threading.Lock()
_collectors: list[list[GraphReport]] = []
last_log: dict[str, int] = {}
counters: Counter[str] = Counter()  # of the process: graphs, programs, ops, eager_ops


def finish(report: GraphReport) -> None:
    """A graph is compiled: one line for people, its counts for `last_log`."""
    with _lock:
        last_log.clear()
        last_log.update(report.counts)
        counters.update(graphs=1, programs=len(report.programs), ops=report.ops, eager_ops=len(report.eager))
        for c in _collectors:
            c.append(report)
    log.log(logging.WARNING if report.eager else logging.INFO, "%s", report.summary())


@contextmanager
def collect() -> Iterator[list[GraphReport]]:
    """The reports of the graphs that are compiled meanwhile."""
    got: list[GraphReport] = []
    with _lock:
        _collectors.append(got)
    try:
        yield got
    finally:
        with _lock:
            _collectors.remove(got)
