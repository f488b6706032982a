#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Instructions of one uncached choice among three images.
set -eu
usage='usage: select.sh build/bin/bench_select'
# shellcheck source=bench/instructions/callgrind.sh
. "$(dirname "$0")/callgrind.sh"
found=$(instructions 10000 problem_choose "$program" 10000)
hold %s 'choosing among 3 images' "$found" 60
exit "$failed"
