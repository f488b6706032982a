/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/groups/flow.h"
#include "support/base/error.h"

#include <llvm-c/Analysis.h>

#include <string.h>

static bool has_one_item(const ir_groups_kernel *kernel) {
  return kernel->block[0] == 1 && kernel->block[1] == 1 && kernel->block[2] == 1;
}

static kdl_status lower_to_group(ir_flow *flow) {
  ir_group_memory *memory = NULL;
  size_t count = 0;
  KDL_TRY(ir_groups_simplify(flow, &memory, &count));
  KDL_TRY(ir_flow_read(flow));
  ir_flow_find_varying(flow);
  ir_flow_find_regions(flow);
  ir_flow_assign_storage(flow);
  KDL_TRY(ir_flow_write_loops(flow));
  ir_groups_relax_atomics(flow);
  ir_groups_restore_memory(flow, memory, count);
  return KDL_OK;
}

/* With one work-item barriers do nothing, and atomic operations on group memory can be plain
 * ones. */
static kdl_status lower_single_item(ir_flow *flow) {
  ir_group_memory *memory = NULL;
  size_t count = 0;
  KDL_TRY(ir_groups_hide_memory(flow, &memory, &count));
  ir_groups_relax_atomics(flow);
  ir_groups_restore_memory(flow, memory, count);
  return KDL_OK;
}

static kdl_status lower_kernel(kdl_arena *arena, LLVMModuleRef module,
                               const ir_groups_kernel *kernel) {
  ir_flow flow = {.arena = arena,
                  .context = LLVMGetModuleContext(module),
                  .module = module,
                  .kernel = kernel,
                  .function = LLVMGetNamedFunction(module, kernel->name),
                  .thread = LLVMGetNamedFunction(module, IR_GROUPS_THREAD),
                  .barrier = LLVMGetNamedFunction(module, IR_GROUPS_BARRIER),
                  .block_numbers = {.arena = arena},
                  .variable_numbers = {.arena = arena},
                  .varying = {.arena = arena},
                  .hoisted = {.arena = arena}};
  if (!flow.function || LLVMIsDeclaration(flow.function))
    return kdl_fail(KDL_BAD_FILE, "--kernel: found no function '%s', expected one", kernel->name);
  return has_one_item(kernel) ? lower_single_item(&flow) : lower_to_group(&flow);
}

/* Removes functions that were inlined. Those with barriers that no kernel calls never run. */
static void drop_unused(LLVMModuleRef module) {
  LLVMValueRef barrier = LLVMGetNamedFunction(module, IR_GROUPS_BARRIER);
  for (LLVMUseRef use; barrier && (use = LLVMGetFirstUse(barrier));)
    LLVMInstructionEraseFromParent(LLVMGetUser(use));
  for (bool changed = true; changed;) {
    changed = false;
    for (LLVMValueRef f = LLVMGetFirstFunction(module), next; f; f = next) {
      next = LLVMGetNextFunction(f);
      bool is_hidden = LLVMGetLinkage(f) == LLVMInternalLinkage || LLVMIsDeclaration(f);
      if (!is_hidden || LLVMGetFirstUse(f))
        continue;
      LLVMDeleteFunction(f);
      changed = true;
    }
  }
}

kdl_status ir_groups_lower(LLVMModuleRef module, const ir_groups_kernel *kernels, size_t count) {
  kdl_arena arena = {.blocks = NULL};
  kdl_status status = ir_groups_inline(&arena, module, kernels, count);
  for (size_t i = 0; i < count && status == KDL_OK; ++i)
    status = lower_kernel(&arena, module, &kernels[i]);
  kdl_arena_free(&arena);
  if (status != KDL_OK)
    return status;
  drop_unused(module);
  char *problem = NULL;
  if (LLVMVerifyModule(module, LLVMReturnStatusAction, &problem))
    status = kdl_fail(KDL_BAD_FILE, "broken by the loops over work-items: %.*s",
                      (int)strcspn(problem, "\n"), problem);
  LLVMDisposeMessage(problem);
  return status;
}
