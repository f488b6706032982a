# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash disable=SC2034,SC2154 # variables of the scripts that source it
# Clang's <gpuintrin.h>: headers alone, compiled by Debian's Clang.

# regenerate NAME REVISION: the test as update_cc_test_checks writes it with the headers of REVISION, in $BUILD/NAME.
regenerate() {
  local tree=$BUILD/$1
  rm -rf "$tree" && mkdir -p "$tree"
  git -C "$SRC" archive "$2" clang/lib/Headers clang/test/Headers/gpuintrin.c clang/test/Headers/Inputs | tar -x -C "$tree"
  printf '#!/bin/sh\ncase $* in *-print-file-name=include*) echo %s ;; *) exec %s "$@" ;; esac\n' "$tree/clang/lib/Headers" "$LLVM/bin/clang" >"$tree/clang.sh"
  chmod +x "$tree/clang.sh"
  python3 "$SRC/llvm/utils/update_cc_test_checks.py" --clang "$tree/clang.sh" --opt "$LLVM/bin/opt" "$tree/clang/test/Headers/gpuintrin.c"
}
# Regenerated for this Clang, the test changes by the lines of the patch and no others.
check_regenerated() {
  regenerate without HEAD~
  regenerate with HEAD
  { diff "$BUILD"/{without,with}/clang/test/Headers/gpuintrin.c || true; } | sed -n 's/^< /-/p; s/^> /+/p' >"$BUILD/regenerated"
  cat "$BUILD/regenerated" >&2
  git -C "$SRC" diff HEAD~ HEAD -- clang/test/Headers/gpuintrin.c | grep '^[-+]//' | cmp - "$BUILD/regenerated"
}

build_0001() { :; }
test_0001() {
  local headers=$SRC/clang/test/Headers
  # The test's RUN line for AMDGPU; what 23's file expects of SPIR-V is, in two lines, not what Clang 24 emits.
  "$LLVM/bin/clang" -cc1 -nostdsysteminc -internal-isystem "$headers/Inputs/include" -internal-isystem "$SRC/clang/lib/Headers" \
    -triple amdgcn-amd-amdhsa -emit-llvm "$headers/gpuintrin.c" -o - | "$LLVM/bin/FileCheck" "$headers/gpuintrin.c" --check-prefix=AMDGPU
  # What the fences are for: nothing is under way in group memory when the barrier is passed.
  "$LLVM/bin/clang" --target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -ffreestanding -nostdlibinc -nobuiltininc \
    -isystem "$SRC/clang/lib/Headers" -O2 -S "$upstream/$series/sync.c" -o - |
    grep -oE 'ds_write|ds_read|s_barrier|s_waitcnt lgkm.*' | tr '\n' ' ' | tee /dev/stderr |
    grep -q 'ds_write s_waitcnt lgkmcnt(0) s_barrier ds_read'
  check_regenerated
}

# A fence has the kinds of memory in 24 alone.
only_0002() { [ "$BASE" = 24 ]; }
build_0002() { :; }
test_0002() {
  local headers=$SRC/clang/test/Headers
  # The function alone: two lines elsewhere that 23's file expects of SPIR-V are not what Clang 24 emits (`call void @llvm.trap()`).
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
  check_regenerated
}
