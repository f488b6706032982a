#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# instructions.sh BENCH BACKEND: instructions of one launch on a driver that does nothing, counted by
# callgrind: with #kdl.runtime_select, and with #gpu.select_object on the same libraries.
set -eu
program=${1:?usage: instructions.sh build/bin/bench_mlir_launch build/lib/libnull_backend.so}
backend=${2:?}
unset KDL_CPU # valgrind emulates a lesser CPU
command -v valgrind >/dev/null || { echo 'skipped: valgrind not found'; exit 77; }
out=$(mktemp)
trap 'rm -f "$out"' EXIT
count=10000

# Counts only the launching function, as the difference of two runs: binding happens once.
total() {
  OCL_ICD_VENDORS=/nonexistent KDL_BACKEND_PATH=$backend valgrind --tool=callgrind --callgrind-out-file="$out" \
    --toggle-collect="$3" "$program" --count "$2" "$1" >/dev/null 2>&1
  sed -n 's/^summary: *\([0-9]*\).*/\1/p' "$out"
}
instructions() {
  echo $((($(total "$1" $((2 * count)) "$2") - $(total "$1" "$count" "$2")) / count))
}

kdl_async=$(instructions 'runtime_select async' run_kdl_async)
select_async=$(instructions 'select_object async' run_select_async)
kdl_sync=$(instructions 'runtime_select sync' run_kdl_sync)
select_sync=$(instructions 'select_object sync' run_select_sync)
echo "instructions of one launch on a driver that does nothing:"
echo "  with a stream:    runtime_select $kdl_async, select_object $select_async"
echo "  without a stream: runtime_select $kdl_sync, select_object $select_sync"
[ "$kdl_async" -gt 0 ] || { echo 'found no instructions, expected some'; exit 1; }
if [ "$kdl_async" -gt 64 ] || [ "$kdl_sync" -gt 158 ]; then
  echo 'expected at most 64 and 158 under #kdl.runtime_select'
  exit 1
fi
if [ "$select_async" -gt 350 ] || [ "$select_sync" -gt 750 ]; then
  echo 'expected at most 350 and 750 under #gpu.select_object'
  exit 1
fi
