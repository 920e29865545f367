#!/usr/bin/env python3
"""Every function that libostinato.so exports is declared in ostinato.h and called by the C test, and vice versa.

usage: every_entry.py LIBRARY
"""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEADER = HERE.parent.parent / "sdk/include/ostinato/ostinato.h"


def main() -> None:
    table = subprocess.run(
        ["nm", "-D", "--defined-only", sys.argv[1]], capture_output=True, text=True, check=True
    ).stdout
    exported = {line.split()[-1].split("@")[0] for line in table.splitlines() if line.split()[-2] == "T"}
    declared = set(re.findall(r"\b(ost_\w+)\(", re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)))
    source = "".join(path.read_text() for path in sorted(HERE.glob("*.c")))
    called = set(re.findall(r"\b(ost_\w+)\(", source))
    problems = [f"{name} is exported and not declared" for name in sorted(exported - declared)]
    problems += [f"{name} is declared and not exported" for name in sorted(declared - exported)]
    problems += [f"{name} is not called by tests/capi/*.c" for name in sorted(declared - called)]
    print("\n".join(problems) or f"{len(declared)} entry points are declared, exported and called")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
