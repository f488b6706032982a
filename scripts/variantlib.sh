#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# variantlib.sh FOLDER: puts variantlib, the reference library of Python's variant wheels, into FOLDER,
# for the tests of python/variants. It comes from the Python package index (under 1 MB), and nothing
# outside FOLDER is touched. Where it cannot be had, the test that needs it is reported as skipped.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
list=$here/variantlib.txt
[ $# = 1 ] || {
  echo "usage: variantlib.sh FOLDER" >&2
  exit 2
}
folder=$1

skip() {
  printf 'variantlib: %s: the tests of variant wheels will be skipped\n' "$*"
  exit 0
}

if cmp -s "$list" "$folder/list.txt"; then
  exit 0
fi
python3 -m pip --version >/dev/null 2>&1 || skip "pip not found (Debian: python3-pip)"

work=$folder.new
rm -rf "$work"
mkdir -p "$(dirname "$folder")"
trap 'rm -rf "$work"' EXIT
python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --no-compile \
  --require-hashes --retries 1 --timeout 30 --root-user-action ignore --target "$work" -r "$list" ||
  skip "the Python package index did not give it"
cp "$list" "$work/list.txt"
rm -rf "$folder"
mv "$work" "$folder"
trap - EXIT
