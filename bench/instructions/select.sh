#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Instructions of what a program does to choose an image, through the public API: it opens a library, asks kdl_select once, and
# again. With KDL_BENCH_LLVM=1 also those of LLVM's reader and check over the same bytes, without a limit.
set -eu
usage='usage: select.sh build/bin/bench_select'
# shellcheck source=bench/instructions/callgrind.sh
. "$(dirname "$0")/callgrind.sh"

# each IMAGES COUNT FUNCTION WORDS MOST: COUNT calls are made, and for the first three functions one more
each() {
  images=$1 count=$2 calls=$(($2 + 1))
  [ "$3" != select_problem_again ] || calls=$count
  found=$(instructions "$calls" "$3" "$program" "$count" "$images")
  hold '%-42s' "$images images: $4" "$found" "$5"
}

# llvm IMAGES COUNT
llvm() {
  found=$(instructions "$2" llvm_open_and_match "$program" "$2" "$1" llvm)
  printf '  %-42s %6d\n' "$1 images: LLVM, open and match" "$found"
  found=$(instructions "$2" llvm_match "$program" "$2" "$1" llvm)
  printf '  %-42s %6d\n' "$1 images: LLVM, match alone" "$found"
}

each 3 1000 select_problem_open 'kdl_open_memory' 1900
each 3 1000 select_problem_first 'first kdl_select' 2650
each 3 1000 select_problem_again 'kdl_select, remembered' 212
each 3 1000 select_problem_close 'kdl_close' 250
each 1000 5 select_problem_open 'kdl_open_memory' 450000
each 1000 5 select_problem_first 'first kdl_select' 145000
if [ -n "${KDL_BENCH_LLVM:-}" ]; then
  each 1000 5 select_problem_again 'kdl_select, remembered' 212
  each 1000 5 select_problem_close 'kdl_close' 9500
  llvm 3 1000
  llvm 1000 50
fi
exit "$failed"
