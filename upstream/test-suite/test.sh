# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash disable=SC2034,SC2154 # variables of the scripts that source it
# llvm-test-suite: its lit module for microbenchmarks, and a benchmark.
BASES="suite"

build_0001() { :; }
# The folder as litsupport-tests/run.sh runs it, with Python 3 alone and the lit of 23's sources.
test_0001() {
  local output=/tmp/litoutput/microbenchmark
  rm -rf "$output" && mkdir -p "$output"
  cd "$SRC/litsupport-tests/microbenchmark"
  python3 /project/23/llvm/utils/lit/lit.py . -j 1 "$(cat litflags.txt)" -o "$output/result.json" >"$output/lit.out"
  "$LLVM/bin/FileCheck" check/lit.out <"$output/lit.out"
}

# Without the suite: with Debian's Google Benchmark and CMake functions in place of the suite's.
build_0002() {
  grep -q 'add_subdirectory(OffloadDispatch)' "$SRC/MicroBenchmarks/CMakeLists.txt"
  rm -rf "$BUILD/alone" # its sources are in the copy of this folder, which each run has anew
  cmake -S "$upstream/$series" -B "$BUILD/alone" -G Ninja -DSUITE="$SRC" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$LLVM/bin/clang" \
    -DCMAKE_CXX_COMPILER="$LLVM/bin/clang++" -DOFFLOAD_ROOT="$LLVM"
  nice -n 10 ninja -C "$BUILD/alone" -j "$JOBS"
}
test_0002() {
  local program=$BUILD/alone/MicroBenchmarks/OffloadDispatch/OffloadDispatch name
  "$program" --benchmark_min_time=0.01s --benchmark_format=json >"$BUILD/result.json"
  for name in Start Find Load Launch Queue; do grep -q "\"name\": \"$name" "$BUILD/result.json"; done
}
