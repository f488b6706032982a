/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What `kdl cc` gives as <gpuintrin.h> where Clang's own is an error: for CPUs and OpenCL C. */
#include <kdl/kernel.h>
