"""torch.ops.ostinato.*: as operations of torch, and what they compute."""

import pytest
import torch
import torch.nn.functional as F
import torch_help as h
from ostinato.torch.custom_ops import ACTIVATIONS
from ostinato.torch.elementwise_program import MEANINGS, Code

linear_act = torch.ops.ostinato.linear_act
pointwise = torch.ops.ostinato.pointwise


def columns(*instructions):
    """(code, a, b, input, alpha, const) a line, to the lists of the operation."""
    rows = [(*i, *(0, 0, 0, 1.0, 0.0)[len(i) - 1 :]) for i in instructions]
    return [list(c) for c in zip(*rows, strict=True)]


SILU_MUL = columns((Code.LOAD, 0, 0, 0), (Code.LOAD, 0, 0, 1), (Code.SILU, 0), (Code.MUL, 2, 1))


@pytest.mark.parametrize("act", ACTIVATIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_linear_act_is_a_product_with_its_bias_and_activation(act, dtype):
    x, w, b = (torch.randn(*s, dtype=dtype) for s in ((2, 5, 16), (8, 16), (8,)))
    want = ACTIVATIONS[act](F.linear(x.float() if dtype == torch.bfloat16 else x, w.to(dtype).float() if dtype == torch.bfloat16 else w, b.float() if dtype == torch.bfloat16 else b)).to(dtype)
    h.close(linear_act(x, w, b, act, trans_b=True), want)
    h.close(linear_act(x, w.t().contiguous(), b, act, trans_b=False), want)
    h.close(linear_act(x[0, 0], w, b, act), want[0, 0])


def test_linear_act_without_a_bias_and_its_errors():
    x, w = torch.randn(3, 4), torch.randn(5, 4)
    h.close(linear_act(x, w), x @ w.t())
    with pytest.raises(ValueError, match="activation 'swish'; there are none, relu, silu"):
        linear_act(x, w, None, "swish")
    with pytest.raises(ValueError, match="x has 4 features, weight takes 5"):
        linear_act(x, w, trans_b=False)
    with pytest.raises(ValueError, match="bias is"):
        linear_act(x, w, torch.ones(4))


def test_pointwise_runs_an_ssa_program():
    x, y = torch.randn(4, 1, 6), torch.randn(3, 6)
    h.close(pointwise([x, y], *SILU_MUL), F.silu(x) * y)
    scaled = columns((Code.LOAD,), (Code.CONST, 0, 0, 0, 1.0, 3.0), (Code.SUB, 0, 1, 0, 0.5))
    h.close(pointwise([x], *scaled), x - 1.5)


@pytest.mark.parametrize("code", MEANINGS, ids=lambda c: c.name)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_operation_code_is_what_its_table_says(code, dtype):
    x, y = torch.rand(101, dtype=dtype) + 0.1, torch.rand(101, dtype=dtype) * 3 - 1.5
    if code == Code.POW:
        y = y.abs()
    first = y if MEANINGS[code].operands == 1 and code not in (Code.LOG, Code.SQRT, Code.RSQRT) else x
    program = columns((Code.LOAD, 0, 0, 0), (Code.LOAD, 0, 0, 1), (code, 0, 1, 0, 0.25))
    operands = (first, y)[: MEANINGS[code].operands]
    h.close(pointwise([first, y], *program), MEANINGS[code].torch(*operands, 0.25))


def test_the_codes_are_pinned():
    assert [(c.name, c.value) for c in Code][:6] == [("LOAD", 0), ("CONST", 1), ("ADD", 2), ("SUB", 3), ("MUL", 4), ("DIV", 5)]
    assert sorted(Code) == list(range(24))
    assert set(MEANINGS) == set(Code) - {Code.LOAD, Code.CONST}


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (columns((99,)), "instruction 0 has the code 99"),
        (columns((Code.LOAD, 0, 0, 2)), "loads input 2, there are 2"),
        (columns((Code.LOAD,), (Code.ADD, 0, 1)), "uses the result of 1, wanted one of 0 to 0"),
        ([[], [], [], [], [], []], "wanted one each an instruction"),
        ([[0], [0], [0], [0], [1.0], []], "wanted one each an instruction"),
    ],
)
def test_a_malformed_program_is_refused(program, message):
    with pytest.raises(ValueError, match=message):
        pointwise([torch.ones(2), torch.ones(2)], *program)


def test_opcheck():
    x, w, b = (torch.randn(*s, requires_grad=True) for s in ((5, 16), (8, 16), (8,)))
    for act in ACTIVATIONS:
        torch.library.opcheck(linear_act, (x, w, b, act), {"trans_b": True})
    torch.library.opcheck(linear_act, (x.detach(), w.detach().t().contiguous()), {"trans_b": False})
    torch.library.opcheck(pointwise, ([torch.randn(4, 1, requires_grad=True), torch.randn(3)], *SILU_MUL))


def test_gradients_are_those_of_the_meaning():
    x, w, b = (torch.randn(*s, dtype=torch.float64, requires_grad=True) for s in ((3, 4), (5, 4), (5,)))
    assert torch.autograd.gradcheck(lambda *a: linear_act(*a, "silu", trans_b=True), (x, w, b), fast_mode=True)
    y = torch.randn(3, 1, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda *a: pointwise(list(a), *SILU_MUL), (x, y), fast_mode=True)


def test_they_fuse_with_what_is_around_them():
    def f(x, w, b):
        return linear_act(x, w, b, "silu", trans_b=True) * 2 + pointwise([x[:, :8], b], *SILU_MUL)

    args = torch.randn(5, 16), torch.randn(8, 16), torch.randn(8)
    (got,) = h.inference(f, *args, fullgraph=True)
    assert got.counts["kernels"] == 1 and h.eager_ops([got]) == []
    torch._dynamo.reset()
    h.close(torch.compile(f, backend="aot_eager", fullgraph=True)(*args), f(*args))
