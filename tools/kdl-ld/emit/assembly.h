/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Assembly inside bitcode, of a module or of a function, is text that LLVM's assembler reads. It
 * may name files (.incbin, .include), whose bytes would end up in the image. */
#ifndef KDL_LD_ASSEMBLY_H
#define KDL_LD_ASSEMBLY_H

#include "linker/linker.h"

/* Refuses such assembly; to be called before code is generated. */
kdl_status ld_assembly_check(const ld_linker *linker);

#endif
