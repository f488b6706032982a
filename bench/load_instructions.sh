#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Instructions of each step from bytes to a kernel and back, counted by callgrind on the fake CUDA
# driver. The last two hold what the fake does, which is most of them.
set -eu
usage='usage: load_instructions.sh build/bin/bench_load build/fakes/whole'
program=${1:?$usage}
fakes=${2:?$usage}
command -v valgrind >/dev/null || { echo 'skipped: valgrind not found'; exit 77; }
out=$(mktemp)
trap 'rm -f "$out"' EXIT
count=101
failed=0

# row STEP LIMIT WORDS. Few variables are in the environment, since each question walks them all.
row() {
  env -i PATH="$PATH" LD_LIBRARY_PATH="$fakes" KDL_FAKE_DEVICES='cuda:sm_90 driver=13.0 memory=1GiB' \
    valgrind --tool=callgrind --callgrind-out-file="$out" --toggle-collect="$1" "$program" "$count" \
    >/dev/null 2>&1
  found=$(($(sed -n 's/^summary: *\([0-9]*\).*/\1/p' "$out") / count))
  limit=$(($2 + $2 * ${KDL_LIMIT_SLACK:-0} / 100))
  printf '  %-46s %6d   at most %d\n' "$3" "$found" "$limit"
  [ "$found" -gt 0 ] && [ "$found" -le "$limit" ] || failed=1
}

echo 'instructions, of a library with one image'
row step_open 4000 kdl_open_memory
row step_select 8000 kdl_sym
row step_load 34000 'kdl_prefetch, with the fake driver'
row step_close 7000 'kdl_close, with the fake driver'
[ $failed = 0 ] || { echo 'expected no more than that, and some'; exit 1; }
