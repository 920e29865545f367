#!/usr/bin/env python3
"""Tests the checks of this folder on small made-up trees: each rule must fire, and allowed code must pass."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from include_direction import broken_rules
from machine_paths import mentions
from markdown_links import broken_links
from repo_files import repo_files

HERE = Path(__file__).resolve().parent


class Tree(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def broken(self, name: str, text: str) -> list[str]:
        self.write(name, text)
        return [line for line in broken_rules(self.root) if line.startswith(f"{name}:")]


class IncludeDirection(Tree):
    def test_core_looks_down(self) -> None:
        self.assertEqual(self.broken("core/ir/a.cpp", '#include "core/kir/b.hpp"\n#include <ostinato/kir.h>\n'), [])
        self.assertEqual(len(self.broken("core/kir/a.cpp", '#include "core/ir/b.hpp"\n')), 1)

    def test_core_has_no_vendor_and_names_no_plugin(self) -> None:
        self.assertEqual(len(self.broken("core/codegen/a.cpp", "#include <llvm/IR/Module.h>\n")), 1)
        self.assertEqual(len(self.broken("core/codegen/b.cpp", "#  include <CL/cl.h>\n")), 1)
        self.assertEqual(len(self.broken("core/runtime/c.cpp", 'open("cpu:0");\n')), 1)
        self.assertEqual(self.broken("core/runtime/d.cpp", 'form("hip-cpp");  // not "hip"\n'), [])

    def test_core_quotes_paths_from_the_root(self) -> None:
        self.write("core/ir/near.hpp", "")
        self.assertEqual(self.broken("core/ir/a.cpp", '#include "near.hpp"\n'), [])
        self.assertEqual(len(self.broken("core/passes/a.cpp", '#include "../ir/near.hpp"\n')), 1)

    def test_core_has_only_its_layers(self) -> None:
        self.assertEqual(len(self.broken("core/utils/a.cpp", "#include <vector>\n")), 1)

    def test_c_headers_of_the_sdk_use_two_headers(self) -> None:
        self.assertEqual(self.broken("sdk/include/ostinato/a.h", "#include <stdint.h>\n"), [])
        self.assertEqual(len(self.broken("sdk/include/ostinato/b.h", "#include <stdbool.h>\n")), 1)
        self.assertEqual(self.broken("sdk/include/ostinato/c.hpp", "#include <vector>\n"), [])
        self.assertEqual(len(self.broken("sdk/include/ostinato/d.hpp", "#include <boost/json.hpp>\n")), 1)

    def test_plugins_see_the_sdk_and_their_own_folder(self) -> None:
        self.write("plugins/cpu/near.hpp", "")
        self.write("plugins/hip/far.hpp", "")
        self.write("sdk/llvm/lower.hpp", "")
        allowed = '#include <ostinato/plugin.h>\n#include "near.hpp"\n#include <llvm/IR/Module.h>\n'
        self.assertEqual(self.broken("plugins/cpu/a.cpp", allowed + '#include "sdk/llvm/lower.hpp"\n'), [])
        self.assertEqual(len(self.broken("plugins/cpu/b.cpp", '#include "core/base/result.hpp"\n')), 1)
        self.assertEqual(len(self.broken("plugins/cpu/c.cpp", '#include "../hip/far.hpp"\n')), 1)

    def test_tools_see_the_c_abi(self) -> None:
        self.assertEqual(
            self.broken("tools/ost/a.cpp", "#include <ostinato/ostinato.hpp>\n#include <CLI/CLI.hpp>\n"), []
        )
        self.assertEqual(len(self.broken("tools/ost/b.cpp", "#include <ostinato/plugin.h>\n")), 1)
        self.assertEqual(len(self.broken("bench/c.cpp", '#include "core/ir/graph.hpp"\n')), 1)
        self.assertEqual(len(self.broken("examples/two/d.cpp", "#include <ostinato/kir.h>\n")), 1)
        self.assertEqual(self.broken("examples/opencl-plugin/e.cpp", "#include <ostinato/plugin.h>\n"), [])


class MachinePaths(Tree):
    def test_finds_absolute_machine_folders_only(self) -> None:
        self.write(
            "a.md",
            "see " + "/" + "root/x and\n" + "/" + "work/y\ntests/work/z, https://h/root/, /usr/lib, $HOME/work/\n",
        )
        self.assertEqual([line.split(":")[1] for line in mentions(self.root)], ["1", "2"])


class MarkdownLinks(Tree):
    def test_finds_links_that_lead_nowhere(self) -> None:
        self.write("docs/a.md", "[one](../b.md#part) [two](https://h/x) [three](c.md)\n")
        self.write("b.md", "")
        self.assertEqual(list(broken_links(self.root)), ["docs/a.md:1: c.md does not exist"])


class RepoFiles(Tree):
    def test_without_git_skips_what_is_built(self) -> None:
        self.write("core/a.cpp", "")
        self.write("build/ci/b.cpp", "")
        self.assertEqual(repo_files(self.root), ["core/a.cpp"])

    def test_size_report_flags_long_files(self) -> None:
        self.write("core/ir/long.cpp", "\n" * 501)
        self.write("core/ir/short.cpp", "\n" * 500)
        run = subprocess.run(
            [sys.executable, HERE / "size_report.py", self.root], capture_output=True, text=True, check=True
        )
        self.assertIn("501  core/ir/long.cpp", run.stdout)
        self.assertNotIn("short.cpp", run.stdout)


if __name__ == "__main__":
    unittest.main()
