#!/usr/bin/env python3
"""The backend node tests of the onnx package, through ostinato.onnx. Prints the result of each case and what is not passed
with its reason; docs/onnx-nodes.txt is that list.

usage: onnx_nodes.py [--device cpu:0] [--match REGEX] [--processes N] [--write FILE]
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

os.environ.setdefault("OSTINATO_PLUGINS", "cpu,ref")


def cases():
    """All of them, by name, with models and data that onnx makes."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sorted(load_model_tests(kind="node"), key=lambda c: c.name)


def compare(case, wanted, found):
    """None, or how they differ; by onnx's own rule, with the tolerances of the case."""
    from onnx.backend.test.runner import Runner

    try:
        Runner.assert_similar_outputs(wanted, found, case.rtol, case.atol)
    except Exception as e:
        line = next((line.strip() for line in str(e).splitlines() if line.strip()), "")
        return f"the result differs: {line}"[:160]
    return None


def run(case, device):
    """None if it passes, else the reason."""
    import onnx.numpy_helper

    import ostinato.onnx as ox

    def array(x, info):
        import numpy as np

        if isinstance(x, onnx.TensorProto):
            return onnx.numpy_helper.to_array(x)
        kind = info.type.tensor_type.elem_type
        return np.asarray(x, onnx.helper.tensor_dtype_to_np_dtype(kind)) if np.isscalar(x) else x

    try:
        model = ox.load(case.model, device=device)
        for inputs, wanted in case.data_sets:
            given = [array(x, i) for x, i in zip(inputs, case.model.graph.input)]
            found = model(*given)
            names = [o.name for o in case.model.graph.output]
            found = [found[n] for n in names] if len(names) > 1 else [found]
            reason = compare(case, [array(x, i) for x, i in zip(wanted, case.model.graph.output)], found)
            if reason:
                return reason
    except ox.UnsupportedError as e:
        return "; ".join(sorted(f"{name}: {reason}" for name, reason in e.operators))
    except Exception as e:
        if os.environ.get("ONNX_NODES_TRACE"):
            traceback.print_exc()
        return f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"[:200]
    return None


def slice_of(args):
    device, match, k, of = args
    chosen = [c for c in cases() if re.search(match, c.name)]
    return [(c.name, run(c, device)) for c in chosen[k::of]]


def results(device="cpu:0", match="", processes=2):
    """(name, None or the reason) of each case, sorted. By slices, so that neighbours, which cost alike, are spread."""
    jobs = [(device, match, k, processes) for k in range(processes)]
    if processes == 1:
        return slice_of(jobs[0])
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        return sorted(r for part in pool.map(slice_of, jobs) for r in part)


def report(found):
    """The text of docs/onnx-nodes.txt."""
    import onnx

    passed = sum(1 for _, reason in found if reason is None)
    by_reason = {}
    for name, reason in found:
        if reason is not None:
            by_reason.setdefault(reason, []).append(name)
    lines = [
        f"Backend node tests of onnx {onnx.__version__} on cpu:0; made by tests/python/onnx_nodes.py --write FILE",
        f"{passed} of {len(found)} pass ({100 * passed / max(len(found), 1):.1f} %), {len(found) - passed} do not:",
    ]
    for reason in sorted(by_reason):
        lines.append(f"\n{reason}")
        lines.extend(f"  {name}" for name in sorted(by_reason[reason]))
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu:0")
    parser.add_argument("--match", default="", help="only cases whose name has this regular expression")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--write", metavar="FILE", help="write the list there instead of to stdout")
    args = parser.parse_args()
    text = report(results(args.device, args.match, args.processes))
    if args.write:
        with open(args.write, "w", encoding="utf-8") as f:
            f.write(text)
        print("\n".join(text.splitlines()[:2]), file=sys.stderr)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
