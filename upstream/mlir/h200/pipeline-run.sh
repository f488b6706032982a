#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# run.sh: on a machine with an NVIDIA GPU, from the folder that pipeline.sh made. Prints what each program computed beside what it should, and the times of two
# images of one matmul. A program that fails leaves its messages and does not stop the rest. Also writes to $OUT/results.txt.
cd "$(dirname "$0")" || exit
out=${OUT:-/tmp}
chmod +x lib/ld-linux-x86-64.so.2 ./*.exe matmul/lib/ld-linux-x86-64.so.2 matmul/price_gpu 2>/dev/null
links=/tmp/pipeline-links
mkdir -p $links
# The plugin opens libcuda.so, of which some machines have libcuda.so.1 alone.
cuda=$(ldconfig -p 2>/dev/null | sed -n 's/.*libcuda\.so\.1 .*=> //p' | head -1)
[ -n "$cuda" ] || cuda=$(ls /usr/lib/x86_64-linux-gnu/libcuda.so.1 /usr/lib64/libcuda.so.1 /usr/local/nvidia/lib64/libcuda.so.1 /usr/local/cuda/compat/libcuda.so.1 2>/dev/null | head -1)
[ -z "$cuda" ] || ln -sf "$cuda" $links/libcuda.so
# start LIBRARIES PROGRAM ARGUMENT...
start() {
  libraries=$1
  shift
  timeout 20 lib/ld-linux-x86-64.so.2 --library-path "$libraries:lib:$links:$(dirname "${cuda:-/}")" --argv0 "$PWD/$1" "$@" 2>&1
}
{
  date -u '+%Y-%m-%d, %H:%M UTC'
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>&1 | head -2
  grep -m1 'model name' /proc/cpuinfo
  echo "CPUs: $(nproc), load: $(cut -d' ' -f1 /proc/loadavg); libcuda: ${cuda:-not found}"
  echo
  echo '== programs whose kernels MLIR compiled: images in their order, what should come out, what came out'
  right=0 all=0
  # row NAME EXPECTED TEXT: expected "none" is the end of the program with a message.
  row() {
    all=$((all + 1)) verdict=differs
    case $3 in
      "FACTOR=$2") verdict=right ;;
      *'no device accepts'* | *'fewer devices'*) [ "$2" = none ] && verdict=right ;;
    esac
    [ $verdict = right ] && right=$((right + 1))
    echo "$1: expected $2, got $3: $verdict"
  }
  while read -r name expected form images; do
    case $name in '#'* | '') continue ;; esac
    case $form in
      key | nokey)
        for kind in none first best; do
          should=$expected
          [ $kind = none ] && should=none
          [ $kind = first ] && should=3
          text=$(start "whole:matmul/$kind:matmul/lib" "./$name.exe" | tr '\n' ' ' | sed 's/ $//')
          row "$name ($form, liboffload: $kind) [$images]" "$should" "$text"
        done
        ;;
      *)
        text=$(start main "./$name.exe" | tr '\n' ' ' | sed 's/ $//')
        row "$name ($form) [$images]" "$expected" "$text"
        ;;
    esac
  done <pipeline.txt
  echo "$right of $all as expected"
  echo
  echo '== two images of one matmul of halves, 4096 x 4096 x 4096: liboffload as it is, with the first image, with the largest priority'
  for run in 1 2 3; do
    for kind in none first best; do
      for file in matmul.bin plain.cubin tensor.cubin; do
        echo "run $run, $kind, $file: $(start "matmul/$kind:matmul/lib" ./matmul/price_gpu "matmul/$file" | tr '\n' ' ')"
      done
    done
  done
} 2>&1 | tee "$out/results.txt"
