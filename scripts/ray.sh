#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ray.sh FOLDER: puts Ray, for the test of examples/ray, into FOLDER. It comes from the Python package index (85 MB; 280 MB unpacked), and
# nothing outside FOLDER is touched. Where it cannot be had, the test is reported as skipped.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
list=$here/ray.txt
python=${PYTHON:-/usr/bin/python3}
[ $# = 1 ] || {
  echo "usage: ray.sh FOLDER" >&2
  exit 2
}
folder=$1

say() { printf 'ray: %s\n' "$*"; }
skip() {
  say "$*: the test of examples/ray will be skipped"
  exit 0
}

if cmp -s "$list" "$folder/list.txt"; then
  exit 0
fi
[ "$(uname -m)" = x86_64 ] || skip "there is none for $(uname -m)"
"$python" -m pip --version >/dev/null 2>&1 || skip "pip not found (Debian: python3-pip)"

work=$folder.new
rm -rf "$work"
mkdir -p "$(dirname "$folder")"
trap 'rm -rf "$work"' EXIT
say "fetching Ray (85 MB) into $folder"
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --no-compile \
  --require-hashes --retries 1 --timeout 30 --root-user-action ignore --target "$work" -r "$list" ||
  skip "the Python package index did not give it"
cp "$list" "$work/list.txt"
rm -rf "$folder"
mv "$work" "$folder"
trap - EXIT
say "done"
