// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of the series' integration test for CUDA devices: FACTOR tells its images apart.
extern "C" __global__ void add(int *sum, short summand) { *sum += summand * FACTOR; }
