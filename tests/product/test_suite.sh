#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# test_suite.sh SOURCE LIBRARY_DIR WORK: builds and runs the folder for LLVM's test-suite.
#
# With KDL_LLVM_TEST_SUITE, a checkout of that suite, its own CMake, benchmark library and lit do it. Without,
# a stand-in does what these do with such a folder (cmake/modules/TestFile.cmake and TestSuite.cmake,
# MicroBenchmarks/libs, litsupport/modules/microbenchmark.py): llvm_test_run() collects a line
# `RUN: $EXECUTABLE$ ARGUMENTS`, llvm_test_executable() makes the program and TARGET.test beside it with
# %S/TARGET in that line, and forgets the lines; warnings are off and NDEBUG is defined; `benchmark` is a
# target; the line runs with --benchmark_format=json behind it, and `name` and `cpu_time` are read of each of
# `benchmarks`.
set -euo pipefail
source=$1 library=$2 work=$3
for tool in cmake c++ python3; do
  command -v $tool >/dev/null || { echo "skipped: $tool not found"; exit 77; }
done
folder=$source/bench/llvm-test-suite/MicroBenchmarks/libkdl
rm -rf "$work" && mkdir -p "$work/suite/MicroBenchmarks" "$work/kdl/lib"
ln -s "$source/include" "$work/kdl/include"
ln -s "$library"/libkdl.so* "$work/kdl/lib/"

# run_quietly COMMAND...: its words are shown where it fails.
run_quietly() {
  "$@" >>"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
  }
}

# What the suite's lit would write: [{"name": "kdl_dispatch.test:Open/1", "exec_time": 393.2}, ...]
if [ -n "${KDL_LLVM_TEST_SUITE:-}" ]; then
  lit=$(command -v llvm-lit lit lit-22 | head -n 1)
  (cd "$KDL_LLVM_TEST_SUITE" && cp -r ./*.txt ./*.sh ./lit* cmake tools utils MicroBenchmarks "$work/suite/")
  ln -sfn "$folder" "$work/suite/MicroBenchmarks/libkdl"
  grep -q libkdl "$work/suite/MicroBenchmarks/CMakeLists.txt" ||
    echo 'add_subdirectory(libkdl)' >>"$work/suite/MicroBenchmarks/CMakeLists.txt"
  run_quietly cmake -S "$work/suite" -B "$work/build" -DTEST_SUITE_SUBDIRS=MicroBenchmarks -DTEST_SUITE_LIT="$lit" \
    -DKDL_ROOT="$work/kdl" -DTEST_SUITE_COLLECT_CODE_SIZE=OFF
  run_quietly cmake --build "$work/build" --target kdl_dispatch timeit-target
  run_quietly "$lit" -o "$work/results.json" "$work/build/MicroBenchmarks/libkdl"
  with="LLVM's test-suite and lit"
else
  echo '#include <benchmark/benchmark.h>' | c++ -E -x c++ - >/dev/null 2>&1 ||
    { echo 'skipped: benchmark/benchmark.h not found (Debian: libbenchmark-dev)'; exit 77; }
  ln -s "$folder" "$work/suite/MicroBenchmarks/libkdl"
  cat >"$work/suite/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.20)
project(stand_in C CXX)
add_definitions(-DNDEBUG -w -Werror=date-time)
find_library(benchmark_path benchmark REQUIRED)
find_package(Threads REQUIRED)
add_library(benchmark INTERFACE)
target_link_libraries(benchmark INTERFACE ${benchmark_path} Threads::Threads)
macro(llvm_test_run)
  cmake_parse_arguments(ARGS "" "RUN_TYPE;EXECUTABLE;WORKDIR" "" ${ARGN})
  string(REPLACE ";" " " joined "${ARGS_UNPARSED_ARGUMENTS}")
  set(TESTSCRIPT "${TESTSCRIPT}RUN: $EXECUTABLE$ ${joined}\n")
endmacro()
function(llvm_test_executable target)
  add_executable(${target} ${ARGN})
  string(REPLACE "$EXECUTABLE$" "%S/$<TARGET_FILE_NAME:${target}>" script "${TESTSCRIPT}")
  file(GENERATE OUTPUT $<TARGET_FILE:${target}>.test CONTENT "${script}")
  set(TESTSCRIPT "" PARENT_SCOPE)
endfunction()
add_subdirectory(MicroBenchmarks/libkdl)
CMAKE
  run_quietly cmake -S "$work/suite" -B "$work/build" -DKDL_ROOT="$work/kdl" -DCMAKE_BUILD_TYPE=Release
  run_quietly cmake --build "$work/build"
  python3 - "$work/build/MicroBenchmarks/libkdl/kdl_dispatch.test" "$work/results.json" <<'PYTHON'
import json, os, subprocess, sys
test, results = sys.argv[1:]
lines = [line for line in open(test).read().splitlines() if line]
assert len(lines) == 1 and lines[0].startswith("RUN: "), lines
command = lines[0][5:].replace("%S", os.path.dirname(test))
said = subprocess.run(command + " --benchmark_min_time=0.01 --benchmark_format=json", shell=True, check=True,
                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
tests = [{"name": f"kdl_dispatch.test:{b['name']}", "code": "PASS", "metrics": {"exec_time": b["cpu_time"]}}
         for b in json.loads(said)["benchmarks"]]
json.dump({"tests": tests}, open(results, "w"))
PYTHON
  with="a stand-in for LLVM's test-suite"
fi
python3 - "$work/results.json" "$with" <<'PYTHON'
import json, sys
tests = json.load(open(sys.argv[1]))["tests"]
assert all(test["code"] == "PASS" for test in tests), tests
found = {test["name"].split("kdl_dispatch.test:")[1]: test["metrics"]["exec_time"]
         for test in tests if "kdl_dispatch.test:" in test["name"]}
expected = {f"{n}/{a}" for n in ("Open", "OpenAndChoose", "ChooseAgain") for a in (1, 64, 1024)}
assert set(found) == expected and all(time > 0 for time in found.values()), found
print(f"test_suite: {len(found)} benchmarks with {sys.argv[2]}")
PYTHON
