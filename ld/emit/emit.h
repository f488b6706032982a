/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* From a module to an image: optimise, compile, and run the vendor's last step. */
#ifndef KDL_LD_EMIT_H
#define KDL_LD_EMIT_H

#include "ld/linker/linker.h"

typedef struct ld_output {
  const char *kind;   /* "object", "cubin", "ptx", "hsaco", "ir", "bitcode", "asm" */
  char program[4096]; /* the program that made the image; "" for LLVM itself */
  void *data;         /* freed by the caller */
  size_t size;
} ld_output;

/* Inlines the functions of microkernels, checks that no call of one is left, and runs O3. */
kdl_status ld_emit_optimise(ld_linker *linker);

/* Emits what the request asks for. */
kdl_status ld_emit_output(ld_linker *linker, ld_output *out_output);

/* Bitcode may contain assembly, of a module or of a function, which LLVM's assembler reads. It may
 * name files (.incbin, .include), whose bytes would end up in the image. Refuses such assembly;
 * call it before code generation. */
kdl_status ld_assembly_check(const ld_linker *linker);

/* ------------------------------------------------------------------------------------------ */
/* The last step to an image, by other programs: ld.lld and ptxas                               */

/* Replaces the object file by a shared object: a host image or an AMD code object. */
kdl_status ld_image_from_object(ld_linker *linker, ld_output *output);

/* Replaces PTX by a cubin, where ptxas is found and the device's driver can load its output. */
kdl_status ld_image_from_ptx(ld_linker *linker, ld_output *output);

#endif
