#!/usr/bin/env bash
# Installs what is missing, builds the release preset (the library, the cpu plugin and ost) and runs the digits demo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ $# -gt 0 ]; then
  echo "usage: scripts/demo.sh    (no options; the outputs go to build/demo)" >&2
  [ "$1" = -h ] || [ "$1" = --help ] || exit 2
  exit 0
fi

scripts/install-deps.sh
mkdir -p build
cmake --preset release >build/demo-configure.log 2>&1 || { cat build/demo-configure.log >&2; exit 1; }
cmake --build build/release -j "$(nproc)" --target runtime
exec python3 examples/digits/demo.py build/release/bin/ost build/demo
