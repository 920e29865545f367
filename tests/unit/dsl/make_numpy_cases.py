#!/usr/bin/env python3
"""Writes numpy_cases.inc: expressions of the language, evaluated by NumPy 2.

The text of an expression is Python, too: it is evaluated here with NumPy's functions under the language's names. Run it
again after a change: `python3 tests/unit/dsl/make_numpy_cases.py > tests/unit/dsl/numpy_cases.inc`.
"""

import math

import numpy as np

assert np.__version__.startswith("2."), "the promotion rules are those of NumPy 2"

DTYPES = {
    "bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
}
NAMES = {np.dtype(t): n for n, t in DTYPES.items()}


def input_values(position, dtype, shape):
    """The same formula as in numpy_test.cpp."""
    i = np.arange(math.prod(shape), dtype=np.int64)
    v = (i * 7 + position * 5 + 3) % 17 - 8
    if dtype.startswith("f"):
        v = v * 0.375
    elif dtype.startswith("u"):
        v = v + 8
    elif dtype == "bool":
        v = v > 0
    return v.astype(DTYPES[dtype]).reshape(shape)


erf = np.vectorize(math.erf, otypes=[np.float64])


def keep(f):
    """f in f64, rounded to the operand's type."""
    return lambda x, *a, **k: np.asarray(f(np.asarray(x, np.float64), *a, **k)).astype(np.asarray(x).dtype)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def logsumexp(x, axis=-1, keepdims=False):
    m = x.max(axis, keepdims=True)
    y = m + np.log(np.exp(x - m).sum(axis, keepdims=True))
    return y if keepdims else np.squeeze(y, axis)


def layernorm(x, gamma=1.0, beta=0.0, eps=1e-5):
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + eps) * gamma + beta


def rmsnorm(x, gamma=1.0, eps=1e-5):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * gamma


def attention(q, k, v, mask=None, scale=None, causal=False):
    s = q @ np.swapaxes(k, -1, -2) * (scale or q.shape[-1] ** -0.5)
    if causal:
        m, t = s.shape[-2:]
        s = np.where(np.arange(t) <= np.arange(m)[:, None] + t - m, s, -np.inf)
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    return (softmax(s) @ v).astype(q.dtype)


def scatter(base, index, updates, axis=0, add=False):
    y = np.moveaxis(base.copy(), axis, 0)
    u = np.moveaxis(np.broadcast_to(updates, base.shape[:axis] + index.shape + base.shape[axis + 1:]), axis, 0)
    for n, i in enumerate(index):
        if -len(y) <= i < len(y):
            y[i] = y[i] + u[n] if add else u[n]
    return np.moveaxis(y, 0, axis)


def gather(data, index, axis=0):
    size = data.shape[axis]
    at = np.where(index < 0, index + size, index)
    good = (at >= 0) & (at < size)
    taken = np.take(data, np.where(good, at, 0), axis)
    good = good.reshape((1,) * axis + good.shape + (1,) * (data.ndim - axis - 1))
    return np.where(good, taken, np.zeros((), data.dtype))


FUNCTIONS = {
    "true": True, "false": False, "none": None, "inf": math.inf, "nan": math.nan, **DTYPES,
    "matmul": np.matmul, "dot": np.dot, "linear": lambda x, w, b=0: x @ w.T + b, "attention": attention,
    "gather": gather, "take": gather, "scatter": scatter,
    "scatter_add": lambda *a, **k: scatter(*a, add=True, **k),
    "relu": lambda x: np.where(x < 0, np.zeros((), x.dtype), x), "silu": keep(lambda x: x / (1 + np.exp(-x))),
    "gelu": keep(lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2)))), "sigmoid": keep(lambda x: 1 / (1 + np.exp(-x))),
    "erf": keep(erf), "rsqrt": keep(lambda x: 1 / np.sqrt(x)), "neg": np.negative, "pow": np.power, "round": np.round,
    "concat": lambda *p, axis=0: np.concatenate(p[0] if isinstance(p[0], tuple) else p, axis),
    "stack": lambda *p, axis=0: np.stack(p[0] if isinstance(p[0], tuple) else p, axis),
    "cast": lambda x, dtype: np.asarray(x).astype(dtype), "transpose": lambda x, *a: np.transpose(x, a or None),
    "permute": lambda x, *a: np.transpose(x, a), "reshape": lambda x, *s: np.reshape(x, s[0] if isinstance(s[0], tuple) else s),
    "expand": lambda x, *s: np.broadcast_to(x, s), "unsqueeze": np.expand_dims, "squeeze": np.squeeze, "flip": np.flip,
    "pad": lambda x, w, value=0: np.pad(x, w, constant_values=value),
    "softmax": softmax, "log_softmax": lambda x, axis=-1: x - logsumexp(x, axis, True), "logsumexp": logsumexp,
    "layernorm": layernorm, "rmsnorm": rmsnorm, "fma": lambda x, y, z: (x.astype(np.float64) * y + z).astype(x.dtype),
    "clip": lambda x, low=None, high=None: np.clip(x, low, high), "square": np.square, "reciprocal": np.reciprocal,
    "zeros": lambda s, dtype=np.float32: np.zeros(s, dtype), "ones": lambda s, dtype=np.float32: np.ones(s, dtype),
    "full": lambda s, v, dtype=np.float32: np.full(s, v, dtype), "arange": lambda *a, dtype=np.int64: np.arange(*a, dtype=dtype),
    "bit_not": np.invert, "bit_and": np.bitwise_and, "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor, "mod": np.mod,
    "sub": np.subtract, "add": np.add, "mul": np.multiply, "div": np.divide,
}
for name in ("tanh exp exp2 expm1 log log2 log1p sqrt sin cos abs sign floor ceil trunc sum prod mean max min any all var std "
             "argmax argmin minimum maximum where isnan isinf isfinite logical_and logical_or logical_xor logical_not "
             "floor_divide equal not_equal less less_equal greater greater_equal zeros_like ones_like full_like").split():
    FUNCTIONS[name] = getattr(np, name)

M = {"A": "f32[3,4]", "B": "f32[3,4]", "C": "f32[4,5]", "V": "f32[4]"}
I = {"I": "i32[3,4]", "J": "i32[3,4]"}
CASES = [(e, M) for e in """
matmul(A, C)
A @ C + 1
A @ V
V @ C
V @ V
dot(A, C)
dot(V, V)
matmul(A, relu(C)) + softmax(A @ C)
linear(A, B)
linear(V, B)
linear(A, C.T, V[0])
A + B
A - B * 2
A / B
A / (B + 0.5) - -A
-A ** 2
(-A) ** 2
2 ** A
A ** 3 - A ** 1
pow(abs(A), 0.5)
A // 0.7
A % 0.7
A // -1.5
A % -1.5
A // B
A % B
2 - A
1 / (A + 10)
A + V
A * V[0]
A[:, 0] - V[:3]
A < B
A <= 0
A > B
A >= B
A == B
A != 0
(A < 0) & (B < 0)
(A < 0) | (B < 0)
(A < 0) ^ (B < 0)
~(A < 0)
(A < 0) + (B < 0)
relu(A)
silu(A)
gelu(A)
sigmoid(A)
tanh(A)
erf(A)
exp(A)
exp2(A)
expm1(A)
log(A)
log2(A * A)
log1p(A)
sqrt(A)
rsqrt(A)
sin(A)
cos(A)
abs(A)
neg(A)
sign(A)
floor(A)
ceil(A)
trunc(A)
round(A)
square(A)
reciprocal(A)
minimum(A, B)
maximum(A, 0)
minimum(A, nan)
where(A < B, A, B)
where(A < 0, 0, A)
where(A < 0, true, false)
clip(A, -1, 1.5)
clip(A, low=0)
clip(A, high=0)
fma(A, B, B)
isnan(A / 0)
isinf(A / 0)
isfinite(log(A))
sum(A)
sum(A, axis=0)
sum(A, axis=-1, keepdims=true)
sum(A, axis=(0, 1))
prod(A, axis=1)
mean(A)
mean(A, axis=0)
max(A, axis=1)
min(A, axis=0)
max(A)
var(A, axis=1)
std(A)
argmax(A)
argmax(A, axis=0)
argmin(A, axis=1)
argmax(A, axis=1, keepdims=true)
any(A > 2, axis=0)
all(A > -3, axis=1)
any(A)
softmax(A)
softmax(A, axis=0)
log_softmax(A)
logsumexp(A)
logsumexp(A, axis=0, keepdims=true)
layernorm(A)
layernorm(A, V)
layernorm(A, V, V, eps=0.01)
layernorm(A, beta=V)
rmsnorm(A)
rmsnorm(A, V)
A.T
A.T @ B
transpose(A)
transpose(A, 1, 0)
reshape(A, 2, 6)
reshape(A, (-1, 3))
expand(V, 2, 4)
unsqueeze(A, 1) + V
squeeze(A[:, 0:1], 1)
flip(A, 0)
flip(A, axis=(0, 1))
pad(A, ((1, 0), (0, 2)))
pad(A, 1, value=7)
concat(A, B)
concat((A, B), axis=1)
concat(A, B[:, :0], axis=1)
concat(A[:0], B)
stack(A, B, axis=1)
A[0]
A[-1, 1:]
A[1:3, ::2]
A[::-1]
A[:, ::-2]
A[..., 1]
A[none, ..., none]
A[1:100, -100:2]
A[2:1]
A[-2:, -3:-1]
A[2:0:-1]
A[:, 3:-5:-1]
A[0, 0]
cast(A, i32)
cast(A, i64)
cast(A, f64) * 2
cast(A > 0, f32)
cast(A, f16)
zeros((2, 3))
ones((2,), dtype=i8)
full((2, 2), 1.5)
arange(5)
arange(2, 10, 3)
arange(5, 0, -2)
arange(4, dtype=f32) * V
zeros_like(A) - B
A * A.shape[0]
sum(A * arange(4), axis=1)
fma(A, B, B) - A * B
attention(A, B, B)
attention(A, B, B, causal=true)
attention(A[:2], B, C.T[:3], causal=true)
attention(A, B, B, mask=A @ B.T > 0, scale=0.5)
""".strip().splitlines()]
CASES += [(e, I) for e in """
I + J
I * J - 3
I / J
I // (J * 2 + 1)
I % (J * 2 + 1)
I // 3
I % -3
-I // 2
I ** 2
I ** 0
I ** 5
I + 1.5
I / 2
I & J
I | 3
I ^ J
~I
I << 2
I >> 1
I == J
relu(I)
abs(I)
sign(I)
sum(I)
sum(I, axis=1)
prod(I, axis=0)
mean(I)
max(I, axis=0)
min(I)
argmax(I, axis=1)
I @ J.T
minimum(I, 0)
clip(I, -2, 2)
where(I > 0, I, 0)
floor(I)
cast(I, u8)
cast(I, bool)
any(I, axis=0)
sum(I > 0)
(I > 0) * 3
(I > 0) * 0.5
(I > 0) @ (J.T > 0)
""".strip().splitlines()]
CASES += [
    ("gather(D, K)", {"D": "f32[5,2]", "K": "i64[3]"}),
    ("gather(D, K, axis=1)", {"D": "f32[2,9]", "K": "i32[2,2]"}),
    ("D[K]", {"D": "f32[9,2]", "K": "i64[4]"}),
    ("scatter(D, K, U)", {"D": "f32[6,2]", "K": "i64[4]", "U": "f32[4,2]"}),
    ("scatter(D, K, 0, axis=1)", {"D": "f32[2,6]", "K": "i64[3]"}),
    ("scatter_add(D, K % 3, U)", {"D": "f32[6,2]", "K": "i64[4]", "U": "f32[4,2]"}),
    ("P @ Q", {"P": "f32[2,3,4]", "Q": "f32[2,4,2]"}),
    ("P @ Q", {"P": "f32[2,1,3,4]", "Q": "f32[3,4,2]"}),
    ("P @ Q", {"P": "f32[2,3,4]", "Q": "f32[4,2]"}),
    ("P @ Q", {"P": "f32[4]", "Q": "f32[2,4,2]"}),
    ("P @ Q", {"P": "f32[2,3,4]", "Q": "f32[4]"}),
    ("dot(P, Q)", {"P": "f32[2,3,4]", "Q": "f32[2,4,2]"}),
    ("dot(P, Q)", {"P": "f32[2,3]", "Q": "f32[]"}),
    ("P @ Q", {"P": "f32[3,0]", "Q": "f32[0,2]"}),
    ("sum(P, axis=1)", {"P": "f32[3,0]"}),
    ("prod(P, axis=1)", {"P": "f32[3,0]"}),
    ("max(P, axis=1)", {"P": "f32[0,3]"}),
    ("mean(P, axis=1)", {"P": "f32[2,0]"}),
    ("relu(P)", {"P": "f32[0,5]"}),
    ("P + Q", {"P": "f32[3,1]", "Q": "f32[1,4]"}),
    ("P * Q + R", {"P": "f32[2,1,3]", "Q": "f32[4,1]", "R": "f32[]"}),
    ("relu(x @ w) * 2 + 1", {"x": "f32[2,3]", "w": "f32[3,2]"}),
]
# Promotion of every pair of types, and of every type with Python scalars.
for a in DTYPES:
    for b in DTYPES:
        CASES.append(("P + Q", {"P": f"{a}[3]", "Q": f"{b}[3]"}))
    for scalar in ("2", "2.5", "true"):
        CASES.append((f"P + {scalar}", {"P": f"{a}[3]"}))
    CASES.append(("sum(P)", {"P": f"{a}[5]"}))
    CASES.append(("P / P", {"P": f"{a}[5]"}))
    if a != "bool":
        CASES.append(("P // 2", {"P": f"{a}[5]"}))


def number(v):
    v = v.item()
    if isinstance(v, float):
        if math.isnan(v):
            return "NAN"
        if math.isinf(v):
            return "INFINITY" if v > 0 else "-INFINITY"
        return f"{v:.9g}" if "." in f"{v:.9g}" or "e" in f"{v:.9g}" else f"{v:.9g}."
    return str(int(v)) + "."


def main():
    np.seterr(all="ignore")
    print("// Generated by make_numpy_cases.py with NumPy 2: expression, inputs, dtype, shape, values.")
    for expression, inputs in CASES:
        names = dict(FUNCTIONS)
        for position, (name, text) in enumerate(inputs.items()):
            dtype, sizes = text[:-1].split("[")
            names[name] = input_values(position, dtype, tuple(int(s) for s in sizes.split(",") if s))
        result = np.asarray(eval(expression, {"__builtins__": {}}, names))
        dtype = NAMES[result.dtype]
        bound = ", ".join(f'{{"{n}", "{t}"}}' for n, t in inputs.items())
        values = ", ".join(number(v) for v in result.reshape(-1))
        shape = ", ".join(str(s) for s in result.shape)
        print(f'{{"{expression}", {{{bound}}}, "{dtype}", {{{shape}}}, {{{values}}}}},')


if __name__ == "__main__":
    main()
