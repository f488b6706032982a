#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# run.sh WORK: builds the microkernel's bitcode with Clang 24 of the root that ../root.sh WORK made, compiles matmul.mlir with it as an executable object by the wheel's iree-compile, compares the product with NumPy's, and
# measures it and what IREE makes of plain.mlir. Gets the wheels iree-base-compiler and iree-base-runtime into WORK/iree.
set -euo pipefail
work=$(realpath -m "$1") && folder=$(cd "$(dirname "$0")" && pwd)
. "$folder/../lib.sh"
name=iree_uk_mma_x86_avx2_fma_1x8x1_f32_f32 out=$work/iree/out
mkdir -p "$out"
if [ ! -x "$work/iree/bin/iree-compile" ]; then
  python3 -m venv "$work/iree"
  "$work/iree/bin/pip" install --quiet --pre iree-base-compiler iree-base-runtime numpy || skip "no wheels of IREE"
fi
bin=$work/iree/bin
mkdir -p "$work/root/build" && cp "$folder/$name.c" "$work/root/build"
# The loops unroll where they are inlined, not here.
in_root clang-24 -target x86_64-unknown-unknown-eabi-elf -ffreestanding -O2 -mavx2 -mfma -Wno-pass-failed -emit-llvm -c "/build/$name.c" -o "/build/$name.bc"
cp "$work/root/build/$name.bc" "$out"
"$bin/iree-compile" "$folder/matmul.mlir" --iree-hal-executable-object-search-path="$out" -o "$out/m.vmfb"
"$bin/iree-compile" "$folder/plain.mlir" --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
  --iree-llvmcpu-target-cpu-features=+avx,+avx2,+fma --iree-opt-level=O3 -o "$out/p.vmfb"
"$bin/python" "$folder/check.py" "$out"
measure() { "$bin/iree-benchmark-module" --device=local-sync --module="$out/$1.vmfb" --function=run "${@:2}" --benchmark_min_time=1s 2>/dev/null | grep BM_; }
for _ in 1 2 3; do
  echo "microkernel: $(measure m --input=80x512x6xf32=1 --input=32x512x16xf32=1 --input=80x32x6x16xf32=0)"
  echo "IREE:        $(measure p --input=480x512xf32=1 --input=512x512xf32=1 --input=480x512xf32=0)"
done
