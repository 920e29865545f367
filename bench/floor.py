#!/usr/bin/env python3
"""The first speed floor: three kernels beside PyTorch eager and the FMA roof, one thread, one interleaved run.

    floor.py --ost build/release/bin/ost [--rounds 15] [--json out.json]

Needs an interpreter with torch (the CPU build) and numpy. Each round times every contender once (the median of a burst
of calls); the table shows the median over the rounds, so that a noisy moment hits all of them alike. Inputs are already
where each contender wants them; one call returns when the result is complete. Results are compared with float64 first.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

ROWS = [
    # name, expression, inputs, torch, flops (0: report time only), calls in a burst
    ("matmul 1024^3", "matmul(a,b)", {"a": (1024, 1024), "b": (1024, 1024)}, lambda a, b: a @ b, 2 * 1024**3, 5),
    ("silu(x)*y+relu(z)-0.5*x, 2^20", "silu(x)*y + relu(z) - 0.5*x", {k: (1 << 20,) for k in "xyz"},
     lambda x, y, z: torch.nn.functional.silu(x) * y + torch.relu(z) - 0.5 * x, 0, 20),
    ("softmax 4096x1024", "softmax(x)", {"x": (4096, 1024)}, lambda x: torch.softmax(x, -1), 0, 10),
    ("layernorm 4096x1024", "layernorm(x)", {"x": (4096, 1024)},
     lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:]), 0, 10),
    ("row sums 4096x4096", "sum(x,axis=1)", {"x": (4096, 4096)}, lambda x: x.sum(1), 0, 5),
    ("column sums 4096x4096", "sum(x,axis=0)", {"x": (4096, 4096)}, lambda x: x.sum(0), 0, 5),
]


def reference(name, arrays):
    """The row in float64."""
    args = {k: torch.from_numpy(v.astype(np.float64)) for k, v in arrays.items()}
    return next(f for n, _, _, f, _, _ in ROWS if n == name)(**args).numpy()


class Row:
    def __init__(self, ost, folder, spec, rng):
        self.name, expression, shapes, self.function, self.flops, self.burst = spec
        self.arrays = {k: rng.standard_normal(s, dtype=np.float32) for k, s in shapes.items()}
        self.tensors = {k: torch.from_numpy(v) for k, v in self.arrays.items()}
        self.manifest = folder / f"{len(list(folder.iterdir()))}.ost.json"
        self.ost, self.inputs = ost, []
        shape_flags = []
        for key, value in self.arrays.items():
            file = folder / f"{self.manifest.stem}.{key}.npy"
            np.save(file, value)
            self.inputs += ["--input", f"{key}={file}"]
            shape_flags += ["--shape", f"{key}={','.join(map(str, value.shape))}"]
        self.command("capture", expression, *shape_flags, "--device", "cpu:0", "-o", str(self.manifest))
        self.check(folder)

    def command(self, *args):
        done = subprocess.run([self.ost, *args, "--json"], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{self.name}: ost {args[0]} failed: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def replay(self, *extra):
        return self.command("replay", str(self.manifest), *self.inputs, "--device", "cpu:0", "--threads", "1", *extra)

    def check(self, folder):
        out = folder / "out.npy"
        self.replay("--output", str(out))
        want = reference(self.name, self.arrays)
        error = np.max(np.abs(np.load(out) - want)) / max(1.0, np.max(np.abs(want)))
        if not error < 1e-5:
            sys.exit(f"{self.name}: wrong result, relative error {error:.2e}")

    def ost_us(self):
        return self.replay("--repeat", str(self.burst + 3))["wall_us"]["median"]

    def torch_us(self):
        times = []
        with torch.inference_mode():
            for _ in range(self.burst + 3):
                start = time.perf_counter()
                self.function(**self.tensors)
                times.append((time.perf_counter() - start) * 1e6)
        return statistics.median(times)


def fma_peak(folder):
    source = Path(__file__).with_name("peak.cpp")
    binary = folder / "peak"
    subprocess.run(["g++", "-O2", "-std=c++20", str(source), "-o", str(binary)], check=True)
    return lambda: json.loads(subprocess.run([binary], capture_output=True, text=True, check=True).stdout)["gflops"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ost", default="build/release/bin/ost")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peak = fma_peak(folder)
        rng = np.random.default_rng(1)
        rows = [Row(options.ost, folder, spec, rng) for spec in ROWS]
        peaks, times = [], {row.name: ([], []) for row in rows}
        for _ in range(options.rounds):
            peaks.append(peak())
            for row in rows:
                times[row.name][0].append(row.ost_us())
                times[row.name][1].append(row.torch_us())
    roof = statistics.median(peaks)
    print(f"FMA peak, 1 thread: {roof:.0f} GFLOP/s; torch {torch.__version__}; median of {options.rounds} rounds\n")
    print("| work | ostinato us | torch eager us | torch / ostinato | of the FMA peak |\n|---|---|---|---|---|")
    report = {"peak_gflops": roof, "rows": []}
    for row in rows:
        ours, theirs = (statistics.median(t) for t in times[row.name])
        share = f"{100 * row.flops / ours / 1e3 / roof:.0f} %" if row.flops else ""
        print(f"| {row.name} | {ours:.0f} | {theirs:.0f} | {theirs / ours:.2f} | {share} |")
        report["rows"].append({"name": row.name, "ostinato_us": ours, "torch_us": theirs})
    if options.json:
        Path(options.json).write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
