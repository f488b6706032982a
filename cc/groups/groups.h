/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Work-group lowering: kernels for the CPU whose work-items wait for one another
 * (docs/decisions/0012-barriers.md). It is a part of `kdl cc`, though kdl-ld runs it (--groups),
 * and includes nothing of kdl-ld.
 *
 * `kdl cc` hands over IR in which the function of a kernel does one work-item: it asks for its
 * index by kdl_cc_thread and waits by kdl_cc_barrier. Here it becomes a function that does a group:
 * the code between barriers is cut into regions, each of which is a loop over the work-items.
 *
 *   prepare.c   everything that waits is inlined; values that blocks share are put into variables
 *   flow.c      blocks, and which branches decide about which blocks
 *   uniform.c   which values and branches are the same for all work-items of a group
 *   regions.c   blocks that become one loop
 *   places.c    where each variable lives: with the group, with the work-item, or in one loop
 *   loops.c     the loops; loop_values.c what is in them, loop_ends.c what is behind them
 *   atomics.c   operations that need not be atomic
 *   order.c     which of them LLVM may be told to be free of dependences
 */
#ifndef KDL_LD_GROUPS_H
#define KDL_LD_GROUPS_H

#include <kdl/kdl.h>

#include <llvm-c/Core.h>

#include <stdbool.h>
#include <stdint.h>

/* The functions that `kdl cc` and <kdl/kernel/host.h> call, which nothing defines. */
#define LD_GROUPS_BARRIER "kdl_cc_barrier"
#define LD_GROUPS_THREAD "kdl_cc_thread"

typedef struct ld_groups_kernel {
  const char *name;
  uint32_t block[3]; /* 0: what the launch says */
} ld_groups_kernel;

/* KDL_BAD_FILE with a line of the source where a kernel cannot be made one for groups. What LLVM
 * complains of goes to the handler of the module's context, which the caller looks at afterwards.
 */
kdl_status ld_groups_lower(LLVMModuleRef module, const ld_groups_kernel *kernels, size_t count);

#endif
