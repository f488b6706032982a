/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* From a module to bytes: optimised, compiled, and made an image. */
#ifndef KDL_LD_EMIT_H
#define KDL_LD_EMIT_H

#include "ld/linker/linker.h"

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

/* Assembly inside bitcode, of a module or of a function, is text that LLVM's assembler reads. It
 * may name files (.incbin, .include), whose bytes would end up in the image. Refuses such assembly;
 * to be called before code is generated. */
kdl_status ld_assembly_check(const ld_linker *linker);

/* ------------------------------------------------------------------------------------------ */
/* The last step to an image, which LLVM leaves to other programs: ld.lld and ptxas             */

/* A shared object in the place of the object file: a host image or an AMD code object. */
kdl_status ld_image_from_object(ld_linker *linker, ld_output *output);

/* A cubin in the place of PTX, where ptxas is found and the device's driver would take what it
 * makes; PTX stays otherwise. */
kdl_status ld_image_from_ptx(ld_linker *linker, ld_output *output);

#endif
