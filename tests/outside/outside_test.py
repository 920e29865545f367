"""Builds a plugin as an outsider does and holds it to the conformance kit.

usage: outside_test.py template|opencl|guide BUILD WORK CC CXX
template: `ost plugin new`, the clone built against an installation; opencl: examples/opencl-plugin, likewise; guide: the
commands of docs/plugin-guide.md.
Exit code 77 (skipped) where OpenCL or a device of it is not installed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SKIPPED = 77


def run(*command: Path | str, code: int | None = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    print("$", *command, flush=True)
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})  # fmt: skip
    if code is not None and done.returncode != code:
        sys.exit(f"exit code {done.returncode}, wanted {code}\n{done.stdout}\n{done.stderr}")
    return done


class Outside:
    def __init__(self, build: Path, work: Path, cc: str, cxx: str) -> None:
        self.work, self.cc, self.cxx = work, cc, cxx
        shutil.rmtree(work, ignore_errors=True)
        self.prefix = work / "prefix"
        run("cmake", "--install", build, "--prefix", self.prefix)
        self.ost, self.conform = self.prefix / "bin" / "ost", self.prefix / "bin" / "ost-conform"

    def build(self, source: Path) -> Path:
        out = self.work / "build"
        run("cmake", "-S", source, "-B", out, f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_C_COMPILER={self.cc}",
            f"-DCMAKE_CXX_COMPILER={self.cxx}", "-DCMAKE_BUILD_TYPE=Release")  # fmt: skip
        run("cmake", "--build", out)
        return out

    def devices(self, plugins: Path) -> list[dict]:
        listed = run(self.ost, "devices", "--json", OSTINATO_PLUGIN_PATH=str(plugins)).stdout
        return json.loads(listed)["devices"]

    def hold_to_the_kit(self, library: Path, *arguments: str) -> None:
        report = json.loads(run(self.conform, library, "--json", *arguments, code=None).stdout)
        for result in report["levels"]:
            print(f"  level {result['level']}: {result['passed']} passed, {result['failed']} failed, "
                  f"{len(result['unsupported'])} unsupported")  # fmt: skip
            if result["failed"]:
                sys.exit(json.dumps(result["failures"], indent=1))

    def replay_what_another_device_captured(self, device: str, plugins: Path) -> None:
        """The digits classifier, captured on the cpu (or ref, where this build has no cpu), has the same bits here."""
        there = [d["id"] for d in self.devices(plugins) if d["available"]]
        maker = "cpu:0" if "cpu:0" in there else "ref:0"
        digits = ROOT / "examples" / "digits"
        manifest = self.work / "digits.ost.json"
        run(self.ost, "capture", "softmax(matmul(relu(matmul(x,W1)+b1),W2)+b2)", "--weights",
            digits / "weights.safetensors", "--shape", "x=n:0..1797,64", "--device", maker, "-o", manifest)  # fmt: skip
        for values in (["--input", f"x={digits / 'x_test.npy'}"], ["--var", "n=0"], ["--var", "n=1"]):
            answer = run(self.ost, "verify", manifest, "--devices", f"{maker},{device}", *values, "--json",
                         OSTINATO_PLUGIN_PATH=str(plugins))  # fmt: skip
            if not json.loads(answer.stdout)["equal"]:
                sys.exit(answer.stdout)
        again = [
            json.loads(run(self.ost, "replay", manifest, "--device", device, "--var", "n=7", "--json",
                           "--cache", self.work / "cache", OSTINATO_PLUGIN_PATH=str(plugins)).stdout)["compiles"]
            for _ in range(2)
        ]  # fmt: skip
        if again[0] == 0 or again[1] != 0:
            sys.exit(f"compiles of two processes: {again}, wanted some and 0")


def test_template(outside: Outside) -> None:
    source = outside.work / "npu"
    run(outside.ost, "plugin", "new", "npu", "--dir", source)
    refused = run(outside.ost, "plugin", "new", "npu", "--dir", source, code=3)
    if "is not empty" not in refused.stderr:
        sys.exit(refused.stderr)
    run(outside.ost, "plugin", "new", "NPU", code=2)
    built = outside.build(source)
    if [d["id"] for d in outside.devices(built) if d["driver"] == "npu"] != ["npu:0"]:
        sys.exit("the clone's device is not there")
    outside.hold_to_the_kit(built / "libostinato_npu.so")
    outside.replay_what_another_device_captured("npu:0", built)


def test_opencl(outside: Outside) -> None:
    if not list(Path("/usr/include/CL").glob("cl.h")):
        print("skipped: needs the OpenCL headers (opencl-headers, ocl-icd-opencl-dev)")
        sys.exit(SKIPPED)
    built = outside.build(ROOT / "examples" / "opencl-plugin")
    devices = [d for d in outside.devices(built) if d["driver"] == "opencl" and d["available"]]
    if not devices:
        print("skipped: needs an OpenCL device (pocl-opencl-icd)")
        sys.exit(SKIPPED)
    for index, device in enumerate(devices):
        print(f"  {device['id']}: {device['name']}")
        outside.replay_what_another_device_captured(device["id"], built)
        number = ("--device", str(index))
        for level in ("0-1", "3-4"):
            outside.hold_to_the_kit(built / "libostinato_opencl.so", "--level", level, *number)
        # All of level 2 takes a quarter of an hour of this device's compiler.
        for some in ("self_test.*", "structure.*", "reduce.f32*", "contract.*", "attn*", "argreduce.f32*", "cast.bf16*"):
            outside.hold_to_the_kit(built / "libostinato_opencl.so", "--level", "2", "--only", some, *number)


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def test_guide(outside: Outside) -> None:
    """The commands of docs/plugin-guide.md run in order; its C is in the template, line for line."""
    page = (ROOT / "docs" / "plugin-guide.md").read_text()
    template = (ROOT / "sdk" / "template" / "mydevice.c").read_text()
    quoted = blocks(page, "c")
    for quote in quoted:
        if quote not in template:
            sys.exit(f"docs/plugin-guide.md quotes what sdk/template/mydevice.c has not:\n{quote}")
    script = "set -eux\n" + "".join(blocks(page, "sh"))
    if len(quoted) < 3 or script.count("ost-conform") < 3:
        sys.exit("docs/plugin-guide.md has lost its snippets")
    run("bash", "-c", f"cd '{outside.work}'\n{script}", PATH=f"{outside.prefix / 'bin'}:{os.environ['PATH']}",
        CMAKE_PREFIX_PATH=str(outside.prefix), CC=outside.cc)  # fmt: skip


if __name__ == "__main__":
    which, build_folder, work_folder, c_compiler, cxx_compiler = sys.argv[1:]
    lab = Outside(Path(build_folder), Path(work_folder), c_compiler, cxx_compiler)
    {"template": test_template, "opencl": test_opencl, "guide": test_guide}[which](lab)
