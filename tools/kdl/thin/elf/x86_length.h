/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where instructions of x86-64 end, and what they refer to by their own address. */
#ifndef KDL_TOOL_THIN_X86_LENGTH_H
#define KDL_TOOL_THIN_X86_LENGTH_H

#include <stddef.h>
#include <stdint.h>

/* The length of the instruction at the start of the code; 0 for one that is cut off, not defined or
 * not known here. *out_displacement is where its 32-bit distance from its end to an operand lies
 * in it, or 0. */
size_t x86_instruction_length(const uint8_t *code, size_t size, size_t *out_displacement);

#endif
