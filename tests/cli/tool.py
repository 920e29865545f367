"""Runs ost in a folder of its own with a cache of its own. Standard library only."""

import json
import os
import signal
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

TOOL = os.environ.get("OST_TOOL", "ost")
ROOT = Path(__file__).resolve().parent.parent.parent
OK, DIFFERS, USAGE, BAD_INPUT, UNAVAILABLE, COMPILE_ERROR = 0, 1, 2, 3, 4, 5
CRASHES = {-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGILL, -signal.SIGBUS, -signal.SIGFPE, 134, 139}
DTYPES = {"<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q"}


def npy(shape: tuple[int, ...], values: list[float], descr: str = "<f4") -> bytes:
    header = repr({"descr": descr, "fortran_order": False, "shape": shape})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return (
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", len(header))
        + header.encode()
        + struct.pack(f"<{len(values)}{DTYPES[descr]}", *values)
    )


def read_npy(path: Path) -> tuple[tuple[int, ...], list[float]]:
    data = path.read_bytes()
    (length,) = struct.unpack_from("<H", data, 8)
    header = eval(data[10 : 10 + length].decode(), {"__builtins__": {}}, {"False": False, "True": True})
    kind = DTYPES[header["descr"]]
    count = len(data[10 + length :]) // struct.calcsize(kind)
    return header["shape"], list(struct.unpack(f"<{count}{kind}", data[10 + length :]))


def safetensors(tensors: dict[str, tuple[tuple[int, ...], list[float]]]) -> bytes:
    header, body = {}, b""
    for name, (shape, values) in tensors.items():
        data = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


class Run:
    """What one call of ost gave."""

    def __init__(self, done: subprocess.CompletedProcess) -> None:
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def json(self) -> dict:
        return json.loads(self.out)


class ToolTest(unittest.TestCase):
    """A folder for the files of one test; ost runs there."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("OSTINATO_")}
        self.env |= {"XDG_CACHE_HOME": str(self.folder / "cache"), "NO_COLOR": "1"}

    def write(self, name: str, data: bytes | str) -> Path:
        path = self.folder / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def ost(self, *arguments: str | Path, code: int = OK, stdin: str | None = None, **env: str) -> Run:
        """Runs ost and demands the exit code; whatever happens, it must not crash."""
        done = subprocess.run(
            [TOOL, *map(str, arguments)],
            cwd=self.folder,
            env=self.env | env,
            capture_output=True,
            text=True,
            input=stdin,
            check=False,
            timeout=300,
        )
        run = Run(done)
        said = f"ost {' '.join(map(str, arguments))}\nstdout: {run.out[-2000:]}\nstderr: {run.err[-2000:]}"
        self.assertNotIn(run.code, CRASHES, said)
        self.assertEqual(run.code, code, said)
        if code not in (OK, DIFFERS):
            self.assertTrue(run.err.startswith("ost: "), said)
            self.assertNotIn("unexpected exception", run.err)
        return run

    def fails(self, code: int, *arguments: str | Path, says: list[str] | str, **env: str) -> Run:
        run = self.ost(*arguments, code=code, **env)
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, run.err)
        return run

    def devices(self) -> list[str]:
        return [d["id"] for d in self.ost("devices", "--json").json["devices"] if d["available"]]

    def capture(self, name: str = "m.ost.json", expression: str = "y = relu(x) * 2 + b", *more: str) -> Path:
        self.ost("capture", expression, "--shape", "x=n:0..8,4", "--shape", "b=4", *more, "-o", name)
        return self.folder / name
