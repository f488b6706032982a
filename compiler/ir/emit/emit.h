/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* From a module to an image: optimise, compile, and run the vendor's last step. */
#ifndef KDL_COMPILER_IR_EMIT_EMIT_H
#define KDL_COMPILER_IR_EMIT_EMIT_H

#include "compiler/ir/linker/linker.h"

typedef struct ir_output {
  const char *kind;   /* "object", "cubin", "ptx", "hsaco", "ir", "bitcode", "asm" */
  char program[4096]; /* the program that made the image; "" for LLVM itself */
  void *data;         /* freed by the caller */
  size_t size;
} ir_output;

/* Inlines the functions of microkernels, checks that no call of one is left, and runs O3. */
kdl_status ir_emit_optimise(ir_linker *linker);

/* Emits what the request asks for. */
kdl_status ir_emit_output(ir_linker *linker, ir_output *out_output);

/* Bitcode may contain assembly, of a module or of a function, which LLVM's assembler reads. It may
 * name files (.incbin, .include), whose bytes would end up in the image. Refuses such assembly;
 * call it before code generation. */
kdl_status ir_assembly_check(const ir_linker *linker);

/* ------------------------------------------------------------------------------------------ */
/* The last step to an image, by other programs: ld.lld and ptxas                               */

/* Replaces the object file by a shared object: a host image or an AMD code object. */
kdl_status ir_image_from_object(ir_linker *linker, ir_output *output);

/* Replaces PTX by a cubin, where ptxas is found and the device's driver can load its output. */
kdl_status ir_image_from_ptx(ir_linker *linker, ir_output *output);

#endif
