"""devices, plugins, doctor, env, version, cache, help, wrong usage."""

import json
import os
import unittest

from tool import BAD_INPUT, DIFFERS, OK, USAGE, ToolTest

COMMANDS = [
    "devices",
    "plugins",
    "doctor",
    "env",
    "version",
    "run",
    "capture",
    "replay",
    "bench",
    "verify",
    "inspect",
    "explain",
    "diff",
    "link",
    "cache",
]


class System(ToolTest):
    def test_devices_have_their_fields(self) -> None:
        devices = self.ost("devices", "--json").json["devices"]
        for device in devices:
            self.assertLessEqual(
                {"id", "driver", "name", "available", "reason", "compile_only", "target"}, device.keys()
            )
        self.assertIn("ref:0", [d["id"] for d in devices if d["available"]])
        self.assertIn("ref:0", self.ost("devices").out)

    def test_plugins_have_their_fields(self) -> None:
        answer = self.ost("plugins", "--json").json
        self.assertEqual(answer["schema_version"], 1)
        for candidate in answer["candidates"]:
            self.assertLessEqual({"path", "status", "stage", "rule", "reason"}, candidate.keys())
        self.assertIn("(built in)", self.ost("plugins").out)

    def test_a_plugin_that_is_none_is_reported_with_its_cause(self) -> None:
        self.write("libfake.so", "this is no ELF file")
        candidate = self.ost("plugins", "--plugin", "libfake.so", "--json").json["candidates"][0]
        self.assertEqual((candidate["status"], candidate["stage"]), ("failed", "open"))
        self.assertTrue(candidate["path"].endswith("libfake.so"))
        self.assertIn("file too short", candidate["reason"])
        missing = self.ost("plugins", "--plugin", "nothing.so", "--json").json["candidates"][0]
        self.assertEqual(missing["status"], "failed")
        self.assertIn("nothing.so", missing["path"])

    def test_without_plugins_ref_is_there_and_doctor_says_what_is_missing(self) -> None:
        self.assertEqual(self.devices(), self.devices())
        alone = {"OSTINATO_PLUGINS": "!*"}
        ids = [d["id"] for d in self.ost("devices", "--json", **alone).json["devices"]]
        self.assertEqual([i for i in ids if i != "ref:0"], [])
        self.assertIn("problem", self.ost("doctor", code=DIFFERS, **alone).out)

    def test_doctor_finds_misspelled_names_of_the_environment(self) -> None:
        answer = self.ost("doctor", "--json", code=DIFFERS, OSTINATO_DEVCE="ref:0").json
        self.assertFalse(answer["ok"])
        self.assertIn("environment OSTINATO_DEVCE", [f["what"] for f in answer["findings"] if not f["ok"]])
        self.assertLessEqual({"candidates", "folders"}, answer.keys())

    def test_doctor_opens_every_device(self) -> None:
        findings = self.ost("doctor", "--json", code=OK if len(self.devices()) > 1 else DIFFERS).json["findings"]
        for device in self.devices():
            self.assertIn({"what": f"device {device}", "ok": True, "text": "opened, the self-test passed"}, findings)

    def test_trace_writes_what_the_devices_did(self) -> None:
        done = self.ost("trace", "-o", "t.json", "run", "sum(x*x)", "--shape", "x=100", "--device", "ref:0", "--json")
        self.assertEqual((done.code, done.json["kernels"]), (OK, 1))
        events = json.loads((self.folder / "t.json").read_text())["traceEvents"]
        self.assertLessEqual({"compile", "kernel", "submit"}, {e.get("cat") for e in events})
        self.fails(USAGE, "trace", says="no command was given")
        self.fails(USAGE, "trace", "no-such-command", says="no command 'no-such-command'")

    def test_env_says_value_and_origin(self) -> None:
        variables = {v["name"]: v for v in self.ost("env", "--json", OSTINATO_DEVICE="ref:0").json["variables"]}
        self.assertEqual(
            (variables["OSTINATO_DEVICE"]["value"], variables["OSTINATO_DEVICE"]["origin"]), ("ref:0", "environment")
        )
        self.assertEqual(variables["OSTINATO_PLUGINS"]["origin"], "default")
        self.assertIn("OSTINATO_CACHE_DIR=", self.ost("env").out)

    def test_version(self) -> None:
        self.assertEqual(self.ost("version").out, f"ost {self.ost('version', '--json').json['version']}\n")

    def test_the_cache_can_be_listed_and_emptied(self) -> None:
        self.assertEqual(self.ost("cache", "ls", "--json").json["entries"], [])
        self.ost("run", "relu(x)", "--shape", "x=4", "--device", "ref:0")
        entries = self.ost("cache", "ls", "--json").json["entries"]
        self.assertGreater(len(entries), 0)  # the kernel, and those of the device's self-test
        for entry in entries:
            self.assertTrue(entry["path"].startswith(str(self.folder)))
        self.assertEqual(self.ost("cache", "prune", "--max-bytes", "1000000", "--json").json["removed"], [])
        self.assertEqual(len(self.ost("cache", "clear", "--json").json["removed"]), len(entries))
        self.assertEqual(self.ost("cache", "ls", "--json").json["entries"], [])

    def test_a_cache_that_cannot_be_written_is_no_cache_with_one_warning(self) -> None:
        self.write("file", "")  # a folder cannot be made below a file, whoever the user is
        run = self.ost("run", "relu(x)+sum(x)", "--shape", "x=4", "--device", "ref:0", "--cache", "file/below")
        self.assertEqual(run.err.count("warning"), 1, run.err)
        self.ost("run", "relu(x)", "--shape", "x=4", "--device", "ref:0", "--cache", "off")
        self.assertFalse(
            (self.folder / "cache/ostinato").exists() and any((self.folder / "cache/ostinato").rglob("*.img"))
        )

    @unittest.skipIf(os.geteuid() == 0, "needs a user whom permissions hold back")
    def test_a_read_only_cache_is_no_cache(self) -> None:
        (self.folder / "cache").mkdir(mode=0o500)
        self.assertIn("warning", self.ost("run", "relu(x)", "--shape", "x=4", "--device", "ref:0").err)


class Usage(ToolTest):
    def test_every_command_has_help_with_two_examples(self) -> None:
        for command in COMMANDS:
            run = self.ost(command, "--help")
            examples = run.out.split("Examples:")[1]
            self.assertGreaterEqual(examples.count("ost "), 2, command)
            self.assertIn("--json", run.out)
        self.assertLessEqual(set(COMMANDS), set(self.ost("--help").out.split()))

    def test_a_slip_is_answered_with_the_right_word(self) -> None:
        self.fails(USAGE, "rpelay", "m.json", says=["no command 'rpelay'", "did you mean 'replay'?"])
        self.fails(USAGE, "run", "x", "--shap", "x=2", says=["no flag '--shap'", "did you mean '--shape'?"])
        self.fails(USAGE, "run", "x", "--completely-else", says="no flag '--completely-else'")
        self.assertNotIn("did you mean", self.ost("xyzzyplugh", code=USAGE).err)

    def test_wrong_values_of_flags(self) -> None:
        self.fails(USAGE, says="ost --help")
        self.fails(USAGE, "run", says="expression")
        self.fails(USAGE, "run", "x", "--shape", "x", says="NAME=VALUE wanted")
        self.fails(USAGE, "run", "x", "--shape", "x=2", "--numerics", "quick", says="quick")
        self.fails(
            USAGE,
            "run",
            "x",
            "--shape",
            "x=n:1..4",
            "--var",
            "n=two",
            says=["--var n", "'two' found, an integer wanted"],
        )
        self.fails(USAGE, "run", "x", "--shape", "x=2", "--var", "n=2", says="no --shape declares the variable")
        self.fails(USAGE, "replay", "m.json", "--repeat", "0", says="--repeat")
        self.fails(USAGE, "cache", "burn", says="burn")
        self.fails(USAGE, "run", "x", "--shape", "x=2", "--shape", "x=3", says="given twice")

    def test_stdout_holds_nothing_but_data(self) -> None:
        run = self.ost("run", "x", "--shape", "x=2", "--device", "ref:0", "--verbose", "--json")
        self.assertEqual(run.json["schema_version"], 1)
        self.assertIn("pseudo-random", run.err)
        self.assertEqual(self.ost("run", "x", "--shape", "x=2", "--device", "ref:0", "--quiet").err, "")

    def test_no_escape_sequences(self) -> None:
        self.assertNotIn("\x1b", self.ost("devices").out + self.ost("--help").out + self.ost("nothing", code=USAGE).err)

    def test_unwritable_output(self) -> None:
        self.fails(
            BAD_INPUT,
            "run",
            "x+1",
            "--shape",
            "x=2",
            "--device",
            "ref:0",
            "--output",
            "no/such/folder/y.npy",
            says="no/such/folder",
        )


if __name__ == "__main__":
    unittest.main()
