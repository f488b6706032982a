#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# nvcc.sh KDL FOLDER [ARCH]: adds the kernels as nvcc compiles them for ARCH (sm_90) to a folder of make.sh, as nvcc.offload, and those
# of kdl cc for it, with the same ptxas. nvcc is CUDA_HOME's, or comes from the Python index into FOLDER/cuda.
set -eu
kdl=$1 folder=$2 arch=${3:-sm_90}
here=$(dirname "$(realpath "$0")")
mkdir -p "$folder"
if [ -z "${CUDA_HOME:-}" ]; then
  CUDA_HOME=$folder/cuda/nvidia/cu13
  version="13.0.*"
  [ -x "$CUDA_HOME/bin/nvcc" ] ||
    python3 -m pip install -q --target "$folder/cuda" --no-deps "nvidia-cuda-nvcc==$version" "nvidia-nvvm==$version" \
      "nvidia-cuda-crt==$version" "nvidia-cuda-runtime==$version" "nvidia-cuda-cccl==$version"
fi
"$CUDA_HOME/bin/nvcc" --version | tail -2
"$CUDA_HOME/bin/nvcc" -std=c++17 -O3 -arch="$arch" -cubin -I "$here/cuda" "$here/nvcc.cu" -o "$folder/nvcc.cubin"
rm -f "$folder/nvcc.keys"
key() {
  printf 'kdl.kernel.%s=sig=%s; block=%s; tile=%s,' "$1" "$2" "$3" "$4" >> "$folder/nvcc.keys"
}
line=256x1x1 square=16x16x1
key mark 'ptr<u8>' 1x1x1 1x1x1
key saxpy 'f32 ptr<f32> ptr<f32> u32' $line $line
key reduce 'ptr<f32> ptr<f32> u32' $line 4096x1x1
key softmax 'ptr<f32> ptr<f32> u32' $line 1x1x1
key layernorm 'ptr<f32> ptr<f32> ptr<f32> ptr<f32> u32 f32' $line 1x1x1
key matmul 'ptr<f32> ptr<f32> ptr<f32> u32 u32 u32' $square $square
key matmul_tiled 'ptr<f32> ptr<f32> ptr<f32> u32 u32 u32' $square $square
key histogram 'ptr<u8> ptr<u32> u32' $line 8192x1x1
key group_reduce 'ptr<f32> ptr<f32> u32' $line $line
key group_scan 'ptr<f32> ptr<f32> u32' $line $line
key group_matmul 'ptr<f32> ptr<f32> ptr<f32> u32' $square $square
key group_transpose 'ptr<f32> ptr<f32> u32' $square $square
key group_histogram 'ptr<u32> ptr<u32> u32' $line $line
key group_sort 'ptr<u32> ptr<u32>' $line $line
key group_stencil 'ptr<f32> ptr<f32> u32' $square $square
"$kdl" pack -o "$folder/nvcc.offload" "--image=file=$folder/nvcc.cubin,triple=nvptx64-nvidia-cuda,arch=$arch,kind=cuda,$(sed 's/,$//' "$folder/nvcc.keys")"
rm "$folder/nvcc.keys"
PATH=$CUDA_HOME/bin:$PATH "$here/make.sh" "$kdl" "$folder" "$arch"
