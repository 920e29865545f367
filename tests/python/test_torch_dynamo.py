"""The backend of torch.compile: what is compiled, what is not and why; layouts, types, options, files."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import torch_help as h
from torch import nn

import ostinato


def test_unsupported_operations_run_in_eager_torch_and_are_named():
    def f(x):
        y = torch.cumsum(x.relu() + 1, 1)
        values, order = torch.sort(y.sin(), 1)
        return values * 2, order

    (got,) = h.inference(f, torch.randn(5, 9))
    assert sorted(h.eager_ops([got])) == ["aten.cumsum.default", "aten.sort.default"]
    assert all(e.reason for e in got.eager)
    assert len(got.programs) == 3
    assert "2 in eager torch: aten.cumsum.default, aten.sort.default" in got.summary()


def test_one_line_says_what_stays_in_eager_torch(caplog):
    torch._dynamo.reset()
    log = logging.getLogger("ostinato.torch")
    log.setLevel(logging.INFO)
    try:
        with caplog.at_level(logging.INFO, "ostinato.torch"), torch.no_grad():
            before = dict(h.ot.counters)
            torch.compile(lambda x: torch.cumsum(x * 2, 0) + 1, backend="ostinato")(torch.randn(3, 3))
    finally:
        log.setLevel(logging.ERROR)
    (line,) = caplog.messages
    assert line == (
        "inference graph on cpu:0: 2 of 3 operations in 2 kernels of 2 programs; 1 in eager torch: aten.cumsum.default"
    )
    assert h.ot.counters["eager_ops"] == before.get("eager_ops", 0) + 1
    assert h.ot.counters["ops"] == before.get("ops", 0) + 3


def test_random_numbers_are_those_of_torch():
    (got,) = h.inference(lambda x: x.exp(), torch.randn(3))
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: torch.rand_like(x) + x.exp(), backend="ostinato")
    torch.manual_seed(5)
    a = compiled(torch.zeros(10))
    torch.manual_seed(5)
    assert torch.equal(a, torch.rand(10) + 1)


def test_explain_lists_breaks_operations_and_kernels():
    def f(x):
        y = F.silu(x) * x
        print("", end="")
        return torch.cumsum(y, 0)

    found = h.ot.explain(f, torch.randn(4, 4))
    assert (len(found.graphs), len(found.breaks)) == (2, 1)
    assert os.path.basename(__file__) in found.breaks[0].where
    (eager,) = found.graphs[1].eager
    assert (eager.op, eager.reason) == ("aten.cumsum.default", "there is no lowering of it")
    text = str(found)
    assert "pointwise(silu mul)" in text and "aten.cumsum.default" in text and "2 graphs, 1 graph breaks" in text


def test_layouts_of_arguments_and_results():
    x = torch.randn(6, 8)
    h.inference(lambda a, b: (a + b, (a * b).t(), a @ b.t()), x.t().contiguous().t(), x)  # axes permuted
    h.inference(lambda a: a * 2, torch.randn(6, 16)[:, ::2])  # strided
    h.inference(lambda a: a * 2, torch.randn(100)[1:])  # not aligned
    h.inference(lambda a: a.relu(), torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last))
    h.inference(nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last), torch.randn(1, 3, 6, 6).to(memory_format=torch.channels_last))
    h.inference(lambda a: a + 1, torch.randn(1, 5).expand(3, 5))  # steps of 0
    h.inference(lambda a: a.clone(), x)
    h.inference(lambda a: (a, a.t(), a[1:], a + 1), x)
    h.inference(lambda a: a * 2, torch.randn(0, 5))
    h.inference(lambda a: a.sum(), torch.randn(()))


def test_the_same_program_takes_aligned_and_misaligned_memory_in_turn():
    base = torch.randn(4097)
    compiled = h.ot.compile(nn.Softmax(0))
    with torch.no_grad():
        for start in (0, 1, 16, 3, 0):
            part = base[start : start + 64]
            h.close(compiled(part), part.softmax(0))


def test_in_place_updates_and_aliases():
    def f(x, y):
        x.mul_(2)
        y[1:] += x[:-1]
        return x, y.t(), x + y

    h.inference(f, torch.randn(4, 4), torch.randn(4, 4))
    h.inference(lambda x: x.view(-1)[2:4].add_(1), torch.randn(4, 4))
    h.inference(lambda x: (x * 2, (x * 2).clone(), (x * 2).t().contiguous().t()), torch.randn(4, 5))


def test_a_clone_shares_no_memory_with_its_original():
    def f(x):
        y = x * 2
        return y, y.clone(), y.view(-1)

    torch._dynamo.reset()
    y, clone, view = torch.compile(f, backend="ostinato")(torch.ones(4))
    y.zero_()
    assert clone.tolist() == [2.0] * 4 and view.tolist() == [0.0] * 4


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_floating_point_types(dtype):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.LayerNorm(48), nn.Linear(48, 8), nn.LogSoftmax(-1)).to(dtype)
    got = h.inference(model, torch.randn(5, 24, dtype=dtype))
    assert h.eager_ops(got) == []
    q = torch.randn(2, 3, 7, 16, dtype=dtype)
    got = h.inference(lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), q)
    h.inference(lambda x: x * 0.1 + x.to(torch.float64).sum().to(x.dtype), torch.randn(17, dtype=dtype))


def test_integers_and_booleans():
    i, j = torch.randint(-50, 50, (4, 7)), torch.randint(1, 9, (4, 7))
    got = h.inference(lambda i, j: (i + j, i * j, i // j, i % j, i / j, i > j, (i > 0) & (j > 3), i.sum(), i.max(1), ~i), i, j)
    got += h.inference(lambda b, c: (b | c, b ^ c, ~b, b.any(1), b.all(), b.sum(), torch.where(b, 1.5, -1)), i > 0, j > 4)
    got += h.inference(lambda x: (x.to(torch.uint8), x.to(torch.int32) << 2, x.to(torch.int16) + 1), i.abs())
    assert h.eager_ops(got) == []


def test_dynamic_sizes():
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, n: (x[:, :n] * n + x.shape[0] // 2, x.sum(1), x.t().contiguous()), backend="ostinato", dynamic=True)
    with h.reports() as got:
        for rows, n in [(3, 2), (50, 9), (1000, 4), (2, 7), (70000, 3)]:
            x = torch.randn(rows, 12)
            h.close(compiled(x, n), (x[:, :n] * n + rows // 2, x.sum(1), x.t().contiguous()))
    assert len(got) == 1 and h.eager_ops(got) == []


def test_sizes_that_depend_on_values_stay_in_eager_torch():
    got = h.inference(lambda x: (torch.nonzero(x > 0).sum(), x[x > 0].exp().sum(), x * 2), torch.randn(40))
    assert any("aten.nonzero" in op for op in h.eager_ops(got)) or len(got) > 1


def test_options():
    torch._dynamo.reset()
    with pytest.raises(Exception, match="option 'devise': there are device, numerics, memory_budget, save; did you mean 'device'"):
        torch.compile(lambda x: x + 1, backend="ostinato", options={"devise": "cpu"})(torch.ones(2))
    torch._dynamo.reset()
    with pytest.raises(Exception, match="no-such:0"):
        torch.compile(lambda x: x + 1, backend="ostinato", options={"device": "no-such:0"})(torch.ones(2))

    def kernels(**options):
        (got,) = h.inference(lambda x: (x.exp() + 1).softmax(-1) @ x.t(), torch.randn(8, 64), options=options)
        return got

    (program,) = kernels(numerics="fast").programs
    assert program.describe()["numerics"] == "fast"
    assert kernels(memory_budget=100).counts["kernels"] > kernels().counts["kernels"]


def test_the_backend_is_found_without_an_import(tmp_path):
    """By the entry point of an installed package."""
    info = tmp_path / "ostinato-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ostinato\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[torch_dynamo_backends]\nostinato = ostinato.torch:backend\n")
    code = (
        "import sys, torch\n"
        "assert 'ostinato' in torch._dynamo.list_backends() and 'ostinato' not in sys.modules\n"
        "m = torch.nn.Linear(4, 4)\n"
        "x = torch.ones(2, 4)\n"
        "torch.testing.assert_close(torch.compile(m, backend='ostinato')(x), m(x))\n"
        "assert 'ostinato.torch' in sys.modules\n"
    )
    path = os.pathsep.join([str(tmp_path), os.path.dirname(os.path.dirname(ostinato.__file__))])
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": path}, timeout=300)


def replay(path, tmp_path, *arguments, **arrays):
    """What the command line makes of a saved program."""
    tool = str(Path(ostinato.__file__).parents[2] / "bin" / "ost")
    command = [tool, "replay", str(path), "--output", str(tmp_path / "out.npy"), *arguments]
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
        command += ["--input", f"{name}={tmp_path / name}.npy"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return torch.from_numpy(np.load(tmp_path / "out.npy"))


def test_a_saved_model_is_replayed_without_python(tmp_path):
    torch.manual_seed(2)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.SiLU(), nn.Linear(16, 3))

        def forward(self, x):
            return self.body(x).softmax(-1)

    model = Net().eval()
    n = torch.export.Dim("n", min=2, max=64)
    path = tmp_path / "net.ost.json"
    h.ot.save_program(model, (torch.randn(4, 8),), path, dynamic_shapes={"x": {0: n}})
    for rows in (2, 7, 64):
        x = torch.randn(rows, 8)
        h.close(replay(path, tmp_path, x=x.numpy()), model(x).detach())


def test_buffers_that_a_saved_model_writes_are_states(tmp_path):
    class Total(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.tensor([10.0, 20.0, 30.0]))

        def forward(self, x):
            self.total.add_(x.sum(0))
            return self.total * 2

    path = tmp_path / "total.ost.json"
    program = h.ot.save_program(Total(), (torch.ones(5, 3),), path)
    assert [s[0] for s in program.states()] == ["b_total"]
    assert replay(path, tmp_path, x=np.ones((5, 3), np.float32)).tolist() == [30.0, 50.0, 70.0]


def test_the_option_save_writes_each_graph_with_its_parameters(tmp_path):
    torch._dynamo.reset()
    model = nn.Linear(6, 2)
    path = tmp_path / "m.ost.json"
    compiled = torch.compile(model, backend="ostinato", options={"save": path})
    x, y = torch.randn(3, 6), torch.randn(3, 6, dtype=torch.float64)
    with torch.no_grad():
        want = compiled(x)
        compiled = torch.compile(model.double(), backend="ostinato", options={"save": path})
        compiled(y)
    assert sorted(p.name for p in tmp_path.glob("*.json")) == ["m.1.ost.json", "m.ost.json"]
    import json

    (name,) = [i["name"] for i in json.loads(path.read_text())["inputs"]] if "inputs" in path.read_text() else ["x"]
    h.close(replay(path, tmp_path, **{name: x.numpy()}), want)


def test_what_cannot_be_saved_is_named(tmp_path):
    class Sorted(nn.Module):
        def forward(self, x):
            return torch.cumsum(x.sort().values, 0)

    with pytest.raises(h.ot.Unsupported, match=r"(?s)aten.sort.default .*aten.cumsum.default"):
        h.ot.save_program(Sorted(), (torch.randn(4),), tmp_path / "s.ost.json")
    with pytest.raises(h.ot.Unsupported, match="has no bound"):
        h.ot.save_program(nn.ReLU(), (torch.randn(4),), tmp_path / "r.ost.json", dynamic_shapes=({0: torch.export.Dim("n")},))
