/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Values of a launch that become constants of the kernel (--fold): arguments, by their bits, the
 * block, and the alignment of pointers. Parameters stay: a launch passes all arguments as before,
 * and the caller of libkdl's entry guarantees that they have these values.
 *
 * Results do not change by a bit, except the sign and payload of NaNs. So bitcode with fast-math
 * flags is refused, functions of math keep their calls although their arguments are constant, and
 * multiply-add is folded with the roundings that the device has.
 */
#ifndef KDL_COMPILER_IR_LINKER_FOLD_H
#define KDL_COMPILER_IR_LINKER_FOLD_H

#include "compiler/ir/linker/linker.h"

/* After everything is linked, before it is optimised. Nothing without --fold. */
kdl_status ir_fold(ir_linker *linker);

#endif
