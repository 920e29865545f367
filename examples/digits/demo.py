#!/usr/bin/env python3
"""The demo: captures the digit classifier with a symbolic batch n, replays it in fresh processes for n = 0, 1, 7 and
all test images, checks the accuracy, and verifies that ref and cpu give the same bits. Standard library only.

usage: demo.py OST FOLDER      OST: the command line tool; FOLDER: where the manifest and the outputs go
"""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import npy

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
EXPRESSION = "softmax(matmul(relu(matmul(x,W1)+b1),W2)+b2)"
WANTED_ACCURACY = 0.95


def ost(tool: Path, *arguments: Path | str) -> dict:
    """Runs one ost command in a process of its own, shows it, and returns its JSON object."""
    print("$ ost", shlex.join(str(a).replace(f"{ROOT}/", "") for a in arguments), flush=True)
    run = subprocess.run([tool, *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"demo: ost {arguments[0]} ended with exit code {run.returncode}\n{run.stdout}")
    return json.loads(run.stdout)


def first_images(count: int, folder: Path) -> Path:
    """A .npy file with the first count test images."""
    (images, pixels), descr, values = npy.read(HERE / "x_test.npy")
    if not 0 <= count <= images:
        raise ValueError(f"{count} images wanted, there are {images}")
    path = folder / f"x_{count}.npy"
    npy.write(path, (count, pixels), descr, values[: count * pixels])
    return path


def correct(path: Path, labels: list[int]) -> int:
    """How many rows of the class probabilities in path have their largest entry at the label."""
    (rows, classes), _, values = npy.read(path)
    if rows != len(labels):
        sys.exit(f"demo: {path} has {rows} rows, wanted {len(labels)}")
    answers = [max(range(classes), key=values[row * classes : (row + 1) * classes].__getitem__) for row in range(rows)]
    return sum(answer == label for answer, label in zip(answers, labels, strict=True))


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tool, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / "digits.ost.json"
    labels = list(npy.read(HERE / "y_test.npy")[2])

    captured = ost(tool, "capture", EXPRESSION, "--weights", HERE / "weights.safetensors",
                   "--shape", "x=n:0..1797,64", "--device", "cpu:0", "-o", manifest)  # fmt: skip
    print(f"  program {captured['program_id'][:16]}: {captured['kernels']} kernels, {captured['summary']['text']}")

    compiles = 0
    right = 0
    for count in (0, 1, 7, len(labels)):
        output = folder / f"y_{count}.npy"
        replayed = ost(tool, "replay", manifest, "--input", f"x={first_images(count, folder)}",
                       "--device", "cpu:0", "--repeat", "20", "--output", output)  # fmt: skip
        compiles += replayed["compiles"]
        right = correct(output, labels[:count])
        print(f"  n = {count}: {right} of {count} right, {replayed['compiles']} compiles,"
              f" {replayed['launches']} launches, {replayed['allocations']} allocations,"
              f" median {replayed['wall_us']['median']} us")  # fmt: skip
        for kernel in replayed["per_kernel"]:
            print(f"    {kernel['us']:>9} us  {kernel['name']}")

    verified = ost(tool, "verify", manifest, "--devices", "ref:0,cpu:0",
                   "--input", f"x={first_images(len(labels), folder)}")  # fmt: skip
    if not verified["equal"]:
        sys.exit(f"demo: ref and cpu differ: {verified['first_difference']}")
    accuracy = right / len(labels)
    if compiles != 0 or accuracy < WANTED_ACCURACY:
        sys.exit(f"demo: accuracy {accuracy:.3f} (wanted {WANTED_ACCURACY}), {compiles} compiles (wanted 0)")
    print(f"accuracy {accuracy:.3f} on {len(labels)} images; {compiles} compiles; ref and cpu equal")


if __name__ == "__main__":
    main()
