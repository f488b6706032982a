/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef KDL_EXT_INJECT_FIND_CUPTI_H
#define KDL_EXT_INJECT_FIND_CUPTI_H

#include <stddef.h>

/* Opens libcupti.so: KDL_CUPTI; the one that the process has, or that the loader finds; next to the
 * CUDA libraries that the process has, as Python's packages install it; or in CUDA's toolkit. NULL
 * where there is none. */
void *kdl_find_cupti(char *out_path, size_t size);

#endif
