"""Lazy tensors: NumPy's names and rules over the operations of the graph."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

from . import _core, dtypes, interchange, runtime, sizes
from .sizes import Dim, Size

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Tensor", "realize"]

Scalar = bool | int | float


def apply(name: str, *inputs: Tensor, device: str | None = None, **attrs: Any) -> Tensor:
    """One operation of the graph (docs/graph.md) by name; attributes that are None are left out."""
    return Tensor._of(runtime.session().op(name, [t._h for t in inputs], attrs, device or "auto"))


def lift(x: Any, beside: Tensor | None = None) -> Tensor:
    """A tensor of anything. A Python number takes the type of the tensor beside it where that can hold its kind."""
    if isinstance(x, Tensor):
        return x
    if isinstance(x, Size):
        x = int(x)
    if beside is None or not isinstance(x, (bool, int, float)):
        return Tensor(x, device=None if beside is None else beside.device)
    dtype = beside._dtype
    if isinstance(x, bool):
        dtype = "bool" if dtype == "bool" else dtype
    elif isinstance(x, int):
        dtype = "i64" if dtype == "bool" else dtype
    elif dtype not in ("f16", "bf16", "f32", "f64"):
        dtype = "f64"
    value = float(x) if dtype in ("f16", "bf16", "f32", "f64") else int(x)
    return apply("full", device=beside.device, dtype=dtype, shape=[], value=value)


class Tensor:
    """An array on a device. Operations on it are lazy: they are run when a value is looked at, or by realize(), as few
    kernels. Arithmetic, indexing and broadcasting are NumPy's; a Python number does not widen the type."""

    __slots__ = ("_h", "__weakref__")
    __array_ufunc__ = None  # NumPy leaves the operators to this class
    _h: _core.Tensor

    def __init__(
        self, data: Any, dtype: Any = None, device: str | None = None, dims: Sequence[Dim] | None = None
    ) -> None:
        """Copies anything that numpy.asarray takes to a device (None: the library chooses).

        dims: which sizes are variables or expressions; a variable takes the size that the data has there.
        """
        if isinstance(data, Tensor):
            data = data.numpy()
        array = interchange.host_array(data, dtype)
        if dims is not None:
            interchange.bind_sizes(array.shape, dims)
        self._h = runtime.session().from_array(
            device or "auto",
            dtypes.short_name(array.dtype),
            list(array.shape),
            dtypes.as_bytes(array),
            None if dims is None else sizes.to_core(dims),
        )

    @classmethod
    def _of(cls, handle: _core.Tensor) -> Tensor:
        self = cls.__new__(cls)
        self._h = handle
        return self

    # --- what it is

    @property
    def _dtype(self) -> str:
        return self._h.type()[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type of an element; bfloat16 is that of ml_dtypes."""
        return dtypes.numpy_dtype(self._dtype)

    @property
    def shape(self) -> tuple[Any, ...]:
        """Numbers. In the body of a captured function a size that depends on variables is a Size: the program serves all
        their values."""
        _, values, declared = self._h.type()
        return sizes.from_core(declared) if sizes.are_hidden() else values

    @property
    def dims(self) -> tuple[Any, ...]:
        """The shape with a Size where it depends on variables."""
        return sizes.from_core(self._h.type()[2])

    @property
    def ndim(self) -> int:
        return len(self._h.type()[1])

    @property
    def size(self) -> Any:
        """The number of elements."""
        n: Any = 1
        for d in self.shape:
            n = n * d
        return n

    @property
    def nbytes(self) -> Any:
        return self.size * dtypes.SIZES[self._dtype]

    @property
    def device(self) -> str:
        """ "cpu:0"."""
        return self._h.device()

    @property
    def is_realized(self) -> bool:
        return self._h.is_realized()

    @property
    def T(self) -> Tensor:
        return self.permute(*reversed(range(self.ndim)))

    @property
    def mT(self) -> Tensor:
        return apply("transpose", self)

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError("len() of a tensor without dimensions")
        return int(shape[0])

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        dtype, _, declared = self._h.type()
        head = f"{dtype}[{', '.join(map(str, declared))}] on {self.device}"
        if not self.is_realized or sizes.are_hidden():
            return f"Tensor({head}, lazy)"
        import numpy as np

        try:
            text = np.array2string(self.numpy(), separator=", ", threshold=60, edgeitems=2, prefix="Tensor(")
        except Exception as e:  # a value that is stale or was given away
            text = f"no value: {e}"
        return f"Tensor({text}, {head})"

    # --- values

    def realize(self) -> Tensor:
        """Runs what it needs; itself."""
        _core.realize([self._h])
        return self

    def numpy(self) -> np.ndarray[Any, Any]:
        """A copy on the host."""
        return interchange.to_numpy(self)

    def item(self) -> Any:
        """The value of a tensor of one element as a Python number."""
        return self.numpy().item()

    def tolist(self) -> Any:
        return self.numpy().tolist()

    def __bool__(self) -> bool:
        return bool(self.numpy())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        return operator.index(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            view = interchange.view(self)
            if dtype is not None and view.dtype != dtype:
                raise ValueError("a tensor of another element type cannot be had without a copy")
            return view
        array = self.numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        return interchange.to_dlpack(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return interchange.dlpack_device(self)

    def to(self, device: str) -> Tensor:
        """The same value on another device. Lazy."""
        return Tensor._of(self._h.to(device))

    def assign(self, value: Any, starts: Sequence[Dim] | None = None) -> Tensor:
        """Writes a value in place, into the region that begins at `starts` (None: the whole); itself."""
        new = lift(value, self)
        if new._dtype != self._dtype:
            new = new.astype(self._dtype)
        self._h.assign(new._h, None if starts is None else sizes.to_core(starts))
        return self

    def freeze(self) -> Tensor:
        """A promise never to assign to it again: captured functions then compute what depends on it once; itself."""
        self._h.freeze()
        return self

    # --- shapes

    def reshape(self, *shape: Any) -> Tensor:
        """One size may be -1."""
        return apply("reshape", self, shape=sizes.to_core(_one(shape)))

    def permute(self, *axes: Any) -> Tensor:
        axes = tuple(_one(axes))
        return apply("permute", self, axes=[a % max(self.ndim, 1) for a in axes]) if self.ndim else self

    def transpose(self, *axes: Any) -> Tensor:
        """NumPy's: without axes they are reversed."""
        return self.permute(*axes) if axes and axes != (None,) else self.T

    def swapaxes(self, a: int, b: int) -> Tensor:
        order = list(range(self.ndim))
        order[a], order[b] = order[b], order[a]
        return self.permute(*order)

    def broadcast_to(self, shape: Iterable[Dim]) -> Tensor:
        return apply("broadcast_to", self, shape=sizes.to_core(shape))

    def squeeze(self, axis: int | Sequence[int] | None = None) -> Tensor:
        if axis is None:
            axis = [d for d, n in enumerate(self.shape) if isinstance(n, int) and n == 1]
        axes = [axis] if isinstance(axis, int) else list(axis)
        out = self
        for a in sorted((a % self.ndim for a in axes), reverse=True):
            out = apply("squeeze", out, axis=a)
        return out

    def unsqueeze(self, axis: int) -> Tensor:
        return apply("unsqueeze", self, axis=axis)

    def flatten(self) -> Tensor:
        return self.reshape(-1)

    ravel = flatten

    def flip(self, axis: int | Sequence[int] | None = None) -> Tensor:
        axes = range(self.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
        return apply("flip", self, axes=list(axes))

    def astype(self, dtype: Any) -> Tensor:
        """Floats to integers toward zero, saturated; NaN gives 0."""
        return apply("cast", self, dtype=dtypes.short_name(dtype))

    def bitcast(self, dtype: Any) -> Tensor:
        """The same bits as another type of the same width."""
        return apply("bitcast", self, dtype=dtypes.short_name(dtype))

    def __getitem__(self, key: Any) -> Tensor:
        from .indexing import get

        return get(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from .indexing import put

        put(self, key, value)

    # --- reductions

    def sum(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _reduce("sum", self, axis, keepdims)

    def prod(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _reduce("prod", self, axis, keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _reduce("mean", self, axis, keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _reduce("max", self, axis, keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _reduce("min", self, axis, keepdims)

    def any(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _reduce("any", self, axis, keepdims)

    def all(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _reduce("all", self, axis, keepdims)

    def var(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        d = self - self.mean(axis, True)
        return (d * d).mean(axis, keepdims)

    def std(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return apply("sqrt", self.var(axis, keepdims))

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Tensor:
        return apply("argmax", self, axis=axis, keepdims=int(keepdims))

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Tensor:
        return apply("argmin", self, axis=axis, keepdims=int(keepdims))

    # --- operators

    def __neg__(self) -> Tensor:
        return apply("neg", self)

    def __pos__(self) -> Tensor:
        return self

    def __abs__(self) -> Tensor:
        return apply("abs", self)

    def __invert__(self) -> Tensor:
        return apply("bit_not", self)

    def __hash__(self) -> int:
        return id(self)

    def _binary(self, name: str, other: Any, reflected: bool = False) -> Tensor:
        if not isinstance(other, (Tensor, bool, int, float, Size)) and not hasattr(other, "__array__"):
            return NotImplemented  # type: ignore[no-any-return]
        other = lift(other, self)
        return apply(name, other, self) if reflected else apply(name, self, other)

    def __add__(self, other: Any) -> Tensor:
        return self._binary("add", other)

    def __radd__(self, other: Any) -> Tensor:
        return self._binary("add", other, True)

    def __sub__(self, other: Any) -> Tensor:
        return self._binary("sub", other)

    def __rsub__(self, other: Any) -> Tensor:
        return self._binary("sub", other, True)

    def __mul__(self, other: Any) -> Tensor:
        return self._binary("mul", other)

    def __rmul__(self, other: Any) -> Tensor:
        return self._binary("mul", other, True)

    def __truediv__(self, other: Any) -> Tensor:
        return self._binary("div", other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return self._binary("div", other, True)

    def __floordiv__(self, other: Any) -> Tensor:
        return self._binary("floor_div", other)

    def __rfloordiv__(self, other: Any) -> Tensor:
        return self._binary("floor_div", other, True)

    def __mod__(self, other: Any) -> Tensor:
        return self._binary("floor_mod", other)

    def __rmod__(self, other: Any) -> Tensor:
        return self._binary("floor_mod", other, True)

    def __pow__(self, other: Any) -> Tensor:
        if isinstance(other, (int, float)) and other == 2:
            return apply("mul", self, self)
        return self._binary("pow", other)

    def __rpow__(self, other: Any) -> Tensor:
        return self._binary("pow", other, True)

    def __matmul__(self, other: Any) -> Tensor:
        return self._binary("matmul", other)

    def __rmatmul__(self, other: Any) -> Tensor:
        return self._binary("matmul", other, True)

    def __and__(self, other: Any) -> Tensor:
        return self._binary("bit_and", other)

    def __rand__(self, other: Any) -> Tensor:
        return self._binary("bit_and", other, True)

    def __or__(self, other: Any) -> Tensor:
        return self._binary("bit_or", other)

    def __ror__(self, other: Any) -> Tensor:
        return self._binary("bit_or", other, True)

    def __xor__(self, other: Any) -> Tensor:
        return self._binary("bit_xor", other)

    def __rxor__(self, other: Any) -> Tensor:
        return self._binary("bit_xor", other, True)

    def __lshift__(self, other: Any) -> Tensor:
        return self._binary("shl", other)

    def __rshift__(self, other: Any) -> Tensor:
        return self._binary("shr", other)

    def __eq__(self, other: Any) -> Tensor:  # type: ignore[override]
        return self._binary("eq", other)

    def __ne__(self, other: Any) -> Tensor:  # type: ignore[override]
        return self._binary("ne", other)

    def __lt__(self, other: Any) -> Tensor:
        return self._binary("lt", other)

    def __le__(self, other: Any) -> Tensor:
        return self._binary("le", other)

    def __gt__(self, other: Any) -> Tensor:
        return self._binary("gt", other)

    def __ge__(self, other: Any) -> Tensor:
        return self._binary("ge", other)


def realize(*tensors: Tensor) -> None:
    """Runs what several tensors need, in one program."""
    _core.realize([t._h for t in tensors])


def _one(values: tuple[Any, ...]) -> Sequence[Any]:
    """reshape(2, 3) and reshape((2, 3))."""
    if len(values) == 1 and isinstance(values[0], Iterable):
        return tuple(values[0])
    return values


def axes_of(axis: Any) -> list[int] | None:
    """The attribute of one axis or several."""
    if axis is None:
        return None
    return [operator.index(axis)] if isinstance(axis, SupportsIndex) else [operator.index(a) for a in axis]


def _reduce(name: str, x: Tensor, axis: Any, keepdims: bool) -> Tensor:
    return apply(name, x, axes=axes_of(axis), keepdims=int(keepdims))
