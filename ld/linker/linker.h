/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Links the caller and the microkernels it needs into one module. */
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
  char *builtin;    /* the path of the last library, or NULL */
  char *portable;   /* of the one before it, for portable images, or NULL */
  bool is_portable; /* the caller names no target (ld/portable) */
  ld_target target;
  ld_stages stages;
  LLVMModuleRef module;    /* the caller; after the link, everything */
  kdl_string_list kernels; /* the kernels that are kept */
  ld_choice *choices;      /* one per microkernel */
  size_t choice_count, choice_capacity;
  kdl_string_list undefined; /* symbols that stay undefined */
  kdl_string_list depends;   /* files that the result depends on, besides the given ones */
  ld_constants constants;
  size_t calls_before;
  size_t calls_after;
} ld_linker;

/* Drops the parts of the caller that the wanted kernels do not need. */
kdl_status ld_link_strip_caller(ld_linker *linker);

/* Chooses and links every microkernel that is needed, without inlining. */
kdl_status ld_link(ld_linker *linker);

/* Binds constants; everything except kernels and exported variables gets internal linkage. */
kdl_status ld_link_finalize(ld_linker *linker);

/* ------------------------------------------------------------------------------------------ */
/* Inlining (inline.c). Functions that cannot be inlined are refused before LLVM tries, since LLVM
 * does not report reasons. After inlining, remaining calls are counted in any case. */

/* Marks every function that a microkernel's module defines as part of the microkernel, to inline;
 * `keeps_calls`: except those that the module itself marks noinline, as libdevice's slow paths. */
kdl_status ld_inline_mark(LLVMModuleRef module, kdl_string symbol, bool keeps_calls,
                          const char *name);

/* LLVM 24 inlines no function into one for narrower vectors, even if it is marked to be inlined:
 * callers get the width of such functions, as inlining gives it to them. */
void ld_inline_raise_width(LLVMModuleRef module);

/* Refuses functions that can never be inlined. */
kdl_status ld_inline_check(LLVMModuleRef module, const char *name);

/* The number of calls of a microkernel's functions: of the one with that name, or of all (NULL). */
size_t ld_inline_count_calls(LLVMModuleRef module, const char *symbol);

/* Refuses a module that still has a function of a microkernel; names it and its caller. */
kdl_status ld_inline_verify(LLVMModuleRef module);

/* ------------------------------------------------------------------------------------------ */
/* Kernels of GPUs (gpu_kernels.c)                                                              */

/* Marks parameters of kernels whose type is KDL_GRID_CONSTANT_PREFIX: no copy of them is made. */
void ld_gpu_mark_grid_constants(const ld_linker *linker);

/* After optimising: the functions KDL_GROUP_ITEMS_PREFIX return constants, which become launch
 * bounds of the kernels that they are named after. Removes them. */
kdl_status ld_gpu_set_blocks(ld_linker *linker);

/* ------------------------------------------------------------------------------------------ */
/* Symbols that may stay undefined in an image: runtime.def                                     */

typedef enum ld_runtime {
  LD_RUNTIME_NONE, /* defined nowhere */
  LD_RUNTIME_PROVIDED,
  LD_RUNTIME_LIBM, /* in libm, which the image must then depend on */
} ld_runtime;

ld_runtime ld_runtime_of(kdl_target_family family, kdl_string name);

#endif
