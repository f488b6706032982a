#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cpu_level.sh x86-64-v3 COMMAND...: runs the command with this CPU taken for one of that level; skipped where the CPU
# has less.
set -eu
KDL_CPU=$1
shift
case $KDL_CPU in
x86-64-v2) flags='cx16 popcnt sse4_2 ssse3' ;;
x86-64-v3) flags='avx2 bmi2 f16c fma movbe' ;;
x86-64-v4) flags='avx512bw avx512cd avx512dq avx512f avx512vl' ;;
esac
for flag in $flags; do
  if ! grep -qw "$flag" /proc/cpuinfo; then
    echo "skipped: this CPU is below $KDL_CPU: it has no $flag"
    exit 77
  fi
done
export KDL_CPU
exec "$@"
