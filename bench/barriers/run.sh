#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# run.sh BUILD [SECONDS]: kernels with barriers on this CPU, on one core: kdl's own images, PoCL, and Intel's OpenCL
# where BUILD/opencl-runtime has it. The least CPU time of a launch, and how much longer the others take.
build=$(realpath "${1:?usage: run.sh BUILD [SECONDS]}")
seconds=${2:-1}
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$build/bin/kdl" cc "$here/kernels.c" --targets=x86-64-v2,x86-64-v3,x86-64-v4,opencl-c -o "$work/kernels.offload" || exit 1
program=$(find "$build" -name bench_barriers -type f)
core=${KDL_BENCH_CORE:-0}
KDL_HOST_THREADS=1 taskset -c "$core" "$program" "$work/kernels.offload" host "$seconds" > "$work/kdl"
OCL_ICD_VENDORS=/etc/OpenCL/vendors POCL_MAX_PTHREAD_COUNT=1 POCL_CACHE_DIR=$work/cache \
  taskset -c "$core" "$program" "$work/kernels.offload" opencl "$seconds" > "$work/pocl"
OCL_ICD_VENDORS=$build/opencl-runtime/vendors LD_LIBRARY_PATH=$build/opencl-runtime CL_CONFIG_CPU_TBB_NUM_WORKERS=1 \
  taskset -c "$core" "$program" "$work/kernels.offload" opencl "$seconds" > "$work/intel"
awk '
  FNR == 1 { file = FILENAME; sub(".*/", "", file) }
  { time[file, $1] = $2; if (file == "kdl") names[++count] = $1 }
  function show(other, name) {
    value = time[other, name]
    if (value + 0 == 0)
      return value == "" ? "-" : value
    sums[other] += log(value / time["kdl", name]); seen[other]++
    return sprintf("%.1f (%.2f)", value, value / time["kdl", name])
  }
  END {
    printf "%-10s %12s %20s %20s\n", "us a launch", "kdl", "PoCL (ratio)", "Intel (ratio)"
    for (i = 1; i <= count; ++i)
      printf "%-10s %12s %20s %20s\n", names[i], time["kdl", names[i]], show("pocl", names[i]), show("intel", names[i])
    for (other in seen)
      printf "%s takes %.2f times as long, geometric mean of %d\n", other, exp(sums[other] / seen[other]), seen[other]
  }' "$work/kdl" "$work/pocl" "$work/intel"
