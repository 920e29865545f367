"""A function of any number of rows, captured once, saved, and run from the file on another device with the same bits."""

import tempfile
from pathlib import Path

import numpy as np
import ostinato as ost

rng = np.random.default_rng(1)
weight = ost.Tensor(rng.standard_normal((64, 10), dtype=np.float32))
rows = ost.var("rows", 1, 512)


@ost.jit
def classify(x: ost.Tensor) -> ost.Tensor:
    return ost.softmax(ost.relu(x) @ weight)


for count in (3, 8, 100):
    images = rng.standard_normal((count, 64), dtype=np.float32)
    result = classify(ost.Tensor(images, dims=(rows, 64))).numpy()
    print(count, "rows, captured:", classify.captured)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "classify.ost.json"
    classify.save(path)
    program = ost.load(path)
    print(program.summary)
    assert np.array_equal(program.on("ref:0")(images), result)
