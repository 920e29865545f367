#!/usr/bin/env python3
"""No file of the repository names a folder of one machine (a home, a work folder). Exits 1 if one does.

usage: machine_paths.py [ROOT]
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from repo_files import repo_files

MACHINE_PATH = re.compile(rb"(?<![\w.~$}/-])/(?:work|root|home/\w+)/")


def mentions(root: Path) -> Iterator[str]:
    for name in repo_files(root):
        data = (root / name).read_bytes()
        if b"\0" in data[:4096]:
            continue
        for number, line in enumerate(data.splitlines(), 1):
            if MACHINE_PATH.search(line):
                yield f"{name}:{number}: {line.decode(errors='replace').strip()[:120]}"


def main() -> None:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    found = list(mentions(root))
    print(*found, sep="\n")
    print(f"machine paths: {len(found)} lines name one")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
