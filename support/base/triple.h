/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What triples mean beyond the family of devices. */
#ifndef KDL_BASE_TRIPLE_H
#define KDL_BASE_TRIPLE_H

#include <kdl/kdl.h>

#include <stdbool.h>

enum { KDL_TRIPLE_PROCESSOR = 32 };

/* Whether it is AMD's: amdgcn-amd-amdhsa, or, as LLVM 24 writes it, amdgpu9.42-amd-amdhsa. */
bool kdl_triple_is_amd(kdl_string triple);

/* The processor that the sub-architecture of an AMD triple stands for: gfx942 for amdgpu9.42,
 * gfx9-4-generic for amdgpu9.4, gfx9-generic for amdgpu9; "" where it has none. */
void kdl_triple_processor(kdl_string triple, char out_name[KDL_TRIPLE_PROCESSOR]);

#endif
