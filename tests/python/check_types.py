#!/usr/bin/env python3
"""mypy --strict finds nothing in the package, its stubs, or the examples that use it.

usage: check_types.py FOLDER-OF-THE-PACKAGE
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> None:
    folder = Path(sys.argv[1])
    examples = [str(p) for p in sorted((ROOT / "examples" / "python").glob("*.py"))]
    env = {**os.environ, "MYPYPATH": str(folder)}
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / ".mypy_cache")]
    for what in (["-p", "ostinato"], examples):
        if subprocess.run([*command, *what], env=env, cwd=folder, check=False).returncode != 0:
            sys.exit(1)


main()
