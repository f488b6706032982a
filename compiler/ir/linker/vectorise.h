/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * LLVM 23 asks of each value in a loop that it may vectorise whether more than the first lane of it
 * is used, and of each user of it the same, again for each way on which it gets there. A function
 * of math with a few dozen selections, as sin or pow, has more ways than it can follow in days.
 */
#ifndef KDL_COMPILER_IR_LINKER_VECTORISE_H
#define KDL_COMPILER_IR_LINKER_VECTORISE_H

#include "compiler/ir/linker/linker.h"

/* Leaves a module's loops as they are where LLVM's passes would not see their end. */
kdl_status ir_limit_vectoriser(const ir_linker *linker);

#endif
