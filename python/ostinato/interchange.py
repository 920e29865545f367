"""Arrays of other libraries: NumPy, DLPack. Memory is shared where the device can see the host's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _core, dtypes, runtime, sizes
from .errors import InvalidArgumentError, UnimplementedError
from .sizes import Dim, Var

if TYPE_CHECKING:
    import numpy as np

    from .tensor import Tensor

CPU = (1, 0)  # kDLCPU
_ALIGN = 64


def host_array(data: Any, dtype: Any = None) -> np.ndarray[Any, Any]:
    """Row-major, contiguous, of a type that the library has."""
    import numpy as np

    if type(data).__module__.split(".")[0] == "torch":
        data = data.detach().cpu()
        if str(data.dtype) == "torch.bfloat16":
            import torch

            data = data.view(torch.uint16).numpy().view(dtypes.numpy_dtype("bf16"))
    array = np.asarray(data)
    if array.dtype == object or array.dtype.name not in dtypes.NUMPY_NAMES.values():
        raise TypeError(f"an array of {array.dtype}; element types are {', '.join(dtypes.NUMPY_NAMES.values())}")
    if dtype is not None:
        array = array.astype(dtypes.numpy_dtype(dtypes.short_name(dtype)), copy=False)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array if array.flags.c_contiguous else np.ascontiguousarray(array).reshape(array.shape)


def bind_sizes(shape: Sequence[int], dims: Sequence[Dim]) -> None:
    """Variables that are a dimension themselves take the size of the data."""
    if len(shape) != len(dims):
        raise InvalidArgumentError(f"dims has {len(dims)} sizes, the array {len(shape)} dimensions")
    for n, d in zip(shape, dims, strict=True):
        if isinstance(d, Var) and sizes._values.get(d.name) != n:
            d.bind(n)


def to_numpy(t: Tensor) -> np.ndarray[Any, Any]:
    """A copy."""
    import numpy as np

    dtype, shape, _ = t._h.type()
    array = np.empty(shape, dtypes.numpy_dtype(dtype))
    t._h.read(dtypes.as_bytes(array))
    return array


def view(t: Tensor) -> np.ndarray[Any, Any]:
    """The tensor's own memory, without a copy; ValueError where the host cannot see it."""
    import numpy as np

    dtype = t._dtype
    if dtype == "bf16":
        return view(t.bitcast("u16")).view(dtypes.numpy_dtype("bf16"))
    try:
        return np.from_dlpack(_core.exchange(t._h, False))
    except UnimplementedError as e:
        raise ValueError(str(e)) from None


def to_dlpack(t: Tensor, stream: Any, max_version: Any, dl_device: Any, copy: bool | None) -> Any:
    if stream not in (None, -1):
        raise BufferError("a stream was given; the memory is that of the host, which has none")
    if dl_device is not None and tuple(int(x) for x in dl_device) != CPU:
        raise BufferError(f"DLPack device {dl_device} is wanted; tensors are handed over in the host's memory, (1, 0)")
    if not copy:
        try:
            return _core.exchange(t._h, False).__dlpack__(max_version=max_version)
        except UnimplementedError as e:
            if copy is False:
                raise BufferError(str(e)) from None
    return _core.exchange(t._h, True).__dlpack__(max_version=max_version)


def dlpack_device(t: Tensor) -> tuple[int, int]:
    return CPU


def from_dlpack(
    x: Any, device: str | None = None, copy: bool | None = None, dims: Sequence[Dim] | None = None
) -> Tensor:
    """A tensor of anything that speaks DLPack: arrays of NumPy, PyTorch, JAX, ... in the host's memory.

    The memory is shared if the device can see it and it is contiguous and aligned to 64 bytes: what either side writes
    is seen by the other. copy=True never shares, copy=False fails instead of copying.
    """
    from .tensor import Tensor

    address, shape, dtype, writable, contiguous, owner = _core.memory_of(x)
    if dims is not None:
        bind_sizes(shape, dims)
    named: list[int | str] = list(shape) if dims is None else sizes.to_core(dims)
    why = "" if contiguous else "the array is not contiguous"
    if address % _ALIGN != 0:
        why = f"the array is not aligned to {_ALIGN} bytes"
    if 0 in shape:
        why = "the array has no elements"
    session = runtime.session()
    target = device or "auto"
    if not copy and not why:
        count = dtypes.SIZES[dtype]
        for d in shape:
            count *= d
        target = runtime.context().open(target)["id"]
        try:
            handle = session.from_memory(runtime.context(), target, address, count, dtype, named, owner)
        except (UnimplementedError, InvalidArgumentError) as e:
            why = str(e)
        else:
            out = Tensor._of(handle)
            return out if writable else out.freeze()
    if copy is False:
        raise BufferError(f"from_dlpack: {why}, and copy=False forbids a copy")
    return Tensor(_copy(x, dtype), device=device, dims=dims)


def _copy(x: Any, dtype: str) -> np.ndarray[Any, Any]:
    import numpy as np

    if dtype == "bf16":  # NumPy does not take it by DLPack
        return host_array(x)
    return np.array(np.from_dlpack(x), order="C")

