// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel and what Clang's HIP needs of the runtime to launch one, without its headers.
struct dim3 {
  unsigned x, y, z;
};
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);
extern "C" int __hipPushCallConfiguration(dim3, dim3, unsigned long, void *);
extern "C" int __hipPopCallConfiguration(dim3 *, dim3 *, unsigned long *, void **);
extern "C" __attribute__((global)) void NAME(float *x) { x[0] = 1; }
