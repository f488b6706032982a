#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# instructions.sh BENCH BACKEND: instructions of one launch on a driver that does nothing, counted by
# callgrind: under #kdl.runtime_select, and under #gpu.select_object on the same libraries.
set -eu
program=${1:?usage: instructions.sh build/bin/bench_mlir_launch build/lib/libnull_backend.so}
backend=${2:?}
command -v valgrind >/dev/null || { echo 'skipped: valgrind not found'; exit 77; }
out=$(mktemp)
trap 'rm -f "$out"' EXIT
count=10000

# Of the function that launches alone, and the difference between two counts: binding happens once.
total() {
  KDL_BACKEND_PATH=$backend valgrind --tool=callgrind --callgrind-out-file="$out" \
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
[ "$kdl_async" -le 64 ] || { echo 'expected at most 64 with a stream'; exit 1; }
if [ $((4 * kdl_async)) -gt "$select_async" ] || [ $((4 * kdl_sync)) -gt "$select_sync" ]; then
  echo 'expected at most a quarter of select_object'
  exit 1
fi
