# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Clang's <gpuintrin.h>: headers alone, compiled by Debian's Clang.
build_0001() { :; }
test_0001() {
  local headers=$SRC/clang/test/Headers
  # The test's RUN line for AMDGPU; what 23's file expects of SPIR-V is not what Clang 24 emits.
  "$LLVM/bin/clang" -cc1 -nostdsysteminc -internal-isystem "$headers/Inputs/include" -internal-isystem "$SRC/clang/lib/Headers" \
    -triple amdgcn-amd-amdhsa -emit-llvm "$headers/gpuintrin.c" -o - | "$LLVM/bin/FileCheck" "$headers/gpuintrin.c" --check-prefix=AMDGPU
  # What the fences are for: nothing is under way in group memory when the barrier is passed.
  "$LLVM/bin/clang" --target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -ffreestanding -nostdlibinc -nobuiltininc \
    -isystem "$SRC/clang/lib/Headers" -O2 -S "$upstream/$series/sync.c" -o - |
    grep -oE 'ds_write|ds_read|s_barrier|s_waitcnt lgkm.*' | tr '\n' ' ' | tee /dev/stderr |
    grep -q 'ds_write s_waitcnt lgkmcnt(0) s_barrier ds_read'
}
