"""capture, replay, verify, inspect, explain, diff, link, bench."""

import json
import os
import re
import signal
import subprocess
import time
import unittest

from tool import BAD_INPUT, DIFFERS, TOOL, UNAVAILABLE, USAGE, ToolTest, npy, read_npy, safetensors


class CaptureReplay(ToolTest):
    def test_one_capture_serves_all_sizes_and_compiles_once(self) -> None:
        for device in self.devices():
            answer = self.ost(
                "capture",
                "softmax(x * w)",
                "--shape",
                "x=n:0..8,2",
                "--shape",
                "w=2",
                "--device",
                device,
                "-o",
                "m.ost.json",
                "--json",
            ).json
            self.assertLessEqual({"program_id", "kernels", "arena_bytes", "groups", "summary"}, answer.keys())
            self.write("w.npy", npy((2,), [1.0, -1.0]))
            for n in (0, 1, 8):
                self.write("x.npy", npy((n, 2), [0.5] * (2 * n)))
                run = self.ost(
                    "replay",
                    "m.ost.json",
                    "--input",
                    "x=x.npy",
                    "--input",
                    "w=w.npy",
                    "--device",
                    device,
                    "--repeat",
                    "3",
                    "--output",
                    "y.npy",
                    "--json",
                ).json
                self.assertEqual((run["compiles"], run["allocations"], run["program_id"]), (0, 0, answer["program_id"]))
                self.assertEqual(run["vars"], {"n": n})
                self.assertEqual(read_npy(self.folder / "y.npy")[0], (n, 2))
                self.assertLessEqual({"kernels", "launches", "per_kernel", "outputs"}, run.keys())
                self.assertLessEqual({"min", "median"}, run["wall_us"].keys())
                for kernel in run["per_kernel"]:
                    self.assertLessEqual({"name", "us"}, kernel.keys())

    def test_weights_within_the_folder_are_referred_to_and_others_copied(self) -> None:
        values = [float(i) for i in range(1000)]
        self.write("w.safetensors", safetensors({"w": ((1000,), values)}))
        self.ost("capture", "x * w", "--weights", "w.safetensors", "--shape", "x=1000", "-o", "m.ost.json")
        self.assertIn('"w.safetensors"', (self.folder / "m.ost.json").read_text())
        self.assertFalse((self.folder / "m.safetensors").exists())
        (self.folder / "sub").mkdir()
        self.ost("capture", "x * w", "--weights", "w.safetensors", "--shape", "x=1000", "-o", "sub/m.ost.json")
        self.assertTrue((self.folder / "sub/m.safetensors").exists())
        ids = [self.ost("inspect", m, "--json").json for m in ("m.ost.json", "sub/m.ost.json")]
        self.assertEqual(ids[0].get("program_id", ids[0].get("id")), ids[1].get("program_id", ids[1].get("id")))
        (self.folder / "w.safetensors").write_bytes(safetensors({"w": ((1000,), values[::-1])}))
        self.fails(BAD_INPUT, "replay", "m.ost.json", says=["m.ost.json", "/constants/0", "was recorded"])

    def test_the_order_of_inputs_is_that_of_their_first_use(self) -> None:
        self.ost("capture", "b - a", "--shape", "a=2", "--shape", "b=2", "-o", "m.ost.json")
        text = self.ost("inspect", "m.ost.json").out
        self.assertLess(re.search(r"input +b ", text).start(), re.search(r"input +a ", text).start())

    def test_wrong_inputs_of_a_replay(self) -> None:
        m = self.capture()
        self.write("x.npy", npy((9, 4), [0.0] * 36))
        self.write("d.npy", npy((2, 4), [0.0] * 8, "<f8"))
        self.fails(
            BAD_INPUT, "replay", m, "--input", "x=x.npy", says=["dimension 0 of input 'x' is 9", "'n' is 0 to 8"]
        )
        self.fails(BAD_INPUT, "replay", m, "--input", "x=d.npy", says=["f64[2, 4], wanted f32[n, 4]"])
        self.fails(BAD_INPUT, "replay", m, "--input", "q=x.npy", says=["no input 'q'", "x, b"])
        self.fails(BAD_INPUT, "replay", m, "--var", "k=2", says=["no variable 'k'", "n"])
        self.fails(BAD_INPUT, "replay", m, "--var", "n=9", says=["variable 'n' is 9", "0 to 8"])
        self.fails(UNAVAILABLE, "replay", m, "--device", "nothing:0", says="nothing:0")
        self.fails(USAGE, "replay", m, "--map", "1=ref:0", says="I from 0 to 0")
        self.fails(USAGE, "replay", m, "--map", "ref:0", says="I=DEVICE")
        self.ost("replay", m, "--map", "0=ref:0")

    def test_bench_times_manifests_and_expressions(self) -> None:
        run = self.ost("bench", self.capture(), "--device", "ref:0", "--repeat", "5", "--json").json
        self.assertEqual(run["repeat"], 5)
        self.assertLessEqual(run["wall_us"]["min"], run["wall_us"]["median"])
        self.ost("bench", "x + 1", "--shape", "x=16", "--device", "ref:0", "--repeat", "2", "--threads", "1")

    def test_an_interrupt_ends_a_run_between_launches(self) -> None:
        m = self.capture()
        run = subprocess.Popen(
            [TOOL, "replay", m, "--device", "ref:0", "--repeat", "100000000"],
            cwd=self.folder,
            env=self.env,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        time.sleep(1)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 130)
        self.assertIn("ost: interrupted", err)


class Manifests(ToolTest):
    def test_files_that_are_no_manifest(self) -> None:
        m = self.capture()
        text = m.read_text()
        self.fails(BAD_INPUT, "replay", "nothing.ost.json", says="nothing.ost.json")
        for name, content, says in [
            ("cut.json", text[: len(text) // 2], ["cut.json"]),
            ("empty.json", "", ["empty.json"]),
            ("list.json", "[]", ["list.json"]),
            ("other.json", '{"format": "other"}', ["other.json", "/"]),
            ("deep.json", "[" * 10000, ["deep.json"]),
            ("kernel.json", re.sub(r'"steps"', '"stepz"', text), ["kernel.json", "step"]),
        ]:
            self.write(name, content)
            self.fails(BAD_INPUT, "replay", name, says=says)

    def test_every_cut_of_a_manifest_is_refused(self) -> None:
        text = self.capture().read_text()
        for at in range(1, len(text) - 1, len(text) // 25):
            self.write("cut.json", text[:at])
            self.fails(BAD_INPUT, "inspect", "cut.json", says="cut.json")

    def test_an_edited_manifest_is_refused_by_its_id(self) -> None:
        m = self.capture()
        document = json.loads(m.read_text())
        var = document["vars"][0]
        var["max"] = 7
        self.write("edited.json", json.dumps(document))
        run = self.ost("replay", "edited.json", code=BAD_INPUT)
        self.assertIn("edited.json", run.err)
        self.assertIn("/", run.err)

    def test_inspect(self) -> None:
        m = self.capture()
        self.assertIn("input", self.ost("inspect", m).out)
        self.assertEqual(self.ost("inspect", m, "--json").json["schema_version"], 1)
        self.assertIn("store", self.ost("inspect", m, "--kir").out)
        self.ost("inspect", m, "--dot", "m.dot", "--html", "m.html")
        self.assertTrue((self.folder / "m.dot").read_text().startswith("digraph"))
        self.assertIn("<html", (self.folder / "m.html").read_text())
        self.fails(BAD_INPUT, "inspect", m, "--dot", "no/folder.dot", says="no/folder.dot")

    def test_explain(self) -> None:
        answer = self.ost("explain", self.capture(), "--json").json
        self.assertLessEqual({"groups", "copies", "summary"}, answer.keys())
        for group in answer["groups"]:
            self.assertLessEqual({"ops", "kernel", "why", "ended", "bytes_saved"}, group.keys())
        self.assertIn("why", self.ost("explain", "softmax(x)", "--shape", "x=4,4").out)

    def test_diff_shows_one_changed_op_in_a_few_lines(self) -> None:
        a = self.capture("a.ost.json")
        b = self.capture("b.ost.json", "y = relu(x) * 3 + b")
        self.assertEqual(self.ost("diff", a, a).out, "")
        run = self.ost("diff", a, b, code=DIFFERS)
        self.assertLess(len(run.out.splitlines()), 12, run.out)
        answer = self.ost("diff", a, b, "--json", code=DIFFERS).json
        self.assertFalse(answer["equal"])
        self.assertGreater(len(answer["differences"]), 0)
        changed = [
            (x, y) for x, y in zip(a.read_text().splitlines(), b.read_text().splitlines(), strict=False) if x != y
        ]
        self.assertLess(len(changed), 10)

    def test_verify_is_an_equality(self) -> None:
        m = self.capture()
        for device in self.devices():
            answer = self.ost("verify", m, "--devices", f"ref:0,{device}", "--bisect", "--json").json
            self.assertTrue(answer["equal"])
            self.assertIsNone(answer["first_difference"])
            self.assertGreater(answer["kernels"], 0)
        self.fails(USAGE, "verify", m, "--devices", "ref:0", says="two wanted")
        self.fails(UNAVAILABLE, "verify", m, "--devices", "ref:0,nothing:0", says="nothing:0")

    def test_linked_images_are_used_only_with_trust(self) -> None:
        m = self.capture()
        device = self.devices()[0]
        linked = self.ost("link", m, "--targets", device, "-o", "linked.ost.json", "--cache", "off", "--json").json
        self.assertEqual(linked["program_id"], self.ost("replay", m, "--json").json["program_id"])
        self.assertGreater(linked["images"], 0)
        run = ["replay", "linked.ost.json", "--device", device, "--cache", "off", "--json"]
        self.assertEqual(
            (self.ost(*run, "--trust").json["compiles"], self.ost(*run, "--trust").json["images_used"]),
            (0, linked["images"]),
        )
        self.assertEqual((self.ost(*run).json["compiles"], self.ost(*run).json["images_used"]), (linked["images"], 0))
        self.fails(UNAVAILABLE, "link", m, "--targets", "nothing:0", says="nothing")

    def test_links_for_targets_that_are_not_here(self) -> None:
        m = self.capture()
        plugin = ["--plugin", os.environ["OST_CROSS_PLUGIN"]]
        link = ["link", m, "--targets", "alpha,cross:beta", "-o", "linked.ost.json", "--json", *plugin]
        first, second = self.ost(*link).json, self.ost(*link).json
        kernels = self.ost("inspect", m, "--json").json["kernels"]
        self.assertEqual(first["images"], 2 * len(kernels))
        self.assertEqual((first["compiles"], second["compiles"]), (first["images"], 0))
        again = self.ost("inspect", "linked.ost.json").out
        for target in ("alpha", "beta"):
            self.assertEqual(again.count(f"compiled for cross {target}"), len(kernels), again)
        self.fails(UNAVAILABLE, "link", m, "--targets", "gamma", *plugin, says="cross:alpha, cross:beta")
        run = ["replay", "linked.ost.json", *plugin, "--device"]
        self.fails(UNAVAILABLE, *run, "cross:alpha", says="can only compile, it cannot run: no such card is here")
        self.fails(UNAVAILABLE, *run, "cross:0", says="no card in any slot")
        listed = [d for d in self.ost("devices", "--json", *plugin).json["devices"] if d["driver"] == "cross"]
        self.assertEqual([(d["id"], d["compile_only"]) for d in listed], [("cross:alpha", True), ("cross:beta", True)])
        found = [f for f in self.ost("doctor", "--json", *plugin).json["findings"] if "cross" in f["what"]]
        self.assertEqual(found[-1]["text"], "compiles only: cross:alpha, cross:beta")
        self.assertTrue(all(f["ok"] for f in found), found)

    def test_a_changed_image_is_refused(self) -> None:
        m = self.capture()
        device = self.devices()[0]
        self.ost("link", m, "--targets", device, "-o", "linked.ost.json")
        image = next((self.folder / "linked.images").iterdir())
        data = bytearray(image.read_bytes())
        data[len(data) // 2] ^= 1
        image.write_bytes(data)
        self.fails(BAD_INPUT, "replay", "linked.ost.json", "--device", device, "--trust", says="linked.ost.json")


if __name__ == "__main__":
    unittest.main()
