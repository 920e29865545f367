"""run: results, names, types, files, errors of expressions."""

import math
import unittest

from tool import BAD_INPUT, COMPILE_ERROR, OK, UNAVAILABLE, USAGE, ToolTest, npy, read_npy, safetensors


class Values(ToolTest):
    def test_an_expression_equals_its_definition_on_every_device(self) -> None:
        a, b, c = [1.0, -2.0, 3.0, 0.5], [0.5, -1.0, 2.0, 4.0], [0.0, 1.0, 2.0, 3.0]
        for name, values in {"a": a, "b": b, "c": c}.items():
            self.write(f"{name}.npy", npy((2, 2), values))
        relu = [max(v, 0.0) for v in b]
        product = [sum(a[2 * i + k] * relu[2 * k + j] for k in range(2)) for i in range(2) for j in range(2)]
        soft = [
            math.exp(c[2 * i + j]) / sum(math.exp(c[2 * i + k]) for k in range(2)) for i in range(2) for j in range(2)
        ]
        hashes = set()
        for device in self.devices():
            run = self.ost(
                "run",
                "matmul(A,relu(B))+softmax(C)",
                "--input",
                "A=a.npy",
                "--input",
                "B=b.npy",
                "--input",
                "C=c.npy",
                "--device",
                device,
                "--output",
                "y.npy",
                "--json",
            ).json
            shape, values = read_npy(self.folder / "y.npy")
            self.assertEqual(shape, (2, 2))
            for got, p, s in zip(values, product, soft, strict=True):
                self.assertAlmostEqual(got, p + s, places=5)
            self.assertLessEqual({"groups", "kernels", "compiles", "summary", "outputs"}, run.keys())
            self.assertLessEqual({"name", "dtype", "shape", "sha256"}, run["outputs"][0].keys())
            hashes.add(run["outputs"][0]["sha256"])
        self.assertEqual(len(hashes), 1)

    def test_a_variable_and_its_value(self) -> None:
        run = self.ost(
            "run", "sum(x, axis=-1)", "--shape", "x=n:1..64,3", "--var", "n=7", "--device", "ref:0", "--json"
        ).json
        self.assertEqual((run["outputs"][0]["shape"], run["vars"]), ([7], {"n": 7}))
        self.write("x.npy", npy((5, 3), [1.0] * 15))
        run = self.ost(
            "run",
            "sum(x, axis=-1)",
            "--shape",
            "x=n:1..64,3",
            "--input",
            "x=x.npy",
            "--device",
            "ref:0",
            "--output",
            "y.npy",
            "--json",
        )
        self.assertEqual(read_npy(self.folder / "y.npy"), ((5,), [3.0] * 5))
        self.assertEqual(run.json["vars"], {"n": 5})

    def test_a_shape_may_name_a_variable_that_a_later_one_declares(self) -> None:
        run = self.ost(
            "run", "x + y", "--shape", "x=n", "--shape", "y=n:1..8", "--var", "n=3", "--device", "ref:0", "--json"
        )
        self.assertEqual(run.json["outputs"][0]["shape"], [3])

    def test_stand_in_data_depends_on_the_seed_alone(self) -> None:
        sha = [
            self.ost("run", "x", "--shape", "x=16", "--device", "ref:0", "--seed", s, "--json").json["outputs"][0][
                "sha256"
            ]
            for s in "112"
        ]
        self.assertEqual(sha[0], sha[1])
        self.assertNotEqual(sha[0], sha[2])

    def test_all_element_types_run(self) -> None:
        for dtype in ["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"]:
            for device in self.devices():
                run = self.ost(
                    "run", "where(x == x, x, x)", "--shape", f"x={dtype}[7]", "--device", device, "--json"
                ).json
                self.assertEqual(run["outputs"][0]["dtype"], dtype)

    def test_small_results_are_printed(self) -> None:
        self.write("x.npy", npy((2, 2), [1.5, -2.0, 3.0, 0.0]))
        self.assertIn(
            "[[1.5, -2],\n [3, 0]]",
            self.ost("run", "x", "--input", "x=x.npy", "--device", "ref:0").out.replace(".0", ""),
        )

    def test_the_expression_may_come_from_stdin(self) -> None:
        run = self.ost("run", "-", "--shape", "x=2", "--device", "ref:0", "--json", stdin="a = x + 1\nb = a * 2\nb\n")
        self.assertEqual(run.json["outputs"][0]["shape"], [2])

    def test_flags_that_change_kernels_do_not_change_bits(self) -> None:
        base = [
            "run",
            "softmax(matmul(x, y)) + tanh(x)",
            "--shape",
            "x=8,8",
            "--shape",
            "y=8,8",
            "--device",
            "ref:0",
            "--json",
        ]
        fused = self.ost(*base).json
        for flags in [
            ["--no-fuse"],
            ["--memory-budget", "16"],
            ["--memory-budget", "0"],
            ["--tile-size", "4"],
            ["--threads", "1"],
        ]:
            self.assertEqual(self.ost(*base, *flags).json["outputs"], fused["outputs"], flags)
        self.assertGreater(self.ost(*base, "--no-fuse").json["kernels"], fused["kernels"])


class Files(ToolTest):
    def test_arrays_of_archives(self) -> None:
        self.write("w.safetensors", safetensors({"a": ((2,), [1, 2]), "b": ((2,), [10, 20])}))
        self.ost(
            "run",
            "a + b",
            "--input",
            "a=w.safetensors:a",
            "--input",
            "b=w.safetensors:b",
            "--device",
            "ref:0",
            "--output",
            "y.npz",
        )
        self.ost("run", "z * 2", "--input", "z=y.npz:out", "--device", "ref:0", "--output", "z.npy")
        self.assertEqual(read_npy(self.folder / "z.npy"), ((2,), [22.0, 44.0]))
        self.fails(
            BAD_INPUT, "run", "a", "--input", "a=w.safetensors:c", says=["w.safetensors", "no array 'c'", "a, b"]
        )
        self.fails(BAD_INPUT, "run", "a", "--input", "a=w.safetensors", says="2 arrays")

    def test_weights_are_constants(self) -> None:
        self.write("w.safetensors", safetensors({"a": ((2,), [1, 2]), "unused": ((1,), [0])}))
        self.ost("run", "a * x", "--weights", "w.safetensors", "--shape", "x=2", "--device", "ref:0")
        self.fails(USAGE, "run", "a * q", "--weights", "w.safetensors", says=["'q' has no type", "--shape q="])

    def test_several_results(self) -> None:
        self.write("x.npy", npy((2,), [1.0, 2.0]))
        base = ["run", "(x + 1, x * 2)", "--input", "x=x.npy", "--device", "ref:0"]
        self.fails(USAGE, *base, "--output", "y.npy", says=["one array", "out0, out1"])
        self.ost(*base, "--output", "out0=a.npy", "--output", "out1=b.npy")
        self.assertEqual(read_npy(self.folder / "b.npy")[1], [2.0, 4.0])
        self.fails(USAGE, *base, "--output", "out7=a.npy", says=["no output 'out7'", "out0, out1"])

    def test_damaged_and_foreign_files(self) -> None:
        good = npy((2,), [1.0, 2.0])
        for name, data, says in [
            ("short.npy", good[:-3], "short.npy"),
            ("header.npy", good[:20], "header.npy"),
            ("text.npy", b"hello", "text.npy"),
            ("empty.npy", b"", "empty.npy"),
            ("w.safetensors", b"\xff" * 64, "w.safetensors"),
            ("z.npz", b"PK", "z.npz"),
            ("x.csv", b"1,2", "wanted .npy, .npz or .safetensors"),
        ]:
            self.write(name, data)
            self.fails(BAD_INPUT, "run", "x", "--input", f"x={name}", says=says)
        self.fails(BAD_INPUT, "run", "x", "--input", "x=nothing.npy", says="nothing.npy")
        self.fails(BAD_INPUT, "run", "x", "--input", "x=.", says=".")


class Errors(ToolTest):
    def test_expressions(self) -> None:
        self.fails(BAD_INPUT, "run", "relux(x)", "--shape", "x=2", says=["1:1", "did you mean 'relu'?", "^"])
        self.fails(BAD_INPUT, "run", "matmul(x", "--shape", "x=2", says=["1:7", "never closed", "^"])
        self.fails(BAD_INPUT, "run", "matmul(x, y)", "--shape", "x=2,3", "--shape", "y=4,5", says=["matmul", "3", "4"])
        self.fails(USAGE, "run", "x + y", "--shape", "x=2", says="'y' has no type")
        self.fails(USAGE, "run", "xs", "--shape", "xz=2", says="did you mean 'xs'?")

    def test_types_of_inputs(self) -> None:
        self.write("x.npy", npy((2, 3), [0.0] * 6))
        self.write("i.npy", npy((2, 4), [0] * 8, "<i8"))
        base = ["run", "x", "--device", "ref:0", "--shape"]
        self.fails(BAD_INPUT, *base, "x=2,4", "--input", "x=x.npy", says=["dimension 1 of input 'x' is 3, wanted 4"])
        self.fails(BAD_INPUT, *base, "x=2,4", "--input", "x=i.npy", says=["i64[2, 4], wanted f32[2, 4]"])
        self.fails(BAD_INPUT, *base, "x=6", "--input", "x=x.npy", says=["f32[2, 3], wanted f32[6]"])
        self.fails(BAD_INPUT, *base, "x=n:1..4,n", "--input", "x=x.npy", says=["'n' has two values"])
        self.fails(BAD_INPUT, *base, "x=n:4..9,3", "--input", "x=x.npy", says=["'n' is 4 to 9"])
        self.fails(BAD_INPUT, *base, "x=q32[4]", says="x")
        self.fails(BAD_INPUT, *base, "x=-4", says="x")
        self.fails(BAD_INPUT, *base, "x=9223372036854775807,9223372036854775807", says="x")

    def test_devices(self) -> None:
        self.fails(UNAVAILABLE, "run", "x", "--shape", "x=2", "--device", "nothing:0", says=["nothing:0", "ost doctor"])
        self.fails(UNAVAILABLE, "run", "x", "--shape", "x=2", "--device", "ref:9", says="ref:9")
        self.fails(UNAVAILABLE, "run", "x", "--shape", "x=2", says="nothing:0", OSTINATO_DEVICE="nothing:0")

    def test_limits(self) -> None:
        run = self.ost(
            "run",
            "matmul(matmul(x,x),x)",
            "--shape",
            "x=64,64",
            "--device",
            "ref:0",
            "--arena-limit",
            "100",
            code=COMPILE_ERROR,
        )
        self.assertIn("100", run.err)
        self.ost(
            "run",
            "matmul(matmul(x,x),x)",
            "--shape",
            "x=64,64",
            "--device",
            "ref:0",
            "--arena-limit",
            "100000",
            code=OK,
        )


if __name__ == "__main__":
    unittest.main()
