#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Instructions of one launch through the OpenCL backend beyond those of a direct call of
# clEnqueueNDRangeKernel, and of each argument, counted by callgrind on a driver that does nothing.
# Other drivers are given shape and arguments with the launch; here they are compared with the last
# ones, and the thread with the one whose kernel it is, which is why the limits are higher.
set -eu
program=${1:?usage: opencl_instructions.sh build/bin/bench_opencl_launch build/bench/null}
null=${2:?usage: opencl_instructions.sh build/bin/bench_opencl_launch build/bench/null}
command -v valgrind >/dev/null || { echo 'skipped: valgrind not found'; exit 77; }
out=$(mktemp)
trap 'rm -f "$out"' EXIT
count=1000
export LD_LIBRARY_PATH="$null"

# instructions CASE FUNCTION ARGUMENTS; the set-up launches once more.
instructions() {
  valgrind --tool=callgrind --callgrind-out-file="$out" --toggle-collect="$2" "$program" \
    --count "$count" "$1" "$3" >/dev/null 2>&1
  echo $(($(sed -n 's/^summary: *\([0-9]*\).*/\1/p' "$out") / count))
}

direct=$(instructions direct launch_direct 1)
set=$(instructions set launch_set 1)
launch=$(instructions launch launch_kdl 1)
default=$(instructions default launch_default 1)
items=$(instructions items launch_items 1)
changed=$(instructions changed launch_changed 1)
none=$(instructions launch launch_kdl 0)
sixteen=$(instructions launch launch_kdl 16)
thread=$(instructions thread launch_kdl 1)
[ "$direct" -gt 0 ] || { echo 'found no instructions, expected some'; exit 1; }
echo "instructions of one OpenCL launch beyond a direct call: kdl_launch of a kernel without arguments $((none - direct)),"
echo "  each argument that does not differ $(((sixteen - none) / 16)); with one argument: kdl_launch $((launch - direct)),"
echo "  kdl_launch_items $((items - direct)), on the device's own queue $((default - direct)) (with the driver's clFlush),"
echo "  from another thread than the first $((thread - direct))"
echo "with the argument different each time, beyond clSetKernelArg and clEnqueueNDRangeKernel: $((changed - set))"
[ $((none - direct)) -le 56 ] || { echo 'expected at most 56 without arguments'; exit 1; }
[ $(((sixteen - none) / 16)) -le 9 ] || { echo 'expected at most 9 for each argument'; exit 1; }
