"""Just enough of the .npy format, with the standard library only: C-ordered arrays of the dtypes that the demo uses."""

import ast
import struct
from array import array
from pathlib import Path

TYPECODES = {"<f4": "f", "<f8": "d", "<i8": "q"}


def read(path: Path) -> tuple[tuple[int, ...], str, array]:
    """The shape, the dtype string and the elements in C order."""
    data = path.read_bytes()
    if data[:6] != b"\x93NUMPY":
        raise ValueError(f"{path}: not a .npy file")
    wide = data[6] >= 2
    start = 12 if wide else 10
    length = struct.unpack_from("<I" if wide else "<H", data, 8)[0]
    header = ast.literal_eval(data[start : start + length].decode("latin1"))
    if header["fortran_order"] or header["descr"] not in TYPECODES:
        raise ValueError(f"{path}: want C order and one of {', '.join(TYPECODES)}, found {header}")
    values = array(TYPECODES[header["descr"]])
    values.frombytes(data[start + length :])
    return header["shape"], header["descr"], values


def write(path: Path, shape: tuple[int, ...], descr: str, values: array) -> None:
    header = repr({"descr": descr, "fortran_order": False, "shape": shape})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode("latin1") + values.tobytes())
