"""The hip plugin as users meet it, on the stand-in of the HIP runtime.

usage: hip_test.py devices|digits|faults|link OST WORK
devices: what `ost` says with a device, without one, without a runtime; digits: the digits classifier, captured on another
device, has the same bits and compiles once; faults: errors of the runtime arrive as errors; link, without the stand-in: real code objects for GPUs that are not here
(exit code 77 where no compiler is).
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

DIGITS = Path(__file__).resolve().parent.parent.parent / "examples" / "digits"
OK, UNAVAILABLE, COMPILE_FAILED, SKIPPED = 0, 4, 5, 77


class Lab:
    def __init__(self, ost: str, work: Path) -> None:
        self.program, self.work = ost, work
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)

    def ost(self, *arguments: Path | str, code: int | None = OK, **environment: str) -> subprocess.CompletedProcess[str]:
        print("$ ost", *arguments, environment or "", flush=True)
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, check=False,
                              env={**os.environ, **environment})  # fmt: skip
        if code is not None and done.returncode != code:
            sys.exit(f"exit code {done.returncode}, wanted {code}\n{done.stdout}\n{done.stderr}")
        return done

    def device(self, **environment: str) -> dict | None:
        listed = json.loads(self.ost("devices", "--json", **environment).stdout)["devices"]
        return next((d for d in listed if d["id"] == "hip:0"), None)

    def reason(self, **environment: str) -> str:
        listed = json.loads(self.ost("plugins", "--json", **environment).stdout)["candidates"]
        return next(p["reason"] for p in listed if p["driver"] == "hip")


def expect(condition: bool, what: str) -> None:
    if not condition:
        sys.exit(what)


def test_devices(lab: Lab) -> None:
    device = lab.device()
    expect(device is not None and device["available"], f"hip:0 is {device}")
    other = lab.device(OST_STANDIN_ARCH="gfx001")
    expect(other is not None and other["target"] == "gfx001", f"hip:0 is {other}")
    listed = {d["id"]: d for d in json.loads(lab.ost("devices", "--json").stdout)["devices"]}
    expect(listed["hip:gfx001"]["compile_only"] and not listed["hip:0"]["compile_only"], f"devices: {listed.keys()}")
    # No device, or no runtime, is no error and no noise.
    expect(lab.device(OST_STANDIN_DEVICES="0") is None, "a device of a runtime that has none")
    reason = lab.reason(OST_STANDIN_DEVICES="0")
    expect("no device: hipInit" in reason and "hipErrorNoDevice" in reason, reason)
    quiet = lab.ost("devices", OST_STANDIN_DEVICES="0").stderr
    expect(quiet == "", f"stderr: {quiet}")
    findings = json.loads(lab.ost("doctor", "--json", code=None, OST_STANDIN_DEVICES="0").stdout)["findings"]
    expect(all(f["ok"] for f in findings if "hip.ostplugin.json" in f["what"]), f"doctor: {findings}")
    reason = lab.reason(OSTINATO_HIP_LIBRARY="/nowhere/libamdhip64.so")
    expect("no HIP runtime" in reason and "/nowhere/libamdhip64.so" in reason, reason)
    nothing = lab.ost("devices", OSTINATO_HIP_LIBRARY="/nowhere/libamdhip64.so", OSTINATO_OPTIONS="hip.clang=off").stdout
    expect("hip:" not in nothing, nothing)
    old = lab.reason(OSTINATO_OPTIONS="hip.sqrt=fast")
    expect("wanted software or hardware" in old, old)
    # The option of the driver wins over the variable; a library that is none says what it lacks.
    reason = lab.reason(OSTINATO_OPTIONS="hip.library=libc.so.6")
    expect("libc.so.6 has no hipInit" in reason, reason)
    refused = lab.ost("run", "1+x", "--shape", "x=3", "--device", "hip:0", code=UNAVAILABLE, OST_STANDIN_DEVICES="0")
    expect("hip" in refused.stderr, refused.stderr)


def test_digits(lab: Lab) -> None:
    manifest = lab.work / "digits.ost.json"
    lab.ost("capture", "softmax(matmul(relu(matmul(x,W1)+b1),W2)+b2)", "--weights", DIGITS / "weights.safetensors",
            "--shape", "x=n:0..1797,64", "-o", manifest)  # fmt: skip
    for order in ("0", "1"):
        for values in (["--input", f"x={DIGITS / 'x_test.npy'}"], ["--var", "n=0"], ["--var", "n=1"], ["--var", "n=65"]):
            answer = lab.ost("verify", manifest, "--devices", "ref:0,hip:0", *values, "--json", OST_STANDIN_REVERSE=order)
            expect(json.loads(answer.stdout)["equal"], answer.stdout)
    replay = ("replay", manifest, "--device", "hip:0", "--var", "n=7", "--json", "--cache", lab.work / "cache")
    compiles = [json.loads(lab.ost(*replay).stdout)["compiles"] for _ in range(2)]
    expect(compiles[0] > 0 and compiles[1] == 0, f"compiles of two processes: {compiles}, wanted some and 0")
    # So do images that were made for it without a device, and those of another architecture do not.
    link = ("link", manifest, "--targets", "gfx001,hip:gfx000", "-o", lab.work / "linked.ost.json", "--json", "--cache",
            lab.work / "link")  # fmt: skip
    links = [json.loads(lab.ost(*link, OST_STANDIN_DEVICES="0").stdout) for _ in range(2)]
    expect(links[0]["compiles"] == links[0]["images"] == 2 * compiles[0], f"link: {links[0]}")
    expect(links[1]["compiles"] == 0, f"the second link: {links[1]}")
    trusted = json.loads(lab.ost("replay", lab.work / "linked.ost.json", *replay[2:-1], "off", "--trust").stdout)
    expect(trusted["compiles"] == 0 and trusted["images_used"] == compiles[0], f"replay of images: {trusted}")
    # Images of one architecture are none of another.
    again = json.loads(lab.ost(*replay, OST_STANDIN_ARCH="gfx001").stdout)["compiles"]
    expect(again == compiles[0], f"{again} compiles for another architecture, wanted {compiles[0]}")


def test_faults(lab: Lab) -> None:
    """Each call fails once in a run, at each place in turn; what fails behind the self-test of the device is the program."""
    run = ("run", "softmax(matmul(x,w))", "--shape", "x=8,16", "--shape", "w=16,4", "--device", "hip:0", "--cache",
           str(lab.work / "cache"))  # fmt: skip
    lab.ost(*run)
    for call, error, text in (
        ("hipModuleLaunchKernel", 719, "hipErrorLaunchFailure"),  # of work that was accepted; the device is lost
        ("hipStreamSynchronize", 700, "hipErrorIllegalAddress"),
        ("hipMemcpyAsync", 1, "hipErrorInvalidValue"),
        ("hipMalloc", 2, "hipErrorOutOfMemory"),
    ):
        of_the_program = 0
        for turn in range(1, 60):
            done = subprocess.run([lab.program, *run], capture_output=True, text=True, check=False, timeout=120,
                                  env={**os.environ, "OST_STANDIN_FAIL": f"{call}:{turn}:{error}"})  # fmt: skip
            if done.returncode == 0 and text not in done.stderr:
                break  # the run has no such call any more
            expect(text in done.stderr, f"{call}, turn {turn}: exit code {done.returncode}, {done.stderr}")
            if "inexact" not in done.stderr:
                of_the_program += 1
                expect(done.returncode > 0, f"{call}, turn {turn}: the run goes on as if nothing were wrong: {done.stderr}")
                expect(error < 700 or done.returncode == UNAVAILABLE, f"{call}: exit code {done.returncode}")
        print(f"{call}: {turn - 1} places, {of_the_program} of them in the program", flush=True)
        expect(of_the_program > 0, f"no failure of {call} reached the program")
    lab.ost(*run, OST_STANDIN_FAIL="hipModuleLoadData:12:200")  # a cached image that does not load is compiled again
    refused = lab.ost(*run[:-1], "off", code=COMPILE_FAILED, OST_STANDIN_CXX="/nowhere/c++")
    expect("/nowhere/c++" in refused.stderr, refused.stderr)


def test_link(lab: Lab) -> None:
    devices = json.loads(lab.ost("devices", "--json").stdout)["devices"]
    here = {d["target"] for d in devices if d["driver"] == "hip" and d["compile_only"]}
    targets = [t for t in ("gfx90a", "gfx1030", "gfx942", "gfx1100", "gfx11-generic") if t in here]
    if "gfx90a" not in here:
        print("skipped: needs hipRTC (libamdhip64-5) or clang 19 or newer with ld.lld")
        sys.exit(SKIPPED)
    manifest = lab.work / "digits.ost.json"
    lab.ost("capture", "softmax(matmul(relu(matmul(x,W1)+b1),W2)+b2)", "--weights", DIGITS / "weights.safetensors",
            "--shape", "x=n:0..1797,64", "-o", manifest)  # fmt: skip
    kernels = len(json.loads(lab.ost("inspect", manifest, "--json").stdout)["kernels"])
    link = ("link", manifest, "--targets", ",".join(targets), "--json", "--cache", lab.work / "cache")
    answers = [json.loads(lab.ost(*link).stdout) for _ in range(2)]
    expect([a["compiles"] for a in answers] == [kernels * len(targets), 0], f"two links: {answers}")
    listed = lab.ost("inspect", manifest).stdout
    for target in targets:
        expect(listed.count(f"compiled for hip {target}\n") + listed.count(f"compiled for hip {target};") == kernels, listed)
    refused = lab.ost("replay", manifest, "--device", "hip:gfx90a", "--var", "n=1", code=UNAVAILABLE).stderr
    expect("hip:gfx90a can only compile, it cannot run" in refused, refused)
    unknown = lab.ost("link", manifest, "--targets", "gfx9999", code=UNAVAILABLE).stderr
    expect("hip:gfx90a" in unknown, unknown)
    # hipRTC 5 would end the process.
    refused = lab.ost("link", manifest, "--targets", "hip:gfx9999", code=UNAVAILABLE).stderr
    expect("nothing here compiles for gfx9999" in refused, refused)


if __name__ == "__main__":
    which, ost_program, work_folder = sys.argv[1:]
    {"devices": test_devices, "digits": test_digits, "faults": test_faults, "link": test_link}[which](Lab(ost_program, Path(work_folder)))
