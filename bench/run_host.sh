#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every figure that wants a CPU alone, into a folder: the host, the first OpenCL device where there is one, scaling,
# opening, choosing, the cache; and whether runs of the same agree. On a machine that is otherwise quiet.
#
#     bench/run_host.sh BUILD RESULTS [RUNS]
set -eu
usage='usage: bench/run_host.sh BUILD RESULTS [RUNS]'
build=${1:?$usage}
results=${2:?$usage}
runs=${3:-5}
here=$(dirname "$0")
kdl=$build/bin/kdl
mkdir -p "$results"

i=0
while [ $((i += 1)) -le "$runs" ]; do
  "$kdl" bench layers --device=host --json="$results/layers_$i.json" >"$results/layers_$i.txt"
  "$kdl" bench select --json="$results/select_$i.json" >"$results/select_$i.txt"
done
python3 "$here/agreement.py" "$results"/layers_[0-9]*.json | tee "$results/agreement.txt"
python3 "$here/agreement.py" "$results"/select_[0-9]*.json | tee -a "$results/agreement.txt"
"$kdl" bench scale --json="$results/scale.json" | tee "$results/scale.txt"
"$kdl" bench open --json="$results/open.json" >"$results/open.txt"
if "$kdl" devices | grep -q ' opencl '; then
  "$kdl" bench layers --device=opencl:0 --cold=20 --warm=500 --json="$results/opencl.json" | tee "$results/opencl.txt"
fi
taskset -c "$(($(nproc) - 1))" "$build/bin/bench_cache" | tee "$results/cache.txt"
"$kdl" bench page "$results/layers_1.json" "$results/scale.json" --html="$results/layers.html"
[ ! -e "$results/opencl.json" ] || "$kdl" bench page "$results/opencl.json" --html="$results/opencl.html"
