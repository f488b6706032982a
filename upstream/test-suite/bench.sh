#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# bench.sh [WORK]: builds the benchmark of patch 2 without llvm-test-suite in the root that ../root.sh WORK made, runs it on liboffload's
# host plugin, and looks whether every layer was measured.
set -euo pipefail
# shellcheck source=upstream/lib.sh
. "$(dirname "$0")/../lib.sh"
tree=$here/test-suite # $here is the folder of lib.sh
work=$(realpath -m "${1:-$here/../build/upstream}")
rm -rf "$work"/root/build/test-suite/{src,out}
mkdir -p "$work/root/build/test-suite"
cp -a "$tree" "$work/root/build/test-suite/src"
# shellcheck disable=SC2016
in_root sh -ec '
  cd /build/test-suite/src
  git apply --include="MicroBenchmarks/OffloadDispatch/*" 0002-*.patch
  cd ..
  cmake -S src -B out -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=clang-24 -DCMAKE_CXX_COMPILER=clang++-24 \
    -DOFFLOAD_ROOT=/usr/lib/llvm-24 >cmake.log
  nice -n 10 ninja -C out -j "$JOBS" >ninja.log
  out/MicroBenchmarks/OffloadDispatch/OffloadDispatch --benchmark_min_time=0.2s --benchmark_out=result.json --benchmark_out_format=json
  for name in Start Find Load Launch Queue; do
    grep -q "\"name\": \"$name" result.json || { echo "no $name" >&2; exit 1; }
  done'
