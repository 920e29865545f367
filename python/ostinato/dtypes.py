"""Element types: the library's short names, NumPy's types, and Python's."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

# Short name: name in NumPy.
NUMPY_NAMES = {
    "bool": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
}
_SHORT = {long: short for short, long in NUMPY_NAMES.items()} | {"float": "f64", "int": "i64", "half": "f16"}
SIZES = {name: 8 * (name[-2:] == "64") or 4 * (name[-2:] == "32") or 2 * (name[-2:] == "16") or 1 for name in NUMPY_NAMES}


def short_name(dtype: Any) -> str:
    """ "f32" of anything that names an element type: "f32", "float32", numpy.float32, torch.float32, float."""
    if isinstance(dtype, str):
        name = dtype
    elif isinstance(dtype, type) and dtype in (bool, int, float):
        name = dtype.__name__
    elif type(dtype).__module__ == "torch":
        name = str(dtype).removeprefix("torch.")
    else:
        import numpy as np

        name = np.dtype(dtype).name
    if name in NUMPY_NAMES:
        return name
    if name in _SHORT:
        return _SHORT[name]
    raise TypeError(f"dtype {dtype!r}: there is no such element type; there are {', '.join(NUMPY_NAMES)}")


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy type of a short name; that of bf16 is in ml_dtypes."""
    import numpy as np

    if name != "bf16":
        return np.dtype(NUMPY_NAMES[name])
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(
            "dtype bf16: NumPy has it only with the package ml_dtypes; install that, or cast to f32 first"
        ) from None
    out: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return out


def as_bytes(array: np.ndarray[Any, Any]) -> Any:
    """The memory of a C-contiguous array as an object with a buffer; bfloat16 has none of its own."""
    if array.dtype.name == "bfloat16":
        return array.view("uint16")
    return array


assert sys.byteorder == "little", "arrays are exchanged in the byte order of the machines that the library knows"
