/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Specialization constants as canonical text: sorted lines `const NAME=VALUE`. */
#ifndef KDL_EXT_JIT_CONSTANTS_H
#define KDL_EXT_JIT_CONSTANTS_H

#include <kdl/kdl.h>

/* *out_text is malloc'ed; NULL where there are none. */
kdl_status kdl_constants_print(const kdl_constant *constants, size_t count, char **out_text);

#endif
