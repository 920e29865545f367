"""Which operations torch takes apart before they are lowered: all that it can, but those that are lowered whole."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import core_aten_decompositions, get_decompositions

from .lower import TABLE
from .fused_layers import FUSED_LAYERS

aten = torch.ops.aten

# Beyond the core set: what training leaves whole.
_MORE = [
    aten.native_dropout_backward, aten.native_batch_norm_backward, aten.native_layer_norm_backward,
    aten.native_group_norm_backward, aten.embedding_dense_backward, aten.nll_loss_forward, aten.nll_loss_backward,
    aten._softmax_backward_data, aten._log_softmax_backward_data, aten.gelu_backward, aten.silu_backward,
    aten.threshold_backward, aten.sigmoid_backward, aten.tanh_backward, aten.leaky_relu_backward, aten.elu_backward,
    aten.hardtanh_backward, aten.hardswish_backward, aten.mse_loss, aten.mse_loss_backward, aten.smooth_l1_loss,
    aten.smooth_l1_loss_backward, aten.huber_loss, aten.huber_loss_backward, aten.binary_cross_entropy,
    aten.binary_cross_entropy_backward, aten.slice_backward, aten.select_backward, aten.upsample_nearest2d,
    aten.upsample_bilinear2d, aten.reflection_pad2d, aten.replication_pad2d, aten.glu_backward, aten.softplus_backward,
    aten.tril, aten.triu, aten.masked_fill, aten.addcmul, aten.addcdiv, aten.lerp, aten.unfold_backward,
    aten._weight_norm_interface, aten.log_sigmoid_backward, aten.log_sigmoid_forward, aten._fused_rms_norm_backward,
    aten.logit, aten.hardsigmoid, aten.hardswish, aten.softplus, aten.native_batch_norm,
]  # fmt: skip


@functools.cache
def decompositions() -> dict[Any, Callable[..., Any]]:
    table = {**core_aten_decompositions(), **get_decompositions(_MORE), **FUSED_LAYERS}
    return {op: f for op, f in table.items() if op not in TABLE}
