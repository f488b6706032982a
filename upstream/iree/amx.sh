#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# amx.sh: on a machine with AMX, from the folder that run.sh made: the values and the times of the microkernels, and the times of IREE's own for AVX-512.
cd "$(dirname "$0")" || exit
chmod +x iree-run-module iree-benchmark-module
date -u '+%Y-%m-%d, %H:%M UTC'
sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1
echo "AMX: $(grep -om1 'amx_[a-z0-9]*' /proc/cpuinfo | tr '\n' ' '), load $(cut -d' ' -f1 /proc/loadavg)"
export LD_PRELOAD="$PWD/permit.so"
measure() {
  module=$1
  shift
  ./iree-benchmark-module --device=local-sync --module="$module" --function=run "$@" --benchmark_min_time=1s 2>/dev/null | sed -n 's/.*real_time *\([0-9.]* [mu]s\) *\([0-9.]* [mu]s\).*/\1 real, \2 CPU/p'
}
while read -r name lhs rhs acc element out; do
  echo "== $name"
  ./iree-run-module --device=local-sync --module="$name.vmfb" --function=wrong --expected_output=i32=0
  for _ in 1 2 3; do
    echo "512 x 512 x 512, packed before: microkernel $(measure "$name.vmfb" --input="$lhs" --input="$rhs" --input="$acc")"
    echo "480 x 512 x 512, packed by IREE: AVX-512 $(measure "$name.avx512.vmfb" --input=480x512x$element=1 --input=512x512x$element=1 --input=480x512x$out=0)"
  done
done <<END
iree_uk_mma_x86_amxbf16_16x16x32_f32_bf16 16x16x1024xbf16=1 16x16x1024xbf16=1 16x16x1024xf32=0 bf16 f32
iree_uk_mma_x86_amxint8_16x16x64_i32_i8 16x8x2048xi8=1 16x8x2048xi8=1 16x16x1024xi32=0 i8 i32
END
