#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# skipped.sh SOURCE WORK: scripts/ctest.sh counts skipped tests by what they lack, and keeps their names in a file.
set -euo pipefail
source=$1 work=$2
rm -rf "$work"
mkdir -p "$work"
# test NAME LINE: prints LINE, and is skipped for it.
tests() {
  while IFS='|' read -r name line; do
    printf 'add_test(%s echo "%s")\nset_tests_properties(%s PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: |unavailable")\n' "$name" "$line" "$name"
  done
}
tests >"$work/CTestTestfile.cmake" <<'EOF'
conformance.cuda|skipped: nothing here runs through cuda
conformance.hip|skipped: nothing here runs through hip
python.torch|skipped: PyTorch not found (pip install torch)
mlir.amx|Test requires the following unavailable features: amx_bf16, ukernels
tools.registry|Test requires the following unavailable features: docker-registry
unit.one|skipped: cmocka not found (Debian: libcmocka-dev)
unit.odd|skipped: it is Sunday
EOF
printf 'add_test(unit.part printf "skipped: libcuda.so.1\\\\n%%s" passes)\nadd_test(unit.good echo fine)\n' >>"$work/CTestTestfile.cmake"
"$source/scripts/ctest.sh" "$work" >"$work/said" || {
  cat "$work/said"
  exit 1
}
expected="     3 need a GPU and its driver
     1 need 1 GB of packages and more: PyTorch, Triton, Ray
     1 need a CPU with AMX
     2 need a package or a part of the build that is not there
     1 for other reasons"
found=$(sed -n '/^Skipped/,/^$/p' "$work/said" | sed '1d;/^$/d')
[ "$found" = "$expected" ] || {
  cat "$work/said"
  printf 'found\n%s\nexpected\n%s\n' "$found" "$expected" >&2
  exit 1
}
grep -qxF 'unit.odd: skipped: it is Sunday' "$work/skipped.txt"
[ "$(wc -l <"$work/skipped.txt")" = 8 ]
