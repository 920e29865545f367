"""Images of the levelzero driver, made by `ost link` on a machine that need not have a device.

usage: link_test.py OST WORK
Exit code 77 (skipped) behind the checks of SPIR-V where ocloc is not installed.
"""

import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

DIGITS = Path(__file__).resolve().parent.parent.parent / "examples" / "digits"
OK, COMPILE_FAILED, UNAVAILABLE, SKIPPED = 0, 5, 4, 77
SPIRV, NATIVE = 1, 2


class Lab:
    def __init__(self, ost: str, work: Path) -> None:
        self.program, self.work = ost, work
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)

    def ost(self, *arguments: Path | str, code: int = OK, **environment: str) -> subprocess.CompletedProcess[str]:
        print("$ ost", *arguments, environment or "", flush=True)
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, check=False,
                              env={**os.environ, **environment})  # fmt: skip
        if done.returncode != code:
            sys.exit(f"exit code {done.returncode}, wanted {code}\n{done.stdout}\n{done.stderr}")
        return done

    def targets(self, **environment: str) -> dict[str, dict]:
        listed = json.loads(self.ost("devices", "--json", **environment).stdout)["devices"]
        return {d["target"]: d for d in listed if d["driver"] == "levelzero" and d["compile_only"]}


def expect(condition: bool, what: object) -> None:
    if not condition:
        sys.exit(str(what))


def image(path: Path) -> tuple[int, str, bytes]:
    """Kind, target and code, as plugins/levelzero/compiler/image.hpp has them."""
    data = path.read_bytes()
    expect(data[:8] == b"OSTLZE1\n", f"{path} is no image of the driver")
    kind, size = struct.unpack_from("<II", data, 8)
    target = data[16 : 16 + size].decode()
    at = 16 + size
    (size,) = struct.unpack_from("<I", data, at)
    return kind, target, data[at + 4 + size + 4 * 4 + 4 :]


def images(manifest: Path) -> dict[str, list[tuple[int, bytes]]]:
    out: dict[str, list[tuple[int, bytes]]] = {}
    for path in sorted(manifest.with_name(manifest.name.replace(".ost.json", ".images")).glob("*.img")):
        kind, target, code = image(path)
        out.setdefault(target, []).append((kind, code))
    return out


def test_spirv(lab: Lab, digits: Path) -> None:
    targets = lab.targets()
    expect("spirv64" in targets and "spirv64+fp64" in targets, targets)
    expect(not targets["spirv64"]["available"] and targets["spirv64"]["reason"] != "", targets["spirv64"])
    hashes = []
    for name in ("a", "b"):  # two processes, no cache: equal bytes
        out = lab.work / f"{name}.ost.json"
        lab.ost("link", digits, "--targets", "spirv64", "-o", out, "--cache", "off")
        found = images(out)["spirv64"]
        expect(len(found) == 3 and all(k == SPIRV and c[:4] == b"\x03\x02\x23\x07" for k, c in found), found)
        hashes.append(sorted(hashlib.sha256(code).hexdigest() for _, code in found))
    expect(hashes[0] == hashes[1], "two links of one program differ")
    cache = ("--cache", lab.work / "cache", "--json")
    again = [lab.ost("link", digits, "--targets", "spirv64", "-o", lab.work / "c.ost.json", *cache).stdout for _ in range(2)]
    expect([json.loads(a)["compiles"] for a in again] == [3, 0], again)
    lab.ost("inspect", lab.work / "c.ost.json")
    # f64 is refused by a target that does not have it, with words, and taken by one that has.
    double = lab.work / "double.ost.json"
    lab.ost("capture", "cast(x, f64) * 2", "--shape", "x=5", "-o", double)
    refused = lab.ost("link", double, "--targets", "spirv64", "-o", lab.work / "d.ost.json", code=COMPILE_FAILED)
    expect("f64, which the target does not have" in refused.stderr, refused.stderr)
    lab.ost("link", double, "--targets", "spirv64+fp64", "-o", lab.work / "e.ost.json")


def test_options(lab: Lab, digits: Path) -> None:
    """Another division is another compiler: nothing of it comes out of the cache of the first."""
    cache = ("--cache", lab.work / "cache", "--json")
    soft = {"OSTINATO_OPTIONS": "levelzero.division=software"}
    again = [json.loads(lab.ost("link", digits, "--targets", "spirv64", "-o", lab.work / "s.ost.json", *cache, **soft).stdout)
             for _ in range(2)]  # fmt: skip
    expect([a["compiles"] for a in again] == [3, 0], again)
    hard = {code for _, code in images(lab.work / "c.ost.json")["spirv64"]}
    other = {code for _, code in images(lab.work / "s.ost.json")["spirv64"]}
    expect(len(hard & other) == 2, f"{len(hard & other)} of 3 kernels are the same, wanted all but the one that divides")
    listed = json.loads(lab.ost("plugins", "--json", OSTINATO_OPTIONS="levelzero.division=yes").stdout)["candidates"]
    reason = next(p["reason"] for p in listed if "levelzero" in p["path"])
    expect("division is 'yes', wanted hardware or software" in reason, reason)


def test_without_ocloc(lab: Lab, digits: Path) -> None:
    off = {"OSTINATO_OPTIONS": "levelzero.ocloc=off"}
    expect(set(lab.targets(**off)) == {"spirv64", "spirv64+fp64"}, lab.targets(**off))
    refused = lab.ost("link", digits, "--targets", "levelzero:dg2", "-o", lab.work / "f.ost.json", code=UNAVAILABLE, **off)
    expect("ocloc is off" in refused.stderr, refused.stderr)
    # A compiler that says it succeeded and made nothing, and one that dies.
    for script, words in (
        ('case "$1" in query) printf 1.2 > OCL_DRIVER_VERSION;; *) echo "Build succeeded."; echo x > k;; esac', "no instructions"),
        ('case "$1" in query) printf 1.2 > OCL_DRIVER_VERSION;; *) echo ouch; kill -SEGV $$;; esac', "ouch"),
    ):
        fake = lab.work / "ocloc"
        fake.write_text(f"#!/bin/sh\n{script}\n")
        fake.chmod(0o755)
        refused = lab.ost("link", digits, "--targets", "levelzero:dg2", "-o", lab.work / "f.ost.json", "--cache", "off",
                          code=COMPILE_FAILED, OSTINATO_OPTIONS=f"levelzero.ocloc={fake}")  # fmt: skip
        expect(words in refused.stderr, refused.stderr)


def test_native(lab: Lab, digits: Path) -> None:
    if shutil.which("ocloc") is None:
        print("skipped: needs ocloc (intel-ocloc or intel-opencl-icd)")
        sys.exit(SKIPPED)
    out = lab.work / "native.ost.json"
    lab.ost("link", digits, "--targets", "spirv64,dg2,pvc", "-o", out)
    found = images(out)
    expect({t: [k for k, _ in found[t]] for t in found} ==
           {"spirv64": [SPIRV] * 3, "dg2": [NATIVE] * 3, "pvc": [NATIVE] * 3}, found.keys())  # fmt: skip
    expect(all(code[:4] == b"\x7fELF" for t in ("dg2", "pvc") for _, code in found[t]), "a native image that is no ELF")
    listed = lab.ost("inspect", out).stdout
    expect(all(t in listed for t in ("spirv64", "dg2", "pvc")), listed)


def disassembly(lab: Lab, expression: str, gpu: str) -> str:
    """What Intel's compiler makes of the one kernel of an expression of x, y and z."""
    manifest, folder = lab.work / "strict.ost.json", lab.work / "disassembly"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shapes = [part for name in "xyz" for part in ("--shape", f"{name}=300")]
    lab.ost("capture", expression, *shapes, "-o", manifest)
    lab.ost("link", manifest, "--targets", gpu, "-o", folder / "k.ost.json", "--cache", "off")
    ((_, code),) = images(folder / "k.ost.json")[gpu]
    (folder / "k").write_bytes(code)
    # ocloc looks for the library by the name that only a development package would have.
    for place in ("/usr/lib/x86_64-linux-gnu", "/usr/lib", "/usr/lib64"):
        for library in Path(place).glob("libiga64.so.*"):
            (folder / "libiga64.so").unlink(missing_ok=True)
            (folder / "libiga64.so").symlink_to(library)
    subprocess.run(["ocloc", "disasm", "-file", "k", "-dump", "d", "-device", gpu], check=True, capture_output=True, cwd=folder,
                   env={**os.environ, "LD_LIBRARY_PATH": str(folder)})  # fmt: skip
    texts = [path.read_text() for path in (folder / "d").glob("*.asm")]
    if not texts:
        print("skipped: needs libiga64 to see instructions")
        sys.exit(SKIPPED)
    return "\n".join(texts)


def count(text: str, instruction: str) -> int:
    return len(re.findall(rf"^\s*(?:\([^)]*\))?\s*{instruction}\b.*:f\b", text, re.MULTILINE))


def test_strict_instructions(lab: Lab) -> None:
    """Intel's compiler keeps what is strict: no contraction, divisions and square roots that are rounded, denormals."""
    for gpu in ("skl", "tgllp", "dg2", "pvc"):
        text = disassembly(lab, "x*y+z", gpu)
        expect(count(text, "mul") > 0 and count(text, "add") > 0, f"{gpu}: x*y+z:\n{text}")
        expect(count(text, "(?:mad|mac|dp4)") == 0, f"{gpu}: x*y+z is contracted:\n{text}")
        text = disassembly(lab, "x/y+sqrt(z)", gpu)
        # An approximation is math.inv and mul, math.sqt; a rounded one corrects it in a dozen steps.
        expect(count(text, "math.sqt") == 0, f"{gpu}: an approximate square root:\n{text}")
        expect(count(text, "(?:madm|mad)") >= 20, f"{gpu}: an approximate division:\n{text}")
        # Bits 6, 7 and 10 of the control register: denormals of f64, f32 and f16 are kept.
        expect(re.search(r"or .*cr0.*0x4C0", text), f"{gpu}: denormals are not kept:\n{text}")


def main() -> None:
    lab = Lab(sys.argv[1], Path(sys.argv[2]))
    digits = lab.work / "digits.ost.json"
    lab.ost("capture", "softmax(matmul(relu(matmul(x,W1)+b1),W2)+b2)", "--weights", DIGITS / "weights.safetensors", "--shape",
            "x=n:0..1797,64", "-o", digits)  # fmt: skip
    test_spirv(lab, digits)
    test_options(lab, digits)
    test_without_ocloc(lab, digits)
    test_native(lab, digits)
    test_strict_instructions(lab)


if __name__ == "__main__":
    main()
