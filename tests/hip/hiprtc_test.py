"""The kernels that the test-suite makes, through the compilers that real GPUs have: AMD's hipRTC, and clang.

usage: hiprtc_test.py [--all] [--targets T,U] --ost OST --conform OST_CONFORM --collector PLUGIN --random PROGRAM --work FOLDER
The kernels are those of the conformance kit, of the examples and of random graphs, as source text. What comes out is looked
at and not run: an AMDGPU ELF file with each kernel's symbol and descriptor, and in its metadata the arguments, local memory
and size of a work-group that the source says. A process of its own: AMD's compiler and another LLVM 15 (PoCL's) do not live
together. Exit code 77 (skipped) where neither compiler is there.
"""

import argparse
import ctypes
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from code_object import CodeObject

SKIPPED = 77
FLAGS = ["-O3", "-std=c++17", "-ffp-contract=off"]
RTC_TARGETS, CLANG_TARGETS = ["gfx90a", "gfx1030"], ["gfx942", "gfx950", "gfx1100", "gfx1201"]
EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
DRIVER = Path(__file__).resolve().parent.parent.parent / "plugins" / "hip"
PROGRAMS = (
    ["softmax(matmul(relu(matmul(x,W1)+b1),W2)+b2)", "--weights", str(EXAMPLES / "digits" / "weights.safetensors"), "--shape",
     "x=n:0..1797,64"],
    [f"@{EXAMPLES / 'transformer' / 'encoder.ost'}"],
    ["matmul(a,b)", "--shape", "a=1024,1024", "--shape", "b=1024,1024"],
    ["softmax(exp(matmul(x,w))+sqrt(abs(sum(x))))", "--shape", "x=8,16", "--shape", "w=16,4"],
)  # fmt: skip
BATCH = 32  # kernels of one compile: most of the time of one goes into what they share
SAMPLE, LOCAL_SAMPLE = 64, 12  # without --all one kernel of so many, by its name
HEAD = re.compile(r'extern "C" __global__ __launch_bounds__\((\d+)\) void (\w+)\(([^)]*)\)')
ELEMENT_BYTES = {"i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "f32": 4, "i64": 8, "u64": 8, "f64": 8}


class Kernel(NamedTuple):
    name: str
    shared: str  # of the source, with other kernels
    text: str
    lanes: int
    arguments: int
    local_bytes: int


def read_kernel(path: Path) -> Kernel:
    source = path.read_text()
    head = HEAD.search(source)
    if head is None or head[2] != path.stem:
        sys.exit(f"{path}: no kernel of this name")
    body = source[head.start() :]
    arrays = re.findall(r"OST_LOCAL (\w+) a\d+\[(\d+)\];", body)
    local = sum(ELEMENT_BYTES[kind] * int(count) for kind, count in arrays)
    return Kernel(head[2], source[: head.start()], body, int(head[1]), head[3].count(",") + bool(head[3].strip()), local)


def collect(args: argparse.Namespace) -> list[Kernel]:
    folder = Path(args.work) / "kernels"
    folder.mkdir(parents=True)
    option = ["--option", f"collector.folder={folder}"]
    # It runs nothing, so that every case fails.
    subprocess.run([args.conform, args.collector, "--level", "2", "--option", f"folder={folder}"], check=False,
                   capture_output=True)  # fmt: skip
    for number, program in enumerate(PROGRAMS):
        manifest = Path(args.work) / f"p{number}.ost.json"
        subprocess.run([args.ost, "capture", *program, "-o", manifest], check=True, capture_output=True)
        subprocess.run([args.ost, "link", manifest, "--targets", "collector:0", "--plugin", args.collector, *option, "--cache",
                        "off"], check=True, capture_output=True)  # fmt: skip
    subprocess.run([args.random, str(folder), "200" if args.all else "40"], check=True)
    found = [read_kernel(path) for path in sorted(folder.glob("*.hip"))]
    if len(found) < 1000:
        sys.exit(f"{len(found)} kernels, wanted all that the kit has")
    return found


def of_this_run(kernels: list[Kernel], args: argparse.Namespace) -> list[Kernel]:
    number = {k.name: int(hashlib.sha256(k.name.encode()).hexdigest()[:8], 16) for k in kernels}
    if args.all:
        return kernels
    return [k for k in kernels if number[k.name] % (SAMPLE if k.local_bytes == 0 else LOCAL_SAMPLE) == 0]


class HipRtc:
    targets = RTC_TARGETS

    def __init__(self) -> None:
        self.hip = ctypes.CDLL("libamdhip64.so.5")
        self.name = "hipRTC 5"

    def compile(self, source: str, target: str) -> bytes:
        hip, program, size = self.hip, ctypes.c_void_p(), ctypes.c_size_t()
        hip.hiprtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.hip", 0, None, None)
        words = [f"--gpu-architecture={target}", *FLAGS]
        code = hip.hiprtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*(w.encode() for w in words)))
        hip.hiprtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value + 1)
        hip.hiprtcGetProgramLog(program, log)
        if code != 0:
            sys.exit(f"hipRTC gives {code} for {target}: {log.value.decode()}\n{source}")
        hip.hiprtcGetCodeSize(program, ctypes.byref(size))
        image = ctypes.create_string_buffer(size.value)
        hip.hiprtcGetCode(program, image)
        hip.hiprtcDestroyProgram(ctypes.byref(program))
        return image.raw


class Clang:
    targets = CLANG_TARGETS

    def __init__(self, work: Path) -> None:
        names = (f"clang-{major}" for major in range(40, 19, -1))
        self.path = next((p for p in map(shutil.which, names) if p), None)
        if self.path is None:
            raise OSError("no clang 20 or newer")
        self.name, self.work = Path(self.path).name, work
        prelude = re.search(r'kPrelude = R"\((.*?)\)"', (DRIVER / "clang.cpp").read_text(), re.DOTALL)
        (work / "prelude.h").write_text(prelude[1])

    def compile(self, source: str, target: str) -> bytes:
        (self.work / "kernel.hip").write_text(source)
        done = subprocess.run(
            [self.path, "-x", "hip", f"--offload-arch={target}", "--offload-device-only", "--no-gpu-bundle-output", "-nogpulib",
             "-nogpuinc", "-fuse-cuid=none", "-mcode-object-version=5", "-include", "prelude.h", *FLAGS, "kernel.hip", "-o",
             "kernel.co"],
            cwd=self.work, capture_output=True, text=True, check=False)  # fmt: skip
        if done.returncode != 0:
            sys.exit(f"{self.name} for {target}: {done.stderr}\n{source}")
        return (self.work / "kernel.co").read_bytes()


def check(kernel: Kernel, code: CodeObject, where: str) -> int:
    """The registers that it spills to memory."""

    def expect(what: str, found: object, wanted: object) -> None:
        if found != wanted:
            sys.exit(f"{kernel.name} by {where}: {what} is {found}, wanted {wanted}\n{kernel.text}")

    expect("the function", code.symbols.get(kernel.name, 0) > 0, True)
    expect("the size of the descriptor", code.symbols.get(kernel.name + ".kd"), 64)
    metadata = code.kernels[kernel.name]
    expect("the number of arguments", sum(not a[".value_kind"].startswith("hidden_") for a in metadata.get(".args", [])),
           kernel.arguments)  # fmt: skip
    expect("the size of a work-group", metadata[".max_flat_workgroup_size"], kernel.lanes)
    # An array that is never read is not kept.
    local = metadata[".group_segment_fixed_size"]
    expect("local memory", local <= kernel.local_bytes and (local > 0) == (kernel.local_bytes > 0), True)
    return metadata.get(".vgpr_spill_count", 0)


def cross_check(image: bytes, code: CodeObject, work: Path) -> None:
    """LLVM's own reader says the same of the last object."""
    reader = next((p for p in map(shutil.which, (f"llvm-readelf-{v}" for v in range(40, 18, -1))) if p), None)
    if reader is None:
        return
    (work / "last.co").write_bytes(image)
    said = subprocess.run([reader, "-h", "--notes", work / "last.co"], capture_output=True, text=True, check=True).stdout
    for wanted in ("AMD", f"--{code.target}", *(f".name:           {name}" for name in code.kernels)):
        if wanted not in said:
            sys.exit(f"{reader} does not say '{wanted}':\n{said}")


def compare_lists(ost: str) -> None:
    """The driver lists what it knows of hipRTC's version, and does not ask: 5.2's own list is the same."""
    comgr, count, name = ctypes.CDLL("libamd_comgr.so.2"), ctypes.c_size_t(), ctypes.c_char_p()
    comgr.amd_comgr_get_isa_count(ctypes.byref(count))
    theirs = set()
    for index in range(count.value):
        comgr.amd_comgr_get_isa_name(ctypes.c_size_t(index), ctypes.byref(name))
        theirs.add(name.value.decode().rpartition("--")[2])
    listed = json.loads(subprocess.run([ost, "devices", "--json"], check=True, capture_output=True).stdout)["devices"]
    ours = {d["target"] for d in listed if d["driver"] == "hip" and "hiprtc-9.0/5022" in d["reason"]}
    if ours and ours != theirs:
        sys.exit(f"compiled for by hipRTC 5.2: {sorted(theirs)}; listed: {sorted(ours)}")
    print(f"{len(ours)} architectures of hipRTC", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("ost", "conform", "collector", "random", "work"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--targets", default=",".join(RTC_TARGETS + CLANG_TARGETS))
    args = parser.parse_args()
    shutil.rmtree(args.work, ignore_errors=True)
    compilers, why = [], []
    Path(args.work).mkdir(parents=True)
    for make in (HipRtc, lambda: Clang(Path(args.work))):
        try:
            compilers.append(make())
        except OSError as error:
            why.append(str(error))
    if not compilers:
        print("skipped:", "; ".join(why))
        sys.exit(SKIPPED)
    if isinstance(compilers[0], HipRtc):
        compare_lists(args.ost)
    every = collect(args)
    kernels = of_this_run(every, args)
    print(f"{len(every)} kernels, {len(kernels)} of them here, {sum(k.local_bytes > 0 for k in kernels)} with local memory",
          *why, flush=True)  # fmt: skip
    batches: dict[str, list[list[Kernel]]] = {}
    for kernel in kernels:
        lists = batches.setdefault(kernel.shared, [[]])
        if len(lists[-1]) == BATCH:
            lists.append([])
        lists[-1].append(kernel)
    for compiler in compilers:
        for target in (t for t in compiler.targets if t in args.targets.split(",")):
            start, spilling = time.monotonic(), 0
            for shared, lists in batches.items():
                for batch in lists:
                    image = compiler.compile(shared + "".join(k.text for k in batch), target)
                    code = CodeObject(image)
                    if code.target != target or set(code.kernels) != {k.name for k in batch}:
                        sys.exit(f"{compiler.name}: an object for {code.target} with {sorted(code.kernels)}")
                    for kernel in batch:
                        spilling += check(kernel, code, f"{compiler.name} for {target}") > 0
            cross_check(image, code, Path(args.work))
            print(f"{compiler.name} {target}: {len(kernels)} kernels, {spilling} with spilled registers, "
                  f"{time.monotonic() - start:.0f} s", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
