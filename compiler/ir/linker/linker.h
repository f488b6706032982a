/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Links the caller and the microkernels it needs into one module. */
#ifndef KDL_COMPILER_IR_LINKER_LINKER_H
#define KDL_COMPILER_IR_LINKER_LINKER_H

#include "compiler/ir/linker/choose_ukernel.h"
#include "compiler/ir/linker/constants.h"
#include "compiler/ir/linker/stages.h"
#include "compiler/ir/linker/target.h"
#include "compiler/ir/linker/ukernel.h"
#include "lib/inspect/targets.h"

typedef struct ir_linker {
  const ir_request *request;
  ir_context *context;
  ir_libraries libraries;
  char *builtin;    /* the path of the last library, or NULL */
  char *portable;   /* of the one before it, for portable images, or NULL */
  bool is_portable; /* the caller names no target (compiler/ir/portable) */
  ir_target target;
  ir_stages stages;
  LLVMModuleRef module;    /* the caller; after the link, everything */
  kdl_string_list kernels; /* the kernels that are kept */
  ir_choice *choices;      /* one per microkernel */
  size_t choice_count, choice_capacity;
  kdl_string_list undefined; /* symbols that stay undefined */
  kdl_string_list depends;   /* files that the result depends on, besides the given ones */
  ir_constants constants;
  size_t calls_before;
  size_t calls_after;
} ir_linker;

/* Drops the parts of the caller that the wanted kernels do not need. */
kdl_status ir_link_strip_caller(ir_linker *linker);

/* Chooses and links every microkernel that is needed, without inlining. */
kdl_status ir_link(ir_linker *linker);

/* Binds constants; everything except kernels and exported variables gets internal linkage. */
kdl_status ir_link_finalize(ir_linker *linker);

/* ------------------------------------------------------------------------------------------ */
/* Kernels of GPUs (gpu_kernels.c)                                                              */

/* Marks parameters of kernels whose type is KDL_GRID_CONSTANT_PREFIX: no copy of them is made. */
void ir_gpu_mark_grid_constants(const ir_linker *linker);

/* After optimising: the functions KDL_GROUP_ITEMS_PREFIX return constants, which become launch
 * bounds of the kernels that they are named after. Removes them. */
kdl_status ir_gpu_set_blocks(ir_linker *linker);

/* ------------------------------------------------------------------------------------------ */
/* Symbols that may stay undefined in an image: runtime.def                                     */

typedef enum ir_runtime {
  IR_RUNTIME_NONE, /* defined nowhere */
  IR_RUNTIME_PROVIDED,
  IR_RUNTIME_LIBM, /* in libm, which the image must then depend on */
} ir_runtime;

ir_runtime ir_runtime_of(kdl_target_family family, kdl_string name);

#endif
