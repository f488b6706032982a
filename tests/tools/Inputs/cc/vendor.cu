/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A file of a CUDA program: a template for the device, a kernel with printf, a launch. */
#include <cstdio>

template <class T> __device__ T twice(T x) {
  return x + x;
}

extern "C" __global__ void scale(float a, const float *x, float *y, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * twice(sinf(x[i]));
  else
    printf("%u is beyond the last\n", i);
}

#ifdef MANGLED
__global__ void mangled(float *y) {
  *y = 1;
}
#endif

int main() {
  scale<<<1, 1>>>(1, nullptr, nullptr, 0);
}
