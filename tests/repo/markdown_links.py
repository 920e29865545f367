#!/usr/bin/env python3
"""Every relative link of a Markdown file leads to a file of the repository. Exits 1 if one does not.

usage: markdown_links.py [ROOT]
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from repo_files import repo_files

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
OUTSIDE = re.compile(r"\w+:")  # https:, mailto:


def broken_links(root: Path) -> Iterator[str]:
    for name in repo_files(root):
        if not name.endswith(".md"):
            continue
        for number, line in enumerate((root / name).read_text().splitlines(), 1):
            for target in LINK.findall(line):
                if not OUTSIDE.match(target) and not ((root / name).parent / target).exists():
                    yield f"{name}:{number}: {target} does not exist"


def main() -> None:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    broken = list(broken_links(root))
    print(*broken, sep="\n")
    print(f"markdown links: {len(broken)} broken")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
