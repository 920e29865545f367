"""AMD's own hipRTC compiles what the stand-in's compiler does: printed kernels, with the flags of the driver, for real GPUs.

usage: hiprtc_test.py OST WORK
The kernels are those of a few programs, taken from the stand-in on their way to its compiler. Nothing is run. Exit code 77
(skipped) where libamdhip64.so.5 (Debian's libamdhip64-5) is not installed.
"""

import ctypes
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

SKIPPED, EM_AMDGPU = 77, 0xE0
FLAGS = (b"-O3", b"-std=c++17", b"-ffp-contract=off")
TARGETS = (b"gfx90a", b"gfx1030")
PROGRAMS = (
    ("softmax(exp(matmul(x,w))+sqrt(abs(sum(x))))", "x=8,16", "w=16,4"),
    ("relu(x)*w", "x=7,3", "w=3"),
    ("sin(x)+log(w)", "x=5", "w=5"),
)
COMPILER = """#!/bin/sh
for a in "$@"; do case "$a" in */kernel.cpp) cp "$a" "$KEPT/$$.cpp";; esac; done
exec c++ "$@"
"""


def printed_kernels(ost: str, work: Path) -> list[bytes]:
    compiler = work / "c++"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    for text, *shapes in PROGRAMS:
        arguments = [part for shape in shapes for part in ("--shape", shape)]
        subprocess.run([ost, "run", text, *arguments, "--device", "hip:0", "--cache", "off"], check=True,
                       capture_output=True, env={**os.environ, "OST_STANDIN_CXX": str(compiler), "KEPT": str(work)})  # fmt: skip
    own_lines = re.compile(rb"^(?:STANDIN_KERNEL.*|#include .*prelude.hpp.*)$", re.MULTILINE)
    return sorted({own_lines.sub(b"", path.read_bytes()) for path in work.glob("*.cpp")})


def compile_kernel(hip: ctypes.CDLL, source: bytes, target: bytes) -> bytes:
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    hip.hiprtcCreateProgram(ctypes.byref(program), source, b"kernel.hip", 0, None, None)
    options = (ctypes.c_char_p * (1 + len(FLAGS)))(b"--gpu-architecture=" + target, *FLAGS)
    code = hip.hiprtcCompileProgram(program, len(options), options)
    hip.hiprtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value + 1)
    hip.hiprtcGetProgramLog(program, log)
    if code != 0:
        sys.exit(f"hipRTC gives {code} for {target.decode()}: {log.value.decode()}\n{source.decode()}")
    hip.hiprtcGetCodeSize(program, ctypes.byref(size))
    image = ctypes.create_string_buffer(size.value)
    hip.hiprtcGetCode(program, image)
    hip.hiprtcDestroyProgram(ctypes.byref(program))
    return image.raw


def main() -> None:
    ost, work = sys.argv[1], Path(sys.argv[2])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        hip = ctypes.CDLL("libamdhip64.so.5")
    except OSError as why:
        print(f"skipped: needs libamdhip64-5: {why}")
        sys.exit(SKIPPED)
    kernels = printed_kernels(ost, work)
    if len(kernels) < 10:
        sys.exit(f"{len(kernels)} kernels came to the compiler, wanted the self-test's and the programs'")
    for source in kernels:
        name = re.search(rb"__global__ .*?void (\w+)\(", source)
        if name is None:
            sys.exit(f"no kernel in:\n{source.decode()}")
        for target in TARGETS:
            image = compile_kernel(hip, source, target)
            machine = struct.unpack_from("<H", image, 18)[0]
            if image[:4] != b"\x7fELF" or machine != EM_AMDGPU or name[1] + b".kd\0" not in image:
                sys.exit(f"{name[1].decode()} for {target.decode()}: machine {machine}, no code object with its kernel")
    print(f"{len(kernels)} kernels, each for {len(TARGETS)} targets")


if __name__ == "__main__":
    main()
