/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The kernel that is launched. It does nothing, so that what is measured is the
 * way to it. The host plugin of liboffload calls it with an array of pointers
 * to the arguments; libkdl with its group and such an array, as the descriptor
 * below has it. */
void nothing(const void *First, const void *Second) {
  (void)First;
  (void)Second;
}

#ifdef HAVE_KDL
#include <kdl/host_abi.h>

#if defined(__x86_64__)
KDL_HOST_CPU("x86-64");
#elif defined(__aarch64__)
KDL_HOST_CPU("armv8-a");
#endif

static const kdl_host_param Params[] = {{sizeof(void *), sizeof(void *)}};

const kdl_host_kernel kdl_host_kernel_nothing = {
    .abi = KDL_HOST_ABI,
    .size = sizeof(kdl_host_kernel),
    .run = (kdl_host_function *)(void (*)(void))nothing,
    .block = {1, 1, 1},
    .tile = {1, 1, 1},
    .param_count = 1,
    .params = Params,
};
#endif
