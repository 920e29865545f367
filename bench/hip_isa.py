#!/usr/bin/env python3
"""What AMD's instructions of a contraction look like, without a GPU: the static part of bench/README.md.

usage: hip_isa.py BUILD-FOLDER [EXPRESSION --shape ...]
Links the program for gfx90a (by AMD's hipRTC and by clang) and gfx1100 (by clang), disassembles its largest kernel and prints a table:
share of multiply-adds among the instructions of the innermost loop, registers, spills, local memory, and the waves of a SIMD
that these allow. Nothing is run, and nothing here is a time.
"""

import json
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "hip"))
from code_object import CodeObject  # noqa: E402

# Registers of a lane and SIMD, in what steps, most waves; local memory of a unit and the number of its SIMDs.
CHIPS = {
    "gfx90a": {"registers": 512, "step": 8, "waves": 8, "local": 65536, "simds": 4, "wave": 64},
    "gfx1100": {"registers": 1536, "step": 24, "waves": 16, "local": 131072, "simds": 4, "wave": 32},
}
# Without a HIP runtime there is no hipRTC, and clang compiles.
VARIANTS = [("gfx90a", []), ("gfx90a", ["--option", "hip.library=none"]), ("gfx1100", ["--option", "hip.library=none"])]
FMA = re.compile(r"\bv_(?:pk_|dual_)?fma\w*_f(?:32|16|64)|\bv_(?:dual_)?fmac_f32")


def multiply_adds(instruction: str) -> int:
    """A packed one does two, and two in one are two."""
    return len(FMA.findall(instruction)) * (2 if "v_pk_" in instruction else 1)


def code_of(image: bytes) -> bytes:
    """Behind the head that plugins/hip/image.cpp writes: two texts, two numbers, then the code object."""
    at = 8
    for _ in range(2):
        at += 4 + struct.unpack_from("<I", image, at)[0]
    return image[at + 12 :]


def instructions(objdump: str, path: Path) -> list[tuple[int, str]]:
    text = subprocess.run([objdump, "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^\s+(\S.*?)\s*// ([0-9A-F]+):(.*)$", text, re.MULTILINE)
    return [(int(address, 16), line + rest) for line, address, rest in found]


def inner_loop(code: list[tuple[int, str]]) -> list[str]:
    """The loop with the most multiply-adds among those that have no other loop in them."""
    first = code[0][0]
    loops = []
    for address, text in code:
        target = re.search(r"s_c?branch\w*\s.*<[^>]*\+0x([0-9a-f]+)>", text)
        if target and first + int(target[1], 16) <= address:
            loops.append((first + int(target[1], 16), address))
    bodies = [[t for a, t in code if low <= a <= high] for low, high in loops
              if not any(low <= l and h <= high and (l, h) != (low, high) for l, h in loops)]  # fmt: skip
    return max(bodies, key=lambda body: sum(bool(FMA.search(t)) for t in body), default=[])


def row(target: str, compiler: str, code: CodeObject, body: list[str]) -> list[str]:
    chip, kernel = CHIPS[target], next(iter(code.kernels.values()))
    fma, loads = sum(bool(FMA.search(t)) for t in body), sum(bool(re.search(r"\bds_(?:read|load)", t)) for t in body)
    # Of gfx90a both kinds of registers come from one file, and .vgpr_count has both.
    vector = kernel[".vgpr_count"]
    steps = -(-max(vector, 1) // chip["step"]) * chip["step"]
    by_registers = min(chip["waves"], chip["registers"] // steps)
    local = kernel[".group_segment_fixed_size"]
    group_waves = -(-kernel[".max_flat_workgroup_size"] // chip["wave"])
    by_local = chip["waves"] if local == 0 else chip["local"] // local * group_waves // chip["simds"]
    done = sum(map(multiply_adds, body))
    return [target, compiler, f"{done} in {fma} of {len(body)} ({100 * fma / max(len(body), 1):.0f} %)", str(loads),
            f"{vector} / {kernel['.sgpr_count']}", str(kernel.get(".vgpr_spill_count", 0)), f"{local}",
            f"{kernel['.max_flat_workgroup_size']}", f"{min(by_registers, by_local)} of {chip['waves']}"]  # fmt: skip


def main() -> None:
    build = Path(sys.argv[1]).resolve()
    program = sys.argv[2:] or ["matmul(a,b)", "--shape", "a=4096,4096", "--shape", "b=4096,4096"]
    objdump = next((p for p in map(shutil.which, (f"llvm-objdump-{v}" for v in range(40, 18, -1))) if p), None)
    if objdump is None:
        sys.exit("hip_isa.py: needs llvm-objdump of LLVM 19 or newer")
    rows = [["target", "compiler", "multiply-adds of the inner loop, in how many of its instructions", "its loads of local memory", "vector / scalar registers",
             "spilled", "local bytes", "work-group", "waves of a SIMD"]]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        manifest = work / "m.ost.json"
        subprocess.run([build / "bin" / "ost", "capture", *program, "-o", manifest], check=True, capture_output=True)
        for number, (target, options) in enumerate(VARIANTS):
            linked = work / f"{number}.ost.json"
            subprocess.run([build / "bin" / "ost", "link", manifest, "--targets", f"hip:{target}", "-o", linked, *options],
                           check=True, capture_output=True)  # fmt: skip
            variants = [v for k in json.loads(linked.read_text())["kernels"] for v in k["variants"]]
            largest = max(variants, key=lambda v: v["bytes"])
            image = code_of((work / largest["file"]).read_bytes())
            (work / "kernel.co").write_bytes(image)
            body = inner_loop(instructions(objdump, work / "kernel.co"))
            rows.append(row(target, largest["compiler_key"].split("/")[0], CodeObject(image), body))
    for i, cells in enumerate(rows):
        print("| " + " | ".join(cells) + " |")
        if i == 0:
            print("|---" * len(cells) + "|")


if __name__ == "__main__":
    main()
