#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Everything that wants a real NVIDIA GPU: the tests, then the figures, into a folder.
#
#     bench/run_cuda.sh BUILD RESULTS [SECONDS]
#
# SECONDS, 480 unless told, is how long it may take: what comes later is left out, and said so. liboffload and
# the CUDA runtime take part where the loader finds libLLVMOffload.so.22.1, libcuda.so (by this name liboffload
# opens the driver) and libcudart.so.13: set LD_LIBRARY_PATH. Returns 77 where there is no driver.
set -eu
usage='usage: bench/run_cuda.sh BUILD RESULTS [SECONDS]'
build=${1:?$usage}
results=${2:?$usage}
seconds=${3:-480}
here=$(dirname "$0")
kdl=$build/bin/kdl
export KDL_BENCH_CUBIN="${KDL_BENCH_CUBIN:-$here/../tests/golden/images/sm_90a.cubin}"
mkdir -p "$results"
started=$(date +%s)
failed=0

# run LEAST NAME COMMAND...: its output goes to RESULTS/NAME.txt and here, where LEAST seconds are left.
run() {
  least=$1 name=$2
  shift 2
  begin=$(date +%s)
  left=$((started + seconds - begin))
  if [ "$left" -lt "$least" ]; then
    echo "$name: left out, $left s are left" | tee -a "$results/summary.txt"
    return 0
  fi
  code=0
  timeout "$left" "$@" >"$results/$name.txt" 2>&1 || code=$?
  tail -n 60 "$results/$name.txt"
  echo "$name: exit $code after $(($(date +%s) - begin)) s" | tee -a "$results/summary.txt"
  [ "$code" -eq 0 ] || [ "$code" -eq 77 ] || failed=$code
}

: >"$results/summary.txt"
{
  nvidia-smi
  lscpu
  uname -a
  cat /etc/os-release
} >"$results/machine.txt" 2>&1 || true
run 1 devices "$kdl" devices
grep -q ' cuda ' "$results/devices.txt" || exit 77

# Tests. With one GPU code is loaded into its context (modules); free of contexts (libraries) when asked.
for modules in 1 0; do
  kind=$([ "$modules" = 1 ] && echo modules || echo libraries)
  run 5 "real_$kind" env KDL_CUDA_MODULES="$modules" "$build/bin/test_cuda_real"
  run 5 "conformance_$kind" env KDL_CUDA_MODULES="$modules" "$build/bin/conformance" \
    "$build/tests/conformance/conformance.offload" cuda
done
# NVIDIA's OpenCL has memory in buffers alone. Which number it has is the loader's choice.
for i in 0 1; do
  run 5 "conformance_opencl_$i" env KDL_OPENCL_MEMORY=buffer "$build/bin/conformance" \
    "$build/tests/conformance/conformance.offload" "opencl:$i" opencl_buffer
done
run 5 pytorch env KDL_LIBRARY="$build/lib/libkdl.so.0" python3 "$here/../examples/pytorch.py" \
  "$build/examples/saxpy.offload"

# Figures. Runs of the same are compared: do they agree within the intervals that they print?
for i in 1 2 3; do
  run 40 "layers_$i" "$kdl" bench layers --device=cuda:0 --cold=20 --json="$results/layers_$i.json" \
    --folded="$results/layers_$i.folded" --html="$results/layers_$i.html"
  [ "$i" != 1 ] || run 20 launch_modules env KDL_CUDA_MODULES=1 "$build/bin/bench_cuda_launch" 60 10
done
run 15 trace "$here/run_trace.sh" "$build" "$results"
run 10 layers_host "$kdl" bench layers --device=host --cold=100 --json="$results/layers_host.json"
run 10 scale "$kdl" bench scale --blocks=20 --json="$results/scale.json"
run 10 select "$kdl" bench select --json="$results/select.json"
for i in 0 1; do
  run 30 "layers_opencl_$i" env KDL_OPENCL_MEMORY=buffer "$kdl" bench layers "--device=opencl:$i" --cold=10 --warm=2000 \
    --json="$results/layers_opencl_$i.json"
done
run 20 launch_libraries env KDL_CUDA_MODULES=0 "$build/bin/bench_cuda_launch" 60 5
run 1 agreement python3 "$here/agreement.py" "$results"/layers_[123].json
exit "$failed"
