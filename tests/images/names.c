/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels and functions with names that libc, libm and the program that loads them have too. */
#include <kdl/kernel.h>

#define NAMED(name, number)                                                                        \
  KDL_KERNEL(name, (1, 1, 1), (1, 1, 1), (uint32_t *, out)) {                                      \
    (void)kdl_group;                                                                               \
    out[0] = number;                                                                               \
  }
NAMED(exp, 101)
NAMED(read, 102)
NAMED(write, 103)
NAMED(log, 104)
NAMED(pow, 105)
NAMED(index, 106)
NAMED(time, 107)
NAMED(select, 108)
NAMED(of_the_program, 109)

/* Visible, so that a compiler calls it as any library might. */
KDL_KERNEL_EXPORT uint32_t helper_of_both(void);
KDL_KERNEL_EXPORT uint32_t helper_of_both(void) {
  return 110;
}

KDL_KERNEL(calls_helper, (1, 1, 1), (1, 1, 1), (uint32_t *, out)) {
  (void)kdl_group;
  out[0] = helper_of_both();
}

float sinhf(float x);

KDL_KERNEL(calls_libm, (1, 1, 1), (1, 1, 1), (float *, out)) {
  (void)kdl_group;
  out[0] = sinhf(out[0]);
}
