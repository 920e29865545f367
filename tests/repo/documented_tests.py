#!/usr/bin/env python3
"""Every test that a page in docs/ names as `Suite.Name` or `Suite.*` exists."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def capture_rows_missing(count=74):
    """Behaviours of the capture contract that the table does not give a test."""
    text = (ROOT / "docs/capture.md").read_text()
    rows = re.findall(r"^\| (\d+) \|[^|]*\|[^|]*`[A-Z]\w*\.[A-Z*]", text, flags=re.M)
    return sorted(set(range(1, count + 1)) - {int(row) for row in rows})


def main():
    tests = set()
    for path in (ROOT / "tests").rglob("*.cpp"):
        tests |= set(re.findall(r"\bTEST(?:_[FP])?\(\s*(\w+)\s*,\s*(\w+)\s*\)", path.read_text()))
    suites = {suite for suite, _ in tests}
    named = wrong = 0
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for number, line in enumerate(page.read_text().splitlines(), 1):
            # A suite is told from a field or a file by its capital letter.
            for suite, name in re.findall(r"`([A-Z]\w*)\.([A-Z]\w*|\*)`", line):
                named += 1
                if (name == "*" and suite in suites) or (suite, name) in tests:
                    continue
                wrong += 1
                print(f"{page.relative_to(ROOT)}:{number}: there is no test {suite}.{name}")
    for number in capture_rows_missing():
        wrong += 1
        print(f"docs/capture.md: behaviour {number} has no row with a test")
    print(f"documented tests: {named} named, {wrong} of them missing")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
