/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* For images that are opened without metadata: they run on every CPU of the architecture. */
#ifndef KDL_TESTS_ANY_CPU_H
#define KDL_TESTS_ANY_CPU_H

#include <kdl/host_abi.h>

#if defined(__x86_64__)
KDL_HOST_CPU("x86-64");
#elif defined(__aarch64__)
KDL_HOST_CPU("armv8-a");
#elif defined(__riscv)
KDL_HOST_CPU("rv64gc");
#endif

#endif
