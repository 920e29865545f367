"""Many calls, many threads, another process."""

import gc
import os
import subprocess
import sys
import threading

import pytest
import torch
import torch_help as h
from torch import nn


def resident() -> int:
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def grown(call, count: int) -> int:
    """Bytes, behind a first part in which allocators and caches settle."""
    for _ in range(count // 10):
        call()
    gc.collect()
    before = resident()
    for _ in range(count):
        call()
    gc.collect()
    return resident() - before


@pytest.fixture
def model():
    torch._dynamo.reset()
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU())


def test_a_hundred_thousand_calls_leak_nothing(model):
    x = torch.randn(32, 64)
    with torch.no_grad():
        compiled = h.ot.compile(model)
        assert grown(lambda: compiled(x), 100_000) < 4 << 20
        compiled = torch.compile(model, backend="ostinato")
        assert grown(lambda: compiled(x), 10_000) < 4 << 20


def test_calls_with_other_sizes_and_memory_leak_nothing(model):
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="ostinato", dynamic=True)
    keep = [torch.randn(n, 64) for n in range(2, 40)]
    turn = iter(range(1 << 30))
    with torch.no_grad():
        assert grown(lambda: compiled(keep[next(turn) % len(keep)]), 10_000) < 4 << 20


def test_training_steps_leak_nothing(model):
    x = torch.randn(8, 64)
    compiled = torch.compile(model, backend="ostinato")

    def step():
        compiled(x).sum().backward()
        model.zero_grad()

    assert grown(step, 3_000) < 4 << 20


@pytest.mark.parametrize("dynamic", [False, True])
def test_threads_share_a_compiled_module(model, dynamic):
    compiled = torch.compile(model, backend="ostinato", dynamic=dynamic)
    sizes = range(2, 10) if dynamic else [16]
    inputs = [torch.randn(n, 64) for n in sizes for _ in range(8 // len(sizes) + 1)]
    with torch.no_grad():
        want = [model(x) for x in inputs]
        for x in inputs:
            compiled(x)
    wrong = []

    def work():
        with torch.no_grad():
            for _ in range(60):
                for x, y in zip(inputs, want, strict=True):
                    if not torch.allclose(compiled(x), y, atol=1e-5):
                        wrong.append(x.shape)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_second_process_takes_the_kernels_from_the_cache(tmp_path):
    code = (
        "import torch, ostinato.torch as ot\n"
        "from ostinato import runtime\n"
        "x = torch.ones(3, 40)\n"
        "f = ot.compile(torch.nn.Sequential(torch.nn.Linear(40, 7), torch.nn.GELU()))\n"
        "with torch.no_grad(): f(x)\n"
        "print(runtime.context().compile_stats()['compiles'])\n"
    )
    environment = {**os.environ, "OSTINATO_CACHE_DIR": str(tmp_path)}

    def compiles() -> int:
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    assert compiles() > 0
    assert compiles() == 0


def test_a_forked_process_says_that_it_cannot(model):
    h.ot.compile(model)(torch.ones(2, 64))
    child = os.fork()
    if child == 0:
        try:
            h.ot.compile(nn.Linear(5, 5))(torch.ones(2, 5))
        except Exception as e:
            os._exit(7 if "forked" in str(e) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
