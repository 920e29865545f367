#!/usr/bin/env python3
"""Runs a test binary under the layers, and judges what validate found.

usage: under_layers.py validate BINARY [ARGUMENT...]   it must pass, and validate must find nothing
       under_layers.py fault BINARY [ARGUMENT...]      one run per seed: a test may fail, nothing may crash, hang or leak
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

SEEDS = 6
FIRST_SEED = int(os.environ.get("OSTINATO_TEST_SEED", "20261130"))
RANGE = 400  # calls from which a seed picks one


def run(command: list[str], layers: str, fault: str) -> tuple[int, str, str]:
    with tempfile.TemporaryDirectory() as folder:
        findings = Path(folder, "findings")
        env = os.environ | {
            "OSTINATO_LAYERS": layers,
            "OSTINATO_FAULT": fault,
            "OSTINATO_VALIDATE_FILE": str(findings),
            "OSTINATO_CACHE_DIR": "off",
            # The devices that the tests use: a call that fails while others are listed makes no test fail.
            "OSTINATO_PLUGINS": "cpu,ref",
        }
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
        found = findings.read_text() if findings.exists() else ""
        return done.returncode, done.stdout + done.stderr, found


def main() -> int:
    mode, command = sys.argv[1], sys.argv[2:]
    if mode == "validate":
        code, output, found = run(command, "validate", "")
        if code != 0 or found:
            print(output[-6000:], f"exit code {code}; validate found:", found or "nothing", sep="\n")
        return int(code != 0 or bool(found))
    wrong = struck = 0
    for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
        code, output, found = run(command, "validate,fault", f"seed:{seed}:{RANGE}")
        struck += code == 1
        if code not in (0, 1) or found:
            wrong += 1
            print(output[-3000:], f"seed {seed}: exit code {code}; validate found:", found or "nothing", sep="\n")
    print(f"{SEEDS} seeds from {FIRST_SEED}: {struck} made a test fail, {wrong} did harm")
    return int(wrong > 0 or struck == 0)


if __name__ == "__main__":
    sys.exit(main())
