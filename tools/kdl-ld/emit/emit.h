/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* From a module to bytes: optimised, compiled, and made an image. */
#ifndef KDL_LD_EMIT_H
#define KDL_LD_EMIT_H

#include "linker/linker.h"

typedef struct ld_output {
  const char *kind;   /* "object", "cubin", "ptx", "hsaco", "ir", "bitcode", "asm" */
  char program[4096]; /* what made the image in the end; "" for LLVM itself */
  void *data;         /* freed by the caller */
  size_t size;
} ld_output;

/* Inlines what microkernels define, and checks that no call of it is left; then everything at O3.
 */
kdl_status ld_emit_optimise(ld_linker *linker);

/* What the request asks for. */
kdl_status ld_emit_output(ld_linker *linker, ld_output *out_output);

#endif
