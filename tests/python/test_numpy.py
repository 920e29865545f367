"""Operations against NumPy: random shapes, broadcasting, types, indices; failures shrink to the smallest case."""

import math

import numpy as np
import ostinato as ost
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

settings.register_profile("ci", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("ci")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

FLOATS = ["float32", "float64"]
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)


def arrays(dtypes, shape=shapes):
    """Small values of all kinds, NaN, infinities and both zeros among the floats."""

    def of(name):
        dtype = np.dtype(name)
        if dtype.kind == "f":
            return st.floats(width=8 * dtype.itemsize, min_value=None, max_value=None)
        if dtype.kind == "b":
            return st.booleans()
        info = np.iinfo(dtype)
        return st.integers(int(info.min), int(info.max))

    return st.sampled_from(dtypes).flatmap(lambda n: hnp.arrays(n, shape, elements=of(n)))


def same(got, want, ulps=0):
    """Equal shape, type and bits, NaNs alike; or so many units in the last place apart."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    assert got.dtype == want.dtype, f"{got.dtype}, wanted {want.dtype}"
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    real = ~np.isnan(want)
    if ulps == 0:
        np.testing.assert_array_equal(got[real], want[real])
        np.testing.assert_array_equal(np.signbit(got[real]), np.signbit(want[real]))
        return
    finite = np.isfinite(want)
    np.testing.assert_array_equal(got[real & ~finite], want[real & ~finite])
    spacing = np.spacing(np.abs(want[finite]))
    assert np.all(np.abs(got[finite] - want[finite]) <= ulps * spacing)


def pairs(dtypes):
    both = hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=4, min_side=0)
    return both.flatmap(
        lambda s: st.tuples(arrays(dtypes, st.just(s.input_shapes[0])), arrays(dtypes, st.just(s.input_shapes[1])))
    )


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
@given(pairs(FLOATS))
def test_arithmetic_of_floats(name, xy):
    x, y = xy
    same(getattr(ost, name)(x, y), getattr(np, name)(x, y))


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor"])
@given(pairs(INTS))
def test_arithmetic_of_integers(name, xy):
    x, y = xy
    want = getattr(np, name)
    try:
        expected = want(x, y)
    except TypeError:  # NumPy has no type for both
        return
    if expected.dtype.kind == "f":
        return
    same(getattr(ost, name)(x, y), expected)


@pytest.mark.parametrize("name", ["floor_divide", "mod"])
@given(pairs(["int8", "int32", "int64", "uint8", "uint32"]))
def test_division_of_integers(name, xy):
    x, y = xy
    y = np.where(y == 0, np.ones_like(y), y)
    if x.dtype.kind == "i" and y.dtype.kind == "i":  # the one quotient that does not fit is undefined in NumPy
        y = np.where((x == np.iinfo(x.dtype).min) & (y == np.array(-1, y.dtype)), np.ones_like(y), y)
    expected = getattr(np, name)(x, y)
    if expected.dtype.kind == "f":
        return
    same(getattr(ost, name)(x, y), expected)


@pytest.mark.parametrize(
    "name", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "minimum", "maximum"]
)
@given(pairs(FLOATS + ["int32", "uint8"]))
def test_comparisons(name, xy):
    x, y = xy
    got, want = np.asarray(getattr(ost, name)(x, y)), getattr(np, name)(x, y)
    if name in ("minimum", "maximum") and want.dtype.kind == "f":
        want = want + 0.0  # NumPy leaves the sign of zeros open
        got = got + 0.0
    same(got, want)


@pytest.mark.parametrize(
    "name", ["negative", "abs", "sqrt", "floor", "ceil", "trunc", "round", "sign", "square"]
)
@given(arrays(FLOATS))
def test_exact_functions(name, x):
    got, want = np.asarray(getattr(ost, name)(x)), getattr(np, name)(x)
    if name == "sign":  # a zero keeps its sign here
        got = got + np.zeros_like(got)
    same(got, want)


@pytest.mark.parametrize(
    "name", ["exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tanh"]
)
@given(arrays(["float32"]))
def test_functions_are_within_their_bounds(name, x):
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x.astype("float64"))
        near = want.astype("float32")
    got = np.asarray(getattr(ost, name)(x))
    finite = np.isfinite(near) & (np.abs(near) >= np.finfo("float32").tiny)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(near))
    if name not in ("sin", "cos") or np.all(np.abs(x) < 1e6):
        assert np.all(np.abs(got[finite].astype("float64") - want[finite]) <= 1.1 * np.spacing(np.abs(near[finite])))


axes = st.one_of(st.none(), st.integers(-3, 2), st.tuples(st.integers(0, 1), st.just(2)))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "argmax", "argmin"])
@given(x=arrays(["int32", "int64", "bool"], hnp.array_shapes(min_dims=3, max_dims=3, min_side=1, max_side=4)),
       axis=axes, keepdims=st.booleans())
def test_reductions_of_integers(name, x, axis, keepdims):
    if name in ("argmax", "argmin") and (isinstance(axis, tuple) or x.dtype == bool):
        return
    want = getattr(np, name)(x, axis=axis, keepdims=keepdims)
    same(getattr(ost, name)(x, axis=axis, keepdims=keepdims), want)


@given(x=arrays(["float64"], hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=6)), keepdims=st.booleans())
def test_sums_of_floats_are_near(x, keepdims):
    x = np.nan_to_num(x, posinf=1, neginf=1, nan=1) % 1000
    got, want = np.asarray(ost.sum(x, -1, keepdims)), np.sum(x, -1, keepdims=keepdims)
    assert got.shape == want.shape
    assert np.all(np.abs(got - want) <= 1e-12 * (1 + np.sum(np.abs(x), -1, keepdims=keepdims)))


@given(m=st.integers(0, 5), k=st.integers(0, 9), n=st.integers(0, 5), batch=hnp.array_shapes(min_dims=0, max_dims=2))
def test_matmul(m, k, n, batch):
    rng = np.random.default_rng(m * 100 + k * 10 + n)
    x, y = rng.standard_normal((*batch, m, k)), rng.standard_normal((k, n))
    np.testing.assert_allclose(np.asarray(ost.Tensor(x) @ y), x @ y, rtol=1e-12, atol=1e-12)


@given(st.data(), arrays(["int32"], hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=5)))
def test_indexing(data, x):
    index = data.draw(hnp.basic_indices(x.shape, allow_newaxis=True, allow_ellipsis=True))
    same(ost.Tensor(x)[index], x[index])


@given(st.data(), arrays(["int64"], hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5)))
def test_writes_to_regions(data, x):
    index = data.draw(hnp.basic_indices(x.shape))
    parts = index if isinstance(index, tuple) else (index,)
    if any(isinstance(p, slice) and p.step not in (None, 1) for p in parts):
        return
    t, want = ost.Tensor(x), x.copy()
    t[index] = 7
    want[index] = 7
    same(t, want)


@given(st.data(), arrays(["float32"], hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4)))
def test_movement(data, x):
    order = data.draw(st.permutations(range(x.ndim)))
    axis = data.draw(st.integers(0, x.ndim - 1))
    t = ost.Tensor(x)
    same(t.transpose(*order), x.transpose(order))
    same(t.flip(axis), np.flip(x, axis))
    same(t.reshape(-1), x.reshape(-1))
    same(ost.concat([t, x, t], axis), np.concatenate([x, x, x], axis))
    same(ost.stack([t, t], axis), np.stack([x, x], axis))
    same(ost.pad(t, 1, 2.0), np.pad(x, 1, constant_values=2))
    same(t.unsqueeze(axis).squeeze(axis), x)


def test_a_number_does_not_widen_the_type():
    for name in ["int8", "uint16", "int64", "float16", "float32", "float64"]:
        x = np.array([1, 2], name)
        same(ost.Tensor(x) + 1, x + 1)
        same(2 * ost.Tensor(x), 2 * x)
    for name in ["float16", "float32", "float64", "bool", "int32", "int64"]:
        x = np.array([1, 0], name)
        same(ost.Tensor(x) * 0.5, (x * 0.5) if name != "int32" else x * np.float64(0.5))
    same(ost.Tensor(np.array([True])) + 1, np.array([True]) + 1)


def test_casts_saturate():
    x = np.array([math.nan, math.inf, -math.inf, 1e30, -1.9, 1.9], "float32")
    np.testing.assert_array_equal(
        np.asarray(ost.Tensor(x).astype("i8")), np.array([0, 127, -128, 127, -1, 1], "int8")
    )


def test_where_clip_fma_take():
    x = np.arange(12, dtype="float32").reshape(3, 4)
    same(ost.where(ost.Tensor(x) > 5, x, -1.0), np.where(x > 5, x, np.float32(-1)))
    same(ost.clip(x, 2, 7), np.clip(x, 2, 7))
    same(ost.fma(x, x, 1.0), (x.astype("f8") * x + 1).astype("f4"))
    same(ost.take(x, np.array([2, 0])), x[[2, 0]])
    same(ost.arange(2, 11, 3), np.arange(2, 11, 3))
    same(ost.zeros((2, 3), "f32"), np.zeros((2, 3), "f4"))
    same(ost.ones_like(ost.Tensor(x)), np.ones_like(x))


def test_errors_say_what_was_found_and_wanted():
    a = ost.Tensor(np.zeros((2, 3), "f4"))
    with pytest.raises(ost.errors.InvalidArgumentError, match=r"inner sizes differ: a is f32\[2, 3\]"):
        a @ a
    with pytest.raises(ValueError):
        a.reshape(4, 4)
    with pytest.raises(IndexError, match="index 5 is outside of axis 0"):
        a[5]
    with pytest.raises(IndexError, match="3 subscripts"):
        a[0, 0, 0]
    with pytest.raises(IndexError, match="where"):
        a[a > 0]
    with pytest.raises(TypeError, match="complex64"):
        ost.Tensor(np.zeros(2, "complex64"))
    with pytest.raises(TypeError, match="no such element type"):
        a.astype("f31")
    with pytest.raises(ost.errors.UnavailableError, match="nobody:3"):
        ost.Tensor([1.0], device="nobody:3")
    with pytest.raises(TypeError):
        a + "x"
    with pytest.raises(ValueError, match="ambiguous|more than one"):
        bool(a)


def test_repr_helps_without_running():
    a = ost.Tensor(np.arange(3, dtype="f4"), device="cpu:0")
    assert repr(a) == "Tensor([0., 1., 2.], f32[3] on cpu:0)"
    lazy = a + 1
    assert repr(lazy) == "Tensor(f32[3] on cpu:0, lazy)"
    assert not lazy.is_realized
    assert lazy.realize().is_realized
