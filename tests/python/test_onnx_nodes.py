"""The node tests of the onnx package: all that pass, and all that do not with their reasons, are docs/onnx-nodes.txt."""

import os
import re
from pathlib import Path

import pytest

pytest.importorskip("onnx")

import onnx_nodes  # noqa: E402

LIST = Path(os.environ.get("OSTINATO_SOURCE_DIR", ".")) / "docs" / "onnx-nodes.txt"


def test_all_cases_are_as_listed():
    """To renew the list: onnx_nodes.py --write docs/onnx-nodes.txt"""
    import onnx

    listed = LIST.read_text()
    if f"of onnx {onnx.__version__} " not in listed:
        pytest.skip(f"the list is of another release than onnx {onnx.__version__}")
    found = onnx_nodes.results()
    passed = sum(1 for _, reason in found if reason is None)
    assert passed >= 0.7 * len(found)
    assert onnx_nodes.report(found) == listed


def test_a_sample_on_the_interpreter():
    """Of those that pass on cpu:0."""
    listed = set(re.findall(r"^  (test_\w+)$", LIST.read_text(), re.M))
    names = [c.name for c in onnx_nodes.cases() if c.name not in listed and "expanded" not in c.name]
    sample = "|".join(names[::25])
    failed = [(name, why) for name, why in onnx_nodes.results("ref:0", f"^({sample})$", 1) if why is not None]
    assert failed == []


def test_a_wrong_result_is_seen():
    case = next(c for c in onnx_nodes.cases() if c.name == "test_add")
    inputs, (wanted,) = case.data_sets[0]
    assert onnx_nodes.run(case, "ref:0") is None
    case.data_sets[0] = (inputs, [wanted + 0.125])
    assert "differs" in onnx_nodes.run(case, "ref:0")
