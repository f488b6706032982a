/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a triple means, apart from the family of devices. */
#ifndef KDL_SUPPORT_BASE_TRIPLE_H
#define KDL_SUPPORT_BASE_TRIPLE_H

#include <kdl/kdl.h>

#include <stdbool.h>

enum { KDL_TRIPLE_PROCESSOR = 32 };

/* Whether the triple is AMD's: amdgcn-amd-amdhsa, or amdgpu9.42-amd-amdhsa as LLVM 24 writes it. */
bool kdl_triple_is_amd(kdl_string triple);

/* The processor in the sub-architecture of an AMD triple: gfx942 for amdgpu9.42, gfx9-4-generic for
 * amdgpu9.4, gfx9-generic for amdgpu9; "" where there is none. */
void kdl_triple_processor(kdl_string triple, char out_name[KDL_TRIPLE_PROCESSOR]);

#endif
