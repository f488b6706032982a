#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Instructions of each step from bytes to a kernel and back, counted by callgrind on the fake CUDA
# driver: those of libkdl and of the C library for it, without what the driver does.
set -eu
usage='usage: load_instructions.sh build/bin/bench_load build/fakes/whole'
program=${1:?$usage}
fakes=${2:?$usage}
command -v valgrind >/dev/null || { echo 'skipped: valgrind not found'; exit 77; }
bundle=$(dirname "$0")/images/nothing.offload
out=$(mktemp)
trap 'rm -f "$out"' EXIT
count=101
failed=0

# own FILE: what was counted in all, less what the calls of the driver's functions took. Callgrind
# names a function once, "cfn=(12) cuInit", and has the cost of a call in the line after "calls=".
own() {
  awk '/^summary:/ { total = $2 }
       /^c?fn=/ { split($1, id, "="); if (NF > 1) name[id[2]] = $2 }
       /^cfn=/ { called = name[id[2]] }
       is_call && called ~ /^cu[A-Z]/ { driver += $2 }
       { is_call = /^calls=/ }
       END { print total - driver }' "$1"
}

# row STEP LIMIT WORDS [FILE KERNEL]. Few variables are in the environment, since each question walks
# them all.
row() {
  step=$1 most=$2 words=$3
  shift 3
  env -i PATH="$PATH" LD_LIBRARY_PATH="$fakes" KDL_FAKE_DEVICES='cuda:sm_90 driver=13.0 memory=1GiB' \
    valgrind --tool=callgrind --callgrind-out-file="$out" --toggle-collect="$step" \
    "$program" "$count" "$@" >/dev/null 2>&1
  found=$(($(own "$out") / count))
  limit=$((most + most * ${KDL_LIMIT_SLACK:-0} / 100))
  printf '  %-46s %6d   at most %d\n' "$words" "$found" "$limit"
  [ "$found" -gt 0 ] && [ "$found" -le "$limit" ] || failed=1
}

echo 'instructions, of a library with one image'
row step_open 1580 kdl_open_memory
row step_select 3460 kdl_sym
row step_load 4360 kdl_prefetch
row step_close 1170 kdl_close
echo 'instructions, of a library with 11 images'
row step_open 7020 kdl_open_memory "$bundle" nothing
row step_select 6900 kdl_sym "$bundle" nothing
row step_load 4610 kdl_prefetch "$bundle" nothing
row step_close 1260 kdl_close "$bundle" nothing
[ $failed = 0 ] || { echo 'expected no more than that, and some'; exit 1; }
