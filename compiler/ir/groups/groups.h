/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Work-group lowering: kernels for the CPU with barriers (docs/decisions/0012-barriers.md). kdl-ld
 * runs it, for `kdl cc` (--groups) and for portable images; it includes nothing from kdl-ld.
 *
 * `kdl cc` passes IR in which the function of a kernel runs one work-item: it calls kdl_cc_thread
 * for its index and kdl_cc_barrier for a barrier. The lowering turns it into a function that runs a
 * group: it cuts the code between barriers into regions, and makes each one a loop over work-items.
 *
 *   prepare.c           inlines functions with barriers; values that blocks share become variables
 *   flow.c              blocks, and which branches control which blocks
 *   uniformity.c        which values and branches are the same for all work-items of a group
 *   regions.c           blocks that become one loop
 *   variable_storage.c  where each variable is stored: per group, per work-item, or in one loop
 *   loops.c             the loops; loop_values.c their values, loop_exits.c the code after them
 *   atomics.c           operations that need not be atomic
 *   loop_dependences.c  which loops may be marked as parallel for LLVM
 */
#ifndef KDL_COMPILER_IR_GROUPS_GROUPS_H
#define KDL_COMPILER_IR_GROUPS_GROUPS_H

#include <kdl/kdl.h>

#include <llvm-c/Core.h>

#include <stdbool.h>
#include <stdint.h>

/* Placeholders that `kdl cc` and <kdl/kernel/host.h> call; nothing defines them. */
#define IR_GROUPS_BARRIER "kdl_cc_barrier"
#define IR_GROUPS_THREAD "kdl_cc_thread"

typedef struct ir_groups_kernel {
  const char *name;
  uint32_t block[3]; /* 0: the launch decides */
} ir_groups_kernel;

/* KDL_BAD_FILE with a location in the source if a kernel cannot be lowered. LLVM's own diagnostics
 * go to the handler of the module's context, which the caller checks afterwards. */
kdl_status ir_groups_lower(LLVMModuleRef module, const ir_groups_kernel *kernels, size_t count);

#endif
