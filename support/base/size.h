/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sizes as users write them. */
#ifndef KDL_SUPPORT_BASE_SIZE_H
#define KDL_SUPPORT_BASE_SIZE_H

#include <kdl/kdl.h>

/* Digits, then K, M, G or T for powers of 1024. */
kdl_status kdl_size_parse(const char *text, uint64_t *out_size);

#endif
