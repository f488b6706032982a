#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What a trace costs on a device, and an example of one, into a folder.
#
#     bench/run_trace.sh BUILD RESULTS [DEVICE [BLOCKS]]
#
# Needs BUILD/bin/bench_trace, BUILD/bin/kdl and BUILD/examples/saxpy.offload. Returns 77 where there is no such device.
set -eu
usage='usage: bench/run_trace.sh BUILD RESULTS [DEVICE [BLOCKS]]'
build=${1:?$usage}
results=${2:?$usage}
device=${3:-cuda:0}
blocks=${4:-200}
images=$(dirname "$0")/images/nothing.offload
mkdir -p "$results"
"$build/bin/kdl" run "$images" nothing --device="$device" --items=1 --arg='buf:u8[64]' >/dev/null || exit 77

"$build/bin/bench_trace" "$blocks" "$device" "$images" nothing | tee "$results/trace_cost.txt"
"$build/bin/kdl" trace --gpu-time -o "$results/trace_example.json" -- \
  "$build/bin/kdl" run "$build/examples/saxpy.offload" saxpy --device="$device" --items=4194304 --arg=f32:2 \
  --arg='buf:f32[4194304]=1' --arg='buf:f32[4194304]=1' --arg=u32:4194304 --repeat=200 --time |
  tee "$results/trace_example.txt"
"$build/bin/kdl" trace report "$results/trace_example.json" \
  --folded="$results/trace_example.folded" | tee "$results/trace_report.txt"
