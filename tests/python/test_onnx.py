"""Whole models: results against ONNX's reference evaluator, programs that are saved and replayed, and errors."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import ostinato as ost

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import ostinato.onnx as ox  # noqa: E402

RNG = np.random.default_rng(3)


def tensor(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def weight(name, *shape):
    return numpy_helper.from_array((RNG.standard_normal(shape) / np.sqrt(shape[-1])).astype("f4"), name)


def ints(name, values):
    return numpy_helper.from_array(np.array(values, "i8"), name)


def model(nodes, inputs, outputs, stored=(), opset=21):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(stored))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def mlp():
    n = helper.make_node
    return model(
        [
            n("Gemm", ["x", "w1", "b1"], ["h"], transB=1),
            n("Relu", ["h"], ["a"]),
            n("Gemm", ["a", "w2"], ["z"]),
            n("Softmax", ["z"], ["y"]),
        ],
        [tensor("x", ["batch", 12])],
        [tensor("y", ["batch", 5])],
        [weight("w1", 17, 12), weight("b1", 17), weight("w2", 17, 5)],
    )


def cnn():
    n = helper.make_node
    return model(
        [
            n("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
            n("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"]),
            n("Relu", ["n"], ["r"]),
            n("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
            n("GlobalAveragePool", ["p"], ["g"]),
            n("Flatten", ["g"], ["f"]),
            n("MatMul", ["f", "k"], ["y"]),
        ],
        [tensor("x", [2, 3, 8, 8])],
        [tensor("y", [2, 4])],
        [
            weight("w", 6, 3, 3, 3),
            weight("b", 6),
            weight("s", 6),
            weight("m", 6),
            numpy_helper.from_array(np.full(6, 0.5, "f4"), "v"),
            weight("k", 6, 4),
        ],
    )


def transformer():
    """A block with two heads whose shapes are computed by the model itself, as exporters write them."""
    n = helper.make_node
    nodes = [n("Shape", ["x"], ["sizes"]), n("Gather", ["sizes", "zero"], ["batch"])]
    nodes += [n("Unsqueeze", ["batch", "axis0"], ["batch1"]), n("Concat", ["batch1", "tail"], ["split"], axis=0)]
    nodes += [n("LayerNormalization", ["x", "g1", "h1"], ["n1"])]
    for p in "qkv":
        nodes += [
            n("MatMul", ["n1", f"w{p}"], [f"{p}0"]),
            n("Reshape", [f"{p}0", "split"], [f"{p}1"]),
            n("Transpose", [f"{p}1"], [p], perm=[0, 2, 3, 1] if p == "k" else [0, 2, 1, 3]),
        ]
    nodes += [
        n("MatMul", ["q", "k"], ["s0"]),
        n("Mul", ["s0", "scale"], ["s1"]),
        n("Softmax", ["s1"], ["a"]),
        n("MatMul", ["a", "v"], ["o0"]),
        n("Transpose", ["o0"], ["o1"], perm=[0, 2, 1, 3]),
        n("Concat", ["batch1", "flat"], ["joined"], axis=0),
        n("Reshape", ["o1", "joined"], ["o2"]),
        n("Add", ["x", "o2"], ["r1"]),
        n("Gelu", ["r1"], ["f1"]),
        n("MatMul", ["f1", "wf"], ["f2"]),
        n("Add", ["r1", "f2"], ["y"]),
    ]
    stored = [weight(f"w{p}", 8, 8) for p in "qkvf"] + [weight("g1", 8), weight("h1", 8)]
    stored += [ints("zero", 0), ints("axis0", [0]), ints("tail", [6, 2, 4]), ints("flat", [6, 8])]
    stored += [numpy_helper.from_array(np.array(0.5, "f4"), "scale")]
    return model(nodes, [tensor("x", ["batch", 6, 8])], [tensor("y", ["batch", 6, 8])], stored)


def expect(m, loaded, x):
    (wanted,) = ReferenceEvaluator(m).run(None, {"x": x})
    np.testing.assert_allclose(loaded(x), wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("device", ["cpu:0", "ref:0"])
def test_mlp(device):
    m = mlp()
    loaded = ox.load(m, dims={"batch": (1, 64)}, device=device)
    for batch in (1, 2, 7, 64):
        expect(m, loaded, RNG.standard_normal((batch, 12)).astype("f4"))
    assert loaded.program.vars == [("batch", 1, 64)]


def test_cnn():
    m = cnn()
    expect(m, ox.load(m, device="cpu:0"), RNG.standard_normal((2, 3, 8, 8)).astype("f4"))


def test_transformer_block_has_one_program_for_all_batches():
    m = transformer()
    loaded = ox.load(m, dims={"batch": (1, 9)}).on("cpu:0")
    for batch in (1, 3, 9):
        expect(m, loaded, RNG.standard_normal((batch, 6, 8)).astype("f4"))
    assert loaded.program.vars == [("batch", 1, 9)]
    with pytest.raises(ost.Error, match="batch"):
        loaded(np.zeros((10, 6, 8), "f4"))


def test_devices_give_the_same_bits():
    loaded = ox.load(transformer(), dims={"batch": 2})
    x = RNG.standard_normal((2, 6, 8)).astype("f4")
    assert np.array_equal(loaded.on("cpu:0")(x), loaded.on("ref:0")(x))


def test_a_saved_program_replays_with_the_same_bits(tmp_path):
    loaded = ox.load(cnn(), device="cpu:0")
    x = RNG.standard_normal((2, 3, 8, 8)).astype("f4")
    loaded.program.save(tmp_path / "cnn.ost.json")
    again = ost.load(tmp_path / "cnn.ost.json").on("cpu:0")
    assert np.array_equal(again(x), loaded(x))
    tool = Path(ox.__file__).parents[3] / "bin" / "ost"
    if not tool.exists():
        pytest.skip(f"no command line at {tool}")
    np.save(tmp_path / "x.npy", x)
    command = [tool, "replay", "cnn.ost.json", "--input", "x=x.npy", "--output", "y=y.npy", "--device", "cpu:0"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert np.array_equal(np.load(tmp_path / "y.npy"), loaded(x))


def test_inputs_that_decide_the_program_are_part_of_the_signature():
    m = model(
        [helper.make_node("Reshape", ["x", "to"], ["y"])],
        [tensor("x", [2, 6]), tensor("to", ["k"], TensorProto.INT64)],
        [tensor("y", None)],
    )
    loaded = ox.load(m, device="ref:0")
    assert loaded.fixed == ["to"]
    x = np.arange(12, dtype="f4").reshape(2, 6)
    for to in ([3, 4], [4, 3], [3, 4], [12]):
        assert np.array_equal(loaded(x, np.array(to)), x.reshape(to))
    with pytest.raises(ValueError, match="3 programs.*to"):
        _ = loaded.program
    assert loaded.specialise(x, np.array([6, 2])).outputs[0][2] == (6, 2)


def test_model_local_functions_and_branches_are_expanded():
    n = helper.make_node
    double = helper.make_function("my", "Twice", ["a"], ["b"], [n("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 21)])
    then = helper.make_graph([n("Twice", ["x"], ["t"], domain="my")], "t", [], [tensor("t", [3])])
    other = helper.make_graph([n("Neg", ["x"], ["e"])], "e", [], [tensor("e", [3])])
    graph = helper.make_graph(
        [n("If", ["c"], ["y"], then_branch=then, else_branch=other)],
        "g",
        [tensor("x", [3]), tensor("c", [], TensorProto.BOOL)],
        [tensor("y", [3])],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("my", 1)]
    loaded = ox.load(helper.make_model(graph, functions=[double], opset_imports=opsets), device="ref:0")
    x = np.array([1, -2, 3], "f4")
    assert loaded(x, np.array(True)).tolist() == [2, -4, 6]
    assert loaded(x, np.array(False)).tolist() == [-1, 2, -3]


# --- errors


def test_every_operator_that_is_not_covered_is_listed():
    n = helper.make_node
    m = model(
        [n("NonZero", ["x"], ["i"]), n("Cast", ["i"], ["f"], to=TensorProto.FLOAT8E5M2), n("RandomUniformLike", ["x"], ["r"])],
        [tensor("x", [3])],
        [tensor("r", [3]), tensor("f", None, TensorProto.FLOAT8E5M2)],
    )
    with pytest.raises(ox.UnsupportedError, match="NonZero: a result whose shape depends on data") as e:
        ox.load(m)
    assert [name for name, _ in e.value.operators] == ["NonZero", "RandomUniformLike"]
    m = model([n("Cast", ["x"], ["f"], to=TensorProto.FLOAT8E5M2)], [tensor("x", [3])], [tensor("f", [3], 19)])
    with pytest.raises(ox.UnsupportedError, match="Cast: element type float8e5m2"):
        ox.load(m)
    m = model([n("Frobnicate", ["x"], ["f"])], [tensor("x", [3])], [tensor("f", [3])])
    with pytest.raises(ox.UnsupportedError, match="Frobnicate: no such operator in opset 21"):
        ox.load(m)


def test_wrong_arguments():
    loaded = ox.load(mlp(), dims={"batch": (1, 8)}, device="ref:0")
    x = np.zeros((2, 12), "f4")
    with pytest.raises(TypeError, match="no input z; its inputs are x"):
        loaded(z=x)
    with pytest.raises(TypeError, match="input x is missing"):
        loaded()
    with pytest.raises(TypeError, match="2 arguments"):
        loaded(x, x)
    with pytest.raises(ValueError, match=r"input x is f64, wanted f32"):
        loaded(x.astype("f8"))
    with pytest.raises(ValueError, match=r"input x has the shape \[2, 11\], wanted \[batch, 12\]"):
        loaded(x[:, 1:])
    with pytest.raises(ValueError, match="dims names 'bach'.*batch"):
        ox.load(mlp(), dims={"bach": 3})


def test_files(tmp_path):
    path = tmp_path / "m.onnx"
    with pytest.raises(FileNotFoundError, match=r"no model at .*m\.onnx"):
        ox.load(path)
    onnx.save(mlp(), path)
    x = np.ones((2, 12), "f4")
    assert ox.load(path, device="ref:0")(x).shape == (2, 5)
    whole = path.read_bytes()
    for damaged in (b"", b"\xff" * 40, whole[: len(whole) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(ost.Error, match="no ONNX model"):
            ox.load(path)


def test_external_data(tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(mlp(), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    x = np.ones((2, 12), "f4")
    assert ox.load(path, device="ref:0")(x).shape == (2, 5)
    os.remove(tmp_path / "weights.bin")
    with pytest.raises(ost.Error, match="external data.*weights.bin"):
        ox.load(path)
