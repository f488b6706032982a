/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Lowers portable bitcode (form.h) for the device of a link: the module then is what `kdl cc
 * --emit=bitcode` makes for that device, except that the declared functions are still to be linked
 * from portable.offload, as microkernels are.
 *
 *   lower.c         what is the same for all; kernels of NVIDIA's GPUs
 *   nvidia_math.c   math by libdevice
 *   lower_amd.c     private memory, structures by value, and variables of AMD's GPUs
 *   add_conversions.c  functions that LLVM's code generators call on CPUs
 *   lower_spirv.c   conventions, dynamic group memory and bfloat16 of SPIR-V
 *   lower_cpu.c     functions that run a group, by <kdl/host_abi.h>
 *   flatten.c       removes address spaces, which CPUs do not have
 *   group_state.c   the work-item and group memory as parameters of functions
 */
#ifndef KDL_COMPILER_IR_PORTABLE_LOWER_H
#define KDL_COMPILER_IR_PORTABLE_LOWER_H

#include "compiler/ir/linker/linker.h"

/* Replaces linker->module. Fails as ir_form_check, or names the function and what the device
 * lacks. */
kdl_status ir_portable_lower(ir_linker *linker);

/* After optimising: the functions that LLVM's code generators call on CPUs. */
kdl_status ir_portable_add_conversions(ir_linker *linker);

/* The same for SPIR-V: addresses that LLVM's backend would read wrongly. */
kdl_status ir_spirv_finish(ir_linker *linker);

/* The parts for a family. */
kdl_status ir_lower_amd(ir_linker *linker);
kdl_status ir_lower_cpu(ir_linker *linker);
kdl_status ir_lower_spirv(ir_linker *linker);

/* Renames the math functions that a module declares to those of NVIDIA's libdevice. */
void ir_nvidia_use_libdevice(LLVMModuleRef module);

/* ------------------------------------------------------------------------------------------ */

/* Replaces the module by one without address spaces and convergent functions. */
kdl_status ir_flatten(ir_context *context, const char *name, LLVMModuleRef *module);

/* The work-item and the variables of a group. Their names begin with IR_GROUP_PREFIX, which
 * work-group lowering knows. */
#define IR_GROUP_PREFIX "kdl.group."

typedef struct ir_group_state {
  kdl_arena *arena;
  LLVMModuleRef module;
  LLVMTypeRef item_type;
  LLVMValueRef *variables; /* [0] is NULL: the work-item */
  size_t variable_count;
} ir_group_state;

/* Finds the variables, which lower_cpu.c renamed, and the type of the work-item. */
void ir_group_state_init(kdl_arena *arena, LLVMModuleRef module, ir_group_state *out_state);

/* Makes every function that uses a variable or the work-item take it as a parameter, after its own
 * ones; `kernels` are replaced in place. The variables are gone afterwards, and calls of
 * kdl_p1_thread_id and the like. */
kdl_status ir_group_state_pass(ir_group_state *state, const char *name);

/* Which variable a parameter of a function is, from its name; -1: none. */
int ir_group_state_parameter(const ir_group_state *state, LLVMValueRef parameter);

/* The type of a variable, and its alignment. */
LLVMTypeRef ir_group_state_type(const ir_group_state *state, size_t variable, unsigned *out_align);

#endif
