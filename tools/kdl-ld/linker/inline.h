/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Microkernels are inlined, whole. What cannot be is refused before LLVM is asked, with the reason
 * in our words, since LLVM keeps its reasons to itself; afterwards the calls that are left are
 * counted, whatever the reason. */
#ifndef KDL_LD_INLINE_H
#define KDL_LD_INLINE_H

#include "linker/module.h"

/* Marks every function that a microkernel's module defines as its own, to be inlined. */
kdl_status ld_inline_mark(LLVMModuleRef module, kdl_string symbol, const char *name);

/* Refuses what can never be inlined. */
kdl_status ld_inline_check(LLVMModuleRef module, const char *name);

/* How many calls there are of functions of microkernels: of the one of that name, or of all. */
size_t ld_inline_count_calls(LLVMModuleRef module, const char *symbol);

/* Refuses a module in which a function of a microkernel is still there; names it and who calls. */
kdl_status ld_inline_verify(LLVMModuleRef module);

#endif
