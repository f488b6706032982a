#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Instructions from nothing to a queue on a device, counted by callgrind on the fake drivers: those of
# libkdl, of the C library and of the dynamic loader for it, without what the driver does.
set -eu
usage='usage: cold_instructions.sh build/bin/bench_cold build/fakes/whole'
program=${1:?$usage}
fakes=${2:?$usage}
command -v valgrind >/dev/null || { echo 'skipped: valgrind not found'; exit 77; }
out=$(mktemp)
trap 'rm -f "$out"' EXIT
failed=0

# own FILE: as in load_instructions.sh.
own() {
  awk '/^summary:/ { total = $2 }
       /^c?fn=/ { split($1, id, "="); if (NF > 1) name[id[2]] = $2 }
       /^cfn=/ { called = name[id[2]] }
       is_call && called ~ /^(cu|hip|ze|cl)[A-Z]/ { driver += $2 }
       { is_call = /^calls=/ }
       END { print total - driver }' "$1"
}

# row SPEC LIMIT_FIND LIMIT_QUEUE
row() {
  spec=$1
  backend=${spec%%:*}
  shift
  for step in step_find step_queue; do
    env -i PATH="$PATH" LD_LIBRARY_PATH="$fakes" KDL_FAKE_DEVICES="$spec" \
      valgrind --tool=callgrind --callgrind-out-file="$out" --toggle-collect="$step" \
      "$program" "$backend" >/dev/null 2>&1
    found=$(own "$out")
    limit=$(($1 + $1 * ${KDL_LIMIT_SLACK:-0} / 100))
    shift
    printf '  %-11s %-10s %8d   at most %d\n' "$backend" "${step#step_}" "$found" "$limit"
    [ "$found" -gt 0 ] && [ "$found" -le "$limit" ] || failed=1
  done
}

echo 'instructions to find the device, and to make the first queue'
row 'cuda:sm_90 driver=13.0 memory=1GiB' 170000 16000
row 'hip:gfx942 driver=6.4.1 memory=1GiB' 185000 42000
row 'level_zero:bmg memory=1GiB' 170000 54000
row 'opencl:spirv64 platform=x memory=1GiB' 176000 57000
[ $failed = 0 ] || { echo 'expected no more than that, and some'; exit 1; }
