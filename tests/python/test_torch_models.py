"""Modules of torch.nn and small published architectures: equal to eager torch, whole, in inference and in training."""

import pytest
import torch
import torch_help as h
from torch import nn
from torch_models import CASES, DecoderBlock

NAMES = [c.name for c in CASES]


@pytest.fixture(params=CASES, ids=NAMES)
def case(request):
    torch.manual_seed(7)
    return request.param


def test_inference_equals_eager_in_one_program(case):
    got = h.inference(case.model().eval(), *case.args(), fullgraph=True)
    assert [len(g.programs) for g in got] == [1]
    assert h.eager_ops(got) == []


def test_gradients_equal_those_of_eager(case):
    got = h.training(case.model().train(), *case.args())
    assert sorted(g.kind for g in got) == ["backward", "forward"]
    assert h.eager_ops(got) == []


@pytest.mark.parametrize("name", ["lstm_cell", "cross_attention", "norms"])
def test_the_interpreter_gives_the_bits_of_the_cpu(name):
    torch.manual_seed(7)
    case = next(c for c in CASES if c.name == name)
    model, args = case.model().eval(), case.args()
    with torch.no_grad():
        results = []
        for device in ("cpu:0", "ref:0"):
            torch._dynamo.reset()
            results.append(torch.compile(model, backend="ostinato", options={"device": device})(*args))
    a, b = (torch.utils._pytree.tree_leaves(r) for r in results)
    assert all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def test_a_linear_layer_with_its_activation_is_one_kernel():
    model = nn.Sequential(nn.Linear(768, 768), nn.ReLU())
    h.inference(model, torch.randn(4, 768))
    assert h.ot.last_log["kernels"] == h.ot.last_log["gemm_epilogue"] == 1
    assert h.ot.last_log["pointwise_groups"] == 0
    compiled = h.ot.compile(model)
    with torch.no_grad():
        h.close(compiled(torch.ones(3, 768)), model(torch.ones(3, 768)))
    assert h.ot.last_log["kernels"] == h.ot.last_log["gemm_epilogue"] == 1
    h.inference(lambda x, y: torch.nn.functional.silu(x) * y, torch.randn(64, 65), torch.randn(64, 65))
    assert (h.ot.last_log["kernels"], h.ot.last_log["pointwise_groups"]) == (1, 1)


def test_one_program_serves_all_lengths_of_text_and_cache():
    torch.manual_seed(7)
    model = DecoderBlock().eval()
    torch._dynamo.reset()

    def arguments(length, past):
        return torch.randn(1, length, 128), torch.randn(1, 4, past, 32), torch.randn(1, 4, past, 32)

    compiled = torch.compile(model, backend="ostinato", fullgraph=True)
    lengths = [(4, 3), (6, 9), (3, 200), (17, 5), (2, 1000), (5, 2)]
    with torch.no_grad(), h.reports() as got:
        for length, past in lengths:
            args = arguments(length, past)
            for a in args:
                torch._dynamo.maybe_mark_dynamic(a, 1 if a.dim() == 3 else 2)
            h.close(compiled(*args), model(*args))
    assert len(got) == 1 and h.eager_ops(got) == []


def test_parameters_updated_in_place_are_seen():
    model = nn.Linear(16, 16)
    x = torch.randn(4, 16)
    for compiled in (torch.compile(model, backend="ostinato"), h.ot.compile(model)):
        with torch.no_grad(), h.reports() as got:
            h.close(compiled(x), model(x))
            before = len(got)
            model.weight.mul_(-2)
            model.load_state_dict({k: v + 1 for k, v in model.state_dict().items()})
            h.close(compiled(x), model(x))
            assert len(got) == before


def test_a_training_loop_goes_the_way_of_eager():
    torch.manual_seed(3)
    data, target = torch.randn(64, 20), torch.randint(0, 5, (64,))
    losses = []
    for compile_it in (lambda m: m, lambda m: torch.compile(m, backend="ostinato")):
        torch._dynamo.reset()
        torch.manual_seed(4)
        model = nn.Sequential(nn.Linear(20, 32), nn.BatchNorm1d(32), nn.SiLU(), nn.Linear(32, 5))
        step = compile_it(lambda x, y, model=model: nn.functional.cross_entropy(model(x), y))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        losses.append([])
        for _ in range(20):
            loss = step(data, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[-1].append(float(loss))
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)
    assert losses[1][-1] < 0.7 * losses[1][0]
