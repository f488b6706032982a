#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# make.sh KDL FOLDER [TARGETS]: the kernels that `kdl bench kernels` measures: those of examples/kernels, bench/barriers and scale.c, compiled
# by kdl cc, and the same in plain C, compiled for the CPU of this machine by the same Clang. nvcc.sh adds those of nvcc.
set -eu
kdl=$1 folder=$2
here=$(dirname "$(realpath "$0")")
root=$here/../..
clang=${KDL_CLANG:-clang-22}
case $(uname -m) in
  x86_64) targets=x86-64-v2,x86-64-v3,x86-64-v4,opencl-c ;;
  *) targets=native,opencl-c ;;
esac
targets=${3:-$targets}
mkdir -p "$folder"
for source in "$root"/examples/kernels/*.c "$root/bench/barriers/kernels.c" "$here/scale.c"; do
  name=$(basename "$source" .c)
  case $source in */barriers/*) name=barriers ;; esac
  "$kdl" cc "$source" --targets="$targets" --flag=-include --flag="$root/tests/examples/mark.h" -o "$folder/$name.offload"
done
plain() {
  "$clang" -std=gnu17 -O3 -march=native "$2" -fPIC -shared -fvisibility=hidden -Wall -Wextra -Wno-pass-failed \
    "-DKDL_BENCH_FLAGS=\"-O3 -march=native $2\"" "$here/plain.c" -lm -o "$folder/$1.so"
}
plain c -fopenmp-simd
plain openmp -fopenmp || echo "make.sh: no OpenMP runtime for $clang (Debian: libomp-22-dev): threads are measured without plain C" >&2
cp "$here/torch_products.py" "$folder/"
