"""Expressions as functions: compiled once, called with arrays, explained."""

import numpy as np
import ostinato as ost
import pytest
from ostinato import dsl

TEXT = "matmul(A, relu(B)) + softmax(C)"


def inputs():
    rng = np.random.default_rng(3)
    return rng.standard_normal((8, 16), "f4"), rng.standard_normal((16, 8), "f4"), rng.standard_normal((8, 8), "f4")


@pytest.mark.parametrize("device", ["cpu:0", "ref:0"])
def test_compile_and_call(device):
    a, b, c = inputs()
    f = dsl.compile(TEXT, {"A": "8,16"}, B=(16, 8), C=("f32", (8, 8)), device=device)
    e = np.exp(c - c.max(-1, keepdims=True))
    want = a @ np.maximum(b, 0) + e / e.sum(-1, keepdims=True)
    np.testing.assert_allclose(f(a, b, c), want, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(f(C=c, A=a, B=b), f(a, b, C=c))
    assert f.device == device
    assert f.stats()["compiles"] == 0
    assert len(f.groups) == len(f.tiles) == f.program.launches
    assert "contract" in f.ir and f.source and "kernel" in f.explain()
    assert f.manifest().startswith("{")


def test_the_same_request_is_the_same_function():
    before = dsl.function_stats()
    for _ in range(3):
        dsl.compile("A * 3 + 1", A="7")
    dsl.compile("A * 3 + 1", A="8")
    after = dsl.function_stats()
    assert after["compiled"] - before["compiled"] == 2
    assert after["reused"] - before["reused"] == 2


def test_variables_and_several_results():
    n = ost.var("dsl_n", 1, 64)
    for f in (dsl.compile("y, s = x * 2, sum(x) / n", x="n:1..64,2"),):
        for k in (1, 5, 64):
            out = f(np.ones((k, 2), "f4"))
            assert list(out) == ["y", "s"] and out["y"].shape == (k, 2) and float(out["s"]) == 2
    f = dsl.compile("x + k", x="3", k="i64")
    np.testing.assert_array_equal(f([1.0, 2.0, 3.0], 4), [5, 6, 7])
    g = dsl.compile("sum(x, axis=0)", x=(n, 2))
    np.testing.assert_array_equal(g(np.ones((9, 2), "f4")), [9, 9])


def test_one_shot():
    a, b, c = inputs()
    np.testing.assert_array_equal(ost.evaluate(TEXT, A=a, B=b, C=c), dsl.jit_tensor(TEXT, A=a, B=b, C=c))
    assert dsl.evaluate("x == 2", x=np.arange(3)).tolist() == [False, False, True]


def test_budget_and_tiles():
    sizes = {"A": "100,100", "B": "100,100", "C": "100,100"}
    assert len(dsl.compile("A+B+C", sizes, memory_budget=1000).groups) == 2
    assert len(dsl.compile("A+B+C", sizes).groups) == 1
    assert any(dsl.compile("A+B+C", sizes, tile_size=32).tiles)


def test_errors():
    with pytest.raises(ost.Error, match="did you mean 'relu'"):
        dsl.compile("relux(A)", A="3")
    f = dsl.compile("A + 1", A="3")
    with pytest.raises(TypeError, match="input A is missing"):
        f()
    with pytest.raises(TypeError, match="there is no input B"):
        f(np.zeros(3, "f4"), B=1)
    with pytest.raises(TypeError, match="by position and by name"):
        f(np.zeros(3, "f4"), A=1)
    with pytest.raises(ost.Error, match="3"):
        f(np.zeros(4, "f4"))
    with pytest.raises(ost.Error, match="f32|f64"):
        f(np.zeros(3))
