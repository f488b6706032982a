#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Instructions of one launch through the CUDA backend beyond those of a direct call of
# cuLaunchKernel, on the fake driver.
set -eu
usage='usage: cuda.sh build/bin/bench_cuda_launch build/fakes/whole'
devices='cuda:sm_90 name="NVIDIA H200" driver=13.0 memory=1GiB shared_optin=227KiB'
# shellcheck source=bench/instructions/callgrind.sh
. "$(dirname "$0")/callgrind.sh"

# launches CASE FUNCTION
launches() {
  instructions 1000 "$2" "$program" --count 1000 "$1"
}

direct=$(launches direct launch_direct_free)
launch=$(launches launch launch_kdl)
null=$(launches null launch_kdl_null)
items=$(launches items launch_items)
echo "instructions of one CUDA launch beyond a direct call: kdl_launch_items $((items - direct)),"
echo "  on an adopted NULL stream $((null - direct)) (with the driver's cuCtxGetCurrent),"
hold %s kdl_launch $((launch - direct)) 32
exit "$failed"
