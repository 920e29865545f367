#!/usr/bin/env bash
# Writes the committed dump of the ABI that ostinato.h declares, or compares the header with it (abigail-tools, Debian).
# What is dumped is a library of empty functions that is made from the header: the types of the real one's insides are
# no ABI. That the real one exports just these functions is another test (tests/unit/abi/exports.py).
#
# usage: scripts/abi-dump.sh            rewrites tests/unit/abi/libostinato.abi
#        scripts/abi-dump.sh --check    exit 0: nothing was removed or changed; 1: it was; 77: no abidiff here
set -euo pipefail
cd "$(dirname "$0")/.."
dump=tests/unit/abi/libostinato.abi

if ! command -v abidiff >/dev/null; then
  echo "abi-dump: skipped, needs abidiff (package abigail-tools)"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 - > "$folder/stub.c" <<'PYTHON'
import re
text = open("sdk/include/ostinato/ostinato.h").read()
text = re.sub(r'#include "([^"]+)"', r"#include <ostinato/\1>", re.sub(r"/\*.*?\*/", " ", text, flags=re.S))
print(re.sub(r"(OST_EXPORT\b[^;{]*?\bost_\w+\s*\([^;]*\))\s*;", r"\1 { __builtin_trap(); }", text))
PYTHON
"${CC:-cc}" -std=gnu2x -w -g "-ffile-prefix-map=$folder/=" -fPIC -shared -Isdk/include -o "$folder/stub.so" "$folder/stub.c"
if [ "${1:-}" != --check ]; then
  abidw --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --out-file "$dump" "$folder/stub.so"
  exit 0
fi
# Bits of the exit code: 1 an error, 2 a wrong call, 4 a change, 8 a change that breaks. What only adds is no break.
code=0
abidiff --no-added-syms --no-show-locs "$dump" "$folder/stub.so" || code=$?
if [ "$code" -ne 0 ]; then
  echo "abi-dump: the ABI of ostinato.h differs from $dump (abidiff says $code); docs/abi.md says what may change"
  exit 1
fi
