#!/usr/bin/env bash
# All kernels that the test-suite makes, through AMD's hipRTC and clang, for the GPUs of docs/hip.md (the test hip_hiprtc
# takes a part of them). The better part of an hour on two cores.
#
#   scripts/hip-compilers.sh [BUILD-FOLDER [--targets gfx90a,gfx1100]]
set -euo pipefail
build=$(realpath "${1:-build/ci}")
shift || true
here=$(dirname "$(realpath "$0")")
exec python3 "$here/../tests/hip/hiprtc_test.py" --all --ost "$build/bin/ost" --conform "$build/bin/ost-conform" \
  --collector "$build/tests/hip-collector/collector.so" --random "$build/tests/hip_random_kernels" \
  --work "$(mktemp -d "$build/tests/hip/all-XXXXXX")/work" "$@"
