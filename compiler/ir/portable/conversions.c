/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The conversions that LLVM calls where a CPU has no instruction for half precision or bfloat16. */
#include <stdint.h>

#include <kdl/kernel/half_runtime.h>
