#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The kernels that run_flame.sh launches, by kdl cc, into a folder: for the host, PoCL and sm_90. Needs clang-22 and ptxas.
#
#     bench/flame/make.sh BUILD FOLDER
set -eu
build=${1:?usage: bench/flame/make.sh BUILD FOLDER}
folder=${2:?usage: bench/flame/make.sh BUILD FOLDER}
here=$(dirname "$0")
kdl=$build/bin/kdl
mkdir -p "$folder"
"$kdl" cc "$here/../images/nothing.c" --targets=x86-64-v3,sm_90 -o "$folder/nothing.offload"
"$kdl" extract "$folder/nothing.offload" --image=0 -o "$folder/nothing.so"
"$kdl" extract "$folder/nothing.offload" --image=1 -o "$folder/nothing.cubin"
"$kdl" cc "$here/../images/nothing.c" --targets=opencl-c -o "$folder/nothing-cl.offload"
"$kdl" extract "$folder/nothing-cl.offload" -o "$folder/nothing.cl"
"$kdl" cc "$here/../../examples/kernels/matmul_tiled.c" --targets=sm_90 -o "$folder/matmul.offload"
"$kdl" extract "$folder/matmul.offload" -o "$folder/matmul.cubin"
"$kdl" cc "$here/../images/chase.c" --targets=sm_90 -o "$folder/chase.offload"
