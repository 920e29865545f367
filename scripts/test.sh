#!/usr/bin/env bash
# Installs what is missing, builds and tests. The last lines of the output are ctest's summary.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
usage: scripts/test.sh [--preset ci|dev|tsan|release] [--no-llvm] [--no-python] [--no-install] [-- CTEST-ARGUMENT...]
  --preset P     ci (default): warnings are errors; dev: ASan and UBSan; tsan: ThreadSanitizer
  --no-llvm      build and test core only, as on a machine without LLVM (in build/P-core)
  --no-python    without the Python package, which is never built with sanitizers
  --no-install   do not look for missing packages
  examples: scripts/test.sh
            scripts/test.sh --preset dev -- -L 'unit|loader'
TEXT
}

preset=ci llvm=yes python=yes install=yes
while [ $# -gt 0 ]; do
  case "$1" in
    --preset) preset=${2:?--preset needs a name}; shift 2 ;;
    --preset=*) preset=${1#*=}; shift ;;
    --no-llvm) llvm=no; shift ;;
    --no-python) python=no; shift ;;
    --no-install) install=no; shift ;;
    -h|--help) usage; exit 0 ;;
    --) shift; break ;;
    *) usage >&2; echo "test.sh: unknown option '$1'" >&2; exit 2 ;;
  esac
done

build=build/$preset
install_options=() configure=()
if [ "$llvm" = no ]; then
  build=$build-core
  install_options+=(--no-llvm)
  configure+=(-DOSTINATO_BUILD_CPU_PLUGIN=OFF)
fi
[ "$install" = no ] || scripts/install-deps.sh "${install_options[@]}"
# An interpreter without a sanitizer cannot load an extension that has one.
case "$preset" in dev|tsan) python=no ;; esac
[ "$llvm" = yes ] || python=no
if [ "$python" = yes ]; then
  interpreter=$(scripts/python-env.sh)
  configure+=(-DOSTINATO_BUILD_PYTHON=ON "-DPython_EXECUTABLE=$interpreter")
fi
jobs=$(nproc)
cmake --preset "$preset" -B "$build" "${configure[@]}"
cmake --build "$build" -j "$jobs"
exec ctest --test-dir "$build" --output-on-failure -j "$jobs" "$@"
