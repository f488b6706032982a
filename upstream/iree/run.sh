#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# run.sh WORK [OUTPUT]: takes the microkernels and tests out of the patches, builds their bitcode, and
#   1. calls each microkernel for x86-64 for 72 shapes and compares with NumPy, AMX's instructions being functions (tests/ukernels/amx_emulated.h),
#   2. runs the patches' lit tests with the wheel's iree-compile: on this machine, on qemu-aarch64 for Arm, and where there is AMX for that,
#   3. measures. On Arm nothing is measured, since it is emulated.
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
  "$work/bin/pip" download --quiet --no-deps --pre --only-binary=:all: --platform manylinux_2_28_aarch64 --python-version 3.11 -d "$work/arm" iree-base-runtime
  (cd "$work/arm" && python3 -m zipfile -e ./*.whl . && chmod +x iree/_runtime_libs/iree-*)
fi
"$work/bin/iree-compile" --version | sed -n 2,3p
"$clang" --version | head -1

# New files of the patches. Their other hunks are for IREE's own files.
rm -rf "$src" && mkdir -p "$src"
for patch in "$folder"/0*.patch; do
  (cd "$src" && git apply --unidiff-zero --include='*/ukernel/iree_uk*' --include='*/ukernel/test/iree_uk*' "$patch")
done
printf '#include <stdint.h>\n#define IREE_UK_ALWAYS_INLINE __attribute__((always_inline))\n' >"$tests/common.h"

mkdir -p "$work/out" "$work/tests"
for name in $("$folder/kernels.py" list); do
  read -ra flags < <("$folder/kernels.py" flags "$name")
  "$clang" "${flags[@]}" -std=c17 -ffreestanding -O3 -DNDEBUG -fno-ident -fdiscard-value-names -fno-short-wchar -Wall -Wextra -Werror -Wno-pass-failed \
    -emit-llvm -c "$tests/$name.c" -o "$work/out/$name.bc"
  # The tests of the patches are those that kernels.py writes; the bitcode depends on the compiler.
  "$folder/kernels.py" test "$name" "$work/out/$name.bc" "$work/tests"
  for suffix in '' _e2e; do
    cmp -s <(sed 's/dense<"0x[^"]*"> : vector<[0-9]*xi8>//' "$work/tests/$name$suffix.mlir") <(sed 's/dense<"0x[^"]*"> : vector<[0-9]*xi8>//' "$tests/test/$name$suffix.mlir") ||
      fail "the patch's test $name$suffix.mlir is not what kernels.py writes"
  done
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
run_lit "qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu max,sve-max-vq=2 $work/arm/iree/_runtime_libs/iree-run-module" "$tests"/test/*_arm_*.mlir
if grep -qw amx_tile /proc/cpuinfo; then
  run_lit "env LD_PRELOAD=$work/out/permit.so $native" "$tests"/test/*_amx*.mlir
else
  run_lit "$native" "$tests"/test/*_amx*[0-9].mlir
  say "no AMX here: its end-to-end tests did not run"
fi

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
for name in iree_uk_mma_x86_amxbf16_16x16x32_f32_bf16 iree_uk_mma_x86_amxint8_16x16x64_i32_i8; do
  "$folder/kernels.py" program $name "$work/out/$name.bc" --large >"$work/out/large.mlir"
  "$work/bin/iree-compile" "$work/out/large.mlir" --iree-opt-const-eval=false --iree-hal-link-executables=false -o "$output/$name.vmfb"
  "$folder/kernels.py" matmul $name "$work/out/$name.bc" >"$work/out/matmul.mlir"
  "$work/bin/iree-compile" "$work/out/matmul.mlir" "${options[@]:0:4}" --iree-llvmcpu-target-cpu=sapphirerapids --iree-llvmcpu-enable-llvm-ukernels=inner_tiled -o "$output/$name.avx512.vmfb"
done
cp "$work"/lib/python3*/site-packages/iree/_runtime_libs/iree-{run,benchmark}-module "$work/out/permit.so" "$folder/amx.sh" "$output"
du -sh "$output"
