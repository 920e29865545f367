#!/usr/bin/env bash
# Installs what the build needs on Debian 12 and 13. Idempotent: with everything there it only looks, in well under a
# second, and needs neither root nor the network.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/install-deps.sh [--no-llvm] [--dry-run]
  --no-llvm   only what core and its tests need; no cpu plugin will be built
  --dry-run   say what would be installed
TEXT
}

llvm=yes dry=no
for arg in "$@"; do
  case "$arg" in
    --no-llvm) llvm=no ;;
    --dry-run) dry=yes ;;
    -h|--help) usage; exit 0 ;;
    *) usage >&2; echo "install-deps: unknown option '$arg'" >&2; exit 2 ;;
  esac
done

# One need a line; where releases differ, alternatives by preference.
needs=(
  g++ cmake ninja-build ccache mold git ca-certificates python3
  "libboost-json1.81-dev|libboost-json1.83-dev|libboost-json1.88-dev"
  libfmt-dev libcli11-dev libxxhash-dev libssl-dev zlib1g-dev libgtest-dev libmpfr-dev libvalijson-dev
  abigail-tools "pkg-config|pkgconf"
)
[ "$llvm" = yes ] && needs+=(llvm-22-dev llvm-22-tools libzstd-dev lld-22)
# A device of another kind, for the tests of the OpenCL example.
[ "$llvm" = yes ] && needs+=(opencl-headers ocl-icd-opencl-dev pocl-opencl-icd)
# AMD's compiler of kernels, which needs no GPU, and clang, for what that one is too old for.
[ "$llvm" = yes ] && needs+=(libamdhip64-5 clang-22)
# The Python package; scripts/python-env.sh makes an environment for the rest.
[ "$llvm" = yes ] && needs+=(python3-dev python3-venv)
# What only single tests use; they skip where a release has no such package. For SPIR-V: a checker, Intel's compiler of
# kernels, translators to the LLVM of PoCL and of oclgrind, an interpreter that finds races.
wants=()
[ "$llvm" = yes ] && wants+=(spirv-tools "intel-ocloc|intel-opencl-icd" llvm-spirv-15 llvm-spirv-14 oclgrind)
# For Level Zero: its loader and headers, with which the test driver is opened, and Intel's own driver, which runs
# without a GPU too.
[ "$llvm" = yes ] && wants+=(libze1 libze-dev "libze-intel-gpu1|intel-opencl-icd")
# HIP's headers, against which a test holds the hip plugin's own prototypes.
[ "$llvm" = yes ] && wants+=(libamdhip64-dev)

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "install-deps: this is not Debian; install by hand what these packages bring: ${needs[*]}" >&2
  exit 0
fi

installed=" $(dpkg-query -W -f='${db:Status-Status} ${Package}\n' | awk '$1 == "installed" {printf "%s ", $2}')"
has() { [[ "$installed" == *" $1 "* ]]; }
known() { local policy; policy=$(apt-cache policy "$1"); [[ "$policy" == *"Candidate: "[!\(]* ]]; }

unmet=()
for need in "${needs[@]}" "${wants[@]}"; do
  met=no
  for name in ${need//|/ }; do if has "$name"; then met=yes; fi; done
  [ "$met" = yes ] || unmet+=("$need")
done
if [ ${#unmet[@]} -eq 0 ]; then
  echo "install-deps: everything is there" >&2
  exit 0
fi
if [ "$dry" = yes ]; then
  echo "install-deps: would install ${unmet[*]}" >&2
  exit 0
fi

root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "install-deps: need root or sudo to install: ${unmet[*]}" >&2
    exit 1
  }
  root=(sudo)
fi

echo "install-deps: apt-get update" >&2
"${root[@]}" apt-get update -q >&2
packages=()
for need in "${unmet[@]}"; do
  found=
  for name in ${need//|/ }; do if [ -z "$found" ] && known "$name"; then found=$name; fi; done
  if [ -z "$found" ] && [[ " ${wants[*]} " == *" $need "* ]]; then
    echo "install-deps: without $need, which this release does not have" >&2
    continue
  fi
  [ -n "$found" ] || {
    echo "install-deps: no package source of this machine has $need (Debian 12 and 13 with security updates do)" >&2
    exit 1
  }
  packages+=("$found")
done
[ ${#packages[@]} -gt 0 ] || exit 0
echo "install-deps: installing ${packages[*]}" >&2
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${packages[@]}" >&2
