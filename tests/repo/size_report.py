#!/usr/bin/env python3
"""Lines of code per folder, and files over 500 lines. A report: it never fails.

usage: size_report.py [ROOT]
"""

import sys
from collections import defaultdict
from pathlib import Path

from repo_files import repo_files

CODE = {".c", ".h", ".cpp", ".hpp", ".py", ".sh", ".cmake"}
LONG = 500


def folder_of(name: str) -> str:
    """core/ir, plugins/cpu, tests/unit, scripts, ...: two levels, one for files at the top of a folder."""
    parts = name.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0] if len(parts) > 1 else "."


def main() -> None:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    lines: dict[str, list[int]] = defaultdict(list)
    long_files = []
    for name in repo_files(root):
        if Path(name).suffix not in CODE:
            continue
        count = len((root / name).read_bytes().splitlines())
        lines[folder_of(name)].append(count)
        if count > LONG:
            long_files.append((count, name))
    print(f"{'folder':<24}{'files':>7}{'lines':>8}{'median':>8}{'longest':>9}")
    for folder, counts in sorted(lines.items()):
        median = sorted(counts)[len(counts) // 2]
        print(f"{folder:<24}{len(counts):>7}{sum(counts):>8}{median:>8}{max(counts):>9}")
    everything = [count for counts in lines.values() for count in counts]
    print(f"{'total':<24}{len(everything):>7}{sum(everything):>8}")
    print(f"\nfiles over {LONG} lines (is it one idea?): {len(long_files) or 'none'}")
    for count, name in sorted(long_files, reverse=True):
        print(f"{count:>7}  {name}")


if __name__ == "__main__":
    main()
