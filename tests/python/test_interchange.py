"""Memory shared with NumPy and by DLPack, and what happens to it."""

import gc
import sys
import weakref

import ml_dtypes
import numpy as np
import ostinato as ost
import pytest

ALL = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
]  # fmt: skip


def aligned(shape, dtype="float32", offset=0):
    """An array whose first element is `offset` bytes behind a multiple of 64."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 128, "uint8")
    start = -raw.ctypes.data % 64 + offset
    return raw[start : start + size].view(dtype).reshape(shape)


@pytest.mark.parametrize("device", ["cpu:0", "ref:0"])
@pytest.mark.parametrize("dtype", ALL + ["bfloat16"])
@pytest.mark.parametrize("shape", [(), (0, 5), (3,), (2, 1, 4)])
def test_every_type_goes_there_and_back(device, dtype, shape):
    kind = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    x = (np.arange(int(np.prod(shape))) % 2).reshape(shape).astype(kind)
    t = ost.Tensor(x, device=device)
    assert t.dtype == kind and t.shape == shape and t.device == device
    np.testing.assert_array_equal(t.numpy(), x)
    np.testing.assert_array_equal(np.asarray(t), x)
    if dtype != "bfloat16":
        np.testing.assert_array_equal(np.from_dlpack(t), x)
        np.testing.assert_array_equal(ost.from_dlpack(x, device=device).numpy(), x)


def test_memory_of_a_tensor_is_seen_without_a_copy():
    t = ost.Tensor(np.zeros(4, "f4"), device="cpu:0")
    view = np.from_dlpack(t)
    view[1] = 5
    np.testing.assert_array_equal(t.numpy(), [0, 5, 0, 0])
    t.assign(np.full(4, 7, "f4"))
    t.realize()
    np.testing.assert_array_equal(view, [7, 7, 7, 7])
    own = np.from_dlpack(t, copy=True)
    own[0] = 0
    assert t.numpy()[0] == 7
    del t
    gc.collect()
    np.testing.assert_array_equal(view, [7, 7, 7, 7])
    with pytest.raises(BufferError, match="stream"):
        ost.Tensor([1.0]).__dlpack__(stream=3)
    with pytest.raises(BufferError, match="DLPack device"):
        ost.Tensor([1.0]).__dlpack__(dl_device=(2, 0))


def test_memory_of_others_is_used_without_a_copy_and_kept():
    x = aligned((4, 4))
    t = ost.from_dlpack(x, device="cpu:0")
    x[:] = 3
    np.testing.assert_array_equal(t.numpy(), np.full((4, 4), 3))
    t.assign(np.ones((4, 4), "f4"))
    t.realize()
    np.testing.assert_array_equal(x, np.ones((4, 4)))
    lazy = t + 1
    base = weakref.ref(x.base.base if x.base.base is not None else x.base)
    del x, t
    gc.collect()
    assert base() is not None, "a lazy tensor still reads the memory"
    np.testing.assert_array_equal(lazy.numpy(), np.full((4, 4), 2))
    del lazy
    gc.collect()
    assert base() is None


def test_what_cannot_be_shared_is_copied_or_refused():
    for x, why in [
        (aligned((4,), offset=4), "not aligned"),
        (aligned((4, 4)).T[1:], "not contiguous|not aligned"),
        (np.zeros((0, 3), "f4"), "no elements"),
    ]:
        np.testing.assert_array_equal(ost.from_dlpack(x, device="cpu:0").numpy(), x)
        with pytest.raises(BufferError, match=why):
            ost.from_dlpack(x, device="cpu:0", copy=False)
    x = aligned((4,))
    t = ost.from_dlpack(x, device="cpu:0", copy=True)
    x[:] = 9
    np.testing.assert_array_equal(t.numpy(), np.zeros(4))
    fixed = aligned((4,))
    fixed.flags.writeable = False
    t = ost.from_dlpack(fixed, device="cpu:0")
    np.testing.assert_array_equal(t.numpy(), np.zeros(4))
    with pytest.raises(ost.Error, match="frozen|never written"):
        t.assign(np.ones(4, "f4"))


def test_sizes_of_shared_memory_may_be_variables():
    n = ost.var("shared_rows", 1, 9)
    f = ost.jit(lambda x: x.sum(axis=0))
    for k in (2, 3, 5):
        x = aligned((k, 2))
        x[:] = k
        np.testing.assert_array_equal(f(ost.from_dlpack(x, device="cpu:0", dims=(n, 2))), [k * k, k * k])


def test_torch_shares_memory():
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool):
        x = torch.zeros(64, dtype=dtype)
        t = ost.from_dlpack(x, device="cpu:0")
        x.fill_(1)
        np.testing.assert_array_equal(t.astype("f32").numpy(), np.ones(64))
        back = torch.from_dlpack(t)
        assert back.dtype == dtype and back.data_ptr() == x.data_ptr()
    np.testing.assert_array_equal(ost.Tensor(torch.ones(3, requires_grad=True)).numpy(), np.ones(3))
    with pytest.raises(TypeError):
        ost.from_dlpack(object())


def test_numpy_leaves_the_operators_to_tensors():
    t = ost.Tensor(np.ones(3, "f4"), device="cpu:0")
    out = np.arange(3, dtype="f4") + t
    assert isinstance(out, ost.Tensor)
    np.testing.assert_array_equal(out, [1, 2, 3])
    with pytest.raises(ValueError, match="without a copy"):
        np.array(t, dtype="f8", copy=False)
    assert np.shares_memory(np.array(t, copy=False), np.from_dlpack(t))


def test_repeated_exchange_leaks_nothing():
    x = aligned((16,))
    count = sys.getrefcount(x)
    for _ in range(2000):
        t = ost.from_dlpack(x, device="cpu:0")
        np.from_dlpack(t)
    del t
    gc.collect()
    assert sys.getrefcount(x) == count
