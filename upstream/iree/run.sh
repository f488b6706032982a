#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# run.sh WORK [OUTPUT]: takes the microkernels out of the patches, builds their bitcode, and
#   1. calls each microkernel for x86-64 for 72 shapes and compares with NumPy, AMX's instructions being functions (tests/ukernels/amx_emulated.h),
#   2. runs programs that kernels.py writes, which call them as executable objects, with the wheel's iree-compile: on this machine, on qemu-aarch64 for Arm, and where
#      there is AMX for that,
#   3. runs IREE's own tests that the patches change with the wheel's iree-opt, which has no patch: they must fail,
#   4. measures, on x86-64 alone.
# Into OUTPUT go programs for AMX, to be measured by OUTPUT/amx.sh on a machine that has it. Gets the wheels iree-base-compiler and
# iree-base-runtime, and the latter for Arm, into WORK/iree. Needs Clang, FileCheck, qemu-user and libc6-arm64-cross.
set -euo pipefail
work=$(realpath -m "$1")/iree output=${2:+$(realpath -m "$2")}
folder=$(cd "$(dirname "$0")" && pwd)
. "$folder/../lib.sh"
clang=${CLANG:-clang-22} filecheck=${FILECHECK:-/usr/lib/llvm-22/bin}
src=$work/src tests=$work/src/compiler/plugins/target/LLVMCPU/builtins/ukernel
if [ ! -x "$work/bin/lit" ]; then
  python3 -m venv "$work"
  "$work/bin/pip" install --quiet --pre iree-base-compiler iree-base-runtime numpy lit || skip "no wheels of IREE"
fi
if [ ! -x "$work/arm/iree/_runtime_libs/iree-run-module" ]; then
  "$work/bin/pip" download --quiet --no-deps --pre --only-binary=:all: --platform manylinux_2_28_aarch64 --python-version 3.11 -d "$work/arm" iree-base-runtime ||
    skip "no wheel of IREE for Arm"
  (cd "$work/arm" && python3 -m zipfile -e ./*.whl . && chmod +x iree/_runtime_libs/iree-*)
fi
"$work/bin/iree-compile" --version | sed -n 2,3p
"$clang" --version | head -1

# New files of the patches. Their other hunks are for IREE's own files.
rm -rf "$src" && mkdir -p "$tests/test"
for patch in "$folder"/0*.patch; do
  (cd "$src" && GIT_CEILING_DIRECTORIES=$work git apply --include='*/ukernel/iree_uk*' "$patch")
done
printf '#include <stdint.h>\n#define IREE_UK_ALWAYS_INLINE __attribute__((always_inline))\n' >"$tests/common.h"

mkdir -p "$work/out" "$work/tests"
for name in $("$folder/kernels.py" list); do
  read -ra flags < <("$folder/kernels.py" flags "$name")
  "$clang" "${flags[@]}" -std=c17 -ffreestanding -O3 -DNDEBUG -fno-ident -fdiscard-value-names -fno-short-wchar -Wall -Wextra -Werror -Wno-pass-failed \
    -emit-llvm -c "$tests/$name.c" -o "$work/out/$name.bc"
  "$folder/kernels.py" test "$name" "$work/out/$name.bc" "$tests/test"
  case $name in
    *_amx*) flags=(-march=x86-64-v4 -include "$folder/../../tests/ukernels/amx_emulated.h") ;;
    *_arm_*) continue ;;
    *) flags=("${flags[@]:2}") ;; # not -target: the host has a C library
  esac
  "$clang" "${flags[@]}" -O2 -fsanitize=undefined -fsanitize-trap=undefined -Wno-pass-failed -shared -fPIC "$tests/$name.c" -o "$work/out/$name.so"
  "$work/bin/python" "$folder/check.py" "$name" "$work/out/$name.so"
done

gcc -O2 -shared -fPIC "$folder/permit.c" -o "$work/out/permit.so"
cp "$folder/lit.cfg.py" "$tests/test/"
# run_lit COMMAND TEST...: with COMMAND in the place of iree-run-module.
run_lit() {
  local run=$1
  shift
  "$work/bin/lit" -v --param "out=$work/lit" --param "path=$work/bin:$filecheck:/usr/bin:/bin" --param "run=$run" "$@"
}
native=$work/bin/iree-run-module
run_lit "$native" "$tests"/test/*_avx2_*.mlir
# Vectors of 256 bits, as kernels.py has them for SVE.
run_lit "qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu max,sve-max-vq=2 $work/arm/iree/_runtime_libs/iree-run-module" "$tests"/test/*_arm_*.mlir
if grep -qw amx_tile /proc/cpuinfo; then
  run_lit "env LD_PRELOAD=$work/out/permit.so $native" "$tests"/test/*_amx*.mlir
else
  run_lit "$native" "$tests"/test/*_amx*[0-9].mlir
  say "no AMX here: its end-to-end tests did not run"
fi

# What the patches add to IREE's tests, with the unpatched wheel: it does not know the intrinsics of AMX and NEON, and selects no microkernel for AVX2 and SVE.
for patch in "$folder"/0*.patch; do
  for file in select_ukernel lower_inner_tiled_to_bitcode_ukernel_amx materialize_encoding_x86_64; do
    sed -n "/^+++ .*$file.mlir/,/^diff/p" "$patch" | sed -n 's/^+\([^+].*\)\?$/\1/p' >"$work/out/added.mlir"
    [ -s "$work/out/added.mlir" ] || continue
    case $file in
      select*) pass='builtin.module(iree-llvmcpu-select-lowering-strategy)' ;;
      lower*) pass='builtin.module(func.func(iree-codegen-lower-bitcode-ukernels))' ;;
      *) pass='builtin.module(func.func(iree-codegen-materialize-device-encoding))' ;;
    esac
    # Newer IREE, as in the wheel, writes properties of inner_tiled in angle brackets.
    sed -i 's/outs(%acc) {$/outs(%acc) <{/; s/^  } : tensor/  }> : tensor/; s/mma_semantics<>,$/mma_semantics<>}> {/' "$work/out/added.mlir"
    "$work/bin/iree-opt" --pass-pipeline="$pass" --split-input-file "$work/out/added.mlir" >"$work/out/added.out" 2>"$work/out/added.log" || true
    if "$filecheck/FileCheck" "$work/out/added.mlir" <"$work/out/added.out" >>"$work/out/added.log" 2>&1; then
      fail "$(basename "$patch"): what it adds to $file.mlir passes without it"
    fi
    echo "$(basename "$patch" | cut -d- -f1), $file.mlir, without the patch: $(grep -m1 -o 'error: .*' "$work/out/added.log" | cut -c1-80)"
  done
done

# IREE's own selection on a matmul, with the microkernel and with what IREE generates for the same intrinsic.
measure() { "$work/bin/iree-benchmark-module" --device=local-sync --module="$1" --function=run "${@:2}" --benchmark_min_time=1s 2>/dev/null | sed -n 's/.*real_time *\([0-9.]* ms\) *\([0-9.]* ms\).*/\1 real, \2 CPU/p'; }
name=iree_uk_mma_x86_avx2_fma_1x8x1_f32_f32
"$folder/kernels.py" matmul $name "$work/out/$name.bc" >"$work/out/matmul.mlir"
options=(--iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-opt-data-tiling --iree-llvmcpu-enable-inner-tiled
  --iree-llvmcpu-target-cpu-features=+avx,+avx2,+fma,+f16c,+cmov,+crc32,+cx8,+fxsr,+mmx,+popcnt,+sse4.2,+x87,+xsave)
"$work/bin/iree-compile" "$work/out/matmul.mlir" "${options[@]}" -o "$work/out/generated.vmfb"
rm -rf "$work/out/dump" && mkdir "$work/out/dump"
"$work/bin/iree-compile" "$work/out/matmul.mlir" "${options[@]}" --iree-llvmcpu-enable-llvm-ukernels=inner_tiled --iree-hal-dump-executable-intermediates-to="$work/out/dump" -o "$work/out/selected.vmfb"
grep -o "call void @$name(.*" "$work/out/dump/"*.linked.ll | sed 's/, !dbg.*//'
! grep -q "call .*@$name" "$work/out/dump/"*.optimized.ll || fail "$name is not inlined"
inputs=(--input=480x512xf32=1 --input=512x512xf32=1 --input=480x512xf32=0)
echo "load $(cut -d' ' -f1 /proc/loadavg); $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)"
for _ in 1 2 3; do
  echo "480 x 512 x 512 floats, AVX2, packed by IREE: microkernel $(measure "$work/out/selected.vmfb" "${inputs[@]}"); generated $(measure "$work/out/generated.vmfb" "${inputs[@]}")"
done

[ -n "$output" ] || exit 0
mkdir -p "$output"
rm -f "$output/baseline.txt"
for name in iree_uk_mma_x86_amxbf16_16x16x32_f32_bf16 iree_uk_mma_x86_amxint8_16x16x64_i32_i8; do
  "$folder/kernels.py" program $name "$work/out/$name.bc" --large >"$work/out/large.mlir"
  "$work/bin/iree-compile" "$work/out/large.mlir" --iree-opt-const-eval=false --iree-hal-link-executables=false -o "$output/$name.vmfb"
  "$folder/kernels.py" matmul $name "$work/out/$name.bc" >"$work/out/matmul.mlir"
  rm -rf "$work/out/dump-avx512" && mkdir "$work/out/dump-avx512"
  "$work/bin/iree-compile" "$work/out/matmul.mlir" "${options[@]:0:4}" --iree-llvmcpu-target-cpu=sapphirerapids --iree-llvmcpu-enable-llvm-ukernels=inner_tiled \
    --iree-hal-dump-executable-intermediates-to="$work/out/dump-avx512" -o "$output/$name.avx512.vmfb"
  # What the program that is compared with runs: the microkernels that it calls, and the instructions of its products.
  {
    echo "== $name: what the other program runs"
    grep -oh 'call void @iree_uk[a-z0-9_]*' "$work/out/dump-avx512/"*.linked.ll | sort | uniq -c || true
    grep -ohE '\b(vdpbf16ps|vpdpbusds?|vpdpwssds?|vpmaddwd|vfmadd[0-9]*[sp][sd]|tdp[a-z0-9]*)\b' "$work/out/dump-avx512/"*.s | sort | uniq -c || true
  } | tee -a "$output/baseline.txt"
done
cp "$work"/lib/python3*/site-packages/iree/_runtime_libs/iree-{run,benchmark}-module "$work/out/permit.so" "$folder/amx.sh" "$output"
du -sh "$output"
