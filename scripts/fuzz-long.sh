#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# fuzz-long.sh SECONDS: runs every fuzz target of build/fuzz for SECONDS, two at a time, and writes
# what came of it to bench/results/fuzz-DATE.txt. Fails if anything was found.
set -euo pipefail
seconds=${1:?usage: fuzz-long.sh SECONDS}
cd "$(dirname "$0")/.."

bin=build/fuzz/bin
logs=build/fuzz/logs
findings=build/fuzz/findings
results=bench/results/fuzz-$(date -u +%Y-%m-%d).txt
if ! compgen -G "$bin/fuzz_*" >/dev/null; then
  echo "fuzz-long: no fuzz target in $bin (make build-fuzz; needs clang)" >&2
  exit 1
fi
# `make test` builds them unoptimised, as their second each is short beside the compiler's.
cmake --preset fuzz --log-level=WARNING -DCMAKE_C_FLAGS_RELWITHDEBINFO='-O2 -g1 -DNDEBUG' >/dev/null
cmake --build --preset fuzz >/dev/null
mkdir -p bench/results
rm -rf "$logs" "$findings"
mkdir -p "$logs" "$findings"

targets=()
for program in "$bin"/fuzz_*; do
  targets+=("$(basename "$program")")
done
echo "fuzzing ${#targets[@]} targets for $seconds s each, two at a time"
# A target that finds something stops early; the others go on. Seed 0 is a fresh one each time.
fuzz() {
  tests/fuzz/run.sh "$bin/$1" "$seconds" "$PWD/$findings" -seed=0 >"$logs/$1.log" 2>&1 ||
    echo "$1: stopped early, see $logs/$1.log"
}
export -f fuzz
export bin seconds findings logs
printf '%s\n' "${targets[@]}" | xargs -P 2 -I '{}' bash -c 'fuzz {}'

# libFuzzer's -print_final_stats: "stat::number_of_executed_units: 12345".
stat_of() { sed -n "s/^stat::$1: *//p" "$2"; }

compiler=$(sed -n 's/^set(CMAKE_C_COMPILER "\(.*\)")$/\1/p' build/fuzz/CMakeFiles/*/CMakeCCompiler.cmake)
found=0
{
  echo "date      $(date -u +%Y-%m-%d)"
  echo "commit    $(git rev-parse HEAD 2>/dev/null || echo none)"
  echo "compiler  $("$compiler" --version | head -1)"
  echo "machine   $(uname -m), $(nproc) cores"
  echo "command   make test-long FUZZ_SECONDS=$seconds"
  echo
  printf '%-24s %8s %12s %9s %8s %9s %s\n' target seconds runs runs/s corpus peak-MiB findings
  for target in "${targets[@]}"; do
    log=$logs/$target.log
    ran=$(sed -n 's/^Done [0-9]* runs in \([0-9]*\) second.*/\1/p' "$log")
    crashes=$(find "$findings" -name "$target-*" | wc -l)
    found=$((found + crashes))
    [ -n "$ran" ] || [ "$crashes" != 0 ] || found=$((found + 1))
    printf '%-24s %8s %12s %9s %8s %9s %s\n' "$target" "${ran:-stopped}" \
      "$(stat_of number_of_executed_units "$log")" "$(stat_of average_exec_per_sec "$log")" \
      "$(find "build/fuzz/corpus/$target" -type f | wc -l)" \
      "$(stat_of peak_rss_mb "$log")" "$crashes"
  done
  echo
  echo "findings  $found"
} >"$results.new"
mv "$results.new" "$results"
cat "$results"
echo "written to $results"
[ "$found" = 0 ]
