#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# comgr.sh SOURCE KDL AGREES WORK: code objects and bundles of ours, golden ones and what kdl cc makes of the example kernels, read by AMD's code
# object manager and by libkdl.
set -euo pipefail
source=$1 kdl=$2 agrees=$3 work=$4
rm -rf "$work"
mkdir -p "$work"
objects=("$source"/tests/golden/images/{gfx90a,gfx11-generic,params}.hsaco "$source"/tests/golden/launch/{gfx90a,gfx90a_xnack,gfx11-generic,fixed}.hsaco
  "$source"/tests/golden/bundle/{plain,aligned}.hipfb)
if command -v "${KDL_CLANG:-clang-22}" >/dev/null; then
  for kernel in saxpy reduce matmul_tiled; do
    "$kdl" cc "$source/examples/kernels/$kernel.c" --targets=gfx906,gfx90a,gfx942,gfx1030,gfx1100,gfx1201,gfx9-4-generic -o "$work/$kernel.offload"
    for index in 0 1 2 3 4 5 6; do
      "$kdl" extract "$work/$kernel.offload" --image="$index" -o "$work/$kernel.$index.hsaco" >/dev/null
      objects+=("$work/$kernel.$index.hsaco")
    done
  done
  # Older code objects, whose targets an older comgr tells too.
  for target in gfx906:xnack- gfx90a:sramecc+:xnack+ gfx1030; do
    "${KDL_CLANG:-clang-22}" --target=amdgcn-amd-amdhsa -nogpulib -ffreestanding -nostdlib -O2 -mcode-object-version=4 -mcpu="$target" \
      "$source/tests/golden/launch/launch.c" -o "$work/$target.hsaco"
    objects+=("$work/$target.hsaco")
  done
fi
"$agrees" "${objects[@]}" | tee "$work/out"
[ "$(grep -c ^ok "$work/out")" -eq "${#objects[@]}" ]
