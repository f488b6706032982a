// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same kernel for CUDA devices: nvcc -cubin -arch=..., or clang++ -S --cuda-device-only and ptxas.
extern "C" __global__ void nothing(void *) {}
