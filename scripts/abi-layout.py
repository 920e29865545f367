#!/usr/bin/env python3
"""Writes tests/unit/abi/layout.inc: size and offsets of every struct and the value of every constant of the C headers.

The file is compiled as C11 and C++ assertions, so that nothing of an ABI moves by accident.

usage: scripts/abi-layout.py            rewrites the file (a change of an existing line is an ABI break)
       scripts/abi-layout.py --check    fails if the headers have something that the file does not list
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ["types.h", "kir.h", "plugin.h", "ostinato.h"]
OUT = ROOT / "tests/unit/abi/layout.inc"


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def fields_of(body):
    """Names of the members: `type name;`, `type name[n];`, `type (*name)(arguments);`, `type a, b;`"""
    for part in body.split(";"):
        part = part.strip()
        if not part:
            continue
        function = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", part)
        if function:
            yield function.group(1)
            continue
        for piece in part.split(","):
            yield re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", piece.strip()).group(1)


def read_header(name):
    text = without_comments((ROOT / "sdk/include/ostinato" / name).read_text())
    structs = [(m.group(2), list(fields_of(m.group(1))))
               for m in re.finditer(r"typedef\s+struct\s+\w*\s*\{(.*?)\}\s*(\w+)\s*;", text, re.S)]
    values = []
    for m in re.finditer(r"\benum\s*\w*\s*\{(.*?)\}", text, re.S):
        values += [e.split("=")[0].strip() for e in m.group(1).split(",") if e.strip()]
    return structs, values


def asserts(name):
    """The lines for one header, measured by the C compiler."""
    structs, values = read_header(name)
    prints = []
    for struct, fields in structs:
        prints.append(f'printf("OST_SIZE({struct}, %zu)\\n", sizeof({struct}));')
        prints += [f'printf("OST_FIELD({struct}, {f}, %zu)\\n", offsetof({struct}, {f}));' for f in fields]
    prints += [f'printf("OST_VALUE({v}, %lld)\\n", (long long)({v}));' for v in values]
    code = f'#include <stdio.h>\n#include <ostinato/{name}>\nint main(void) {{\n' + "\n".join(prints) + "\nreturn 0;\n}\n"
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "layout.c")
        source.write_text(code)
        program = str(pathlib.Path(folder, "layout"))
        compiler = os.environ.get("CC", "cc")
        subprocess.run([compiler, "-std=c11", f"-I{ROOT / 'sdk/include'}", str(source), "-o", program], check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    text = "/* Written by scripts/abi-layout.py. A line that changes is a break of the ABI. */\n"
    for name in HEADERS:
        if (ROOT / "sdk/include/ostinato" / name).exists():
            text += f"\n/* ostinato/{name} */\n" + asserts(name)
    if not check:
        OUT.write_text(text)
        return 0
    known = OUT.read_text().splitlines()
    new = text.splitlines()
    for line in new:
        if line not in known:
            print(f"abi-layout: not in {OUT.relative_to(ROOT)}: {line}")
    for line in known:
        if line not in new:
            print(f"abi-layout: no longer so: {line}")
    if known != new:
        print("abi-layout: if that is meant, run scripts/abi-layout.py and say so in the commit")
    return int(known != new)


if __name__ == "__main__":
    sys.exit(main())
