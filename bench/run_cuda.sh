#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Everything that wants a real NVIDIA GPU: the tests, then the figures, into a folder.
#
#     bench/run_cuda.sh BUILD RESULTS [BLOCKS [ROUNDS]]
#
# liboffload and the CUDA runtime take part where the loader finds libLLVMOffload.so.22.1, libcuda.so
# (by this name liboffload opens the driver) and libcudart.so: set LD_LIBRARY_PATH. Returns 77 where
# there is no driver.
set -eu
usage='usage: bench/run_cuda.sh BUILD RESULTS [BLOCKS [ROUNDS]]'
build=${1:?$usage}
results=${2:?$usage}
mkdir -p "$results"
failed=0

# run NAME COMMAND...: its output goes to RESULTS/NAME.txt and here.
run() {
  name=$1
  shift
  code=0
  "$@" >"$results/$name.txt" 2>&1 || code=$?
  cat "$results/$name.txt"
  echo "$name: exit $code" | tee -a "$results/summary.txt"
  [ "$code" -eq 0 ] || failed=$code
}

: >"$results/summary.txt"
nvidia-smi >"$results/machine.txt" 2>&1 || true
lscpu >>"$results/machine.txt" 2>&1 || true
run devices "$build/bin/kdl" devices
# With one GPU code is loaded into its context (modules); free of contexts (libraries) when asked.
for modules in 1 0; do
  kind=$([ "$modules" = 1 ] && echo modules || echo libraries)
  run "real_$kind" env KDL_CUDA_MODULES="$modules" "$build/bin/test_cuda_real"
  run "conformance_$kind" env KDL_CUDA_MODULES="$modules" "$build/bin/conformance" \
    "$build/tests/conformance/conformance.offload" cuda
done
run launch_modules env KDL_CUDA_MODULES=1 "$build/bin/bench_cuda_launch" "${3:-60}" "${4:-40}"
run launch_libraries env KDL_CUDA_MODULES=0 "$build/bin/bench_cuda_launch" "${3:-60}" 10
run pytorch env KDL_LIBRARY="$build/lib/libkdl.so.0" python3 \
  "$(dirname "$0")/../examples/pytorch.py" "$build/examples/saxpy.offload"
run layers "$build/bin/kdl" bench layers --cold=40 --json="$results/layers.json"
run layers_host "$build/bin/kdl" bench layers --device=host --cold=40 \
  --json="$results/layers_host.json"
exit "$failed"
