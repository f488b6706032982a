#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Instructions of one uncached choice among three images, counted by callgrind: the same on every
# run of the same program.
set -eu
program=${1:?usage: instructions.sh build/bin/bench_select}
command -v valgrind >/dev/null || { echo 'skipped: valgrind not found'; exit 77; }
out=$(mktemp)
trap 'rm -f "$out"' EXIT
count=10000
valgrind --tool=callgrind --callgrind-out-file="$out" --toggle-collect=problem_choose "$program" \
  "$count" >/dev/null 2>&1
total=$(sed -n 's/^summary: *\([0-9]*\).*/\1/p' "$out")
echo "choosing among 3 images: $((total / count)) instructions"
limit=$((60 + 60 * ${KDL_LIMIT_SLACK:-0} / 100))
[ "$((total / count))" -le $limit ] || { echo "expected at most $limit"; exit 1; }
