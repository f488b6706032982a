/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The caller and the microkernels it needs, made one module. */
#ifndef KDL_LD_LINKER_H
#define KDL_LD_LINKER_H

#include "ld/linker/choose_ukernel.h"
#include "ld/linker/constants.h"
#include "ld/linker/stages.h"
#include "ld/linker/target.h"
#include "lib/inspect/targets.h"

typedef struct ld_linker {
  const ld_request *request;
  ld_context *context;
  ld_libraries libraries;
  char *builtin; /* the path of the last library, or NULL */
  ld_target target;
  ld_stages stages;
  LLVMModuleRef module;    /* the caller; in the end, all of it */
  kdl_string_list kernels; /* those that are kept */
  ld_choice *choices;      /* one for each microkernel */
  size_t choice_count, choice_capacity;
  kdl_string_list undefined; /* what stays so */
  kdl_string_list depends;   /* files that the result depends on, beyond those that were given */
  ld_constants constants;
  size_t calls_before;
  size_t calls_after;
} ld_linker;

/* Drops of the caller what the wanted kernels do not need. */
kdl_status ld_link_strip_caller(ld_linker *linker);

/* Chooses and links every microkernel that is needed; nothing is inlined yet. */
kdl_status ld_link(ld_linker *linker);

/* Binds constants; everything but kernels and exported variables becomes the module's own. */
kdl_status ld_link_finalize(ld_linker *linker);

/* ------------------------------------------------------------------------------------------ */
/* Inlining (inline.c). What cannot be inlined is refused before LLVM is asked, with the reason
 * in our words, since LLVM keeps its reasons to itself; afterwards the calls that are left are
 * counted, whatever the reason.                                                                */

/* Marks every function that a microkernel's module defines as its own, to be inlined. */
kdl_status ld_inline_mark(LLVMModuleRef module, kdl_string symbol, const char *name);

/* Refuses what can never be inlined. */
kdl_status ld_inline_check(LLVMModuleRef module, const char *name);

/* How many calls there are of functions of microkernels: of the one of that name, or of all. */
size_t ld_inline_count_calls(LLVMModuleRef module, const char *symbol);

/* Refuses a module in which a function of a microkernel is still there; names it and who calls. */
kdl_status ld_inline_verify(LLVMModuleRef module);

/* ------------------------------------------------------------------------------------------ */
/* What may stay undefined in an image: runtime.def                                             */

typedef enum ld_runtime {
  LD_RUNTIME_NONE, /* nothing has it */
  LD_RUNTIME_PROVIDED,
  LD_RUNTIME_LIBM, /* in the library that an image must then name */
} ld_runtime;

ld_runtime ld_runtime_of(kdl_target_family family, kdl_string name);

#endif
