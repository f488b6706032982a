# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash disable=SC2034,SC2154 # variables of the scripts that source it
# llvm-test-suite: its lit module for microbenchmarks.
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
