#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# run.sh: on a machine with an NVIDIA GPU, from the folder that build.sh made. Writes what it prints to $OUT/results.txt, and the benchmark's JSON beside it.
cd "$(dirname "$0")" || exit
out=${OUT:-.}
chmod +x lib/ld-linux-x86-64.so.2 lib/xz 2>/dev/null
libraries=/tmp/runtime-select-lib
mkdir -p $libraries
# Large libraries are carried compressed; the plugin opens libcuda.so, of which some machines have libcuda.so.1 alone.
for file in *.xz; do
  lib/ld-linux-x86-64.so.2 --library-path lib lib/xz -dc "$file" >"$libraries/${file%.xz}"
done
cuda=$(ldconfig -p | sed -n 's/.*libcuda\.so\.1 .*=> //p' | head -1)
[ -n "$cuda" ] || cuda=$(ls /usr/lib/x86_64-linux-gnu/libcuda.so.1 /usr/lib64/libcuda.so.1 /usr/local/nvidia/lib64/libcuda.so.1 2>/dev/null | head -1)
ln -sf "$cuda" $libraries/libcuda.so
run() { timeout 120 lib/ld-linux-x86-64.so.2 --library-path "$libraries:lib:$(dirname "$cuda")" --argv0 "$PWD/$1" "$@"; }
{
  date -u '+%Y-%m-%d, %H:%M UTC'
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  grep -m1 'model name' /proc/cpuinfo
  echo "CPUs: $(nproc), load: $(cut -d' ' -f1 /proc/loadavg)"
  echo
  echo '== #gpu.runtime_select: the images of each binary in their order, and the one that ran'
  while read -r name expected images; do
    echo "$name [$images]: $(run ./$name 2>&1), expected FACTOR=$expected"
  done <programs
  echo
  # The benchmark starts itself for `Start`: by a script, since it is run through the dynamic loader.
  for image in host:libOffloadDispatchKernel.so H200:nothing.cubin; do
    echo "== OffloadDispatch, ${image%:*}"
    OFFLOAD_DISPATCH_IMAGE=$PWD/${image#*:} run ./OffloadDispatch --benchmark_filter=-Start --benchmark_min_time=0.5s --benchmark_repetitions=3 --benchmark_report_aggregates_only=true \
      --benchmark_out="$out/dispatch-${image%:*}.json" --benchmark_out_format=json 2>&1
    export OFFLOAD_DISPATCH_IMAGE="$PWD/${image#*:}"
    for n in 1 2 3 4 5 6 7; do
      start=$(date +%s%N)
      run ./OffloadDispatch --start
      echo "Start: exit $?, $(( ($(date +%s%N) - start) / 1000 )) us, with the dynamic loader's search in the carried libraries"
    done
    unset OFFLOAD_DISPATCH_IMAGE
  done
} >"$out/results.txt" 2>&1
cat "$out/results.txt"
