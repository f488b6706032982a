/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* HIP without AMD's headers. */
extern "C" __attribute__((global)) void scale(float a, const float *x, float *y, unsigned n) {
  unsigned i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i < n)
    y[i] = a * x[i];
}
