/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared objects that are no good as host images, one mistake each. */
#include <kdl/kernel.h>

#if defined(NO_DESCRIPTION)
KDL_KERNEL_EXPORT void mark(void) {}
#elif defined(OTHER_ABI)
KDL_KERNEL_EXPORT void mark(void) {}
KDL_KERNEL_EXPORT const kdl_host_kernel kdl_host_kernel_mark = {.abi = KDL_HOST_ABI + 98,
                                                                .size = sizeof(kdl_host_kernel)};
#elif defined(MISSING_SYMBOL)
void no_such_function(void);
KDL_KERNEL(mark, (1, 1, 1), (1, 1, 1), (uint32_t *, out), (uint32_t, n)) {
  (void)kdl_group;
  out[n] = 0;
  no_such_function();
}
#elif defined(THREAD_LOCAL)
static _Thread_local volatile uint32_t own;
KDL_KERNEL(mark, (1, 1, 1), (1, 1, 1), (uint32_t *, out), (uint32_t, n)) {
  (void)kdl_group;
  out[n] = ++own;
}
#endif
