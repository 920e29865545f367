"""Generated SPIR-V under the checkers that Debian has. What is not installed is skipped (exit code 77), with the reason.

usage: spirv_test.py val|isa|races|bits|barriers BIN WORK
val: spirv-val on a wide set of kernels. isa: Intel's compiler makes instructions of each kernel of a smaller set, for each GPU.
races: oclgrind runs a kernel of each family; no data race, the interpreter's bits. bits: the same bits on PoCL, and on oclgrind
for every operation and type. barriers: a kernel that lost a barrier is found.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

SKIPPED = 77
GPUS = {"skl": True, "tgllp": False, "dg2": False, "pvc": True}  # whether it has f64
# By how a kernel is laid out over groups and lanes; the lanes of the largest group.
FAMILIES = {
    "points": (64, ["structure.gather", "structure.permute", "contract.f32.blk256.fixed"]),
    "rows": (64, ["structure.rows", "reduce.f32.sum_tree.long", "argreduce.f32.max.fixed"]),
    "carry": (64, ["structure.scan", "structure.scatter", "structure.in_place"]),
    "contraction": (64, ["contract.f32.tree.fixed", "contract.f32.tree.symbolic"]),
    "tiles": (256, ["contract.f32.blk256.tiles", "contract.f32.blk256.long"]),
    "attention": (64, ["attn.f32.fixed", "attn.f32.long", "attn.f32.symbolic", "attn.f32.masked"]),
}
RACE = re.compile(r"data race|Barrier divergence|Invalid (read|write)|Uninitialized", re.IGNORECASE)


def need(*programs: str) -> None:
    missing = [p for p in programs if shutil.which(p) is None]
    if missing:
        print(f"skipped: needs {', '.join(missing)} (scripts/install-deps.sh installs what this release has)")
        sys.exit(SKIPPED)


def run(*command: Path | str, cwd: Path | None = None, code: int | None = 0, **environment: str) -> str:
    # One stream: what a checker says belongs to the line of the program before it.
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False, cwd=cwd, env={**os.environ, **environment})  # fmt: skip
    if done.returncode == SKIPPED:
        print(done.stdout)
        sys.exit(SKIPPED)
    if code is not None and done.returncode != code:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}, wanted {code}\n{done.stdout}")
    return done.stdout


class Lab:
    def __init__(self, binaries: Path, work: Path) -> None:
        self.binaries, self.work = binaries, work
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)

    def write(self, *patterns: str) -> list[Path]:
        print(run(self.binaries / "levelzero_write", self.work, *patterns), end="")
        return sorted(self.work.glob("*.spv"))

    def grind(self, *arguments: str) -> str:
        return run("oclgrind", "--data-races", "--check-api", "--max-errors", "1000000", self.binaries / "levelzero_run",
                   "llvm-spirv-14", *arguments, OCL_ICD_VENDORS="")  # fmt: skip

    def pocl(self, *arguments: str) -> str:
        return run(self.binaries / "levelzero_run", "llvm-spirv-15", *arguments,
                   OCL_ICD_VENDORS="/etc/OpenCL/vendors/pocl.icd")  # fmt: skip


def test_val(lab: Lab) -> None:
    modules = lab.write()
    if len(modules) < 1900:
        sys.exit(f"{len(modules)} kernels, wanted the whole grid and those of random graphs")
    need("spirv-val")
    for module in modules:
        run("spirv-val", "--target-env", "opencl2.2", module)
    # The checker does find what is wrong: an instruction that is cut off.
    broken = lab.work / "broken.spv"
    broken.write_bytes(modules[0].read_bytes()[:-8])
    run("spirv-val", "--target-env", "opencl2.2", broken, code=1)


def instructions(lab: Lab, module: Path, gpu: str) -> int:
    """Bytes of instructions that ocloc made for the module's kernel. Its exit code says nothing about that."""
    folder = lab.work / gpu / module.stem
    folder.mkdir(parents=True)
    run("ocloc", "compile", "-file", module, "-spirv_input", "-device", gpu, "-output", "k", "-output_no_suffix", "-options",
        "-cl-fp32-correctly-rounded-divide-sqrt", cwd=folder)  # fmt: skip
    run("ocloc", "disasm", "-file", "k", "-dump", "d", "-device", gpu, cwd=folder)
    kernel = module.name.split(".")[0]
    files = [folder / "d" / f"{kernel}_KernelHeap.dat", folder / "d" / f".text.{kernel}"]
    return sum(f.stat().st_size for f in files if f.is_file())


def test_isa(lab: Lab) -> None:
    need("ocloc")
    modules = lab.write("structure.rows", "structure.scatter", "attn.f32.fixed", "contract.f32.*.fixed", "reduce.*.sum_*.fixed",
                        "div.*.fixed", "sqrt.*.fixed", "ldexp.*.fixed", "max.f32.fixed", "cast.f16.from_f32.fixed",
                        "cast.f32.from_f16.fixed", "cast.bf16.*.fixed", "cast.i64.from_f32.fixed", "where.bool.fixed")  # fmt: skip
    count = 0
    for gpu, fp64 in GPUS.items():
        for module in modules:
            if ".fp64" in module.name and not fp64:
                continue
            if instructions(lab, module, gpu) == 0:
                sys.exit(f"{module.name}: ocloc succeeds for {gpu} without an instruction of the kernel")
            count += 1
    print(f"instructions of {count} kernels for {', '.join(GPUS)}")
    # What this test is for: ocloc "succeeds" for a module that is cut off.
    broken = lab.work / "k_broken.spv"
    broken.write_bytes(modules[0].read_bytes()[:200])
    if instructions(lab, broken, "dg2") != 0:
        sys.exit("a module that is cut off has instructions")


def test_races(lab: Lab) -> None:
    need("oclgrind", "llvm-spirv-14")
    for family, (lanes, patterns) in FAMILIES.items():
        said = lab.grind("--lanes", str(lanes), *patterns)
        if RACE.search(said) or " 0 failures" not in said or said.count("\nrun ") != len(patterns):
            sys.exit(f"{family}:\n{said[:4000]}")
        print(family, said.strip().splitlines()[-1])


def test_bits(lab: Lab) -> None:
    need("oclgrind", "llvm-spirv-14")
    # One shape of each operation with each type.
    said = lab.grind("*.fixed", "structure.*", "attn.*")
    if RACE.search(said) or " 0 failures" not in said:
        sys.exit(said[:4000])
    print("oclgrind:", said.strip().splitlines()[-1])
    print("oclgrind, division by integers:", lab.grind("--soft-divide", "div.f32.*", "sqrt.f32.*").strip().splitlines()[-1])
    need("llvm-spirv-15")
    patterns = ["wide.*", "structure.*", "attn.*", "contract.f32.*", "reduce.f32.*.long", "argreduce.f32.*.fixed", "div.*.fixed",
                "sqrt.*.fixed", "rem.*.fixed", "cast.*f16.from_f*.fixed", "cast.*.from_f32.fixed", "ldexp.*.fixed",
                "max.*.fixed", "shr.*.fixed", "mul.f*.fixed", "load.bool.*", "cast.bf16.from_*64.fixed"]  # fmt: skip
    print("PoCL:", lab.pocl(*patterns).strip().splitlines()[-1])
    print("PoCL, division by integers:", lab.pocl("--soft-divide", "wide.math.f32", "div.f32.*", "sqrt.f32.*").strip().splitlines()[-1])


def test_barriers(lab: Lab) -> None:
    """Each kernel is made as often as it has barriers, each time without one: oclgrind sees the race."""
    need("oclgrind", "llvm-spirv-14")
    for pattern, lanes, wanted in (("structure.rows", 64, 7), ("contract.f32.tree.fixed", 64, 7),
                                   ("argreduce.f32.max.fixed", 64, 7), ("contract.f32.blk256.tiles", 256, 2)):  # fmt: skip
        found: Counter[str] = Counter()
        current = ""
        for line in lab.grind("--lanes", str(lanes), "--leave-out-barrier", pattern).splitlines():
            current = line if line.startswith("run ") else current
            found[current] += 1 if RACE.search(line) else 0
        raced = [name for name, count in found.items() if count > 0]
        print(f"{pattern}: {len(raced)} of {sum(n.startswith('run ') for n in found)} barriers are missed when they are left out")
        if len(raced) < wanted or not any(name.endswith("barrier=0") for name in raced):
            sys.exit(f"{pattern}: oclgrind missed {len(raced)} barriers, wanted {wanted} with the first one: {found}")


if __name__ == "__main__":
    which, binary_folder, work_folder = sys.argv[1:]
    {"val": test_val, "isa": test_isa, "races": test_races, "bits": test_bits, "barriers": test_barriers}[which](
        Lab(Path(binary_folder), Path(work_folder))
    )
