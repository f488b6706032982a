/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * LLVM 22's SPIR-V backend takes the offset of a constant address, which is one in bytes, for one
 * in elements where an atomic operation has it:
 *
 *     atomicrmw add ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @m, i64 4),
 * i32 1
 *
 * adds to m[4] and not to m[1]. As an instruction of its own the address is right.
 */
#ifndef KDL_TOOL_CC_ATOMIC_PLACES_H
#define KDL_TOOL_CC_ATOMIC_PLACES_H

#include "base/arena.h"
#include "base/text.h"

#include <kdl/kdl.h>

#include <stdbool.h>

/* Whether the IR, optimised or not, may have such addresses: atomics, and variables of a group. */
bool cc_atomic_places_may_be(kdl_string ir);

/* Gives each its instruction. */
kdl_status cc_atomic_places_lower(kdl_arena *arena, kdl_string ir, kdl_string *out_ir);

#endif
