#!/usr/bin/env python3
"""The C program of docs/c-api.md compiles without a warning and computes what its text says.

usage: snippet.py COMPILER LIBRARY-FOLDER WORK-FOLDER
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FRAME = """#include <ostinato/ostinato.h>
#include <stdio.h>
int main(void) {
%s
  printf("%%s", error.message);
  for (int i = 0; i < 6; ++i) printf("%%.4f ", y[i]);
  ost_instance_destroy(instance);
  ost_program_release(program);
  ost_graph_destroy(graph);
  ost_context_destroy(context);
  return 0;
}
"""


def main() -> None:
    compiler, library, work = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    work.mkdir(parents=True, exist_ok=True)
    snippet = re.search(r"```c\n(.*?)```", (ROOT / "docs/c-api.md").read_text(), flags=re.S)[1]
    (work / "snippet.c").write_text(FRAME % snippet.replace('"cpu:0"', '"ref:0"'))  # the cpu plugin may not be built
    flags = [
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{ROOT}/sdk/include",
        f"-L{library}",
        f"-Wl,-rpath,{library}",
        "-lostinato",
    ]
    subprocess.run([compiler, "snippet.c", "-o", "snippet", *flags], cwd=work, check=True)
    run = subprocess.run(
        ["./snippet"],
        cwd=work,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"OSTINATO_CACHE_DIR": "off"},
    )
    if run.stdout.split() != ["0.6667"] * 6:
        sys.exit(f"snippet: found '{run.stdout}', wanted six times 0.6667")
    print("the program of docs/c-api.md works")


if __name__ == "__main__":
    main()
