#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# test_suite.sh SOURCE LIBRARY_DIR WORK: builds and runs the folder for LLVM's test-suite by that suite's
# contract: llvm_test_run() and llvm_test_executable() make TARGET and TARGET.test beside it, `benchmark`
# is a library, and litsupport's microbenchmark module runs the program with --benchmark_format=json and
# reads `name` and `cpu_time` of each of `benchmarks`.
set -euo pipefail
source=$1 library=$2 work=$3
for tool in cmake c++ python3; do
  command -v $tool >/dev/null || { echo "skipped: $tool not found"; exit 77; }
done
echo '#include <benchmark/benchmark.h>' | c++ -E -x c++ - >/dev/null 2>&1 ||
  { echo 'skipped: benchmark/benchmark.h not found (Debian: libbenchmark-dev)'; exit 77; }
rm -rf "$work" && mkdir -p "$work/suite" "$work/kdl/lib"
ln -s "$source/include" "$work/kdl/include"
ln -s "$library"/libkdl.so* "$work/kdl/lib/"
ln -s "$source/bench/llvm-test-suite/MicroBenchmarks" "$work/suite/MicroBenchmarks"
cat >"$work/suite/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.20)
project(stand_in C CXX)
set(CMAKE_CXX_STANDARD 17)
find_library(benchmark_path benchmark REQUIRED)
find_package(Threads REQUIRED)
add_library(benchmark INTERFACE)
target_link_libraries(benchmark INTERFACE ${benchmark_path} Threads::Threads)
macro(llvm_test_run)
  set(TESTSCRIPT "RUN: ${ARGN}")
endmacro()
macro(llvm_test_executable target)
  add_executable(${target} ${ARGN})
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${target}.test "${TESTSCRIPT} ${target}\n")
endmacro()
add_subdirectory(MicroBenchmarks/libkdl)
CMAKE
build() {
  cmake -S "$work/suite" -B "$work/build" -DKDL_ROOT="$work/kdl" -DCMAKE_BUILD_TYPE=Release &&
    cmake --build "$work/build"
}
if ! build >"$work/log" 2>&1; then
  cat "$work/log"
  exit 1
fi
cd "$work/build/MicroBenchmarks/libkdl"
test -f kdl_dispatch.test
./kdl_dispatch --benchmark_format=json --benchmark_min_time=0.01 >bench.json 2>/dev/null
python3 - <<'PYTHON'
import json
found = {b["name"]: b["cpu_time"] for b in json.load(open("bench.json"))["benchmarks"]}
expected = {f"{n}/{a}" for n in ("Open", "OpenAndChoose", "ChooseAgain") for a in (1, 64, 1024)}
assert set(found) == expected and all(time > 0 for time in found.values()), found
print(f"test_suite: {len(found)} benchmarks, as litsupport reads them")
PYTHON
