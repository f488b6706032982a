#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Instructions of one launch through the CUDA backend beyond those of a direct call of
# cuLaunchKernel, counted by callgrind on the fake driver.
set -eu
program=${1:?usage: cuda_instructions.sh build/bin/bench_cuda_launch build/fakes/whole}
fakes=${2:?usage: cuda_instructions.sh build/bin/bench_cuda_launch build/fakes/whole}
command -v valgrind >/dev/null || { echo 'skipped: valgrind not found'; exit 77; }
out=$(mktemp)
trap 'rm -f "$out"' EXIT
count=1000
export LD_LIBRARY_PATH="$fakes"
export KDL_FAKE_DEVICES='cuda:sm_90 name="NVIDIA H200" driver=13.0 memory=1GiB shared_optin=227KiB'

instructions() {
  valgrind --tool=callgrind --callgrind-out-file="$out" --toggle-collect="$2" "$program" \
    --count "$count" "$1" >/dev/null 2>&1
  echo $(($(sed -n 's/^summary: *\([0-9]*\).*/\1/p' "$out") / count))
}

direct=$(instructions direct launch_direct_free)
launch=$(instructions launch launch_kdl)
null=$(instructions null launch_kdl_null)
items=$(instructions items launch_items)
[ "$direct" -gt 0 ] || { echo 'found no instructions, expected some'; exit 1; }
echo "instructions of one CUDA launch beyond a direct call: kdl_launch $((launch - direct)),"
echo "  kdl_launch_items $((items - direct)), on an adopted NULL stream $((null - direct)) (with the driver's cuCtxGetCurrent)"
limit=$((32 + 32 * ${KDL_LIMIT_SLACK:-0} / 100))
[ $((launch - direct)) -le $limit ] || { echo "expected at most $limit"; exit 1; }
