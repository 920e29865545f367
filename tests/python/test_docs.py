"""The snippets of docs/python*.md run, in the order in which they are read."""

import os
import re
from pathlib import Path

import pytest

DOCS = sorted((Path(os.environ.get("OSTINATO_SOURCE_DIR", ".")) / "docs").glob("python*.md"))


@pytest.mark.parametrize("page", DOCS, ids=lambda p: p.name)
def test_snippets_run(page, tmp_path, monkeypatch):
    if "torch" in page.name:
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.S | re.M)
    assert blocks, "no snippets"
    text = page.read_text()
    for block in blocks:
        line = text[: text.index(block)].count("\n")
        exec(compile("\n" * line + block, str(page), "exec"), names)
