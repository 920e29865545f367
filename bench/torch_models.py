"""Sixteen modules of PyTorch, pieces of torch.nn and small published architectures written out: what the tests compare
with eager torch, and bench/torch_modules.py measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Case:
    name: str
    model: Callable[[], nn.Module]
    args: Callable[[], tuple[Tensor, ...]]


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 10), nn.Softmax(-1))


def lenet() -> nn.Module:
    """LeCun et al. 1998, with ReLU and maxima."""
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip


class ResidualBlock(nn.Module):
    """The basic block of ResNet (He et al. 2015) with a projection."""

    def __init__(self, inner: int = 32, outer: int = 64) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outer)
        self.conv2 = nn.Conv2d(outer, outer, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outer)
        self.down = nn.Sequential(nn.Conv2d(inner, outer, 1, stride=2, bias=False), nn.BatchNorm2d(outer))

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.down(x))


class DecoderBlock(nn.Module):
    """A block of GPT-2 (Radford et al. 2019) that appends to a cache of keys and values."""

    def __init__(self, width: int = 128, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        k, v = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        position = torch.arange(length, device=x.device)[:, None] + keys.shape[2]
        mask = torch.arange(k.shape[2], device=x.device)[None, :] <= position
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.proj(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.ln2(x)), approximate="tanh")), k, v


class LstmCell(nn.Module):
    """Hochreiter and Schmidhuber 1997, by hand."""

    def __init__(self, inputs: int = 128, width: int = 256) -> None:
        super().__init__()
        self.gates = nn.Linear(inputs + width, 4 * width)

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        i, f, g, o = self.gates(torch.cat([x, h], -1)).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class CrossAttention(nn.Module):
    """nn.MultiheadAttention's arithmetic, with a mask over keys and a bias over distances (Press et al. 2021)."""

    def __init__(self, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.kv, self.out = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(width, width)

    def forward(self, x: Tensor, memory: Tensor, seen: Tensor) -> Tensor:
        def split(t: Tensor) -> Tensor:
            return t.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        q = split(self.q(x))
        k, v = (split(t) for t in self.kv(memory).chunk(2, -1))
        distance = torch.arange(x.shape[1])[:, None] - torch.arange(memory.shape[1])[None, :]
        slopes = 2.0 ** -torch.arange(1, self.heads + 1, dtype=x.dtype)
        bias = -distance.abs().to(x.dtype) * slopes[:, None, None]
        scores = q @ k.transpose(-2, -1) / (q.shape[-1] ** 0.5) + bias
        scores = scores.masked_fill(~seen[:, None, None, :], float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class BagOfWords(nn.Module):
    """The mean of the embeddings of a text of some length (fastText, Joulin et al. 2016)."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(1000, 64), nn.Linear(64, 5)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        there = (torch.arange(words.shape[1])[None, :] < lengths[:, None]).to(self.table.weight.dtype)
        total = (self.table(words) * there[..., None]).sum(1)
        return F.log_softmax(self.head(total / lengths[:, None]), -1)


class Norms(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.group, self.layer, self.root = nn.GroupNorm(8, 32), nn.LayerNorm((16, 16)), nn.RMSNorm(16)

    def forward(self, x: Tensor) -> Tensor:
        return self.root(F.silu(self.layer(self.group(x))) + x)


class InvertedResidual(nn.Module):
    """MobileNetV2 (Sandler et al. 2018) with squeeze and excitation (Hu et al. 2017)."""

    def __init__(self, width: int = 24, inner: int = 96) -> None:
        super().__init__()
        self.expand, self.bn1 = nn.Conv2d(width, inner, 1, bias=False), nn.BatchNorm2d(inner)
        self.depth, self.bn2 = nn.Conv2d(inner, inner, 3, padding=1, groups=inner, bias=False), nn.BatchNorm2d(inner)
        self.squeeze, self.excite = nn.Conv2d(inner, 8, 1), nn.Conv2d(8, inner, 1)
        self.project, self.bn3 = nn.Conv2d(inner, width, 1, bias=False), nn.BatchNorm2d(width)

    def forward(self, x: Tensor) -> Tensor:
        y = F.hardswish(self.bn2(self.depth(F.relu6(self.bn1(self.expand(x))))))
        y = y * F.hardsigmoid(self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(y, 1)))))
        return x + self.bn3(self.project(y))


class SmallUnet(nn.Module):
    """One level of U-Net (Ronneberger et al. 2015): down, up with a transposed convolution, joined."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.enter = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.GroupNorm(4, width), nn.SiLU())
        self.down = nn.Sequential(nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.SiLU())
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.leave = nn.Conv2d(2 * width, 3, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        skip = self.enter(x)
        return self.leave(torch.cat([skip, F.silu(self.up(self.down(skip)))], 1))


class LlamaBlock(nn.Module):
    """LLaMA (Touvron et al. 2023): rotary positions, root-mean-square norms, gated units."""

    def __init__(self, width: int = 128, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.RMSNorm(width, 1e-5), nn.RMSNorm(width, 1e-5)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 256, bias=False), nn.Linear(width, 256, bias=False)
        self.down = nn.Linear(256, width, bias=False)

    def turned(self, x: Tensor) -> Tensor:
        half = x.shape[-1] // 2
        frequency = 10000.0 ** (-torch.arange(half, dtype=x.dtype) / half)
        angle = torch.arange(x.shape[-2], dtype=x.dtype)[:, None] * frequency
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(self.turned(q), self.turned(k), v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class PatchEncoder(nn.Module):
    """The entrance of ViT (Dosovitskiy et al. 2020) and one layer of its encoder."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, stride=8)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.position = nn.Parameter(torch.randn(1, 17, width))
        self.layer = nn.TransformerEncoderLayer(width, 4, 128, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.head = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        y = self.patches(x).flatten(2).transpose(1, 2)
        y = torch.cat([self.token.expand(y.shape[0], -1, -1), y], 1) + self.position
        return self.head(self.layer(y)[:, 0])


class Mixer(nn.Module):
    """A layer of MLP-Mixer (Tolstikhin et al. 2021)."""

    def __init__(self, tokens: int = 49, width: int = 96) -> None:
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.tokens = nn.Sequential(nn.Linear(tokens, 64), nn.GELU(), nn.Linear(64, tokens))
        self.channels = nn.Sequential(nn.Linear(width, 192), nn.GELU(), nn.Linear(192, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.tokens(self.ln1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.ln2(x))


class GatedConvolutions(nn.Module):
    """Dilated causal convolutions with gates (WaveNet, van den Oord et al. 2016)."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.filters = nn.ModuleList(nn.Conv1d(width, 2 * width, 2, dilation=2**i) for i in range(3))
        self.mix = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        for i, (conv, mix) in enumerate(zip(self.filters, self.mix, strict=True)):
            a, b = conv(F.pad(x, (2**i, 0))).chunk(2, 1)
            x = x + mix(torch.tanh(a) * torch.sigmoid(b))
        return x


class GruCell(nn.Module):
    """Cho et al. 2014, by hand."""

    def __init__(self, inputs: int = 64, width: int = 128) -> None:
        super().__init__()
        self.x, self.h = nn.Linear(inputs, 3 * width), nn.Linear(width, 3 * width)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        xr, xz, xn = self.x(x).chunk(3, -1)
        hr, hz, hn = self.h(h).chunk(3, -1)
        z = torch.sigmoid(xz + hz)
        return (1 - z) * torch.tanh(xn + torch.sigmoid(xr + hr) * hn) + z * h


def encoder() -> nn.Module:
    return nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)


def words() -> tuple[Tensor, ...]:
    return torch.randint(0, 1000, (32, 20)), torch.randint(1, 21, (32,))


def cross() -> tuple[Tensor, ...]:
    return torch.randn(4, 12, 64), torch.randn(4, 30, 64), torch.arange(30)[None, :] < torch.tensor([30, 1, 17, 8])[:, None]


CASES = [
    Case("mlp", mlp, lambda: (torch.randn(32, 256),)),
    Case("lenet", lenet, lambda: (torch.randn(8, 1, 28, 28),)),
    Case("resnet_block", ResidualBlock, lambda: (torch.randn(2, 32, 28, 28),)),
    Case("encoder_layer", encoder, lambda: (torch.randn(4, 33, 128),)),
    Case("gpt2_block", DecoderBlock, lambda: (torch.randn(2, 5, 128), torch.randn(2, 4, 60, 32), torch.randn(2, 4, 60, 32))),
    Case("llama_block", LlamaBlock, lambda: (torch.randn(2, 48, 128),)),
    Case("lstm_cell", LstmCell, lambda: (torch.randn(16, 128), torch.randn(16, 256), torch.randn(16, 256))),
    Case("gru_cell", GruCell, lambda: (torch.randn(16, 64), torch.randn(16, 128))),
    Case("cross_attention", CrossAttention, cross),
    Case("bag_of_words", BagOfWords, words),
    Case("norms", Norms, lambda: (torch.randn(2, 32, 16, 16),)),
    Case("inverted_residual", InvertedResidual, lambda: (torch.randn(2, 24, 20, 20),)),
    Case("unet", SmallUnet, lambda: (torch.randn(1, 3, 32, 32),)),
    Case("vit", PatchEncoder, lambda: (torch.randn(2, 3, 32, 32),)),
    Case("mixer", Mixer, lambda: (torch.randn(4, 49, 96),)),
    Case("wavenet", GatedConvolutions, lambda: (torch.randn(2, 32, 100),)),
]
