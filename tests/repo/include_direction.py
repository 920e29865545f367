#!/usr/bin/env python3
"""Who may include whom. Prints one line per broken rule and exits 1 if there is one.

  core/<layer>      lower layers of core and itself, <ostinato/...>; no compiler or vendor header, no plugin's name
  sdk/include       <ostinato/...>; a .h file beyond that only <stddef.h> and <stdint.h>; plugin_sync.h is the one implementation
  sdk/*, plugins/*  <ostinato/...>, files of the same folder, sdk/llvm; the vendor's and the system's headers
  core/conformance, core/plugin_host   hosts above the layers: core/runtime and what is below it, and their own folder
  tools, bench, python, examples (but for plugins there)   of ours only <ostinato/ostinato.h> and .hpp

usage: include_direction.py [ROOT]
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from repo_files import repo_files

LAYERS = ["base", "kir", "ir", "passes", "schedule", "codegen", "runtime", "capture", "manifest", "dsl", "capi"]
HOSTS = {"conformance", "plugin_host"}  # executables on the runtime
SOURCES = {".c", ".h", ".cpp", ".hpp", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
PLUGIN_NAME = re.compile(r'"(cpu|hip|levelzero|opencl)(:\d+)?"')
VENDOR = re.compile(r"^(llvm|llvm-c|clang|lld|mlir|hip|hsa|rocm|level_zero|CL|OpenCL|cuda|spirv)(/|\.|$)")
C_AND_THREADS = {"errno.h", "pthread.h", "stdarg.h", "stdio.h", "stdlib.h", "string.h", "time.h"}
APPLICATION = {"ostinato/ostinato.h", "ostinato/ostinato.hpp"}


def is_own_file(root: Path, name: str, included: str, top: str) -> bool:
    """Whether a quoted include names a file below top, seen from the including file, from top or from the root."""
    places = [(root / name).parent / included, root / top / included, root / included]
    return any(place.is_file() and place.resolve().is_relative_to((root / top).resolve()) for place in places)


def core_rule(root: Path, name: str, quoted: bool, included: str) -> str | None:
    layer = name.split("/")[1]
    if layer not in LAYERS and layer not in HOSTS:
        return f"is in core/{layer}, which is no layer"
    if included.startswith("core/"):
        other = included.split("/")[1]
        highest = "runtime" if layer in HOSTS else layer
        if other not in LAYERS[: LAYERS.index(highest) + 1]:
            return f"core/{layer} may not use core/{other}"
    elif VENDOR.match(included):
        return "core may not use a compiler's or a vendor's header"
    elif quoted and not is_own_file(root, name, included, f"core/{layer}"):
        return "a quoted include in core is a path from the root, or a file of the same layer"
    return None


def sdk_header_rule(root: Path, name: str, quoted: bool, included: str) -> str | None:
    if included.startswith("ostinato/") or is_own_file(root, name, included, "sdk/include/ostinato"):
        return None
    if name.endswith("/plugin_sync.h"):  # an implementation, not an ABI: C11 and POSIX threads
        return None if included in C_AND_THREADS else "plugin_sync.h may use the C library and POSIX threads only"
    if name.endswith(".h") and included not in {"stddef.h", "stdint.h"}:
        return "a C header of the SDK may use <stddef.h> and <stdint.h> only"
    if included == "sys/wait.h":  # of the system, like those without a folder
        return None
    return "the SDK may use its own and the standard headers only" if quoted or "/" in included else None


def outsider_rule(root: Path, name: str, quoted: bool, included: str, application: bool) -> str | None:
    top = "/".join(name.split("/")[:2])
    if included.startswith("ostinato/"):
        if application and included not in APPLICATION:
            return "may use ostinato.h and ostinato.hpp only"
        return None
    if is_own_file(root, name, included, top) or (is_own_file(root, name, included, "sdk/llvm") and not application):
        return None
    if quoted or included.startswith(("core/", "plugins/", "tools/", "sdk/")):
        return "may use the SDK, its own folder, and vendor or system headers only"
    return None


def broken_rules(root: Path) -> Iterator[str]:
    for name in repo_files(root):
        top = name.split("/")[0]
        if Path(name).suffix not in SOURCES or "/" not in name:
            continue
        for number, line in enumerate((root / name).read_text(errors="replace").splitlines(), 1):
            if top == "core" and PLUGIN_NAME.search(line.split("//")[0]):
                yield f"{name}:{number}: core may not name a plugin: {line.strip()}"
            match = INCLUDE.match(line)
            if not match:
                continue
            quoted, included = match[1] == '"', match[2]
            reason = None
            if top == "core":
                reason = core_rule(root, name, quoted, included)
            elif name.startswith("sdk/include/"):
                reason = sdk_header_rule(root, name, quoted, included)
            elif top in {"sdk", "plugins"} or (top == "examples" and "plugin" in name.split("/")[1]):
                reason = outsider_rule(root, name, quoted, included, application=False)
            elif top in {"tools", "bench", "python", "examples"}:
                reason = outsider_rule(root, name, quoted, included, application=True)
            if reason:
                yield f"{name}:{number}: {included}: {reason}"


def main() -> None:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    broken = list(broken_rules(root))
    print(*broken, sep="\n")
    print(f"include direction: {len(broken)} broken rules")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
