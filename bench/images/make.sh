#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Makes nothing.offload, the GPU images of the kernel that `kdl bench` launches where no file is given.
# It is committed, so that building needs neither Clang nor ptxas; CMake adds the host's own image.
#
#     bench/images/make.sh build/bin/kdl
set -euo pipefail
kdl=$(realpath "${1:?usage: bench/images/make.sh build/bin/kdl}")
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ptxas=$(PATH=$PATH:/usr/local/cuda/bin command -v ptxas)
flags=(-std=gnu17 -O2 -ffreestanding -nostdlib)
key="kdl.kernel.nothing=sig=ptr<u8>; block=1x1x1"
images=()

clang-22 "${flags[@]}" --target=nvptx64-nvidia-cuda -march=sm_70 --cuda-feature=+ptx70 -S nothing.c \
  -o "$work/nothing.s"
for arch in sm_75 sm_80 sm_90 sm_100 sm_120; do
  sed "s/^\.target sm_70/.target $arch/; s/^\.version 7\.0/.version 8.8/" "$work/nothing.s" >"$work/$arch.s"
  "$ptxas" -arch=$arch "$work/$arch.s" -o "$work/$arch.cubin"
  images+=("--image=file=$work/$arch.cubin,triple=nvptx64-nvidia-cuda,arch=$arch,kind=cuda,$key")
done
images+=("--image=file=$work/nothing.s,triple=nvptx64-nvidia-cuda,arch=sm_70,kind=cuda,$key")
for arch in gfx90a gfx942 gfx1030 gfx1100; do
  clang-22 "${flags[@]}" --target=amdgcn-amd-amdhsa -mcpu=$arch -nogpulib nothing.c -o "$work/$arch.o"
  images+=("--image=file=$work/$arch.o,triple=amdgcn-amd-amdhsa,arch=$arch,kind=hip,$key")
done
clang-22 "${flags[@]}" --target=spirv64-unknown-unknown -c nothing.c -o "$work/nothing.spv"
images+=("--image=file=$work/nothing.spv,triple=spirv64-unknown-unknown,arch=generic,kind=sycl,$key")
"$kdl" pack -o nothing.offload "${images[@]}"
"$kdl" ls nothing.offload
