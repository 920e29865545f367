"""Resizing: each axis by an index (nearest) or by a matrix of weights (linear, cubic) that is known at compile time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .table import Call, Unsupported, operator
from .value import Array, Value


class Axis:
    """From n elements to m, by `scale`; roi: the part that tf_crop_and_resize looks at."""

    def __init__(self, c: Call, n: int, m: int, scale: float, roi: tuple[float, float]) -> None:
        self.n, self.m, self.scale, self.roi = n, m, scale, roi
        self.mode = c.attr("coordinate_transformation_mode", "half_pixel" if c.since >= 11 else "asymmetric")
        self.nearest = c.attr("nearest_mode", "round_prefer_floor" if c.since >= 11 else "floor")
        self.cubic = c.number("cubic_coeff_a", -0.75)
        self.outside = bool(c.attr("exclude_outside", 0))
        self.antialias = bool(c.attr("antialias", 0)) and scale < 1

    def sources(self) -> Array:
        """Where each result lies among the elements."""
        i = np.arange(self.m, dtype=np.float64)
        n, s = self.n, self.scale
        m = n * s  # as ONNX has it: before it is made an integer
        if self.mode == "asymmetric":
            return i / s
        if self.mode == "align_corners":
            return i * (n - 1) / (m - 1) if m != 1 else np.zeros(self.m)
        if self.mode == "tf_crop_and_resize":
            start, end = self.roi
            if m == 1:
                return np.full(self.m, 0.5 * (start + end) * (n - 1))
            return start * (n - 1) + i * (end - start) * (n - 1) / (m - 1)
        if self.mode == "pytorch_half_pixel":
            return (i + 0.5) / s - 0.5 if m > 1 else np.full(self.m, -0.5)
        if self.mode == "half_pixel_symmetric":
            adjust = self.m / m
            return n / 2 * (1 - adjust) + (i + 0.5) / s - 0.5
        if self.mode == "half_pixel":
            return (i + 0.5) / s - 0.5
        raise Unsupported(f"Resize with coordinates {self.mode}")

    def index(self) -> Array:
        x = self.sources()
        rounded = {
            "round_prefer_floor": lambda: np.ceil(x - 0.5),
            "round_prefer_ceil": lambda: np.floor(x + 0.5),
            "floor": lambda: np.floor(x),
            "ceil": lambda: np.ceil(x),
        }[self.nearest]()
        return np.clip(rounded, 0, self.n - 1).astype(np.int64)

    def weights(self, kind: str) -> Array:
        """[m, n]"""
        out = np.zeros((self.m, self.n))
        stretch = self.scale if self.antialias else 1.0
        reach = (1 if kind == "linear" else 2) / stretch
        for row, x in enumerate(self.sources()):
            taps = np.arange(math.floor(x - reach) + 1, math.floor(x + reach) + 1)
            w = np.array([self._kernel(kind, (t - x) * stretch) for t in taps])
            if self.outside:
                w = np.where((taps < 0) | (taps >= self.n), 0, w)
            if self.outside or self.antialias:
                w = w / w.sum()
            np.add.at(out[row], np.clip(taps, 0, self.n - 1), w)
        return out

    def _kernel(self, kind: str, x: float) -> float:
        x = abs(x)
        if kind == "linear":
            return max(1 - x, 0.0)
        a = self.cubic
        if x <= 1:
            return ((a + 2) * x - (a + 3)) * x * x + 1
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a if x < 2 else 0.0

    def beyond(self) -> Array:
        x = self.sources()
        return (x < 0) | (x > self.n - 1)


def _resize(c: Call, x: Value, axes: dict[int, Axis], kind: str) -> Value:
    original = x.dtype
    for at, axis in axes.items():
        if axis.n == axis.m and axis.scale == 1 and axis.mode != "tf_crop_and_resize":
            continue
        if kind == "nearest":
            x = x.gather(c.builder.constant(axis.index()), at)
            continue
        wide = x if x.dtype in ("f32", "f64") else x.cast("f32")
        matrix = c.builder.constant(axis.weights(kind), wide.dtype)
        x = wide.move(at, -1).matmul(matrix.op("transpose")).move(-1, at)
    x = x if x.dtype == original else (x if original in ("f16", "bf16") else x.op("round")).cast(original)
    for at, axis in axes.items():
        if axis.mode == "tf_crop_and_resize" and axis.beyond().any():
            gone = c.builder.constant(axis.beyond()).reshape(-1, *[1] * (x.rank - at - 1))
            x = gone.where(c.builder.scalar(c.attr("extrapolation_value", 0.0), x.dtype), x)
    return x


def _numbers(c: Call, i: int) -> list[float]:
    return [float(v) for v in c.fixed(i).reshape(-1)] if c.has(i) else []


@operator("Resize")
def resize(c: Call) -> Value:
    x = c[0]
    shape = c.numbers_of(x)
    axes = [a % x.rank for a in c.attr("axes") or range(x.rank)]
    first = 1 if c.since == 10 else 2
    roi = _numbers(c, 1) if c.since > 10 else []
    scales = _numbers(c, first)
    sizes = c.ints(3) if c.has(3) and not scales else None
    if sizes is not None:
        scales, sizes = _from_sizes(c, [shape[a] for a in axes], sizes)
    out: dict[int, Axis] = {}
    for k, a in enumerate(axes):
        m = sizes[k] if sizes else math.floor(shape[a] * scales[k])
        part = (roi[k], roi[k + len(axes)]) if roi else (0.0, 1.0)
        out[a] = Axis(c, shape[a], m, scales[k], part)
    return _resize(c, x, out, _kind(c))


def _from_sizes(c: Call, shape: list[int], sizes: list[int]) -> tuple[list[float], list[int]]:
    scales = [m / n for m, n in zip(sizes, shape, strict=True)]
    policy = c.attr("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return scales, sizes
    scale = min(scales) if policy == "not_larger" else max(scales)
    return [scale] * len(shape), [math.floor(n * scale + 0.5) for n in shape]


def _kind(c: Call) -> str:
    kind: Any = c.attr("mode", "nearest")
    if kind not in ("nearest", "linear", "cubic", "bilinear"):
        raise Unsupported(f"{c.name} with mode {kind}")
    return "linear" if kind == "bilinear" else kind


@operator("Upsample")
def upsample(c: Call) -> Value:
    shape = c.numbers_of(c[0])
    scales = list(c.attr("scales") or []) or _numbers(c, 1)
    axes = {a: Axis(c, n, math.floor(n * s), s, (0.0, 1.0)) for a, (n, s) in enumerate(zip(shape, scales, strict=True))}
    return _resize(c, c[0], axes, _kind(c))
