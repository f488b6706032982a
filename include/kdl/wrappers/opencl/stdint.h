/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What `kdl cc` gives OpenCL C as <stdint.h>. */
#include <kdl/kernel.h>
