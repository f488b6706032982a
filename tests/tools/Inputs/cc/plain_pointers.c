/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Without __gpu_global: Clang makes these parameters pointers to Function storage. */
__attribute__((device_kernel)) void saxpy(float a, const float *x, float *y, unsigned n) {
  y[0] += a * x[0] + (float)n;
}
