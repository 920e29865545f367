"""The capture contract from Python: what is an input, what is a part of the signature, what is refused."""

import collections
import gc
import threading
import weakref

import numpy as np
import ostinato as ost
import pytest

DEVICES = ["cpu:0", "ref:0"]


def rows(n, device="cpu:0", start=0.0, dims=None):
    return ost.Tensor(np.arange(4 * n, dtype="f4").reshape(n, 4) + np.float32(start), device=device, dims=dims)


@pytest.mark.parametrize("device", DEVICES)
def test_runs_twice_then_replays(device):
    calls = []

    @ost.jit
    def f(x, y):
        calls.append(1)
        return ost.relu(x @ y) + 1

    x, y = rows(4, device), rows(4, device, -5)
    want = np.maximum(x.numpy() @ y.numpy(), 0) + 1
    for k in range(5):
        np.testing.assert_allclose(f(x, y).numpy(), want, rtol=1e-6)
        assert f.captured == (k >= 1)
    assert len(calls) == 2
    assert f.stats()["compiles"] == 0 and f.stats()["allocations"] == 0
    f.reset()
    assert not f.captured
    f(x, y)
    assert len(calls) == 3


def test_keywords_defaults_containers_and_results():
    Pair = collections.namedtuple("Pair", "a b")

    @ost.jit
    def f(parts, scale=2.0, *, named=None, mode="sum"):
        total = parts[0] + parts[1]["k"] if mode == "sum" else parts[0]
        return {"t": total * scale, "p": Pair(named.a, [named.b + 1]), "none": None}

    a = rows(2)
    for _ in range(3):
        out = f([a, {"k": a}], named=Pair(a, a))
        assert out["none"] is None and isinstance(out["p"], Pair)
        np.testing.assert_array_equal(out["t"], a.numpy() * 4)
        np.testing.assert_array_equal(out["p"].b[0], a.numpy() + 1)
    np.testing.assert_array_equal(f(named=Pair(a, a), parts=[a, {"k": a}])["t"], a.numpy() * 4)
    with pytest.raises(ost.JitError, match="scale"):
        f([a, {"k": a}], 3.0, named=Pair(a, a))
    with pytest.raises(ost.JitError, match=r"argument mode is 'other', the capture has 'sum'"):
        f([a, {"k": a}], named=Pair(a, a), mode="other")
    with pytest.raises(ost.JitError, match="argument parts is"):
        f([a, {"k": a}, a], named=Pair(a, a))


def test_numbers_and_text_have_programs_of_their_own():
    @ost.jit(programs=3)
    def f(x, k, mode):
        return x * k if mode == "mul" else (x + k, x)

    x = rows(1)
    for _ in range(3):
        np.testing.assert_array_equal(f(x, 2.0, "mul"), x.numpy() * 2)
        np.testing.assert_array_equal(f(x, 3.0, "mul"), x.numpy() * 3)
        np.testing.assert_array_equal(f(x, 3.0, "add")[0], x.numpy() + 3)


@pytest.mark.parametrize("device", DEVICES)
def test_variables(device):
    n = ost.var("rows", 1, 32)

    @ost.jit
    def f(x):
        assert repr(x.shape) == "(rows, 4)"
        with pytest.raises(ost.JitError, match="no number while a function is captured"):
            int(x.shape[0])
        flat = x.reshape(x.shape[0] * 4)
        return flat, x.mean(axis=0), x[1:], x[x.shape[0] - 1]

    for k in (3, 4, 7, 1, 32):
        x = rows(k, device, dims=(n, 4))
        flat, mean, tail, last = f(x)
        assert x.shape == (k, 4) and flat.shape == (4 * k,) and tail.shape == (k - 1, 4)
        np.testing.assert_allclose(mean.numpy(), x.numpy().mean(axis=0), rtol=1e-6)
        np.testing.assert_array_equal(tail.numpy(), x.numpy()[1:])
        np.testing.assert_array_equal(last.numpy(), x.numpy()[-1])
    with pytest.raises(ost.Error, match="rows"):
        rows(33, device, dims=(n, 4))


def test_a_variable_as_an_argument_and_state_in_place():
    pos = ost.var("pos", 0, 7)
    cache = ost.Tensor(np.zeros((8, 4), "f4"), device="cpu:0")

    @ost.jit
    def step(x, at):
        cache[at] = x
        return cache.sum(axis=0)

    want = np.zeros((8, 4), "f4")
    for k in range(8):
        want[k] = k
        out = step(ost.Tensor(np.full(4, k, "f4"), device="cpu:0"), pos.bind(k))
        np.testing.assert_array_equal(out.numpy(), want.sum(axis=0))
        np.testing.assert_array_equal(cache.numpy(), want)


def test_nothing_is_frozen_in_silence():
    @ost.jit
    def reads(x):
        return x + float(x.sum())

    x = rows(1)
    reads(x)
    with pytest.raises(ost.JitError, match="while a function is captured"):
        reads(x)

    @ost.jit
    def returns_a_number(x):
        return x + 1, 3

    with pytest.raises(ost.JitError, match=r"the result\[1\] is a int"):
        returns_a_number(x)

    @ost.jit
    def takes(x, what):
        return x + 1

    with pytest.raises(ost.JitError, match="argument what is a set, which can change unseen"):
        takes(x, {1, 2})
    with pytest.raises(ost.JitError, match="computes nothing"):
        nothing = ost.jit(lambda x: x)
        nothing(x)
        nothing(x)
    with pytest.raises(ost.JitError, match="dtype|f64"):
        f = ost.jit(lambda x: x * 2)
        f(x), f(x), f(x.astype("f64"))


def test_exceptions_come_out_as_they_went_in():
    class Mine(Exception):
        pass

    fail = [False, True, False, False]

    @ost.jit
    def f(x):
        if fail.pop(0):
            raise Mine("here")
        return x + 1

    x = rows(1)
    f(x)
    with pytest.raises(Mine, match="here"):
        f(x)
    assert not f.captured
    f(x)
    assert f.captured
    np.testing.assert_array_equal(f(x), x.numpy() + 1)


def test_each_receiver_has_its_own_capture():
    class Layer:
        def __init__(self, w):
            self.w = ost.Tensor(np.full((4, 4), w, "f4"), device="cpu:0")

        @ost.jit
        def forward(self, x):
            return x @ self.w

    one, two = Layer(1), Layer(2)
    x = rows(2)
    for _ in range(3):
        a, b = one.forward(x).numpy(), two.forward(x).numpy()
        np.testing.assert_array_equal(2 * a, b)
    assert one.forward.captured and one.forward is not two.forward
    gone = weakref.ref(one)
    del one
    gc.collect()
    assert gone() is None


def test_output_modes():
    x = rows(2)
    reuse = ost.jit(lambda x: x + 1)
    reuse(x)
    old = reuse(x)
    for _ in range(3):
        np.testing.assert_array_equal(reuse(x), x.numpy() + 1)
    with pytest.raises(ost.JitError, match="stale|overwritten"):
        old.numpy()
    fresh = ost.jit(outputs="fresh")(lambda x: x + 1)
    kept = [fresh(ost.Tensor(x.numpy() + k, device="cpu:0")) for k in range(5)]
    for k, out in enumerate(kept):
        np.testing.assert_array_equal(out, x.numpy() + k + 1)
    donate = ost.jit(outputs="donate", donate=["a"])(lambda a, b: a + b)
    for _ in range(3):
        a = rows(2)
        np.testing.assert_array_equal(donate(a, x), 2 * x.numpy())
    with pytest.raises(ost.JitError, match="donated"):
        a.numpy()
    with pytest.raises(ValueError, match="outputs 'new'"):
        ost.jit(outputs="new")
    with pytest.raises(ost.JitError, match="no tensor 'c'"):
        ost.jit(outputs="donate", donate=["c"])(lambda a: a + 1)(x)


def test_saved_and_loaded(tmp_path):
    w = ost.Tensor(np.eye(4, dtype="f4") * 3, device="cpu:0")
    f = ost.jit(lambda x: ost.softmax(x @ w))
    x = rows(3)
    want = [f(x), f(x)][1].numpy()
    f.save(tmp_path / "f.ost.json")
    program = ost.load(tmp_path / "f.ost.json")
    assert program.id == f.program.id and "contract" in program.explain()
    for device in DEVICES:
        np.testing.assert_array_equal(program.on(device)(x.numpy()), want)
    np.testing.assert_array_equal(program(x), want)
    with pytest.raises(TypeError, match="input arg0 is missing"):
        program()
    with pytest.raises(ost.errors.NotFoundError):
        ost.load(tmp_path / "none.ost.json")
    assert f.manifest() == program.manifest()


def test_random_numbers_go_on_in_replays():
    f = ost.jit(outputs="fresh")(lambda x: x + ost.rand((4,), device="cpu:0"))
    x = ost.Tensor(np.zeros(4, "f4"), device="cpu:0")
    ost.manual_seed(5)
    captured = [f(x).numpy() for _ in range(4)]
    ost.manual_seed(5)
    eager = [ost.rand((4,), device="cpu:0").numpy() for _ in range(4)]
    np.testing.assert_array_equal(captured, eager)


def test_threads_follow_one_another():
    f = ost.jit(outputs="fresh")(lambda x: ost.exp(x) * 2)
    inputs = [rows(8, start=k / 100) for k in range(4)]
    f(inputs[0]), f(inputs[0])
    want = [f(x).numpy() for x in inputs]
    errors = []

    def work(k):
        for _ in range(200):
            if not np.array_equal(f(inputs[k]).numpy(), want[k]):
                errors.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_calls_leak_nothing():
    f = ost.jit(lambda x, s: (x + s, {"y": x * s}))
    x = rows(1)
    for _ in range(100):
        f(x, x)
    gc.collect()
    before = len(gc.get_objects())
    live = ost.runtime.context().open("cpu:0")["live_bytes"]
    for _ in range(100_000):
        f(x, x)
    gc.collect()
    assert len(gc.get_objects()) - before < 100
    assert ost.runtime.context().open("cpu:0")["live_bytes"] <= live
