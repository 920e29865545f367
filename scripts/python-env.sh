#!/usr/bin/env bash
# Makes the Python environment that the package is built and tested in, and prints its interpreter. It lives in the
# user's cache, one for each list of requirements, so that a fresh clone uses what another one made.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ $# -gt 0 ]; then
  echo "usage: scripts/python-env.sh    (no options; prints the path of a Python)" >&2
  [ "$1" = -h ] || [ "$1" = --help ] || exit 2
  exit 0
fi

key=$({ python3 --version; cat python/requirements.txt; } | sha256sum | cut -c1-12)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/ostinato/python-$key
if [ ! -e "$folder/complete" ]; then
  echo "python-env: installing python/requirements.txt into $folder" >&2
  mkdir -p "$(dirname "$folder")"
  making=$(mktemp -d "$folder.XXXXXX")
  trap 'rm -rf "$making"' EXIT
  python3 -m venv "$making" >&2
  "$making/bin/python" -m pip install -q --disable-pip-version-check -r python/requirements.txt >&2
  touch "$making/complete"
  # An environment has its own path in its scripts, but not in its interpreter, which is all that is used here.
  rm -rf "$folder" && mv "$making" "$folder" 2>/dev/null || [ -e "$folder/complete" ]
fi
echo "$folder/bin/python"
