"""The levelzero plugin as users meet it.

usage: levelzero_test.py devices|digits|faults|limits OST WORK      on the test driver
       levelzero_test.py dry|broken OST WORK OST_CONFORM PLUGIN
devices: what `ost` says with a device, without one, without a loader; digits: the digits classifier, captured on another
device, has the same bits and compiles once; faults: errors of the driver arrive as errors; limits: buffers that are too
large, imported memory, several devices; dry: Intel's own driver without a GPU (its AUB mode) takes every call; broken: the
conformance kit finds what a plugin lacks. Exit code 77: skipped.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

DIGITS = Path(__file__).resolve().parent.parent.parent.parent / "examples" / "digits"
OK, FINDINGS, UNAVAILABLE, COMPILE_FAILED, SKIPPED = 0, 1, 4, 5, 77
LOST = "0x70000001"
# Debug keys of Intel's driver 22.43: command buffers are written to a file and not run. `HardwareInfoOverride` is
# slices x subslices x execution units.
AUB = {"NEOReadDebugKeys": "1", "SetCommandStreamReceiver": "1", "AUBDumpCaptureFileName": "/dev/null"}
GPUS = {
    "tgllp": {"ProductFamilyOverride": "tgllp"},
    "dg2": {"ProductFamilyOverride": "dg2", "HardwareInfoOverride": "8x4x16"},
    "pvc": {"ProductFamilyOverride": "pvc", "HardwareInfoOverride": "8x8x8"},
}
SOFTMAX = ("softmax(matmul(x,w))", "--shape", "x=8,16", "--shape", "w=16,4")


class Lab:
    def __init__(self, ost: str, work: Path) -> None:
        self.program, self.work = ost, work
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)

    def ost(self, *arguments: Path | str, code: int | None = OK, **environment: str) -> subprocess.CompletedProcess[str]:
        print("$ ost", *arguments, environment or "", flush=True)
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, check=False,
                              timeout=300, env={**os.environ, **environment})  # fmt: skip
        if code is not None and done.returncode != code:
            sys.exit(f"exit code {done.returncode}, wanted {code}\n{done.stdout}\n{done.stderr}")
        return done

    def devices(self, **environment: str) -> list[dict]:
        """Those that run something; the plugin lists targets of images, too."""
        listed = json.loads(self.ost("devices", "--json", **environment).stdout)["devices"]
        return [d for d in listed if d["driver"] == "levelzero" and not d["compile_only"]]

    def reason(self, **environment: str) -> str:
        listed = json.loads(self.ost("plugins", "--json", **environment).stdout)["candidates"]
        return next(p["reason"] for p in listed if p["driver"] == "levelzero")


def expect(condition: bool, what: str) -> None:
    if not condition:
        sys.exit(what)


def test_devices(lab: Lab) -> None:
    (device,) = lab.devices()
    expect(device["available"] and device["id"] == "levelzero:0", f"levelzero:0 is {device}")
    expect(device["target"] == "spirv64+fp64" and "test driver" in device["name"], f"levelzero:0 is {device}")
    (narrow,) = lab.devices(OST_ZE_NO_FP64="1")
    expect(narrow["target"] == "spirv64", f"without double it is {narrow}")
    expect(len(lab.devices(OST_ZE_DEVICES="3")) == 3, "three devices are not three")
    (small,) = lab.devices(OST_ZE_GROUP="64")
    expect(not small["available"] and "64 work-items, wanted 256" in small["reason"], f"groups of 64: {small}")
    # No driver, no device or no loader is no error and no noise.
    for what, text in (
        ({"OST_ZE_DEVICES": "0"}, "zeInit gives 0x78000001 (ZE_RESULT_ERROR_UNINITIALIZED)"),
        ({"ZE_ENABLE_ALT_DRIVERS": "/nowhere/libze_none.so"}, "zeInit gives 0x78000001"),
        ({"OSTINATO_LEVELZERO_LIBRARY": "/nowhere/libze_loader.so"}, "no Level Zero: /nowhere/libze_loader.so"),
        # The option of the driver wins over the variable; a library that is none says what it lacks.
        ({"OSTINATO_OPTIONS": "levelzero.library=libc.so.6", "OSTINATO_LEVELZERO_LIBRARY": "/x"}, "libc.so.6 has no zeInit"),
    ):
        expect(lab.devices(**what) == [], f"{what}: a device of a driver that has none")
        targets = json.loads(lab.ost("devices", "--json", **what).stdout)["devices"]
        reasons = {d["reason"] for d in targets if d["driver"] == "levelzero"}
        said = " ".join(reasons) + lab.reason(**what)
        expect(text in said, f"{what}: {said}")
    for target, text in (("skl", "has f64, the device has not"), ("gen99", "no such target")):
        (device,) = lab.devices(OSTINATO_OPTIONS=f"levelzero.target={target}", OST_ZE_NO_FP64="1")
        expect(not device["available"] and text in device["reason"], f"target {target}: {device}")
    refused = lab.ost("run", "1+x", "--shape", "x=3", "--device", "levelzero:0", code=UNAVAILABLE, OST_ZE_DEVICES="0")
    expect("levelzero" in refused.stderr, refused.stderr)


def test_digits(lab: Lab) -> None:
    manifest = lab.work / "digits.ost.json"
    lab.ost("capture", "softmax(matmul(relu(matmul(x,W1)+b1),W2)+b2)", "--weights", DIGITS / "weights.safetensors",
            "--shape", "x=n:0..1797,64", "-o", manifest)  # fmt: skip
    for order in ("0", "1"):
        for values in (["--input", f"x={DIGITS / 'x_test.npy'}"], ["--var", "n=0"], ["--var", "n=1"], ["--var", "n=65"]):
            answer = lab.ost("verify", manifest, "--devices", "ref:0,levelzero:0", *values, "--json", OST_ZE_REVERSE=order)
            expect(json.loads(answer.stdout)["equal"], answer.stdout)
    listed = json.loads(lab.ost("devices", "--json").stdout)["devices"]
    if any(d["id"] == "cpu:0" and d["available"] for d in listed):
        answer = lab.ost("verify", manifest, "--devices", "cpu:0,levelzero:0", "--var", "n=33", "--json")
        expect(json.loads(answer.stdout)["equal"], answer.stdout)
    replay = ("replay", manifest, "--device", "levelzero:0", "--var", "n=7", "--json", "--cache", lab.work / "cache")
    first = json.loads(lab.ost(*replay).stdout)
    again = json.loads(lab.ost(*replay, "--repeat", "5").stdout)
    expect(first["compiles"] > 0 and again["compiles"] == 0, f"compiles: {first['compiles']}, then {again['compiles']}")
    expect(again["allocations"] == 0, f"{again['allocations']} allocations of a replay")
    expect(first["outputs"] == again["outputs"], "a replay from the cache has other bits")
    # Images that need double are none for a device that has none.
    narrow = json.loads(lab.ost(*replay, OST_ZE_NO_FP64="1").stdout)["compiles"]
    expect(narrow == first["compiles"], f"{narrow} compiles for another target, wanted {first['compiles']}")


def test_faults(lab: Lab) -> None:
    """Each call fails once in a run, at each place in turn; what fails behind the self-test of the device is the program."""
    run = ("run", *SOFTMAX, "--device", "levelzero:0", "--cache", str(lab.work / "cache"))
    lab.ost(*run)
    for call, error, text in (
        ("execute", LOST, "DEVICE_LOST"),  # of work that was accepted
        ("zeCommandQueueExecuteCommandLists", LOST, "DEVICE_LOST"),
        ("zeFenceHostSynchronize", LOST, "DEVICE_LOST"),
        ("zeCommandListAppendLaunchKernel", "0x78000013", "INVALID_GROUP_SIZE_DIMENSION"),
        ("zeCommandListAppendMemoryCopy", "0x70000002", "OUT_OF_HOST_MEMORY"),
        ("zeMemAllocDevice", "0x70000003", "OUT_OF_DEVICE_MEMORY"),
        ("zeMemAllocHost", "0x70000002", "OUT_OF_HOST_MEMORY"),
        ("zeCommandListCreate", "0x70000003", "OUT_OF_DEVICE_MEMORY"),
    ):
        of_the_program = turn = 0
        for turn in range(1, 80):
            done = subprocess.run([lab.program, *run], capture_output=True, text=True, check=False, timeout=120,
                                  env={**os.environ, "OST_ZE_FAIL": f"{call}:{turn}:{error}"})  # fmt: skip
            if done.returncode == 0 and text not in done.stderr:
                break  # the run has no such call any more
            expect(done.returncode != 86, f"{call}, turn {turn}: something is left: {done.stderr}")
            expect(text in done.stderr, f"{call}, turn {turn}: exit code {done.returncode}, {done.stderr}")
            if "inexact" not in done.stderr:
                of_the_program += 1
                expect(done.returncode > 0, f"{call}, turn {turn}: the run goes on as if nothing were wrong: {done.stderr}")
                lost = error == LOST
                expect(not lost or done.returncode == UNAVAILABLE, f"{call}: exit code {done.returncode}: {done.stderr}")
        print(f"{call}: {turn - 1} places, {of_the_program} of them in the program", flush=True)
        expect(turn < 79, f"{call} never stops failing")
        expect(turn > 1, f"no call of {call}")
    # A module that does not build: the device's compiler says why.
    refused = lab.ost(*run[:-1], "off", code=None, OST_ZE_FAIL="zeModuleCreate:12:0x70000004")
    expect(refused.returncode != OK and "MODULE_BUILD_FAILURE" in refused.stderr, refused.stderr)


def test_limits(lab: Lab) -> None:
    program = ("run", "x+1", "--shape", "x=400000", "--device", "levelzero:0")
    small = {"OST_ZE_MAX_ALLOC": "1048576"}
    refused = lab.ost(*program, code=None, **small)
    expect(refused.returncode != OK and "levelzero.large_buffers=1" in refused.stderr, refused.stderr)
    wanted = json.loads(lab.ost(*program, "--json").stdout)["outputs"]
    for what in ({**small, "OSTINATO_OPTIONS": "levelzero.large_buffers=1"}, {"OST_ZE_IMPORT": "1"},
                 {"OSTINATO_OPTIONS": "levelzero.pool=0"}, {"OST_ZE_DEVICES": "2"}):  # fmt: skip
        got = json.loads(lab.ost(*program, "--json", **what).stdout)["outputs"]
        expect(got == wanted, f"{what}: {got}, wanted {wanted}")
    second = json.loads(lab.ost(*program[:-1], "levelzero:1", "--json", OST_ZE_DEVICES="2").stdout)["outputs"]
    expect(second == wanted, f"the second device has other bits: {second}")


def run_kit(kit: str, plugin: str, *arguments: str, **environment: str) -> dict:
    print("$ ost-conform", *arguments, environment, flush=True)
    done = subprocess.run([kit, plugin, *arguments, "--json"], capture_output=True, text=True, check=False,
                          timeout=1200, env={**os.environ, **environment})  # fmt: skip
    if done.returncode not in (OK, FINDINGS):
        sys.exit(f"exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def test_broken(lab: Lab, kit: str, plugin: str) -> None:
    report = run_kit(kit, plugin, "--level", "3-4")
    failures = [f for level in report["levels"] for f in level["failures"]]
    expect(failures != [], "the conformance kit finds nothing wrong")
    for failure in failures:
        print(failure["what"], failure["reason"])


# Of a driver that does not run: it has no clock, and nothing that the kit could compare.
NO_CLOCK = ("zeDeviceGetGlobalTimestamps", "zeEventQueryKernelTimestamp")
NO_VALUES = ("wanted", "other bits", "other bytes", "was written", "did not run", "does not work", "differ")


def test_dry(lab: Lab, kit: str, plugin: str) -> None:
    """No values: nothing runs. A call that Intel's driver refuses is an error, and that is what is looked for."""
    ran = 0
    for gpu, keys in GPUS.items():
        environment = {**AUB, **keys, "ZE_ENABLE_VALIDATION_LAYER": "1", "ZE_ENABLE_PARAMETER_VALIDATION": "1"}
        found = lab.devices(**environment)
        if not found:
            continue
        ran += 1
        (device,) = found
        print(gpu, device["name"], device["target"], flush=True)
        expect("Intel" in device["name"], f"{gpu} is {device}")
        expect(device["target"] == ("spirv64+fp64" if gpu == "pvc" else "spirv64"), f"{gpu} is {device}")
        # The last one gets the instructions that Intel's offline compiler makes for this GPU.
        native = ["--option", f"target={gpu}"] if shutil.which("ocloc") else []
        for what in (
            ["--level", "0-1"],
            ["--level", "3-4"],
            ["--level", "2", "--only", "structure*"],
            ["--level", "2", "--only", "self_test*"],
            ["--level", "2", "--only", "self_test*", *native],
        ):
            report = run_kit(kit, plugin, *what, **environment)
            cases = sum(level["passed"] + level["failed"] for level in report["levels"])
            failures = [f for level in report["levels"] for f in level["failures"]]
            expect(cases > 5, f"{cases} cases of {what}")
            for f in failures:
                reason = f["reason"]
                dry = any(call in reason for call in NO_CLOCK) or (
                    "gives 0x" not in reason and any(text in reason for text in NO_VALUES))  # fmt: skip
                expect(dry, f"{gpu}: {f['what']}: {reason}")
            print(f"{gpu} {' '.join(what)}: {cases} cases, {len(failures)} without the values", flush=True)
            if "--option" in what:
                expect(report["target"] == gpu, f"the target is {report['target']}, wanted {gpu}")
    if ran == 0:
        print("skipped: needs Intel's Level Zero driver (intel-opencl-icd 22.43, or libze-intel-gpu1)")
        sys.exit(SKIPPED)


if __name__ == "__main__":
    which, ost_program, work_folder, *rest = sys.argv[1:]
    tests = {"devices": test_devices, "digits": test_digits, "faults": test_faults, "limits": test_limits,
             "broken": test_broken, "dry": test_dry}  # fmt: skip
    tests[which](Lab(ost_program, Path(work_folder)), *rest)
