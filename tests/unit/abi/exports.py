#!/usr/bin/env python3
"""What the libraries of a build export, against what they may.

usage: exports.py NM BUILD_FOLDER HEADER

libostinato.so exports exactly the functions that HEADER declares with OST_EXPORT; a plugin exports ost_plugin_negotiate;
a companion of a plugin (no discovery file names it) exports ost_* only.
"""

import json
import re
import subprocess
import sys
from pathlib import Path


def exports(nm: str, library: Path) -> set[str]:
    done = subprocess.run([nm, "-D", "--defined-only", "-P", library], capture_output=True, text=True, check=True)
    # Absolute symbols are names of versions.
    return {line.split()[0].split("@")[0] for line in done.stdout.splitlines() if line.split()[1] not in "Aa"}


def declared(header: Path) -> set[str]:
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", header.read_text(), flags=re.S)
    return set(re.findall(r"OST_EXPORT\b[^;{]*?\b(ost_\w+)\s*\(", text))


def main() -> int:
    nm, build, header = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    wrong = []
    want, found = declared(header), exports(nm, build / "lib/libostinato.so")
    wrong += [f"libostinato.so lacks {name}, which the header declares" for name in sorted(want - found)]
    wrong += [f"libostinato.so exports {name}, which no header declares" for name in sorted(found - want)]
    folder = build / "lib/ostinato-plugins"
    plugins = {json.loads(file.read_text())["library"] for file in folder.glob("*.ostplugin.json")}
    for library in sorted(folder.glob("*.so")):
        found = exports(nm, library)
        if library.name in plugins:
            bad = found ^ {"ost_plugin_negotiate"}
        else:
            bad = {name for name in found if not name.startswith("ost_")}
        wrong += [f"{library.name}: {name} is exported, or missing" for name in sorted(bad)]
    print(*wrong, sep="\n")
    print(f"exports: {len(want)} functions of the library, {len(plugins)} plugins, {len(wrong)} wrong")
    return int(bool(wrong) or not want)


if __name__ == "__main__":
    sys.exit(main())
