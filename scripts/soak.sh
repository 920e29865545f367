#!/usr/bin/env bash
# Runs the tests that make random graphs, programs and texts again and again, each time with another seed, and stops at
# the first failure. The CI runs them with one fixed seed, so that it never fails by chance.
#   scripts/soak.sh [ROUNDS] [BUILD-FOLDER]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rounds=${1:-20}
build=$(realpath "${2:-build/ci}")
export OSTINATO_BUILD_DIR=$build
for ((i = 1; i <= rounds; ++i)); do
  OSTINATO_TEST_SEED=$((RANDOM * 32768 + RANDOM))
  export OSTINATO_TEST_SEED
  for test in unit_schedule conformance_graphs manifest_documents unit_dsl; do
    if ! out=$("$build/tests/$test" 2>&1); then
      printf '%s\n' "$out" | tail -60
      echo "soak.sh: $test fails with OSTINATO_TEST_SEED=$OSTINATO_TEST_SEED" >&2
      exit 1
    fi
  done
  echo "round $i of $rounds: seed $OSTINATO_TEST_SEED passed"
done
