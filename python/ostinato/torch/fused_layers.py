"""torch.nn's layers that run as one operation of their own in inference, in torch's public functions."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

aten = torch.ops.aten


def attention_mask(mask: Tensor | None, kind: int | None, like: Tensor) -> Tensor | None:
    """True where a key is not seen: kind 0 is [L, L], 1 is [batch, L] over keys, 2 is [batch, heads, L, L]."""
    if mask is None:
        return None
    if mask.dtype != torch.bool:
        mask = mask.to(like.dtype)
    else:
        mask = torch.zeros_like(mask, dtype=like.dtype).masked_fill(mask, -math.inf)
    if kind == 1:
        return mask[:, None, None, :]
    return mask


def multi_head(query: Tensor, key: Tensor, value: Tensor, embed_dim: int, heads: int, qkv_weight: Tensor,
               qkv_bias: Tensor, proj_weight: Tensor, proj_bias: Tensor, mask: Tensor | None = None,
               need_weights: bool = True, average_attn_weights: bool = True, mask_type: int | None = None) -> Any:  # fmt: skip
    weights, biases = qkv_weight.chunk(3), qkv_bias.chunk(3)

    def split(x: Tensor, i: int) -> Tensor:
        y = F.linear(x, weights[i], biases[i])
        return y.view(*y.shape[:2], heads, embed_dim // heads).transpose(1, 2)

    q, k, v = (split(x, i) for i, x in enumerate((query, key, value)))
    bias = attention_mask(mask, mask_type, q)
    if need_weights:
        scores = q @ k.transpose(-2, -1) / math.sqrt(embed_dim // heads)
        p = torch.softmax(scores if bias is None else scores + bias, -1)
        out = p @ v
        attended = p.mean(1) if average_attn_weights else p
    else:
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        attended = query.new_empty(0)
    out = out.transpose(1, 2).reshape(query.shape[0], query.shape[1], embed_dim)
    return F.linear(out, proj_weight, proj_bias), attended


def encoder_layer(src: Tensor, embed_dim: int, heads: int, qkv_weight: Tensor, qkv_bias: Tensor, proj_weight: Tensor,
                  proj_bias: Tensor, use_gelu: bool, norm_first: bool, eps: float, norm1_weight: Tensor,
                  norm1_bias: Tensor, norm2_weight: Tensor, norm2_bias: Tensor, w1: Tensor, b1: Tensor, w2: Tensor,
                  b2: Tensor, mask: Tensor | None = None, mask_type: int | None = None) -> Tensor:  # fmt: skip
    def attend(x: Tensor) -> Tensor:
        out: Tensor = multi_head(x, x, x, embed_dim, heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False,
                                 mask_type=mask_type)[0]  # fmt: skip
        return out

    def feed(x: Tensor) -> Tensor:
        h = F.linear(x, w1, b1)
        return F.linear(F.gelu(h) if use_gelu else F.relu(h), w2, b2)

    def norm1(x: Tensor) -> Tensor:
        return F.layer_norm(x, (embed_dim,), norm1_weight, norm1_bias, eps)

    def norm2(x: Tensor) -> Tensor:
        return F.layer_norm(x, (embed_dim,), norm2_weight, norm2_bias, eps)

    if norm_first:
        src = src + attend(norm1(src))
        return src + feed(norm2(src))
    src = norm1(src + attend(src))
    return norm2(src + feed(src))


FUSED_LAYERS = {
    aten._native_multi_head_attention.default: multi_head,
    aten._transformer_encoder_layer_fwd.default: encoder_layer,
}
