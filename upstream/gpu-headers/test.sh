# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash disable=SC2034,SC2154 # variables of the scripts that source it
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

# A fence has the kinds of memory in 24 alone.
only_0002() { [ "$BASE" = 24 ]; }
build_0002() { :; }
test_0002() {
  local headers=$SRC/clang/test/Headers
  # The function alone: the rest of what 23's file expects of SPIR-V is not what Clang 24 emits.
  "$LLVM/bin/clang" -cc1 -nostdsysteminc -internal-isystem "$headers/Inputs/include" -internal-isystem "$SRC/clang/lib/Headers" \
    -triple spirv64-- -emit-llvm "$headers/gpuintrin.c" -o - >"$BUILD/gpuintrin.ll"
  {
    grep -o 'fence .*\|call .*barrier[^(]*' <(sed -n '/define.*@__gpu_sync_threads/,/^}/p' "$BUILD/gpuintrin.ll") | sed 's/call [a-z_ ]*//'
  } | tee /dev/stderr | tr '\n' ' ' | grep -q 'release @.*barrier.* acquire'
  # Every kind of memory, before and behind the barrier: Workgroup 0x100, CrossWorkgroup 0x200.
  "$LLVM/bin/clang" --target=spirv64-unknown-unknown -nogpulib -ffreestanding -nostdlibinc -nobuiltininc -isystem "$SRC/clang/lib/Headers" \
    -O2 -c "$upstream/$series/sync.c" -o "$BUILD/sync.spv"
  spirv-val "$BUILD/sync.spv"
  spirv-dis "$BUILD/sync.spv" | grep -oE 'Op(Memory|Control)Barrier.*' | tee /dev/stderr | tr '\n' ' ' |
    grep -qE 'OpMemoryBarrier %uint_2 %uint_2820 OpControlBarrier .* OpMemoryBarrier %uint_2 %uint_2818'
}
