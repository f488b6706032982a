#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Instructions of one launch on a driver that does nothing, beyond those of a direct call of the
# driver's function pointer, counted by callgrind: the same on every run of the same program.
set -eu
program=${1:?usage: launch_instructions.sh build/bin/bench_launch}
command -v valgrind >/dev/null || { echo 'skipped: valgrind not found'; exit 77; }
out=$(mktemp)
trap 'rm -f "$out"' EXIT
count=10000

instructions() {
  valgrind --tool=callgrind --callgrind-out-file="$out" --toggle-collect="$2" "$program" \
    --count "$count" "$1" >/dev/null 2>&1
  echo $(($(sed -n 's/^summary: *\([0-9]*\).*/\1/p' "$out") / count))
}

direct=$(instructions direct launch_direct)
launch=$(instructions launch launch_kdl)
default=$(instructions default launch_default_queue)
anew=$(instructions anew launch_anew)
call=$(instructions call launch_call)
items=$(instructions items launch_items)
echo "instructions of one launch: direct $direct, kdl_launch $launch, with the default queue $default,"
echo "  with its descriptor made anew $anew, kdl_launch_call $call, kdl_launch_items $items"
[ "$direct" -gt 0 ] || { echo 'found no instructions, expected some'; exit 1; }
limit=$((32 + 32 * ${KDL_LIMIT_SLACK:-0} / 100))
for more in $((launch - direct)) $((default - direct)); do
  [ "$more" -le $limit ] || { echo "expected at most $limit more than direct"; exit 1; }
done
