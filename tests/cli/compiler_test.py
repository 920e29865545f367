"""The graph compiler from the command line: programs in files, budgets, limits, tiles, what explain says."""

import re
import shutil
import unittest

from tool import BAD_INPUT, COMPILE_ERROR, OK, ROOT, USAGE, ToolTest, npy

ABC = ["A+B+C", "--shape", "A=100,100", "--shape", "B=100,100", "--shape", "C=100,100"]
BLOCK = ROOT / "examples/transformer/block.ost"


class Limits(ToolTest):
    def test_a_memory_budget_splits_groups(self) -> None:
        def groups(budget: str) -> int:
            return self.ost("run", *ABC, "--memory-budget", budget, "--device", "ref:0", "--json").json["groups"]

        self.assertEqual((groups("1000"), groups("1000000")), (2, 1))

    def test_the_transformer_block_under_a_shrinking_arena_limit(self) -> None:
        def run(limit: int | None, code: int = OK):
            how = [] if limit is None else ["--arena-limit", str(limit)]
            return self.ost("run", f"@{BLOCK}", "--shape", "x=2,768", "--device", "ref:0", "--json", *how, code=code)

        free = run(None).json
        refused = run(1, code=COMPILE_ERROR)
        smallest = int(re.search(r"smallest limit that works is (\d+)", refused.err)[1])
        self.assertLess(smallest, free["arena_bytes"])
        for limit in (free["arena_bytes"], (free["arena_bytes"] + smallest) // 2, smallest):
            tight = run(limit).json
            self.assertLessEqual(tight["arena_bytes"], limit)
            self.assertEqual(tight["outputs"], free["outputs"])
        self.assertIn(f"is {smallest}", run(smallest - 1, code=COMPILE_ERROR).err)

    def test_tiles_show_and_change_no_bit(self) -> None:
        call = ["relu(x) * 2", "--shape", "x=100,7"]
        explained = self.ost("explain", *call, "--tile-size", "32", "--json").json
        self.assertEqual(explained["groups"][0]["tiles"], ["100 as 4 x 32"])
        self.ost("capture", *call, "--tile-size", "32", "-o", "m.ost.json")
        self.assertIn("const i64 32", self.ost("inspect", "m.ost.json", "--kir").out)
        self.assertEqual(self.ost("explain", "m.ost.json", "--json").json["groups"], explained["groups"])
        whole = self.ost("run", *call, "--device", "ref:0", "--json").json["outputs"]
        for device in self.devices():
            tiled = self.ost("run", *call, "--tile-size", "32", "--device", device, "--json").json
            self.assertEqual(tiled["outputs"], whole)


class Explain(ToolTest):
    def test_the_summary_counts_groups_by_kind(self) -> None:
        answer = self.ost(
            "explain", "relu(linear(x, w, b))", "--shape", "x=8,16", "--shape", "w=4,16", "--shape", "b=4", "--json"
        ).json
        self.assertEqual(answer["summary"]["gemm_epilogue"], 1)
        self.assertEqual(answer["summary"]["pointwise_groups"], 0)
        group = answer["groups"][0]
        self.assertEqual(group["kind"], "gemm_epilogue")
        self.assertIn("relu", group["ops"])
        self.assertGreater(group["bytes_saved"], 0)
        self.assertTrue(group["why"] and group["ended"] and group["kernel"])

    def test_the_block_is_seven_launches(self) -> None:
        answer = self.ost("explain", f"@{BLOCK}", "--json").json
        kinds = [g["kind"] for g in answer["groups"]]
        self.assertEqual(len(kinds), 7)
        self.assertEqual(kinds.count("attention"), 1)


    def test_the_page_of_the_encoder_has_its_report(self) -> None:
        report = self.ost("explain", f"@{ROOT}/examples/transformer/encoder.ost", "--shape", "x=128,768").out
        self.assertEqual(report, (ROOT / "docs/encoder-explain.txt").read_text())


class Files(ToolTest):
    def test_a_program_runs_from_its_file(self) -> None:
        self.write("p.ost", "# twice\nx: f32[n:1..9, 2]\ndef twice(t): t + t\na, b = twice(x), sum(x) * n\n")
        run = self.ost("run", "@p.ost", "--var", "n=3", "--device", "ref:0", "--json").json
        self.assertEqual([(o["name"], o["shape"]) for o in run["outputs"]], [("a", [3, 2]), ("b", [])])
        self.write("x.npy", npy((2, 2), [1.0, 2.0, 3.0, 4.0]))
        run = self.ost("run", "@p.ost", "--input", "x=x.npy", "--device", "ref:0", "--json").json
        self.assertEqual(run["vars"], {"n": 2})
        fixed = self.ost("run", "@p.ost", "--shape", "x=4,2", "--device", "ref:0", "--json").json
        self.assertEqual((fixed["vars"], fixed["outputs"][0]["shape"]), ({}, [4, 2]))

    def test_errors_name_file_line_and_column(self) -> None:
        self.write("p.ost", "x: f32[4]\ny = relux(x)\ny\n")
        err = self.ost("run", "@p.ost", code=BAD_INPUT).err
        self.assertIn("p.ost:2:5: unknown function 'relux'; did you mean 'relu'?\n  y = relux(x)\n      ^", err)
        self.assertIn("q.ost", self.ost("run", "@q.ost", code=BAD_INPUT).err)
        self.write("v.ost", "x: f32[n:1..9]\nx\n")
        self.assertIn("--var m", self.ost("run", "@v.ost", "--var", "m=3", code=USAGE).err)
        self.assertIn("'z'", self.ost("run", "@v.ost", "--shape", "z=3", code=USAGE).err)
        self.assertIn("the program declares f32[n]", self.ost("run", "@v.ost", "--shape", "x=3,3", code=BAD_INPUT).err)

    def test_the_block_is_captured_and_replays_with_the_same_bits(self) -> None:
        shutil.copy(BLOCK, self.folder / "block.ost")
        call = ["@block.ost", "--var", "s=2", "--device", "ref:0", "--json"]
        want = self.ost("run", *call).json["outputs"]
        self.ost("capture", "@block.ost", "-o", "block.ost.json")
        for device in self.devices():
            got = self.ost("replay", "block.ost.json", "--var", "s=2", "--device", device, "--json").json
            self.assertEqual(got["outputs"], want)


if __name__ == "__main__":
    unittest.main()
