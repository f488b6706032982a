#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# run.sh BUILD POINTS [INTEL]: how exact math in kernels is, on CPUs, by PoCL and by Intel's OpenCL in the folder INTEL
# (scripts/opencl-runtime.sh). Prints the table that docs/kernels.md has.
set -euo pipefail
build=$1 points=$2 intel=${3-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
columns=()
for target in x86-64-v2 x86-64-v3 x86-64-v4; do
  "$build/bin/kdl" cc "$here/kernels.c" --targets="$target" -o "$work/$target.offload"
  columns+=("$target=host=$work/$target.offload")
done
for target in opencl-c spirv64; do
  "$build/bin/kdl" cc "$here/kernels.c" --targets="$target" -o "$work/$target.offload"
done
"$build/bin/math_ulp" "$points" "${columns[@]}" >"$work/host"
tables=("$work/host")
if "$build/bin/math_ulp" "$points" "PoCL, OpenCL C=opencl=$work/opencl-c.offload" >"$work/pocl"; then
  tables+=("$work/pocl")
fi
if [ -n "$intel" ]; then
  OCL_ICD_VENDORS=$intel/vendors LD_LIBRARY_PATH=$intel "$build/bin/math_ulp" "$points" \
    "Intel, OpenCL C=opencl=$work/opencl-c.offload" "Intel, SPIR-V=opencl=$work/spirv64.offload" >"$work/intel"
  tables+=("$work/intel")
fi
python3 "$here/table.py" "${tables[@]}"
