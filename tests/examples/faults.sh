#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# faults.sh SOURCE KDL TABLE WORK: the table of results notices a wrong result, and an image that is
# another than its metadata says. WORK/libraries is what kernels.sh left for the host.
set -euo pipefail
source=$1 kdl=$2 table=$3 work=$4

fail() {
  echo "faults: $*" >&2
  exit 1
}
if ! command -v "${KDL_CLANG:-clang-22}" >/dev/null; then
  echo "skipped: clang-22 not found (Debian: clang-22)"
  exit 77
fi
rm -rf "$work"
mkdir -p "$work"
bash "$source/tests/examples/kernels.sh" "$source" "$kdl" "$table" "$work/libraries" host \
  x86-64-v2 >"$work/right" || fail "the libraries are wrong already"

"$kdl" cc "$source/tests/examples/wrong/saxpy.c" --targets=x86-64-v2 --flag=-include \
  "--flag=$source/tests/examples/mark.h" -o "$work/libraries/saxpy.offload"
"$table" "$work/libraries" host >"$work/table" && fail "a wrong result went unnoticed"
grep -q '^saxpy .*WRONG$' "$work/table" || fail "the wrong kernel is not named"
[ "$(grep -c WRONG "$work/table")" = 1 ] || fail "kernels that are right are called wrong"

"$kdl" cc "$source/examples/kernels/saxpy.c" --targets=x86-64 --flag=-include \
  "--flag=$source/tests/examples/mark.h" -o "$work/libraries/saxpy.offload"
"$kdl" annotate "$work/libraries/saxpy.offload" --image=0 arch=x86-64-v2
"$table" "$work/libraries" host >"$work/table" && fail "an image of another kind went unnoticed"
grep -q "mark: the code that ran says 'x86-64/', its metadata 'x86-64-v2/'" "$work/table" ||
  fail "what ran is not named: $(cat "$work/table")"
echo "faults: both were noticed"
