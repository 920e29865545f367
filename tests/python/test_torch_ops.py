"""The operations that are lowered, family by family: values, types and promotion as eager torch has them."""

import math

import pytest
import torch
import torch.nn.functional as F
import torch_help as h
from torch import nn

X = torch.tensor([-2.5, -1.0, -0.5, -0.0, 0.0, 0.3, 1.0, 1.5, 2.5, 7.0, math.inf, -math.inf, math.nan])


def rand(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + len(shape)))


def functions(x):
    finite = torch.where(x.isfinite(), x, 0.25)
    return (
        x.exp(), x.exp2(), x.expm1(), x.abs().log(), x.abs().log2(), x.abs().log10(), x.abs().log1p(), finite.sin(),
        finite.cos(), finite.tan(), x.tanh(), finite.sinh(), finite.cosh(), x.sigmoid(), x.erf(), x.abs().sqrt(),
        x.abs().rsqrt(), x.reciprocal(), x.neg(), x.abs(), x.floor(), x.ceil(), x.trunc(), x.round(), x.isnan(), x.isinf(),
        x.isfinite(), torch.nan_to_num(x),
    )  # fmt: skip


def activations(x):
    return (
        F.relu(x), F.silu(x), F.gelu(x), F.gelu(x, approximate="tanh"), F.elu(x, 0.7), F.selu(x), F.celu(x, 2.0),
        F.leaky_relu(x, 0.2), F.relu6(x), F.hardtanh(x, -0.5, 2.0), F.hardswish(x), F.hardsigmoid(x), F.softplus(x, 2.0),
        F.mish(x), F.logsigmoid(x), F.softshrink(x), F.threshold(x, 0.1, 3.0), F.glu(torch.cat([x, x])),
    )  # fmt: skip


def arithmetic(x, y):
    return (
        x + y, x - y * 2, x * y, x / y, x // y, x % y, torch.fmod(x, y), torch.div(x, y, rounding_mode="trunc"),
        torch.add(x, y, alpha=3), 2 - x, x**2, x**3, x.abs() ** 0.5, x.abs() ** y, 2.0**x, torch.maximum(x, y),
        torch.minimum(x, y), x.clamp(-0.5, 1.0), x.clamp(min=y), torch.lerp(x, y, 0.3), torch.addcmul(x, y, y, value=0.5),
        torch.addcdiv(x, y, y.abs() + 1), x == y, x != y, x < y, x <= y, x > y, x >= 0, torch.where(x > y, x, 2.0),
        (x > 0) & (y > 0), (x > 0) ^ (y > 0), torch.logical_or(x, y), x.masked_fill(y > 0, 9.0),
    )  # fmt: skip


def reductions(x):
    return (
        x.sum(), x.sum(1), x.sum((0, 2), keepdim=True), x.mean(), x.mean(-1), x.prod(2), x.amax(0), x.amin((1, 2)), x.max(),
        x.max(1).values, x.max(1).indices, x.min(2, keepdim=True).indices, x.argmax(), x.argmin(1), (x > 0).any(1),
        (x > -9).all(), x.var(), x.var(1, correction=0), x.std((0, 1)), torch.var_mean(x, 2)[1], x.softmax(1),
        x.log_softmax(-1), x.logsumexp(1), x.logsumexp((0, 2)), x.norm(), torch.linalg.vector_norm(x, 3, 1),
        torch.linalg.vector_norm(x, math.inf), F.normalize(x, dim=1), x.count_nonzero(0),
    )  # fmt: skip


def movement(x):
    return (
        x.reshape(4, -1), x.permute(2, 0, 1), x.transpose(0, 2) + 0, x[1:3], x[:, 1:-1:2], x[..., -1], x[0, 1], x[:, None],
        x.flip(0, 2), x.roll(2, 1), x.roll(3), x.repeat(2, 1, 3), x.expand(2, 3, 4, 6), torch.cat([x, x * 2], 1),
        torch.stack([x, -x], 1), *x.chunk(2, 2), *x.split([1, 2], 0), *x.unbind(0), F.pad(x, (1, 2, 0, 3), value=-1.0),
        F.pad(x, (-1, 1)), x.tril(), x[0].triu(1), x.unfold(1, 2, 1), x.diagonal(0, 1, 2), torch.diag_embed(x[0]),
        x.narrow(2, 1, 3), x.squeeze(0), x.unsqueeze(-1), x.flatten(1), x.movedim(0, 2),
    )  # fmt: skip


def made(x):
    n = x.shape[0]
    return (
        torch.arange(5), torch.arange(2, 11, 3), torch.arange(0.5, 2.0, 0.25), torch.zeros(2, 3), torch.full((2,), 7),
        torch.ones_like(x), torch.linspace(0, 1, 7), torch.eye(4), x.new_full((3,), n), torch.tensor([1, 2, 3]) * n,
        F.one_hot(torch.arange(3), 4), x.to(torch.int32), x.half(), x.to(torch.float64) * 2, x.bool(),
    )  # fmt: skip


def indexing(x, i, m):
    return (
        x[i], x[:, i], x[i, i - 1], x[i[:, None], :, i], x[..., i, 0], x.index_select(1, i), x.gather(1, m), x.take_along_dim(m, 1),
        x.scatter(1, m % 3, 1.5), torch.zeros(4, 4, 6).scatter_add(1, m, x[:, :4]), x.index_add(0, i, x[:3]),
        x.index_copy(0, torch.tensor([2, 0, 3]), x[:3]), x.index_put((torch.tensor([1, 3]),), x[:2] * 2),
        x.index_put((i, i), torch.ones(()), accumulate=True), x.index_fill(1, i, 0.5), F.embedding(i, x[0]),
    )  # fmt: skip


def products(a, b, c):
    return (
        a @ b, a[0] @ b[0], a[0, 0] @ b[0, :, 0], a[0] @ b[0, :, 0], torch.addmm(c, a[0], b[0], beta=0.5, alpha=2),
        torch.baddbmm(c, a, b), F.linear(a, b[0].t(), c[0]), torch.einsum("bij,bjk->ik", a, b), torch.outer(a[0, 0], b[0, 0]),
    )  # fmt: skip


INTEGERS = torch.randint(-9, 9, (3,), generator=torch.Generator().manual_seed(1)).abs() % 3
CASES = {
    "functions": (functions, X),
    "activations": (activations, X[:10]),  # at infinities eager's own vector code differs from its scalar code
    "arithmetic": (arithmetic, rand(5, 6), rand(6, seed=3)),
    "reductions": (reductions, rand(4, 5, 6)),
    "movement": (movement, rand(3, 4, 6)),
    "made": (made, rand(4, 3)),
    "indexing": (indexing, rand(4, 5, 6), INTEGERS, torch.arange(96).reshape(4, 4, 6) % 4),
    "products": (products, rand(3, 4, 5), rand(3, 5, 6, seed=2), rand(4, 6)),
}


@pytest.mark.parametrize("name", CASES)
def test_equal_to_eager(name):
    f, *args = CASES[name]
    h.inference(f, *args)


def promotions(x):
    i, b = torch.arange(3), torch.tensor([True, False, True])
    return i + x, b + x, i + 1.5, b + 1, i / 2, x * i, x > i, i**2, b.sum(), i.sum(), i.float().mean(), (x + 1).to(torch.int64), 2**i


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.uint8])
def test_promotion_is_that_of_torch(dtype):
    h.inference(promotions, torch.tensor([0.0, 1.0, 2.0]).to(dtype))


CONVOLUTIONS = [
    nn.Conv1d(4, 6, 3, stride=2, padding=1, dilation=2),
    nn.Conv1d(4, 4, 3, padding="same", groups=4),
    nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0), groups=2),
    nn.Conv2d(4, 8, 3, dilation=2, bias=False),
    nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, output_padding=1),
    nn.ConvTranspose2d(4, 6, 3, stride=2, dilation=2, groups=2),
    nn.MaxPool1d(3, 2, 1),
    nn.MaxPool2d(3, 2, 1, ceil_mode=True),
    nn.AvgPool1d(2),
    nn.AvgPool2d(3, 2, 1),
    nn.AdaptiveAvgPool2d(1),
    nn.AdaptiveAvgPool2d((3, 5)),
    nn.Upsample(scale_factor=2),
    nn.Upsample(scale_factor=2, mode="bilinear"),
    nn.BatchNorm2d(4),
    nn.InstanceNorm2d(4, affine=True),
    nn.GroupNorm(2, 4),
    nn.PixelShuffle(2),
]


@pytest.mark.parametrize("module", CONVOLUTIONS, ids=lambda m: str(m).split("\n")[0])
def test_windows_and_their_gradients(module):
    one_axis = "1d" in type(module).__name__
    got = h.training(module, rand(2, 4, 15) if one_axis else rand(2, 4, 9, 10))
    assert h.eager_ops(got) == []


@pytest.mark.parametrize(
    "loss", [F.cross_entropy, F.nll_loss, F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.binary_cross_entropy_with_logits, F.kl_div], ids=lambda f: f.__name__
)
def test_losses_and_their_gradients(loss):
    x = rand(6, 5).log_softmax(-1)
    target = torch.arange(6) % 5 if loss in (F.cross_entropy, F.nll_loss) else rand(6, 5, seed=1).sigmoid()

    class Loss(nn.Module):
        def forward(self, x):
            return loss(x, target)

    assert h.eager_ops(h.training(Loss(), x)) == []


@pytest.mark.parametrize("kind", ["plain", "causal", "bool", "float", "scale"])
def test_attention_and_its_gradients(kind):
    how = {
        "plain": {}, "causal": {"is_causal": True}, "bool": {"attn_mask": torch.arange(7)[None, :] < torch.arange(1, 6)[:, None]},
        "float": {"attn_mask": rand(5, 7)}, "scale": {"scale": 0.3},
    }[kind]  # fmt: skip

    class Attention(nn.Module):
        def forward(self, q, k, v):
            return F.scaled_dot_product_attention(q, k, v, **how)

    assert h.eager_ops(h.training(Attention(), rand(2, 3, 5, 8), rand(2, 3, 7, 8, seed=1), rand(2, 3, 7, 8, seed=2))) == []
