#!/usr/bin/env bash
# Builds the libFuzzer targets of tests/fuzz with clang, ASan and UBSan and runs each for a bounded time. Inputs that were
# found are kept in build/fuzz/corpus; an input that breaks something is left in build/fuzz and named in the last lines.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
usage: scripts/fuzz.sh [--seconds N] [TARGET...]
  --seconds N   time for each target (default 30)
  TARGET        name of tests/fuzz/TARGET_fuzz.cpp (default: all)
  examples: scripts/fuzz.sh
            scripts/fuzz.sh --seconds 600 kir_text
TEXT
}

seconds=30 targets=()
while [ $# -gt 0 ]; do
  case "$1" in
    --seconds) seconds=${2:?--seconds needs a number}; shift 2 ;;
    -h|--help) usage; exit 0 ;;
    -*) usage >&2; echo "fuzz.sh: unknown option '$1'" >&2; exit 2 ;;
    *) targets+=("$1"); shift ;;
  esac
done
if [ ${#targets[@]} = 0 ]; then
  for source in tests/fuzz/*_fuzz.cpp; do
    name=$(basename "$source" _fuzz.cpp)
    targets+=("$name")
  done
fi
compiler=${FUZZ_CXX:-clang++-22}
command -v "$compiler" >/dev/null || { echo "fuzz.sh: $compiler is needed (scripts/install-deps.sh, or FUZZ_CXX)" >&2; exit 77; }

out=build/fuzz
mkdir -p "$out/objects"
flags=(-std=c++23 -Wno-deprecated-declarations -g -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -I. -Isdk/include)
for source in core/base/*.cpp core/kir/*.cpp core/manifest/*.cpp core/schedule/{verify_*,kernel_sizes}.cpp; do
  object=$out/objects/$(echo "$source" | tr / _).o
  newer=$(find core/base core/kir core/manifest core/schedule sdk/include -newer "$object" -print -quit 2>/dev/null || echo missing)
  [ -z "$newer" ] || printf '%s\0%s\0' "$source" "$object"
done | xargs -0 -r -n2 -P "$(nproc)" bash -c '"${@:1:$#-2}" -c "${@: -2:1}" -o "${@: -1}"' compile "$compiler" "${flags[@]}"

failed=0
for target in "${targets[@]}"; do
  "$compiler" "${flags[@]}" -fsanitize=fuzzer "tests/fuzz/${target}_fuzz.cpp" "$out"/objects/*.o -lfmt -lcrypto -lxxhash -lboost_json -lz -o "$out/$target"
  mkdir -p "$out/corpus/$target"
  seeds=()
  [ ! -d "tests/fuzz/corpus/$target" ] || seeds+=("tests/fuzz/corpus/$target")
  echo "fuzzing $target for $seconds s"
  if ! "$out/$target" -max_total_time="$seconds" -max_len=16384 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
      -verbosity=0 -artifact_prefix="$out/$target-" "$out/corpus/$target" "${seeds[@]}" >"$out/$target.log" 2>&1; then
    failed=1
    tail -40 "$out/$target.log"
    echo "fuzz.sh: $target found a failing input, see $out/$target.log"
  fi
  grep -E 'number_of_executed_units|peak_rss' "$out/$target.log" || true
done
exit $failed
