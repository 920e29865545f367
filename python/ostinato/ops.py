"""Functions of tensors, by NumPy's names where NumPy has them. What is not a tensor becomes one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import dtypes, runtime, sizes
from .sizes import Dim
from .tensor import Tensor, _reduce, apply, lift

__all__ = [
    "abs",
    "add",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "attention",
    "avg_pool2d",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "broadcast_to",
    "ceil",
    "clip",
    "concat",
    "conv2d",
    "cos",
    "divide",
    "dot",
    "equal",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "flip",
    "floor",
    "floor_divide",
    "fma",
    "full",
    "full_like",
    "gather",
    "gelu",
    "greater",
    "greater_equal",
    "layernorm",
    "left_shift",
    "less",
    "less_equal",
    "linear",
    "log",
    "log1p",
    "log2",
    "log_softmax",
    "logsumexp",
    "matmul",
    "max",
    "max_pool2d",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "not_equal",
    "ones",
    "ones_like",
    "pad",
    "power",
    "prod",
    "rand",
    "randn",
    "random_bits",
    "relu",
    "reshape",
    "right_shift",
    "rmsnorm",
    "round",
    "rsqrt",
    "scatter",
    "scatter_add",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "softmax",
    "sqrt",
    "square",
    "stack",
    "std",
    "subtract",
    "sum",
    "take",
    "tanh",
    "transpose",
    "trunc",
    "variance",
    "where",
    "zeros",
    "zeros_like",
]


def _pair(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    if not isinstance(a, (bool, int, float)):
        first = lift(a)
        return first, lift(b, first)
    second = lift(b)
    return lift(a, second), second


def _unary(name: str, doc: str) -> Any:
    def function(x: Any) -> Tensor:
        return apply(name, lift(x))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _binary(name: str, op: str, doc: str) -> Any:
    def function(x: Any, y: Any) -> Tensor:
        return apply(op, *_pair(x, y))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


# --- elementwise

exp = _unary("exp", "e to the power of each element")
exp2 = _unary("exp2", "2 to the power of each element")
expm1 = _unary("expm1", "exp(x) - 1, exact near 0")
log = _unary("log", "natural logarithm")
log2 = _unary("log2", "logarithm to the base 2")
log1p = _unary("log1p", "log(1 + x), exact near 0")
sin = _unary("sin", "sine of radians")
cos = _unary("cos", "cosine of radians")
tanh = _unary("tanh", "hyperbolic tangent")
sigmoid = _unary("sigmoid", "1 / (1 + exp(-x))")
silu = _unary("silu", "x * sigmoid(x)")
erf = _unary("erf", "error function")
gelu = _unary("gelu", "x/2 * (1 + erf(x / sqrt(2)))")
relu = _unary("relu", "x < 0 ? 0 : x, so NaN and -0 stay")
sqrt = _unary("sqrt", "square root, correctly rounded")
rsqrt = _unary("rsqrt", "1 / sqrt(x)")
floor = _unary("floor", "toward minus infinity")
ceil = _unary("ceil", "toward infinity")
trunc = _unary("trunc", "toward zero")
round = _unary("round", "to the nearest integer, ties to even")
abs = _unary("abs", "absolute value")
negative = _unary("neg", "-x")
sign = _unary("sign", "-1, 0 or 1; NaN stays")

add = _binary("add", "add", "x + y")
subtract = _binary("subtract", "sub", "x - y")
multiply = _binary("multiply", "mul", "x * y")
divide = _binary("divide", "div", "x / y; of integers a float")
floor_divide = _binary("floor_divide", "floor_div", "x // y; 0 where y is the integer 0")
mod = _binary("mod", "floor_mod", "x % y, with the sign of y")
power = _binary("power", "pow", "x ** y of floats")
minimum = _binary("minimum", "minimum", "NaN wins, -0 < +0")
maximum = _binary("maximum", "maximum", "NaN wins, -0 < +0")
equal = _binary("equal", "eq", "x == y")
not_equal = _binary("not_equal", "ne", "x != y")
less = _binary("less", "lt", "x < y")
less_equal = _binary("less_equal", "le", "x <= y")
greater = _binary("greater", "gt", "x > y")
greater_equal = _binary("greater_equal", "ge", "x >= y")
bitwise_and = _binary("bitwise_and", "bit_and", "of bool and integers")
bitwise_or = _binary("bitwise_or", "bit_or", "of bool and integers")
bitwise_xor = _binary("bitwise_xor", "bit_xor", "of bool and integers")
left_shift = _binary("left_shift", "shl", "0 where y is the width or more")
right_shift = _binary("right_shift", "shr", "arithmetic for signed integers")
matmul = _binary("matmul", "matmul", "matrix product of the last two axes, batched and broadcast over the others")
dot = _binary("dot", "dot", "NumPy's dot")


def where(condition: Any, x: Any, y: Any) -> Tensor:
    """x where the condition holds, else y."""
    a, b = _pair(x, y)
    return apply("where", lift(condition), a, b)


def clip(x: Any, low: Any = None, high: Any = None) -> Tensor:
    """minimum(maximum(x, low), high)."""
    out = lift(x)
    if low is not None:
        out = maximum(out, low)
    return out if high is None else minimum(out, high)


def fma(x: Any, y: Any, z: Any) -> Tensor:
    """x * y + z with one rounding."""
    a, b = _pair(x, y)
    return apply("fma", a, b, lift(z, a))


def square(x: Any) -> Tensor:
    t = lift(x)
    return apply("mul", t, t)


# --- reductions


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Small integers and bool accumulate in 64 bits; floats in the order that docs/numerics.md defines."""
    return _reduce("sum", lift(x), axis, keepdims)


def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    return _reduce("prod", lift(x), axis, keepdims)


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    return _reduce("mean", lift(x), axis, keepdims)


def variance(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    return lift(x).var(axis, keepdims)


def std(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    return lift(x).std(axis, keepdims)


def max(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    return _reduce("max", lift(x), axis, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    return _reduce("min", lift(x), axis, keepdims)


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    return _reduce("any", lift(x), axis, keepdims)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    return _reduce("all", lift(x), axis, keepdims)


def argmax(x: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The first extreme, or the first NaN."""
    return lift(x).argmax(axis, keepdims)


def argmin(x: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return lift(x).argmin(axis, keepdims)


def softmax(x: Any, axis: int = -1) -> Tensor:
    return apply("softmax", lift(x), axis=axis)


def log_softmax(x: Any, axis: int = -1) -> Tensor:
    return apply("log_softmax", lift(x), axis=axis)


def logsumexp(x: Any, axis: int = -1, keepdims: bool = False) -> Tensor:
    return apply("logsumexp", lift(x), axis=axis, keepdims=int(keepdims))


def layernorm(x: Any, gamma: Any = None, beta: Any = None, eps: float = 1e-5) -> Tensor:
    """Over the last axis."""
    t = lift(x)
    parts = [t] if gamma is None else [t, lift(gamma, t)]
    if beta is not None:
        if gamma is None:
            parts.append(ones(t.shape[-1:], t._dtype, device=t.device))
        parts.append(lift(beta, t))
    return apply("layernorm", *parts, eps=float(eps))


def rmsnorm(x: Any, gamma: Any = None, eps: float = 1e-6) -> Tensor:
    """Over the last axis."""
    t = lift(x)
    return apply("rmsnorm", *([t] if gamma is None else [t, lift(gamma, t)]), eps=float(eps))


# --- products


def linear(x: Any, weight: Any, bias: Any = None) -> Tensor:
    """x @ weight.T + bias."""
    t = lift(x)
    parts = [t, lift(weight, t)]
    return apply("linear", *(parts if bias is None else [*parts, lift(bias, t)]))


def attention(
    q: Any, k: Any, v: Any, mask: Any = None, scale: float | None = None, causal: bool = False
) -> Tensor:
    """softmax(scale * q @ k.mT, masked) @ v; scale: 1 / sqrt(D). mask: bool, true where a key is seen, or a float that is
    added to the scores. causal: the last query sees all keys. A query without keys gives 0."""
    t = lift(q)
    parts = [t, lift(k, t), lift(v, t)]
    if mask is not None:
        parts.append(lift(mask))
    return apply("attention", *parts, scale=scale, causal=int(causal))


def conv2d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """x[N, C, H, W], weight[O, C / groups, KH, KW], bias[O]; one number or (rows, columns)."""
    t = lift(x)
    parts = [t, lift(weight, t)]
    return apply(
        "conv2d",
        *(parts if bias is None else [*parts, lift(bias, t)]),
        stride=_ints(stride),
        padding=_ints(padding),
        dilation=_ints(dilation),
        groups=groups,
    )


def max_pool2d(x: Any, size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> Tensor:
    """Padding never wins. stride: the size."""
    return apply(
        "max_pool2d",
        lift(x),
        size=_ints(size),
        stride=None if stride is None else _ints(stride),
        padding=_ints(padding),
        dilation=_ints(dilation),
    )


def avg_pool2d(x: Any, size: Any, stride: Any = None, padding: Any = 0, count_padding: bool = True) -> Tensor:
    return apply(
        "avg_pool2d",
        lift(x),
        size=_ints(size),
        stride=None if stride is None else _ints(stride),
        padding=_ints(padding),
        count_padding=int(count_padding),
    )


def _ints(value: Any) -> list[int]:
    return [value] if isinstance(value, int) else list(value)


# --- shapes and places


def reshape(x: Any, *shape: Any) -> Tensor:
    return lift(x).reshape(*shape)


def transpose(x: Any, *axes: Any) -> Tensor:
    return lift(x).transpose(*axes)


def broadcast_to(x: Any, shape: Sequence[Dim]) -> Tensor:
    return lift(x).broadcast_to(shape)


def concat(parts: Sequence[Any], axis: int = 0) -> Tensor:
    first = next((p for p in parts if isinstance(p, Tensor)), None)
    return apply("concat", *(lift(p, first) for p in parts), axis=axis)


def stack(parts: Sequence[Any], axis: int = 0) -> Tensor:
    first = next((p for p in parts if isinstance(p, Tensor)), None)
    return concat([lift(p, first).unsqueeze(axis) for p in parts], axis)


def flip(x: Any, axis: Any = None) -> Tensor:
    return lift(x).flip(axis)


def pad(x: Any, widths: Any, value: float = 0) -> Tensor:
    """NumPy's forms of widths: one number, (before, after), or such a pair for each axis."""
    t = lift(x)
    if isinstance(widths, int):
        pairs: list[Any] = [(widths, widths)] * t.ndim
    elif len(widths) == 2 and isinstance(widths[0], (int, sizes.Size)):
        pairs = [tuple(widths)] * t.ndim
    else:
        pairs = [tuple(w) for w in widths]
    return apply(
        "pad",
        t,
        before=sizes.to_core(p[0] for p in pairs),
        after=sizes.to_core(p[1] for p in pairs),
        value=float(value),
    )


def gather(data: Any, index: Any, axis: int = 0) -> Tensor:
    """The axis is replaced by those of the index. Negative counts from the end, outside reads 0."""
    return apply("gather", lift(data), lift(index), axis=axis)


take = gather


def scatter(base: Any, index: Any, updates: Any, axis: int = 0) -> Tensor:
    """Writes in ascending order of the index's position; outside is dropped."""
    t = lift(base)
    return apply("scatter", t, lift(index), lift(updates, t), axis=axis)


def scatter_add(base: Any, index: Any, updates: Any, axis: int = 0) -> Tensor:
    t = lift(base)
    return apply("scatter_add", t, lift(index), lift(updates, t), axis=axis)


# --- new tensors


def full(shape: Any, value: Any, dtype: Any = None, device: str | None = None) -> Tensor:
    """dtype: that of NumPy for the value."""
    if dtype is None:
        dtype = "bool" if isinstance(value, bool) else "i64" if isinstance(value, int) else "f64"
    dtype = dtypes.short_name(dtype)
    dims = sizes.to_core([shape] if isinstance(shape, (int, sizes.Size)) else shape)
    number = float(value) if dtype in ("f16", "bf16", "f32", "f64") else int(value)
    return apply("full", device=device, dtype=dtype, shape=dims, value=number)


def zeros(shape: Any, dtype: Any = "f64", device: str | None = None) -> Tensor:
    return full(shape, 0, dtype, device)


def ones(shape: Any, dtype: Any = "f64", device: str | None = None) -> Tensor:
    return full(shape, 1, dtype, device)


def full_like(x: Tensor, value: Any, dtype: Any = None) -> Tensor:
    return full(x.shape, value, dtype or x._dtype, x.device)


def zeros_like(x: Tensor, dtype: Any = None) -> Tensor:
    return full_like(x, 0, dtype)


def ones_like(x: Tensor, dtype: Any = None) -> Tensor:
    return full_like(x, 1, dtype)


def arange(start: Any, stop: Any = None, step: int = 1, dtype: Any = "i64", device: str | None = None) -> Tensor:
    """Of integers; start and stop may be sizes."""
    if stop is None:
        start, stop = 0, start
    count = (stop - start + step - (1 if step > 0 else -1)) // step if step != 1 else stop - start
    if isinstance(count, int):
        count = count if count > 0 else 0
    out = apply("arange", device=device, count=sizes.to_core([count]))
    if step != 1:
        out = out * step
    if not (isinstance(start, int) and start == 0):
        out = out + start
    return out.astype(dtype) if dtypes.short_name(dtype) != "i64" else out


def _draw(kind: str, shape: Any, device: str | None) -> Tensor:
    dims = sizes.to_core([shape] if isinstance(shape, (int, sizes.Size)) else shape)
    return Tensor._of(runtime.session().random(kind, dims, device or "auto"))


def rand(shape: Any, device: str | None = None) -> Tensor:
    """f32 in [0, 1), Philox: a captured function draws what the next eager call would have drawn."""
    return _draw("uniform", shape, device)


def randn(shape: Any, device: str | None = None) -> Tensor:
    """f32, normal."""
    return _draw("normal", shape, device)


def random_bits(shape: Any, device: str | None = None) -> Tensor:
    """u32."""
    return _draw("bits", shape, device)
